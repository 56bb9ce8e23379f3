"""What a command says: data on stdout (text or JSON with a schema name), messages on stderr.

All of it passes a redactor: an error may repeat what was typed, an answer what a server or a file said.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from logbook_agent.model.errors import LogbookError

if TYPE_CHECKING:
    from logbook_agent.text.redaction import Redactor

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
    from logbook_agent.text.redaction import Redactor, secrets_in

    return Redactor(secrets=secrets_in(os.environ))


def clean(text: str) -> str:
    """The text as it may be shown."""
    return _shown(_redactor().text(text))


def say(text: str) -> None:
    """A message on stderr."""
    print(clean(text), file=sys.stderr, flush=True)


def wants_json(words: Sequence[str]) -> bool:
    """Whether --json stands among the options (not behind --, where it belongs to another command)."""
    end = words.index("--") if "--" in words else len(words)
    return "--json" in words[:end]


def emit(command: str, data: Any, text: str, *, as_json: bool, warnings: Sequence[str] = ()) -> None:
    """Print a command's answer. Warnings are part of the JSON, or lines on stderr."""
    if as_json:
        answer = {"schema": f"logbook/{command}/1", "data": data, "warnings": list(warnings)}
        print(_json(answer))
        return
    if text:
        print(clean(text))
    for warning in warnings:
        say(f"warning: {warning}")


def _json(answer: dict[str, Any]) -> str:
    text = json.dumps(answer, ensure_ascii=False, indent=1)
    redactor = _redactor()
    # One look at the whole is cheap, and most answers hold nothing.
    if not redactor.may_hold_some(text):
        return text
    from logbook_agent.text.redaction.plain import redacted

    return json.dumps(redacted(answer, redactor), ensure_ascii=False, indent=1)


def report_error(error: LogbookError, *, as_json: bool) -> int:
    """Print an error in its three parts; the exit code that goes with it."""
    if as_json:
        texts = {"message": error.message, "cause": error.cause, "hint": error.hint}
        body = {"code": error.code, **{name: _short(_redactor().text(text)) for name, text in texts.items()}}
        print(_json({"schema": "logbook/error/1", "error": body}))
    else:
        say(f"error: {_short(clean(error.message))}")
        if error.cause:
            say(f"  cause: {_short(clean(error.cause))}")
        if error.hint:
            say(f"  next:  {_short(clean(error.hint))}")
    return error.exit_code


def _short(text: str) -> str:
    """An error may repeat all that was typed. It is shortened here, without its secrets: one that is cut off would no
    longer be known."""
    return text if len(text) <= _ERROR_CHARS else f"{text[: _ERROR_CHARS // 2]} … {text[-_ERROR_CHARS // 2 :]}"


# A message may quote a file of somebody else's: what a terminal would obey is shown as text.
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if code not in (9, 10)}


def _shown(text: str) -> str:
    return text.translate(_CONTROLS)


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows as aligned columns, the last one ragged."""
    if not rows:
        return ""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    lines = ("  ".join([*(c.ljust(w) for c, w in zip(row, widths, strict=False)), row[-1]]).rstrip() for row in rows)
    return "\n".join(lines)
