"""The managed block in the body of an issue: all that stands between one begin and one end marker is ours, and
nothing else is."""

from __future__ import annotations

import re
from dataclasses import dataclass

from logbook_agent.issue.marking import marker_line, read_marker
from logbook_agent.model.errors import MarkersDamaged

BEGIN = "begin"
# GitHub's limit for bodies and comments; it counts characters, and bytes are never fewer.
LIMIT_BYTES = 65_536
_END = "<!-- logbook:end 1 book={} -->"


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueBlock:
    """The block of a body: where it lies (offsets, markers included), its text, and whether that is as written."""

    start: int
    end: int
    text: str
    intact: bool


def wrapped(book: str, text: str) -> str:
    """A block with its markers."""
    return f"{marker_line(BEGIN, book, {}, text)}\n{text}\n{_END.format(book)}"


def find(body: str, book: str) -> IssueBlock | None:
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
    block = find(body, book)
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
