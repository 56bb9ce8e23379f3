"""Python code of this process in place of a command: what it prints, how it ended, and how its run is recorded."""

from __future__ import annotations

import builtins
import io
import sys
import traceback
from collections.abc import Callable
from typing import Any, TextIO

from logbook_agent.model.worker_report import Exit
from logbook_agent.running.launch.process import Inside, JobOutcome, Stream
from logbook_agent.running.prepare import Command
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.markdown import fence

Put = Callable[[Stream, str], None]


class Recorded(io.TextIOBase):
    """A text stream that hands on what is written to it."""

    def __init__(self, stream: Stream, put: Put) -> None:
        self._stream, self._put = stream, put

    def write(self, text: str) -> int:
        self._put(self._stream, text)
        return len(text)

    def writable(self) -> bool:
        return True

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return "utf-8"


class Tee(Recorded):
    """One that shows it, too."""

    def __init__(self, shown: TextIO, stream: Stream, put: Put) -> None:
        super().__init__(stream, put)
        # What a block within another one prints belongs to its own run alone.
        self._shown: TextIO = shown._shown if isinstance(shown, Tee) else shown

    def write(self, text: str) -> int:
        self._shown.write(text)
        return super().write(text)

    def flush(self) -> None:
        self._shown.flush()

    def isatty(self) -> bool:
        return self._shown.isatty()

    def fileno(self) -> int:
        return self._shown.fileno()

    @property
    def buffer(self) -> Any:
        """Bytes that are written there are shown, and not recorded."""
        return self._shown.buffer


def here(workspace: Workspace, inside: Inside, label: str | None) -> Command:
    """What is done in this process, recorded under the command line of the process; of a notebook, whose command line
    names files of one session, the interpreter alone."""
    argv = (sys.executable,) if _ipython() is not None else tuple(sys.orig_argv)
    return Command(argv=argv, executable=argv[0], label=label, cwd=workspace.cwd, inside=inside)


def outcome_of(error: BaseException | None, took_s: float, put: Put) -> JobOutcome:
    """How code ended that raised this exception, or none; its traceback goes to `put`."""
    if error is None:
        return JobOutcome(exit=Exit(code=0), duration_s=took_s)
    if isinstance(error, SystemExit):
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
        return JobOutcome(exit=Exit(code=code), duration_s=took_s)
    put("stderr", "".join(traceback.format_exception(error)))
    if isinstance(error, KeyboardInterrupt):
        return JobOutcome(exit=Exit(signal="SIGINT", interrupted=True), duration_s=took_s)
    return JobOutcome(exit=Exit(code=1), duration_s=took_s)


def cell() -> str | None:
    """The cell of a notebook that is being carried out, as Markdown; None outside of a notebook."""
    shell = _ipython()
    cells = shell.user_ns.get("In") if shell is not None else None
    return fence(cells[-1], "python") if cells and cells[-1] else None


def _ipython() -> Any:
    """The shell of IPython that this process is; None where it is none."""
    get = getattr(builtins, "get_ipython", None)
    return get() if get is not None else None
