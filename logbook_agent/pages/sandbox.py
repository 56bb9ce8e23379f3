"""A project's own templates: in Jinja's sandbox, from their folder alone, within limits of time, memory and text.

The time is looked at before each line of Python, so a loop without end is stopped, in whatever thread it runs. What
takes long within one line is bounded by its operands: powers and products. The system refuses memory beyond the limit.
(Jinja computes constant expressions when it compiles: that stands within the limits, too.)
"""

from __future__ import annotations

import contextlib
import os
import resource
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from jinja2.loaders import split_template_path
from jinja2.sandbox import ImmutableSandboxedEnvironment

from logbook_agent.model.errors import StoreError
from logbook_agent.store.folder import Folder
from logbook_agent.store.places import builtin_folder
from logbook_agent.text import markdown as md

_SUFFIX = ".j2"
_MOST_BYTES = 2**20
# The most bits of a product or power of whole numbers.
_MOST_BITS = 10_000
# The limit of memory is one of the whole process.
_one_at_a_time = threading.Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateLimits:
    """What one document may take, and in processor time all of one command: `spare_s` and `mean_s` for each."""

    cpu_s: float = 2.0
    spare_s: float = 10.0
    mean_s: float = 0.05
    memory_bytes: int = 512 * 2**20
    output_bytes: int = 16 * 2**20


class _OverLimit(BaseException):
    """What a template takes too much of. (Nothing that it calls may take it for an error of its own.)"""


class Sandbox:
    """Renders templates of a folder. `make`: an environment of a class and a loader."""

    def __init__(
        self, folder: Path, limits: TemplateLimits, make: Callable[[type[_Bounded], _Files], jinja2.Environment]
    ) -> None:
        self._folder, self._limits = folder, limits
        self._left_s = limits.spare_s
        self._made = make(_Bounded, _Files(folder))

    def render(self, name: str, values: Mapping[str, object]) -> str:
        """The text of a template. Raises StoreError for one that takes more than the limits."""
        limits = self._limits
        began_s = time.thread_time()
        try:
            with _one_at_a_time, _within(limits.memory_bytes), _until(began_s + min(limits.cpu_s, self._left_s)):
                # What no record can hold would break the file or act on the terminal that it goes to.
                return md.without_controls(self._text(name, values))
        except (_OverLimit, MemoryError) as error:
            most = f"more than {limits.memory_bytes >> 20} MiB of memory"
            raise StoreError(
                f"template {name} {error if isinstance(error, _OverLimit) else f'takes {most}'}",
                cause=f"a template in {self._folder} has {limits.cpu_s:g} s of processor time,"
                f" {limits.memory_bytes >> 20} MiB of memory and {limits.output_bytes >> 20} MiB of text"
                f" for a document, and {limits.spare_s:g} s for all of a command",
                hint="look for a loop or a very long text in it, or remove it for the built-in template",
            ) from None
        finally:
            self._left_s += limits.mean_s - (time.thread_time() - began_s)

    def _text(self, name: str, values: Mapping[str, object]) -> str:
        size, pieces = 0, []
        for piece in self._made.get_template(name).generate(values):
            size += len(piece)
            if size > self._limits.output_bytes:
                raise _OverLimit(f"makes a text of more than {self._limits.output_bytes >> 20} MiB")
            pieces.append(piece)
        return "".join(pieces)


@contextlib.contextmanager
def _until(end_s: float) -> Iterator[None]:
    """Stop the block once its thread has taken so much processor time."""

    def watch(*_: object) -> Callable[..., Any]:
        if time.thread_time() > end_s:
            raise _OverLimit("takes too much processor time")
        return watch

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        yield
    finally:
        sys.settrace(before)


@contextlib.contextmanager
def _within(memory_bytes: int) -> Iterator[None]:
    """Refuse the block memory beyond what the process has and so many bytes. (macOS refuses none.)"""
    before = resource.getrlimit(resource.RLIMIT_AS)
    with contextlib.suppress(OSError, ValueError):
        mapped = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (mapped + memory_bytes, before[1]))
    try:
        yield
    finally:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_AS, before)


class _Bounded(ImmutableSandboxedEnvironment):
    """The sandbox, in which no product and no power takes long."""

    intercepted_binops = frozenset({"*", "**"})

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if isinstance(left, int) and isinstance(right, int):
            one, other = left.bit_length(), right.bit_length()
            if (one * abs(right) if operator == "**" else one + other) > _MOST_BITS:
                raise _OverLimit("takes too much processor time")
        return super().call_binop(context, operator, left, right)


class _Files(jinja2.BaseLoader):
    """The project's templates before the built-in ones. Links are followed within the folder."""

    def __init__(self, folder: Path) -> None:
        self._folders = (folder, Path(os.path.realpath(builtin_folder("templates"))))

    def get_source(self, environment: jinja2.Environment, template: str) -> tuple[str, str, None]:
        name = "/".join(split_template_path(template))
        for folder in self._folders:
            if "\0" in name or not os.path.lexists(folder / name):
                continue
            real = Path(os.path.realpath(folder / name))
            if not real.is_relative_to(folder):
                raise self._refused(template, "is a link that points outside the template folder")
            if real.suffix != _SUFFIX:
                raise self._refused(template, f"points to {real.name}, which is not called *{_SUFFIX}")
            try:
                return Folder(folder).text(real, limit=_MOST_BYTES), str(real), None
            except StoreError as error:
                raise self._refused(template, error.message.removeprefix(f"{real} ")) from None
        raise jinja2.TemplateNotFound(template, f"there is no template {template}")

    def _refused(self, name: str, why: str) -> StoreError:
        return StoreError(
            f"template {name} {why}",
            cause=f"templates are regular UTF-8 files called *{_SUFFIX} in {self._folders[0]}, of at most 1 MiB",
            hint="put such a file in its place, or remove it for the built-in template",
        )
