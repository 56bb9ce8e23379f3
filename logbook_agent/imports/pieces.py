"""Markdown in pieces: headings, fenced blocks and single lines; and what a heading says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from logbook_agent.imports.cells import split_time, without_pictures
from logbook_agent.imports.tables import Cells
from logbook_agent.model.entry import CONFIDENCES, Confidence

_ATX = re.compile(r"(?P<signs>#{1,6})[ \t]+(?P<text>.*?)[ \t]*")
_FENCE = re.compile(r"[ \t]*(?P<fence>`{3,}|~{3,})[ \t]*(?P<language>[\w+-]*)[^`]*")
_RULE = re.compile(r"(?=.*-)[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
CODE_SPAN = re.compile(r"(?P<ticks>`+)(?P<code>.+?)(?P=ticks)(?!`)")
_NUMBERED = "experiment|exp|run|trial|arm|iteration|iter|attempt|ablation|round|probe|sweep|entry|step|test|idea|phase"
_END = r"(?:\s?(?:-|–|—|\.\.+|to|&|\+|/|,|and)\s?(?:[A-Z][A-Z0-9-]*[-_])?#?\d{1,6}[a-z]?)?"
# `MOE-I8-003`, `EXP-12a`, `exp_07`; `Runs 3-5`, `Arm B`; `#12`, `Finding #12`; `E3`.
_NAME = re.compile(
    rf"(?:\b[A-Za-z][A-Za-z0-9]{{0,15}}(?:[-_][A-Za-z][A-Za-z0-9]{{0,15}}){{0,3}}[-_]\d{{1,6}}[a-z]?{_END})(?![\w%.])"
    rf"|(?:\b(?i:{_NUMBERED})s?(?i:[ _-]?(?:#|no\.? ?)?\d{{1,6}}[a-z]?(?:\.\d+)?{_END}|[ _-]\#?[A-Z]))(?![\w%])"
    rf"|(?:(?:\b[A-Z][a-z]{{2,15}} )?#\d{{1,6}}{_END})(?!\w)"
    r"|(?:\b(?:[A-Z]{1,3}|v)\d{1,4}[a-z]?)(?=\s*[:.)\]–—-])"
)
_CONFIDENCE = re.compile(rf"(?i)\(?\s*confidence:\s*({'|'.join(CONFIDENCES)})[^()]*\)?")
# What separates the parts of a heading.
_OPENING, _CLOSING, _SEPARATORS = "([", ")]", " \t-–—:|·•,;/"
_TITLE = 160


class SourcePiece(Struct, frozen=True, kw_only=True):
    """A line, a heading or a fenced block, that begins on a `line`. `level` and `title` are those of a heading, and
    `language` that of a block (None: it is none)."""

    line: int
    text: str
    level: int = 0
    title: str = ""
    language: str | None = None


class Mark(Struct, frozen=True, kw_only=True):
    """A heading, an item or bold words that may begin an entry: the place of its piece, its level and its `text`; what
    the text says, and the `title` that is left of it."""

    at: int
    level: int
    text: str
    title: str
    name: str = ""
    opened: str | None = None
    confidence: Confidence | None = None


def pieces_of(lines: Sequence[str]) -> Iterator[SourcePiece]:
    """The pieces of a text, which hold all its lines. The front matter is a block."""
    at = 0
    while at < len(lines):
        line, end, level, title, language = lines[at], at + 1, 0, "", None
        if at == 0 and line.strip() == "---" and (close := _line_of(lines[:200], 1, r"(?:---|\.\.\.)\s*")) is not None:
            end, language = close + 1, "front matter"
        elif (fence := _FENCE.fullmatch(line)) is not None:
            own = fence["fence"]
            close = _line_of(lines, end, rf"[ \t]*{own[0]}{{{len(own)},}}[ \t]*")
            end, language = len(lines) if close is None else close + 1, fence["language"].lower()
        elif (atx := _ATX.fullmatch(line)) is not None and atx["text"]:
            level, title = len(atx["signs"]), atx["text"]
        text = "\n".join(lines[at:end])
        yield SourcePiece(line=at + 1, text=text, level=level, title=title, language=language)
        at = end


def _line_of(lines: Sequence[str], start: int, pattern: str) -> int | None:
    """The first line from `start` on that fits."""
    return next((at for at in range(start, len(lines)) if re.fullmatch(pattern, lines[at])), None)


def pipe_tables(pieces: Sequence[SourcePiece]) -> Iterator[tuple[tuple[str, ...], list[Cells]]]:
    """The headings and the rows of the Markdown tables in pieces."""
    at = 0
    while at + 1 < len(pieces):
        head = pieces[at].text if pieces[at].language is None else ""
        rule = pieces[at + 1].text
        is_table = "|" in head and _RULE.fullmatch(rule) and len(_cells(head)) == len(_cells(rule))
        at += 2 if is_table else 1
        rows: list[Cells] = []
        while is_table and at < len(pieces) and "|" in (row := pieces[at]).text and row.language is None:
            rows.append(Cells(first=row.line, last=row.line, cells=_cells(row.text)))
            at += 1
        if is_table:
            yield _cells(head), rows


def _cells(line: str) -> tuple[str, ...]:
    """The cells of a line; a pipe in code or behind a backslash is text."""
    text = CODE_SPAN.sub(lambda m: m[0].replace("|", "\x1f"), line.strip().replace("\\|", "\x1f"))
    text = text.removeprefix("|").removesuffix("|")
    return tuple(cell.strip().replace("\x1f", "|") for cell in text.split("|"))


# -- headings ------------------------------------------------------------------------------------------------


def read_mark(at: int, level: int, text: str) -> Mark:
    """ID, date, time, zone, confidence and title of a heading, in any order."""
    rest = re.sub(r"^\d+[.)]\s+|\*\*|__(?=\s|$)|(?:^|(?<=\s))__|\s#+\s*$", "", without_pictures(text))
    opened, rest = split_time(rest)
    found = _CONFIDENCE.search(rest)
    confidence = next((c for c in CONFIDENCES if found is not None and c == found[1].lower()), None)
    rest, name = _named(_trimmed(_CONFIDENCE.sub(" ", rest)))
    title = _trimmed(rest)[:_TITLE]
    return Mark(at=at, level=level, text=text, title=title, name=name, opened=opened, confidence=confidence)


def _trimmed(text: str) -> str:
    """A text without separators at its ends, and without empty brackets; whole brackets at its end stay."""
    text = re.sub(r"[(\[][\s|]*[)\]]", " ", text)
    text = " ".join(re.sub(r"(?:\s*\|\s*)+", " | ", text).split())
    return text.lstrip(_SEPARATORS + _CLOSING).rstrip(_SEPARATORS + _OPENING).replace(" | ", " - ")


def _named(text: str) -> tuple[str, str]:
    """The text without its ID, and that: it stands at the beginning or the end, or in brackets."""
    if (found := _NAME.search(text)) is None:
        return text, ""
    before, after = text[: found.start()].rstrip(" *"), text[found.end() :].lstrip(" *")
    is_last = not after.strip(_SEPARATORS + _OPENING + _CLOSING) and before[-1:] in (*_SEPARATORS, *_OPENING, "#")
    if before.strip(_OPENING) and not is_last and not (before[-1:] in _OPENING and after[:1] in _CLOSING):
        return text, ""
    return f"{before.rstrip(_OPENING)} {after.lstrip(_CLOSING)}", found[0].strip()
