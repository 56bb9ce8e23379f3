"""Parses an entry's block of the view: its heading and its labelled bullets.

    ### 2026-02-10 10:43 - MOE-I8-001 Title (confidence: exploratory) (decision)

    - Label: text on one line
    - Label:
      text of
      several lines

A bullet at the left margin with a label starts a part. Every other line belongs to the part above it,
indented or not: so nothing that a person writes between bullets is lost. The tool indents all text, so
no text of its own can start a part: `parse` gives back what was rendered.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from logbook_agent.model.entry import NAMED_KINDS
from logbook_agent.text.markdown import LABEL_ESCAPED, clean, dedent, one_line

_HEADING = re.compile(r"### (?P<opened>.*?) - (?P<id>[A-Z][A-Z0-9-]*-\d+)(?P<rest>(?: .*)?)")
_CONFIDENCE = re.compile(r" \(confidence:(?P<word>[^()]*)\)")
_NAMED = "|".join(NAMED_KINDS)
_KIND = re.compile(rf" \((?P<word>{_NAMED})\)")
# What a heading may end in; a title that ends so gets a backslash before the bracket.
_SUFFIX = re.compile(rf"\((?:confidence:[^()]*|{_NAMED})\)")
_LABEL_END = re.compile(r":(?=[ \t]|$)")
_FENCE = re.compile(r"(?P<ticks>`{3,}|~{3,})")
MAX_LABEL = 100


class Unreadable(ValueError):
    """The text is not the block of an entry; `line` counts from 0."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPart:
    """One bullet: its label and text, its lines as they stand, and the line of the block where it starts (from 0)."""

    label: str
    text: str
    raw: str
    line: int

    @property
    def says(self) -> tuple[str, str]:
        return self.label, self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryText:
    """An entry's block. `head` are its lines above the first bullet."""

    opened: str
    id: str
    title: str
    confidence: str | None
    kind: str | None
    head: str
    line: int
    parts: tuple[TextPart, ...]

    @property
    def heading(self) -> tuple[str, str, str, str | None, str | None]:
        return self.opened, self.id, self.title, self.confidence, self.kind


def parse(text: str, known: Collection[str] = ()) -> EntryText:
    """The entry that a block shows. Raises Unreadable when it does not start with an entry's heading, or has
    text that belongs to no bullet. `known` labels are labels even where no new one may look so."""
    lines = text.split("\n")
    top = next((i for i, line in enumerate(lines) if line.strip()), 0)
    heading = _HEADING.fullmatch(lines[top])
    if heading is None:
        raise Unreadable(top, "this is not the heading of an entry: `### TIME - ID TITLE`")
    starts = _starts(lines, top + 1, known)
    first = starts[0][0] if starts else len(lines)
    stray = next((i for i in range(top + 1, first) if lines[i].strip()), None)
    if stray is not None:
        raise Unreadable(stray, "text above the first bullet belongs to no field; put it under a bullet")
    title, confidence, kind = _title(heading["rest"])
    bounds = [*(at for at, _, _ in starts), len(lines)]
    return EntryText(
        opened=heading["opened"],
        id=heading["id"],
        title=title,
        confidence=confidence,
        kind=kind,
        head="\n".join(lines[:first]),
        line=top,
        parts=tuple(
            _part(label, rest, lines[at:end], at) for (at, label, rest), end in zip(starts, bounds[1:], strict=True)
        ),
    )


def heading_title(title: str) -> str:
    """A title as a heading shows it: what looks like a confidence or a kind at its end is escaped."""
    title = one_line(title)
    at = _suffix_at(title)
    return title if at is None else f"{title[:at]}\\{title[at:]}"


def is_label(label: str) -> bool:
    """Whether a person may have meant these words as the label of a new field."""
    return 0 < len(label) <= MAX_LABEL and label[0] not in LABEL_ESCAPED and ":" not in label


def _title(rest: str) -> tuple[str, str | None, str | None]:
    """Title, confidence and kind, from the heading behind the ID."""
    found: list[str | None] = []
    for pattern in (_KIND, _CONFIDENCE):
        at = rest.rfind(" (")
        match = pattern.fullmatch(rest, at) if at >= 0 else None
        found.append(match["word"].strip() if match else None)
        rest = rest[:at] if match else rest
    title = rest.removeprefix(" ")
    bracket = _suffix_at(title)
    if bracket is not None and title[:bracket].endswith("\\"):
        title = title[: bracket - 1] + title[bracket:]
    return one_line(title), found[1], found[0]


def _suffix_at(title: str) -> int | None:
    at = title.rfind("(")
    return at if at >= 0 and _SUFFIX.fullmatch(title, at) else None


def _starts(lines: list[str], at: int, known: Collection[str]) -> list[tuple[int, str, str]]:
    """Line, label and the rest of the line of every bullet that starts a part."""
    found = []
    while at < len(lines):
        fence = _FENCE.match(lines[at])
        closed = _closing(lines, at, fence["ticks"]) if fence else None
        if closed is not None:
            at = closed  # a fence that a person put at the margin: what it holds is text
        elif lines[at].startswith("- "):
            bullet = _bullet(lines[at], known)
            if bullet is not None:
                found.append((at, *bullet))
        at += 1
    return found


def _closing(lines: list[str], opening: int, ticks: str) -> int | None:
    for at in range(opening + 1, len(lines)):
        line = lines[at].rstrip()
        if line.startswith(ticks) and not line.strip(ticks[0]):
            return at
    return None


def _bullet(line: str, known: Collection[str]) -> tuple[str, str] | None:
    """Label and rest of `- Label: rest`; the inverse of what `text.bullet` escapes."""
    label = ""
    at = 2
    for end in _LABEL_END.finditer(line, 2):
        piece = line[at : end.start()]
        escapes = len(piece) - len(piece.rstrip("\\"))
        label += piece[: len(piece) - escapes] + "\\" * (escapes // 2)
        at = end.end()
        if escapes % 2:
            label += ":"
            continue
        escaped = label[:1] == "\\" and label[1:2] != "" and label[1] in LABEL_ESCAPED
        words = one_line(label[1:] if escaped else label)
        return (words, line[at:].lstrip(" \t")) if words in known or is_label(words) else None
    return None


def _part(label: str, rest: str, lines: list[str], line: int) -> TextPart:
    below = dedent("\n".join(lines[1:])) if len(lines) > 1 else None
    text = "\n".join(t for t in (rest or None, below) if t is not None)
    return TextPart(label=label, text=clean(text), raw="\n".join(lines), line=line)
