"""What a heading says: ID, date, time, zone, confidence and title, in any order."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import tzinfo

from logbook_agent.imports.cells import CLOCK, TIME, stated, without_pictures
from logbook_agent.model.entry import CONFIDENCES, Confidence, Kind

_NUMBERED = "experiment|exp|run|trial|arm|iteration|iter|attempt|ablation|round|probe|sweep|entry|step|test|idea|phase"
_END = r"(?:\s?(?:-|–|—|\.\.+|to|&|\+|/|,|and)\s?(?:[A-Z][A-Z0-9-]*[-_])?#?\d{1,6}[a-z]?)?"
# `MOE-I8-003`, `EXP-12a`, `exp_07`; `Runs 3-5`, `Arm B`; `#12`; `E3`.
_NAME = re.compile(
    rf"(?P<id>\b[A-Za-z][A-Za-z0-9]{{0,15}}(?:[-_][A-Za-z][A-Za-z0-9]{{0,15}}){{0,3}}[-_]\d{{1,6}}[a-z]?{_END})(?![\w%.])"
    rf"|(?P<word>\b(?i:{_NUMBERED})s?(?i:[ _-]?(?:#|no\.? ?)?\d{{1,6}}[a-z]?(?:\.\d+)?{_END}|[ _-]\#?[A-Z]))(?![\w%])"
    rf"|(?P<hash>#\d{{1,6}}{_END})(?!\w)"
    r"|(?P<short>\b(?:[A-Z]{1,3}|v)\d{1,4}[a-z]?)(?=\s*[:.)\]–—-])"
)
_CONFIDENCE = re.compile(rf"(?i)\(?\s*confidence:\s*(?P<word>{'|'.join(CONFIDENCES)})[^()]*\)?")
_KIND = re.compile(r"(?i)\((?P<kind>decision|incident)\)")
# What separates the parts of a heading.
_SEPARATORS = " \t-–—:|·•,;/()[]"
_TITLE = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """The parts of a heading; `title` is what is left of it."""

    title: str
    name: str = ""
    opened: str | None = None
    confidence: Confidence | None = None
    kind: Kind = "experiment"

    @property
    def is_marked(self) -> bool:
        """Whether it has an ID or a date, as the headings of entries have."""
        return bool(self.name or self.opened)

    @property
    def is_day(self) -> bool:
        """Whether it is a date, and nothing else."""
        return self.opened is not None and not self.name and not self.title


def read_heading(text: str, zone: tzinfo) -> Heading:
    """The parts of a heading. An ID stands at its beginning or its end, or in brackets."""
    rest = re.sub(r"^\d+[.)]\s+|\*\*|__(?=\s|$)|(?:^|(?<=\s))__", "", without_pictures(re.sub(r"\s#+\s*$", "", text)))
    opened = None
    if (day := TIME.search(rest)) is not None:
        clock = CLOCK.search(rest, day.end()) or CLOCK.search(rest[: day.start()]) if day["hour"] is None else None
        opened = stated(day, clock, zone)
        for found in sorted(filter(None, (day, clock)), key=lambda m: -m.start()) if opened else ():
            rest = f"{rest[: found.start()]} | {rest[found.end() :]}"
    word = _CONFIDENCE.search(rest)
    rest = _CONFIDENCE.sub(" ", rest)
    kind = _KIND.search(rest)
    rest = _KIND.sub(" ", rest)
    rest, name = _named(_trimmed(rest))
    return Heading(
        title=_trimmed(rest)[:_TITLE],
        name=name,
        opened=opened,
        confidence=next((c for c in CONFIDENCES if word is not None and c == word["word"].lower()), None),
        kind=("decision" if kind["kind"].lower() == "decision" else "incident") if kind is not None else "experiment",
    )


def _trimmed(text: str) -> str:
    """A text without separators at its ends, and without empty brackets; whole brackets at its end stay."""
    text = re.sub(r"[(\[][\s|]*[)\]]", " ", text)
    text = " ".join(re.sub(r"(?:\s*\|\s*)+", " | ", text).split())
    text = text.lstrip(_SEPARATORS.replace("(", "").replace("[", "")).rstrip(
        _SEPARATORS.replace(")", "").replace("]", "")
    )
    return text.replace(" | ", " - ")


def _named(text: str) -> tuple[str, str]:
    """The text without the ID in it, and that."""
    for found in _NAME.finditer(text):
        before, after = text[: found.start()].rstrip(" *"), text[found.end() :].lstrip(" *")
        at_end = not after.strip(_SEPARATORS) and before[-1:] in "-–—:|([#,"
        if not before.strip("[(") or (before[-1:] in "([" and after[:1] in ")]") or at_end:
            return f"{before.rstrip('([')} {after.lstrip(')]')}", found[0].strip()
        break
    return text, ""
