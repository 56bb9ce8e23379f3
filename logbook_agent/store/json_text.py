"""JSON as plain data, of any text that somebody may have put there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn

from logbook_agent.model.errors import RecordError


def parse_json(text: str, where: str | Path) -> Any:
    """Plain data of JSON text. Raises RecordError with the place and line of the trouble."""
    try:
        return json.loads(text, parse_constant=_not_json)
    except RecursionError:
        # The parser counts its own depth, and stops. Counting brackets before would double the time of large records.
        raise _damaged(where, None, "nested too deep") from None
    except json.JSONDecodeError as error:
        raise _damaged(where, error.lineno, error.msg) from error
    except ValueError as error:  # NaN, or an integer of more digits than Python reads
        raise _damaged(where, None, str(error).partition(";")[0]) from error


def _not_json(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _damaged(where: str | Path, line: int | None, problem: str) -> RecordError:
    at = f", line {line}" if line is not None else ""
    found = RecordError(
        f"{place_of(where)}{at}: {problem}",
        cause="the file was edited or cut off by something other than the tool",
        hint="restore it from git",
    )
    found.line = line
    return found


def place_of(path: str | Path) -> str:
    """The file as a reader finds it: the last folders tell which entry and run it is."""
    if isinstance(path, str):
        return path
    return "/".join(path.parts[-4:] if path.name == "run.json" else path.parts[-2:])
