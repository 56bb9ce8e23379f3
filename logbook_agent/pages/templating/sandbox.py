"""A project's own templates: in Jinja's sandbox, from their folder alone, within limits of time, memory and text.

Powers and large products are refused, so that no single operation is long; many of them are ended by a timer of
processor time. Memory beyond the limit is refused by the system while a template is rendered.
"""

from __future__ import annotations

import contextlib
import resource
import signal
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import jinja2
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from logbook_agent.model.errors import StoreError
from logbook_agent.pages.templating.environment import SUFFIX, environment, problem
from logbook_agent.store.folder import Folder
from logbook_agent.store.layout import builtin_folder, manual
from logbook_agent.text import markdown as md

_MOST_BYTES, _MOST_BITS = 2**20, 10**5


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateLimits:
    """What one document may take, and in processor time all of one command: `spare_s` and `mean_s` for each."""

    cpu_s: float = 2.0
    spare_s: float = 10.0
    mean_s: float = 0.05
    memory_bytes: int = 512 * 2**20
    output_bytes: int = 16 * 2**20


class Sandbox:
    """Renders templates of a folder."""

    def __init__(self, folder: Path, limits: TemplateLimits) -> None:
        self._folder, self._limits = folder, limits
        self._left_s = limits.spare_s
        self._made = environment(_Environment, _Files(folder))

    def render(self, name: str, values: Mapping[str, object]) -> str:
        """The text of a template. Raises StoreError for a template that is wrong, or takes more than the limits."""
        limits = self._limits
        began_s = time.process_time()
        bounds = _Bounds(max(min(limits.cpu_s, self._left_s), 0.001), limits.memory_bytes)
        size, pieces = 0, list[str]()
        try:
            try:
                bounds.set()
                for piece in self._made.get_template(name).generate(values):
                    size += len(piece)
                    if size > limits.output_bytes:
                        raise _Exceeded(f"makes a text of more than {limits.output_bytes >> 20} MiB")
                    pieces.append(piece)
            finally:
                # Without a call, at which a signal would be handled.
                bounds.are_set = False
                bounds.lift()
            # What no record can hold would break the file or act on the terminal that it goes to.
            return md.without_controls("".join(pieces))
        except MemoryError:
            raise self._limit(name, f"takes more than {limits.memory_bytes >> 20} MiB of memory") from None
        except _Exceeded as error:
            raise self._limit(name, str(error)) from None
        except StoreError as error:
            raise StoreError(
                f"template {name}: {error.message}",
                cause=f"templates are regular UTF-8 files called *{SUFFIX} in {self._folder}, of at most 1 MiB",
                hint="put such a file in its place, or remove it for the built-in template",
            ) from None
        except Exception as error:  # noqa: BLE001 - a template computes what it likes
            at_fault, message, line = problem(error, name)
            raise StoreError(
                f"template {at_fault}{f', line {line}' if line else ''}: {message[:1000]}",
                cause=f"the project's own template in {self._folder} is not valid",
                hint=f"{manual('reference/templates.md')} lists the names a template may use",
            ) from None
        finally:
            self._left_s += limits.mean_s - (time.process_time() - began_s)

    def _limit(self, name: str, said: str) -> StoreError:
        limits = self._limits
        return StoreError(
            f"template {name} {said}",
            cause=f"a template in {self._folder} has {limits.cpu_s:g} s of processor time,"
            f" {limits.memory_bytes >> 20} MiB of memory and {limits.output_bytes >> 20} MiB of text"
            f" for a document, and {limits.spare_s:g} s for all of a command",
            hint="look for a loop or a very long text in it, or remove it for the built-in template",
        )


class _Exceeded(Exception):
    """What a template takes too much of."""


class _Bounds:
    """While they are set, _Exceeded is raised when that processor time is used up, and MemoryError beyond that memory.
    Python calls nobody for a signal but the main thread, which makes all documents of a project."""

    def __init__(self, cpu_s: float, memory_bytes: int) -> None:
        self.are_set = False
        self._cpu_s, self._memory_bytes = cpu_s, memory_bytes
        self._before = resource.getrlimit(resource.RLIMIT_AS)
        self._is_main = threading.current_thread() is threading.main_thread()
        self._handler = signal.getsignal(signal.SIGPROF)

    def set(self) -> None:
        """From now on."""
        self.are_set = True
        if self._is_main:
            signal.signal(signal.SIGPROF, self._end)
            signal.setitimer(signal.ITIMER_PROF, self._cpu_s, 0.1)
        # macOS refuses no memory: there the processor time bounds it.
        with contextlib.suppress(OSError, ValueError):
            mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (mapped + self._memory_bytes, self._before[1]))

    def lift(self) -> None:
        """Not any more: first there is memory again."""
        resource.setrlimit(resource.RLIMIT_AS, self._before)
        if self._is_main:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, self._handler)

    def _end(self, number: int, frame: FrameType | None) -> None:
        if self.are_set:
            raise _Exceeded("takes too much processor time")


class _Environment(ImmutableSandboxedEnvironment):
    intercepted_binops = frozenset(["*", "**"])

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """As Jinja's, but for whole numbers that no document needs."""
        if isinstance(left, int) and isinstance(right, int):
            bits = left.bit_length() * max(right, 1) if operator == "**" else left.bit_length() + right.bit_length()
            if bits > _MOST_BITS:
                raise SecurityError(f"{operator} of numbers that large is refused")
        return super().call_binop(context, operator, left, right)


class _Files(jinja2.BaseLoader):
    """The project's templates before the built-in ones. No link is followed."""

    def __init__(self, folder: Path) -> None:
        self._folders = (Folder(folder), Folder(builtin_folder("templates").resolve()))

    def get_source(self, environment: jinja2.Environment, template: str) -> tuple[str, str, None]:
        if not template.endswith(SUFFIX):
            raise StoreError(f"{template} is not called *{SUFFIX}", cause="only templates are included")
        for folder in self._folders:
            if folder.has(template):
                return folder.text(template, limit=_MOST_BYTES), str(folder.at(template)), None
        raise jinja2.TemplateNotFound(template, f"there is no template {template}")
