"""The HTML comments by which our own text is known again.

A marker is one line, the first of a comment or one around the managed block:

    <!-- logbook:update 1 book=MOE-I8.3f9a2c1d entries=MOE-I8-003.1f2e:9f86d081884c7d65:l text=... check=... -->

`1` is the version. `book` names the logbook, `text` is the digest of what follows the marker, `check` that of the
marker itself: a marker that was edited is none. Its values hold no `>`, no quotes and no spaces.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from logbook_agent.model.errors import MarkersDamaged
from logbook_agent.model.header import Header
from logbook_agent.model.record import digest

VERSION = 1
# What a comment of ours can be.
UPDATE, SNAPSHOT, FINAL, LINK = "update", "snapshot", "final", "link"

_MARKER = re.compile(r"<!-- logbook:([a-z]+) (\d{1,6})((?: [a-z]+=[A-Za-z0-9._:,/+-]*)+) -->")
_VALUE = re.compile(r"[A-Za-z0-9._:,/+-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked:
    """A text with its marker, as read. `intact`: the text is as it was written."""

    kind: str
    book: str
    fields: Mapping[str, str] = field(default_factory=dict)
    intact: bool = True


def book_key(header: Header) -> str:
    """What names a logbook in its markers: two with one prefix, begun at other times, differ. A topic may be
    renamed."""
    return f"{header.prefix}.{digest(header.prefix, header.opened)[:8]}"


def normalised(text: str) -> str:
    """Text as it is compared: servers and browsers change line ends and drop blanks at the ends."""
    return "\n".join(line.rstrip() for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")).strip()


def text_digest(text: str) -> str:
    return digest(normalised(text))


def marker_line(kind: str, book: str, fields: Mapping[str, str], text: str) -> str:
    """The marker of a text. Raises ValueError for a value that a marker cannot hold."""
    values = {"book": book, **fields, "text": text_digest(text)}
    for name, value in values.items():
        if _VALUE.fullmatch(value) is None:
            raise ValueError(f"a marker cannot hold {name}={value!r}")
    words = "".join(f" {name}={value}" for name, value in values.items())
    return f"<!-- logbook:{kind} {VERSION}{words} check={_check(kind, values)} -->"


def stamped(kind: str, book: str, fields: Mapping[str, str], text: str) -> str:
    """A comment: the marker on a line of its own, then the text."""
    return f"{marker_line(kind, book, fields, text)}\n{text}"


def read_comment(body: str, book: str) -> Marked | None:
    """The marker of a comment of this logbook; None for everybody else's. Raises MarkersDamaged for one that
    a newer version wrote: who ignored it would post everything twice."""
    first, _, text = body.replace("\r\n", "\n").partition("\n")
    return read_marker(first, book, text)


def read_marker(line: str, book: str, text: str) -> Marked | None:
    """The marker that a line is, with whether `text` is what it was made for."""
    match = _MARKER.fullmatch(line.rstrip())
    if match is None:
        return None
    kind, version, words = match.groups()
    values = dict(word.split("=", 1) for word in words.split())
    if values.get("book") != book:
        return None
    if int(version) > VERSION:
        raise MarkersDamaged(
            f"the issue holds text of a newer logbook-agent (marker version {version}; this one knows {VERSION})",
            cause="somebody syncs this logbook with a newer version",
            hint="pip install --upgrade logbook-agent",
        )
    check = values.pop("check", "")
    if check != _check(kind, values):
        return None
    intact = values.pop("text", "") == text_digest(text)
    del values["book"]
    return Marked(kind=kind, book=book, fields=values, intact=intact)


def _check(kind: str, values: Mapping[str, str]) -> str:
    return digest(kind, VERSION, list(values.items()))[:8]
