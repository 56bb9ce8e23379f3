"""A project's own templates: in Jinja's sandbox, from their folder alone, within limits of time, memory and text.

Time and memory are looked at every few lines of Python, so a loop without end is stopped, in whatever thread it runs.
What takes long or much within one line is bounded by its operands: powers, products, and widths. Where the process has
no other thread, which may be the user's own program, the system refuses memory beyond the limit, too.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import re
import resource
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

import jinja2
from jinja2.loaders import split_template_path
from jinja2.sandbox import ImmutableSandboxedEnvironment
from msgspec import Struct

from logbook_agent.model.errors import StoreError
from logbook_agent.store.folder import Folder
from logbook_agent.store.places import builtin_folder
from logbook_agent.text import markdown as md

_SUFFIX = ".j2"
_MOST_BYTES = 2**20
# Time and memory are looked at once in so many lines.
_LINES = 16
# The most bits of a product or power of whole numbers, and the most items of what is repeated, filled or searched.
_MOST_BITS, _MOST_ITEMS = 10_000, 2**20
# A width beyond that, as a format states it; and the filters that fill up to a width, or search a whole text at once.
_WIDE = re.compile(r"[%:][^%{}\sA-Za-z]*\d{7}")
_LONG_FILTERS = ("batch", "center", "format", "indent", "striptags", "urlize", "wordcount", "wordwrap")


class TemplateLimits(Struct, frozen=True, kw_only=True):
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
            end_s = began_s + min(limits.cpu_s, self._left_s)
            with _refusing(limits.memory_bytes), _watched(end_s, limits.memory_bytes):
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
def _watched(end_s: float, memory_bytes: int) -> Iterator[None]:
    """Stop the block once its thread has taken so much processor time, or the process so much more memory."""
    most = _peak_bytes() + memory_bytes
    events = itertools.count(1)

    def watch(frame: FrameType, *_: object) -> Callable[..., Any] | None:
        if frame.f_code.co_filename == __file__:
            return None
        if next(events) % _LINES == 0:  # asking the system takes longer than a line
            if time.thread_time() > end_s:
                raise _OverLimit("takes too much processor time")
            if _peak_bytes() > most:
                raise MemoryError
        return watch

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        yield
    finally:
        sys.settrace(before)


def _peak_bytes() -> int:
    # Linux counts kibibytes, macOS bytes.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


@contextlib.contextmanager
def _refusing(memory_bytes: int) -> Iterator[None]:
    """Have the system refuse the process memory beyond so many bytes more, unless it has other threads."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    with contextlib.suppress(OSError, ValueError):  # not on Linux
        if len(list(Path("/proc/self/task").iterdir())) == 1:
            mapped = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
            resource.setrlimit(resource.RLIMIT_AS, (mapped + memory_bytes, before[1]))
    try:
        yield
    finally:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_AS, before)


class _Bounded(ImmutableSandboxedEnvironment):
    """The sandbox, in which no product, power or width takes long or much."""

    intercepted_binops = frozenset({"*", "**", "%"})

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.filters |= {name: _narrow(self.filters[name]) for name in _LONG_FILTERS}

    def call(self, context: Any, obj: Any, /, *args: Any, **options: Any) -> Any:
        # The sandbox has wrapped `format`.
        if isinstance(text := getattr(getattr(obj, "__wrapped__", obj), "__self__", None), str):
            _check_widths(*args, text=text)
        return super().call(context, obj, *args, **options)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if operator == "%":
            _check_widths(text=left)
        elif isinstance(left, int) and isinstance(right, int):
            one, other = left.bit_length(), right.bit_length()
            if (one * abs(right) if operator == "**" else one + other) > _MOST_BITS:
                raise _OverLimit("takes too much processor time")
        else:
            items, times = (right, left) if isinstance(left, int) else (left, right)
            if isinstance(items, str | list | tuple) and isinstance(times, int) and len(items) * times > _MOST_ITEMS:
                raise MemoryError
        return super().call_binop(context, operator, left, right)


def _check_widths(*widths: object, text: object = "") -> None:
    """Raise MemoryError for a width that no text needs, and for a text that is too long or, as a format, states one."""
    is_wide = any(isinstance(width, int) and width > _MOST_ITEMS for width in widths)
    if is_wide or (isinstance(text, str) and (len(text) > _MOST_ITEMS or _WIDE.search(text))):
        raise MemoryError


def _narrow(long: Callable[..., Any]) -> Callable[..., Any]:
    """A filter for widths and texts that a document may have."""

    @functools.wraps(long)
    def narrow(*args: Any, **options: Any) -> Any:
        # The environment may come before the text.
        texts = [arg for arg in args if isinstance(arg, str)]
        _check_widths(*args, *options.values(), text=texts[0] if texts else "")
        return long(*args, **options)

    return narrow


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
