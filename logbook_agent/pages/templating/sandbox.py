"""A project's own templates: in Jinja's sandbox, from their folder alone, within limits of time, memory and text.

A fork of this process compiles and renders a document, and the system holds it to the limits: a loop without end is
stopped when its processor time is used up, also within one operation such as `9**9**9`, and memory beyond the limit is
refused. (Jinja computes constant expressions when it compiles: nothing of a project is compiled outside of a fork.)
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

import jinja2
from jinja2.loaders import split_template_path
from jinja2.sandbox import ImmutableSandboxedEnvironment
from msgspec import Struct

from logbook_agent.model.errors import StoreError
from logbook_agent.pages.templating.environment import SUFFIX, environment, problem
from logbook_agent.store.folder import Folder
from logbook_agent.store.layout import builtin_folder, manual
from logbook_agent.text import markdown as md

_MOST_BYTES = 2**20


class TemplateLimits(Struct, frozen=True, kw_only=True):
    """What one document may take, and in processor time all of one command: `spare_s` and `mean_s` for each."""

    cpu_s: float = 2.0
    wall_s: float = 120.0
    spare_s: float = 10.0
    mean_s: float = 0.05
    memory_bytes: int = 512 * 2**20
    output_bytes: int = 16 * 2**20


class Sandbox:
    """Renders templates of a folder."""

    def __init__(self, folder: Path, limits: TemplateLimits) -> None:
        self._folder, self._limits = folder, limits
        self._left_s = limits.spare_s
        self._made = environment(ImmutableSandboxedEnvironment, _Files(folder))

    def render(self, name: str, values: Mapping[str, object]) -> str:
        """The text of a template. Raises StoreError for a template that is wrong, or takes more than the limits."""
        inlet, outlet = os.pipe()
        # A signal to all, such as that of Ctrl-C, is for this process and not for its fork.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            pid = os.fork()
            if pid == 0:
                self._answer(outlet, name, values)
        finally:
            os.close(outlet)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        # A character takes up to six bytes in JSON.
        most = 6 * self._limits.output_bytes
        try:
            with os.fdopen(inlet, "rb") as pipe:
                data = pipe.read(most + 1)
        finally:
            os.kill(pid, signal.SIGKILL)  # where it has ended, nothing is done
            _, status, used = os.wait4(pid, 0)
        self._left_s += self._limits.mean_s - used.ru_utime - used.ru_stime
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGPROF:
            raise self._error({"name": name, "message": " takes too much processor time", "kind": "limit"})
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM:
            raise self._error({"name": name, "message": f" takes more than {self._limits.wall_s:g} s", "kind": "limit"})
        answer = json.loads(data) if 0 < len(data) <= most else {"name": name, "message": " gives no text"}
        if "text" not in answer:
            raise self._error(answer)
        text: str = answer["text"]
        return text

    def _error(self, answer: Mapping[str, str]) -> StoreError:
        limits, kind = self._limits, answer.get("kind")
        cause, hint = (
            f"the project's own template in {self._folder} is not valid",
            f"{manual('reference/templates.md')} lists the names a template may use",
        )
        if kind == "limit":
            cause = (
                f"a template in {self._folder} has {limits.cpu_s:g} s of processor time,"
                f" {limits.memory_bytes >> 20} MiB of memory and {limits.output_bytes >> 20} MiB of text"
                f" for a document, and {limits.spare_s:g} s for all of a command"
            )
            hint = "look for a loop or a very long text in it, or remove it for the built-in template"
        elif kind == "file":
            cause = f"templates are regular UTF-8 files called *{SUFFIX} in {self._folder}, of at most 1 MiB"
            hint = "put such a file in its place, or remove it for the built-in template"
        return StoreError(f"template {answer['name']}{answer['message']}", cause=cause, hint=hint)

    # -- in the fork -----------------------------------------------------------------------------

    def _answer(self, outlet: int, name: str, values: Mapping[str, object]) -> NoReturn:
        try:
            self._restrict()
            answer = self._answer_of(name, values)
            with os.fdopen(outlet, "wb") as pipe:
                pipe.write(json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace"))
        finally:
            os._exit(0)

    def _restrict(self) -> None:
        for number in (signal.SIGPROF, signal.SIGALRM):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGPROF, signal.SIGALRM])
        # A fork of a process with threads may wait for a lock that none of its own holds: that takes no processor time.
        signal.setitimer(signal.ITIMER_REAL, self._limits.wall_s)
        signal.setitimer(signal.ITIMER_PROF, max(min(self._limits.cpu_s, self._left_s), 0.001))
        # macOS refuses no memory: there the processor time bounds it.
        with contextlib.suppress(OSError, ValueError):
            mapped = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
            hard = resource.getrlimit(resource.RLIMIT_AS)[1]
            resource.setrlimit(resource.RLIMIT_AS, (mapped + self._limits.memory_bytes, hard))

    def _answer_of(self, name: str, values: Mapping[str, object]) -> dict[str, str]:
        limits = self._limits
        try:
            size, pieces = 0, []
            for piece in self._made.get_template(name).generate(values):
                size += len(piece)
                if size > limits.output_bytes:
                    said = f" makes a text of more than {limits.output_bytes >> 20} MiB"
                    return {"name": name, "message": said, "kind": "limit"}
                pieces.append(piece)
            # What no record can hold would break the file or act on the terminal that it goes to.
            return {"text": md.without_controls("".join(pieces))}
        except MemoryError:
            said = f" takes more than {limits.memory_bytes >> 20} MiB of memory"
            return {"name": name, "message": said, "kind": "limit"}
        except _RefusedFile as error:
            return {"name": error.name, "message": f" {error.message}", "kind": "file"}
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the answer
            at_fault, message, line = problem(error, name)
            return {"name": at_fault, "message": f"{f', line {line}' if line else ''}: {message[:1000]}"}


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
                raise _RefusedFile(template, "is a link that points outside the template folder")
            if real.suffix != SUFFIX:
                raise _RefusedFile(template, f"points to {real.name}, which is not called *{SUFFIX}")
            try:
                return Folder(folder).text(real, limit=_MOST_BYTES), str(real), None
            except StoreError as error:
                raise _RefusedFile(template, error.message.removeprefix(f"{real} ")) from None
        raise jinja2.TemplateNotFound(template, f"there is no template {template}")


class _RefusedFile(jinja2.TemplateError):
    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name
