"""What a command says: data on stdout (text or JSON with a schema name), messages on stderr; while runs are made, their
live output with a progress line, or a line per run.

All of it passes a redactor: an error may repeat what was typed, an answer what a server or a file said.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, TextIO

from logbook_agent.features import hook_module
from logbook_agent.model.errors import LogbookError
from logbook_agent.text.phrases import CONTROLS, obeyed, visible

if TYPE_CHECKING:
    from logbook_agent.model.record import SeriesProgress
    from logbook_agent.text.redaction.redactor import Redactor

# The most of one part of an error.
_ERROR_CHARS = 1200
# The redactor of the workspace that this command works in, once there is one.
_of_workspace: list[Callable[[], Redactor]] = []


def redact_by(redactor: Callable[[], Redactor]) -> None:
    """Let everything that is said from here on pass this redactor."""
    _of_workspace[:] = [redactor]


def _redactor() -> Redactor:
    """The workspace's redactor; without one, or where its settings cannot be read, what the environment tells."""
    for given in _of_workspace:
        try:
            return given()
        except (LogbookError, OSError):
            break
    from logbook_agent.text.redaction.names import secrets_in
    from logbook_agent.text.redaction.redactor import Redactor

    return Redactor(secrets=secrets_in(os.environ))


def clean(text: str) -> str:
    """The text as it may be shown."""
    return _shown(_redactor().text(text))


def say(text: str) -> None:
    """A message on stderr."""
    _make_room()
    print(clean(text), file=sys.stderr, flush=True)


def emit(
    command: str,
    data: Any,
    text: str,
    *,
    as_json: bool,
    warnings: Sequence[str] = (),
    draw: Callable[[Any], None] | None = None,
) -> None:
    """Print a command's answer. Warnings are part of the JSON, or lines on stderr. On a terminal `draw` draws the facts
    of the text instead, by the functions of the module that it is given."""
    _make_room()
    if as_json:
        print(json_answer(command, data, warnings))
        return
    drawn = hook_module("drawn") if draw is not None and text and is_drawn_on(sys.stdout) else None
    if drawn is not None and draw is not None:
        draw(drawn)
    elif text:
        print(clean(text))
    for warning in warnings:
        say(f"warning: {warning}")


def json_answer(command: str, data: Any, warnings: Sequence[str] = ()) -> str:
    """A command's answer in JSON, as it is printed."""
    return _json({"schema": f"logbook/{command}/1", "data": data, "warnings": list(warnings)})


def emit_line(command: str, data: Any, *, warnings: Sequence[str] = ()) -> None:
    """Print an answer of a command that goes on as one line of JSON, at once."""
    answer = {"schema": f"logbook/{command}/1", "data": data, "warnings": list(warnings)}
    print(_json(answer, indent=None), flush=True)


def _json(answer: dict[str, object], indent: int | None = 1) -> str:
    from logbook_agent.text.redaction.plain import redacted

    text = json.dumps(redacted(answer, _redactor()), ensure_ascii=False, indent=indent).translate(_CONTROLS_IN_JSON)
    return text.replace(_OLD_COMMAND, r"##\u005b") if _is_action() else text


def report_error(error: LogbookError, *, as_json: bool) -> int:
    """Print an error in its three parts; the exit code that goes with it."""
    if as_json:
        print(_json(error_answer(error, _redactor())))
    else:
        say(f"error: {_short(clean(error.message))}")
        if error.cause:
            say(f"  cause: {_short(clean(error.cause))}")
        if error.hint:
            say(f"  next:  {_short(clean(error.hint))}")
    return error.exit_code


def error_answer(error: LogbookError, redactor: Redactor) -> dict[str, object]:
    """An error for machines: its code, which is stable, and its three parts."""
    texts = {"message": error.message, "cause": error.cause, "hint": error.hint}
    body = {"code": error.code, **{name: _short(redactor.text(text)) for name, text in texts.items()}}
    return {"schema": "logbook/error/1", "error": body}


