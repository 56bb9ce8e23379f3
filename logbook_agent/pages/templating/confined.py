"""A project's own templates, rendered in a process that can be stopped: bounded in time, memory and output.

Which trick a template uses does not matter: the system ends its process when the processor time is spent, and
refuses it more memory. One process serves all documents of a command, so it is started once.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from logbook_agent.store.processes import resident_bytes

# Nothing of the environment goes along but what Python itself may need to start.
_KEPT_ENV = ("PYTHONHOME", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH")
_START = (
    "import sys; sys.path += sys.argv[1:]; from logbook_agent.pages.templating.confined_child import serve; serve()"
)
_PACKAGES = ("logbook_agent", "jinja2", "markupsafe")
_READ_BYTES = 2**16
_LOOK_S = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateLimits:
    """What one document may take. `cpu_s`: processor time; `wall_s`: by the clock, where the process only waits.

    All documents together may take `spare_s` of processor time, and `mean_s` for each of them. `address_space`:
    whether the system itself refuses more memory; where it does not, what is resident is watched.
    """

    cpu_s: float = 2.0
    spare_s: float = 10.0
    mean_s: float = 0.02
    wall_s: float = 30.0
    memory_bytes: int = 512 * 2**20
    output_bytes: int = 16 * 2**20
    address_space: bool = sys.platform == "linux"


LIMITS = TemplateLimits()


class NotRendered(Exception):
    """`name`: the template at fault; `line` in it, where that is known."""

    def __init__(self, name: str, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.name = name
        self.message = message
        self.line = line


class FileRefused(NotRendered):
    """The file of a template is not read."""


class ProcessFailed(NotRendered):
    """The process that renders did not start, or ended."""


class OverLimit(NotRendered):
    """A document took more than it may."""


class Confined:
    """Renders templates of a folder, each name until it meets a limit for the first time."""

    def __init__(self, folder: Path, limits: TemplateLimits = LIMITS) -> None:
        self._folder = folder
        self.limits = limits
        # A fork of this process has its own: two that ask one process would get each other's answers.
        self._servers: dict[int, _Server] = {}
        self._stopped: dict[str, OverLimit] = {}

    def render(self, name: str, values: Mapping[str, Any]) -> str:
        """The text of a template. Raises NotRendered."""
        if name in self._stopped:
            raise self._stopped[name]
        pid = os.getpid()
        server = self._servers.get(pid)
        if server is None:
            server = self._servers[pid] = _Server(self._folder, self.limits, name)
        try:
            return server.render(name, values)
        except OverLimit as error:
            self._stopped[name] = error
            raise
        finally:
            if server.ended:
                del self._servers[pid]


class _Server:
    """One process and the pipes to it."""

    def __init__(self, folder: Path, limits: TemplateLimits, name: str) -> None:
        """`name`: the template that it is started for."""
        self._limits = limits
        self._rendered, self._used_s = 0, 0.0
        command = [sys.executable, "-P", "-s", "-S", "-c", _START, *_places()]
        try:
            self._process = subprocess.Popen(
                command,
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={name: os.environ[name] for name in _KEPT_ENV if name in os.environ},
                # Ctrl-C is for the command, which ends this process itself.
                start_new_session=True,
            )
        except OSError as error:
            said = f"is not rendered: {sys.executable or 'Python'} could not be started: {error.strerror}"
            raise ProcessFailed(name, said) from None
        self._end = weakref.finalize(self, _end, self._process, os.getpid())
        setup = {
            "folder": str(folder),
            "memory_bytes": limits.memory_bytes,
            "output_bytes": limits.output_bytes,
            "address_space": limits.address_space,
        }
        self._unsent = _line(setup)

    @property
    def ended(self) -> bool:
        return not self._end.alive

    def render(self, name: str, values: Mapping[str, Any]) -> str:
        together_s = self._limits.spare_s + self._limits.mean_s * self._rendered - self._used_s
        cpu_s = max(min(self._limits.cpu_s, together_s), 0.001)
        request = self._unsent + _line({"name": name, "values": values, "cpu_s": cpu_s})
        self._unsent = b""
        try:
            answer = json.loads(self._exchange(name, request, cpu_s))
        except BaseException:
            self._end()
            raise
        self._rendered, self._used_s = self._rendered + 1, answer["used_s"]
        if "limit" in answer:
            self._end()
            raise self._too_much(name, answer["limit"], answer["line"])
        if "refused" in answer:
            raise FileRefused(answer["name"], answer["refused"])
        if "message" in answer:
            raise NotRendered(answer["name"], answer["message"], answer["line"])
        text: str = answer["text"]
        return text

    def _exchange(self, name: str, request: bytes, cpu_s: float) -> bytes:
        """The line that answers a request."""
        inbox, outbox = self._process.stdin, self._process.stdout
        assert inbox is not None  # noqa: S101 - started with pipes
        assert outbox is not None  # noqa: S101
        deadline = time.monotonic() + self._limits.wall_s
        # A character takes up to six bytes in JSON.
        most = 6 * self._limits.output_bytes + _READ_BYTES
        answer = bytearray()
        os.set_blocking(inbox.fileno(), False)
        with selectors.DefaultSelector() as pipes:
            pipes.register(inbox, selectors.EVENT_WRITE)
            pipes.register(outbox, selectors.EVENT_READ)
            rest = memoryview(request)
            while not answer.endswith(b"\n"):
                ready = pipes.select(_LOOK_S)
                for key, _ in ready:
                    if key.fileobj is outbox:
                        piece = os.read(outbox.fileno(), _READ_BYTES)
                        if not piece:
                            raise self._ended(name, cpu_s)
                        answer += piece
                        if len(answer) > most:
                            raise self._too_much(name, "output")
                    else:
                        # One that ended says so by the other pipe.
                        with contextlib.suppress(BrokenPipeError):
                            rest = rest[os.write(inbox.fileno(), rest) :]
                            if rest:
                                continue
                        pipes.unregister(inbox)
                if not self._limits.address_space and resident_bytes(self._process.pid) > self._limits.memory_bytes:
                    raise self._too_much(name, "memory")
                if time.monotonic() > deadline:
                    raise self._too_much(name, "wall")
        return bytes(answer)

    def _ended(self, name: str, cpu_s: float) -> NotRendered:
        code = self._process.wait()
        if code == -signal.SIGPROF:
            return self._too_much(name, "cpu" if cpu_s == self._limits.cpu_s else "together")
        how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        return ProcessFailed(name, f"is not rendered: the process for it ended {how}")

    def _too_much(self, name: str, what: str, line: int | None = None) -> OverLimit:
        limits = self._limits
        said = {
            "cpu": f"takes more than {limits.cpu_s:g} s of processor time",
            "together": f"the documents of one command take more than {limits.spare_s:g} s of processor time",
            "wall": f"gave no text within {limits.wall_s:g} s",
            "memory": f"takes more than {limits.memory_bytes >> 20} MiB of memory",
            "output": f"makes a text of more than {limits.output_bytes >> 20} MiB",
        }
        return OverLimit(name, said[what], line)


def _places() -> list[str]:
    """The folders that hold the packages which the process imports."""
    found = [find_spec(package) for package in _PACKAGES]
    origins = [spec.origin for spec in found if spec is not None and spec.origin is not None]
    return list(dict.fromkeys(str(Path(os.path.abspath(origin)).parent.parent) for origin in origins))  # noqa: PTH100


def _line(data: Mapping[str, Any]) -> bytes:
    return json.dumps(data).encode() + b"\n"


def _end(process: subprocess.Popen[bytes], owner: int) -> None:
    # A fork has the object, and the process is not its child.
    if os.getpid() != owner:
        return
    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    process.wait()
