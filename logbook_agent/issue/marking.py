"""Markers: the HTML comments by which our own comments, and our block in the body, are recognised.

A marker is one line, the first of a comment or one around the managed block:

    <!-- logbook:update 2 book=MOE-I8.3f9a2c1d entries=MOE-I8-003.k3x9q,... digest=... text=... check=... -->

`2` is the version: the first had a digest for each entry. `book` names the logbook, `digest` is that of the records of
the entries, `text` that of what follows the marker, and `check` that of the marker itself: one that was edited is none.
Its values hold no `>`, no quotes and no spaces.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct, field

from logbook_agent.model.errors import MarkersDamaged
from logbook_agent.model.header import Header
from logbook_agent.model.record import digest

VERSION = 2
# The kinds of our comments.
UPDATE, SNAPSHOT, FINAL = "update", "snapshot", "final"

_MARKER = re.compile(r"<!-- logbook:([a-z]+) (\d{1,6})((?: [a-z]+=[A-Za-z0-9._:,/+-]*)+) -->")
_VALUE = re.compile(r"[A-Za-z0-9._:,/+-]*")


class Marked(Struct, frozen=True, kw_only=True):
    """A text with its marker, as read. `intact`: the text is as it was written."""

    kind: str
    book: str
    fields: Mapping[str, str] = field(default_factory=dict)
    intact: bool = True


def book_key(header: Header) -> str:
    """The name of a logbook in its markers, from its prefix and the time it was begun: a topic may be renamed."""
    return f"{header.prefix}.{digest(header.prefix, header.opened)[:8]}"


def normalised(text: str) -> str:
    """Text in the form in which it is compared: servers and browsers change line ends and drop blanks at the ends."""
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
    return f"<!-- logbook:{kind} {VERSION}{words} check={_check(kind, VERSION, values)} -->"


def stamped(kind: str, book: str, fields: Mapping[str, str], text: str) -> str:
    """A comment: the marker on a line of its own, then the text."""
    return f"{marker_line(kind, book, fields, text)}\n{text}"


def is_marked(body: str) -> bool:
    """Whether a comment begins with a marker, of whatever logbook."""
    return body.startswith("<!-- logbook:")


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
    if check != _check(kind, int(version), values):
        return None
    intact = values.pop("text", "") == text_digest(text)
    del values["book"]
    return Marked(kind=kind, book=book, fields=values, intact=intact)


def _check(kind: str, version: int, values: Mapping[str, str]) -> str:
    return digest(kind, version, list(values.items()))[:8]


BEGIN = "begin"
# GitHub's limit for bodies and comments; it counts characters, and bytes are never fewer.
LIMIT_BYTES = 65_536
_END = "<!-- logbook:end 1 book={} -->"


class IssueBlock(Struct, frozen=True, kw_only=True):
    """The block of a body: where it lies (offsets, markers included), its text, and whether that is as written."""

    start: int
    end: int
    text: str
    intact: bool


def wrapped(book: str, text: str) -> str:
    """A block with its markers."""
    return f"{marker_line(BEGIN, book, {}, text)}\n{text}\n{_END.format(book)}"


def find_block(body: str, book: str) -> IssueBlock | None:
    """The block of this logbook; None when there is not one marker of it.

    Raises MarkersDamaged when a marker is missing, doubled, or the two stand the wrong way round.
    """
    begins = list(_lines(body, BEGIN, book))
    ends = list(_lines(body, "end", book))
    if not begins and not ends:
        return None
    if len(begins) != 1 or len(ends) != 1:
        raise damaged(f"{len(begins)} begin and {len(ends)} end markers instead of one each")
    if begins[0].start() > ends[0].start():
        raise damaged("its end marker comes before its begin marker")
    text = body[begins[0].end() : ends[0].start()].strip("\r\n")
    marked = read_marker(begins[0][0].rstrip("\r"), book, text)
    return IssueBlock(
        start=begins[0].start(), end=ends[0].end(), text=text, intact=marked is not None and marked.intact
    )


def begins(body: str, book: str) -> bool:
    """Whether a block of this logbook begins in the body, whatever became of the rest of it."""
    return bool(_lines(body, BEGIN, book))


def holds_another(body: str, book: str) -> bool:
    """Whether the block of another logbook begins in the body."""
    return re.search(rf"^<!-- logbook:begin \d+ book=(?!{re.escape(book)}[ \r\n])", body, re.M) is not None


def spliced(body: str, book: str, text: str) -> str:
    """The body with the block replaced, or added below what people wrote. Raises MarkersDamaged."""
    block = find_block(body, book)
    if block is None:
        return f"{body}\n\n{wrapped(book, text)}" if body.strip() else wrapped(book, text)
    return body[: block.start] + wrapped(book, text) + body[block.end :]


def room(body: str, book: str) -> int:
    """The bytes for the text of the block, beside what people wrote and the markers."""
    return LIMIT_BYTES - len(spliced(body, book, "").encode())


def damaged(what: str) -> MarkersDamaged:
    return MarkersDamaged(
        f"the block in the issue's body is damaged: {what}",
        cause="somebody edited or removed the <!-- logbook: --> lines, so its place is not known; nothing was written",
        hint="undo that edit in the issue (its history is under `edited`), or remove what is left of the block and"
        " run: logbook sync --new-block",
    )


def _lines(body: str, kind: str, book: str) -> list[re.Match[str]]:
    return list(re.finditer(rf"^<!-- logbook:{kind} \d+ book={re.escape(book)}(?: [^\n]*)?-->[ \t]*\r?$", body, re.M))
