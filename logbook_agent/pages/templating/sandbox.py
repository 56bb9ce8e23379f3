"""A project's own templates: in Jinja's sandbox, from regular files of their folder alone, and within limits.

A template that never ends or grows without end is stopped by a timer of processor time, which raises in the main
thread. (A limit of the system on memory would fail other threads of this process, too.)
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import resource
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sized
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from jinja2.loaders import split_template_path
from jinja2.sandbox import ImmutableSandboxedEnvironment

from logbook_agent.model.errors import StoreError
from logbook_agent.pages.templating.environment import SUFFIX, environment, problem
from logbook_agent.store.folder import Folder
from logbook_agent.store.layout import manual
from logbook_agent.text import markdown as md

_FILE_BYTES = 2**20
_MOST_ITEMS = 2**20
_MOST_BITS = 2**14
_GRACE_S = 10.0  # of processor time, until the process is ended
_LOOK_S, _PAGE = 0.05, os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateLimits:
    """What one document may take."""

    cpu_s: float = 2.0
    memory_bytes: int = 512 * 2**20
    output_bytes: int = 16 * 2**20


class Sandbox:
    """Renders templates of a folder, in the main thread; those that are not there come from `builtin`."""

    def __init__(self, folder: Path, builtin: jinja2.BaseLoader, limits: TemplateLimits) -> None:
        self._folder, self._limits = folder, limits
        self._environment = environment(_Bounded, _OwnFiles(folder, builtin))

    def render(self, name: str, values: Mapping[str, object]) -> str:
        """The text of a template. Raises StoreError for a template that is wrong, or takes more than the limits."""
        limits = self._limits
        try:
            with _Limits(limits.cpu_s, limits.memory_bytes):
                pieces = self._environment.get_template(name).generate(values)
                # What no record can hold would break the file or act on the terminal that it goes to.
                return md.without_controls("".join(_up_to(limits.output_bytes, pieces)))
        except MemoryError:
            excess = f"takes more than {limits.memory_bytes >> 20} MiB of memory"
        except _LimitError as error:
            excess = str(error)
        except StoreError:
            raise
        except Exception as error:
            at_fault, message, line = problem(error, name)
            raise StoreError(
                f"template {at_fault}{f', line {line}' if line else ''}: {message[:1000]}",
                cause=f"the project's own template in {self._folder} is not valid",
                hint=f"{manual('reference/templates.md')} lists the names a template may use",
            ) from error
        raise StoreError(
            f"template {name} {excess}",
            cause=f"a document made by templates in {self._folder} has {limits.cpu_s:g} s of processor time,"
            f" {limits.memory_bytes >> 20} MiB of memory and {limits.output_bytes >> 20} MiB of text",
            hint="look for a loop or a very long text in it, or remove it for the built-in template",
        )


class _LimitError(BaseException):
    """A template took more than a limit. No filter of Jinja catches it."""


class _Bounded(ImmutableSandboxedEnvironment):
    """Refuses repetitions and powers with huge results before they are computed."""

    intercepted_binops = frozenset({"*", "**"})

    def call_binop(self, context: jinja2.runtime.Context, operator: str, left: Any, right: Any) -> Any:
        for one, times in ((left, right), (right, left)):
            if isinstance(one, Sized) and isinstance(times, int) and len(one) * times > _MOST_ITEMS:
                raise _LimitError(f"repeats a text or list to more than {_MOST_ITEMS:,} characters or items")
        if isinstance(left, int) and isinstance(right, int):
            bits = left.bit_length() * right if operator == "**" else left.bit_length() + right.bit_length()
            if bits > _MOST_BITS:
                raise _LimitError(f"computes a number of more than {_MOST_BITS:,} bits")
        return super().call_binop(context, operator, left, right)


class _OwnFiles(jinja2.BaseLoader):
    """The project's templates before the built-in ones. No link is followed."""

    def __init__(self, folder: Path, builtin: jinja2.BaseLoader) -> None:
        self._folder, self._builtin = folder, builtin

    def get_source(
        self, environment: jinja2.Environment, template: str
    ) -> tuple[str, str | None, Callable[[], bool] | None]:
        path = self._folder.joinpath(*split_template_path(template))
        if not os.path.lexists(path):
            return self._builtin.get_source(environment, template)
        try:
            if path.suffix != SUFFIX:
                raise StoreError(f"{path.name} is not called *{SUFFIX}")
            return Folder(self._folder).text(path, limit=_FILE_BYTES), str(path), None
        except StoreError as error:
            raise StoreError(
                f"template {template} cannot be used: {error.message}",
                cause=f"templates are regular UTF-8 files called *{SUFFIX} in {self._folder}, of at most 1 MiB; links"
                " are not followed",
                hint="put such a file in its place, or remove it for the built-in template",
            ) from error


def _up_to(most: int, pieces: Iterator[str]) -> Iterator[str]:
    """The pieces. Raises _LimitError when they have more than `most` characters together."""
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > most:
            raise _LimitError(f"makes a text of more than {most >> 20} MiB")
        yield piece


class _Limits:
    """Raises _LimitError inside once so much processor time is used, or MemoryError once so much more memory is held;
    looks at both every 50 ms. Where Python itself hears no timer, as in a comparison of nested lists, a second one ends
    the process; what one operation asks for beyond four times the memory is refused."""

    def __init__(self, cpu_s: float, more_bytes: int) -> None:
        self._cpu_s, self._more_bytes = cpu_s, more_bytes
        self._limit, self._handler = resource.getrlimit(resource.RLIMIT_AS), signal.getsignal(signal.SIGPROF)
        self._began_s, self._held = time.process_time(), _memory()[1]

    def __enter__(self) -> None:
        signal.signal(signal.SIGPROF, self._look)
        # It says on stderr where that was; what the signal does by itself is to end the process.
        faulthandler.register(signal.SIGVTALRM, file=2, all_threads=False, chain=True)
        if mapped := _memory()[0]:
            with contextlib.suppress(OSError, ValueError):  # a stricter limit of the user's
                resource.setrlimit(resource.RLIMIT_AS, (mapped + 4 * self._more_bytes, self._limit[1]))
        signal.setitimer(signal.ITIMER_VIRTUAL, self._cpu_s + _GRACE_S)
        signal.setitimer(signal.ITIMER_PROF, _LOOK_S, _LOOK_S)

    def __exit__(self, *_: object) -> None:
        self._lift()
        faulthandler.unregister(signal.SIGVTALRM)
        signal.signal(signal.SIGPROF, self._handler)

    def _lift(self) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        resource.setrlimit(resource.RLIMIT_AS, self._limit)

    def _look(self, number: int, frame: object) -> None:
        is_late = time.process_time() - self._began_s > self._cpu_s
        if is_late or _memory()[1] - self._held > self._more_bytes:
            self._lift()  # before what it raises comes where it may: nothing stays behind
            raise _LimitError("takes too much processor time") if is_late else MemoryError


def _memory() -> tuple[int, int]:
    """The bytes that this process has mapped, and that it holds; 0 where the system does not say."""
    try:
        mapped, held, *_ = Path("/proc/self/statm").read_text().split()
    except OSError:
        return 0, 0
    return int(mapped) * _PAGE, int(held) * _PAGE
