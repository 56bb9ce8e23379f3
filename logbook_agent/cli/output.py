"""What a command says: data on stdout (text or JSON with a schema name), messages on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

from logbook_agent.errors import LogbookError


def wants_json(words: Sequence[str]) -> bool:
    """Whether --json stands among the options (not behind --, where it belongs to another command)."""
    end = words.index("--") if "--" in words else len(words)
    return "--json" in words[:end]


def emit(command: str, data: Any, text: str, *, as_json: bool, warnings: Sequence[str] = ()) -> None:
    """Print a command's answer. Warnings are part of the JSON, or lines on stderr."""
    if as_json:
        answer = {"schema": f"logbook/{command}/1", "data": data, "warnings": list(warnings)}
        print(json.dumps(answer, ensure_ascii=False, indent=1))
        return
    if text:
        print(text)
    for warning in warnings:
        print(f"warning: {_shown(warning)}", file=sys.stderr)


def report_error(error: LogbookError, *, as_json: bool) -> int:
    """Print an error in its three parts; the exit code that goes with it."""
    if as_json:
        body = {"code": error.code, "message": error.message, "cause": error.cause, "hint": error.hint}
        print(json.dumps({"schema": "logbook/error/1", "error": body}, ensure_ascii=False, indent=1))
    else:
        print(f"error: {_shown(error.message)}", file=sys.stderr)
        if error.cause:
            print(f"  cause: {_shown(error.cause)}", file=sys.stderr)
        if error.hint:
            print(f"  next:  {_shown(error.hint)}", file=sys.stderr)
    return error.exit_code


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
