"""Where secrets stand in what was written before: the places and kinds, never the values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from logbook_agent.text.redaction import rules
from logbook_agent.text.redaction.plain import redacted
from logbook_agent.text.redaction.redactor import Redactor

_MARK = re.compile(r"\[redacted:[a-z0-9-]+\]|\$[A-Za-z_]\w*", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a secret stands: a line (from 1) of a text, or a key of a record; `kind` is what it is."""

    kind: str
    line: int | None = None
    key: str | None = None


def in_text(data: bytes, redactor: Redactor) -> list[Place]:
    """The lines of a text that hold a secret, with each kind once a line."""
    found = []
    line, at = 1, 0
    for start in redactor.gate.flagged_lines(data):
        line += data.count(b"\n", at, start)
        at = start
        end = data.find(b"\n", start)
        text = data[start : end if end >= 0 else len(data)].decode("utf-8", "surrogateescape")
        found += [Place(kind=kind, line=line) for kind in dict.fromkeys(_kinds(text, redactor))]
    return found


def _kinds(text: str, redactor: Redactor) -> Iterator[str]:
    if rules.KEY_BEGINS.search(text) is not None:
        yield "private-key"
    shown = redactor.known(text)
    yield from (
        f"${secret.name}" for secret in redactor.secrets if shown.count(secret.shown) > text.count(secret.shown)
    )
    yield from (kind for _, kind in redactor.secrets_in_text(shown))


def in_record(plain: Any, redactor: Redactor) -> list[Place]:
    """The keys of plain data whose values hold a secret: they are known by their neighbours, too."""
    clean = redacted(plain, redactor)
    return [] if clean is plain else list(_differences(plain, clean))


def _differences(before: Any, after: Any, key: str = "") -> Iterator[Place]:
    if isinstance(before, dict) and isinstance(after, dict) and list(before) == list(after):
        for name, value in before.items():
            yield from _differences(value, after[name], f"{key}.{name}" if key else str(name))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for place, value in enumerate(before):
            yield from _differences(value, after[place], f"{key}[{place}]")
    elif before != after:
        # A name may be a secret itself: of a mapping with such a one only the place of the mapping is shown.
        marks = [mark for mark in _MARK.findall(str(after)) if mark not in str(before)]
        yield Place(kind=marks[0].removeprefix("[redacted:").rstrip("]") if marks else "secret", key=key or None)
