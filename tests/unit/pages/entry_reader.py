"""Reads an entry's block of the view back: its heading and its labelled bullets. No text of an entry can forge either.

    ### 2026-02-10 10:43 - MOE-I8-001 Title (confidence: exploratory) (decision)

    - Label: text on one line
    - Label:
      text of
      several lines

A bullet at the left margin with a label starts a part. Every other line belongs to the part above it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from logbook_agent.model.entry import NAMED_KINDS
from logbook_agent.text.markdown import LABEL_ESCAPED, clean, one_line

_NAMED = "|".join(NAMED_KINDS)
_HEADING = re.compile(
    r"### (?P<opened>.*?) - (?P<id>[A-Z][A-Z0-9-]*-\d+) ?(?P<title>.*?)"
    rf"(?: \(confidence:(?P<confidence>[^()]*)\))?(?: \((?P<kind>{_NAMED})\))?"
)
# What a heading may end in; a title that ends so has a backslash before the bracket.
_ESCAPED = re.compile(rf"\\(?=\((?:confidence:[^()]*|{_NAMED})\)$)")
_LABEL_END = re.compile(r":(?=[ \t]|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryText:
    """An entry's block; `parts` are the label and text of each bullet."""

    opened: str
    id: str
    title: str
    confidence: str | None
    kind: str | None
    parts: tuple[tuple[str, str], ...]


def parse(text: str) -> EntryText:
    """The entry that a block shows."""
    first, *lines = text.split("\n")
    heading = _HEADING.fullmatch(first)
    assert heading is not None, first
    starts = [(at, *bullet) for at, line in enumerate(lines) if (bullet := _bullet(line)) is not None]
    assert not any(line.strip() for line in lines[: starts[0][0] if starts else None])
    ends = [*(at for at, _, _ in starts[1:]), len(lines)]
    parts = tuple(_part(label, rest, lines[at + 1 : end]) for (at, label, rest), end in zip(starts, ends, strict=False))
    confidence = heading["confidence"]
    return EntryText(
        opened=heading["opened"],
        id=heading["id"],
        title=one_line(_ESCAPED.sub("", heading["title"])),
        confidence=None if confidence is None else confidence.strip(),
        kind=heading["kind"],
        parts=parts,
    )


def _bullet(line: str) -> tuple[str, str] | None:
    """Label and rest of `- Label: rest`; the inverse of what `markdown.bullet` escapes."""
    label = ""
    at = 2
    for end in _LABEL_END.finditer(line, 2) if line.startswith("- ") else ():
        piece = line[at : end.start()]
        escapes = len(piece) - len(piece.rstrip("\\"))
        label += piece[: len(piece) - escapes] + "\\" * (escapes // 2)
        at = end.end()
        if escapes % 2:
            label += ":"
            continue
        is_escaped = label[:1] == "\\" and label[1:2] != "" and label[1] in LABEL_ESCAPED
        return one_line(label[1:] if is_escaped else label), line[at:].lstrip(" \t")
    return None


def _part(label: str, rest: str, below: list[str]) -> tuple[str, str]:
    return label, clean("\n".join([*([rest] if rest else []), *(line.removeprefix("  ") for line in below)]))