def _short(text: str) -> str:
    """An error may repeat all that was typed. It is shortened here, without its secrets: one that is cut off would no
    longer be known."""
    return text if len(text) <= _ERROR_CHARS else f"{text[: _ERROR_CHARS // 2]} … {text[-_ERROR_CHARS // 2 :]}"


# What a terminal would obey, in JSON, whose own escapes leave only these.
_CONTROLS_IN_JSON = {code: f"\\u{code:04x}" for code in CONTROLS if code > 31}


# A runner of GitHub Actions takes such lines of a step, on stdout or stderr, for commands to itself.
_COMMAND_LINE = re.compile(r"(?m)^([^\S\n]*):(?=:)")
_OLD_COMMAND = "##["


def _is_action() -> bool:
    return os.environ.get("GITHUB_ACTIONS") == "true"


def _shown(text: str) -> str:
    shown = visible(text)
    if _is_action():
        shown = _COMMAND_LINE.sub(r"\1: ", shown).replace(_OLD_COMMAND, "## [")
    return shown


_OBEYED = obeyed()


def write_bytes(pieces: Iterable[bytes]) -> None:
    """Print pieces of output, each at once; on a terminal without what it would obey, colours apart."""
    sys.stdout.flush()
    is_terminal = sys.stdout.isatty()
    for piece in pieces:
        sys.stdout.buffer.write(_OBEYED.sub("\ufffd".encode(), piece) if is_terminal else piece)
        sys.stdout.buffer.flush()


def draws(stream: TextIO | None = None) -> bool:
    """Whether a stream (stdout) is a terminal that shows blocks and lines: what is piped stays plain text."""
    stream = stream or sys.stdout
    encoding = (stream.encoding or "").lower().replace("-", "")
    return stream.isatty() and os.environ.get("TERM") != "dumb" and encoding == "utf8"


def is_drawn_on(stream: TextIO) -> bool:
    """Whether tables and live lines replace plain lines there: with NO_COLOR they do not."""
    return draws(stream) and not os.environ.get("NO_COLOR")


# What erases the live lines of a terminal, while there are some.
_room_makers: list[Callable[[], None]] = []


@contextlib.contextmanager
def making_room(erase: Callable[[], None]) -> Iterator[None]:
    """Call `erase` before anything is printed."""
    _room_makers.append(erase)
    try:
        yield
    finally:
        _room_makers.remove(erase)


def _make_room() -> None:
    for erase in _room_makers:
        erase()


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows as aligned columns, the last one ragged."""
    if not rows:
        return ""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    lines = ("  ".join([*(c.ljust(w) for c, w in zip(row, widths, strict=False)), row[-1]]).rstrip() for row in rows)
    return "\n".join(lines)


class LineDisplay:
    """A line per step of a series on stderr; what its commands print is in their logs."""

    shows_output = False

    def output(self, stream: Literal["stdout", "stderr"], data: bytes) -> None: ...

    def tick(self, last_result: str | None, log_bytes: int) -> None: ...

    def done(self) -> None: ...

    def progress(self, text: str, series: SeriesProgress | None = None) -> None:
        if text:
            say(text)

    def began(self, entry_id: str) -> None: ...


class LiveDisplay(LineDisplay):
    """Copies a run's output to ours. With `all_to_stderr` stdout stays free for JSON."""

    shows_output = True

    def __init__(self, *, all_to_stderr: bool) -> None:
        self._sinks: dict[str, BinaryIO | None] = {
            "stdout": sys.stderr.buffer if all_to_stderr else sys.stdout.buffer,
            "stderr": sys.stderr.buffer,
        }

    def output(self, stream: Literal["stdout", "stderr"], data: bytes) -> None:
        sink = self._sinks[stream]
        if sink is None:
            return
        try:
            sink.write(data)
            sink.flush()
        except BrokenPipeError:
            # Whoever watched (head, less) is gone; the run and its record go on.
            self._sinks[stream] = None
