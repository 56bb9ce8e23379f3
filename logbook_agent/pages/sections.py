"""The sections of an entry: prose in its own order, computed ones in their places between it."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from logbook_agent.findings import facts
from logbook_agent.findings.comparison import answer_lines, synopsis
from logbook_agent.findings.comparison.answer import Answer
from logbook_agent.findings.computed_texts import ComputedTexts
from logbook_agent.findings.trust import Trust, trust_of
from logbook_agent.model.entry import (
    ARTIFACTS,
    COMMAND,
    COMPARISON,
    CONFIDENCE,
    CONFIG,
    HYPOTHESIS,
    INTERPRETATION,
    NEXT_ACTION,
    PLOTS,
    RESULT,
    SETTABLE_STATES,
    Entry,
)
from logbook_agent.model.record import Record
from logbook_agent.text.markdown import clean, escape, items, one_line

# The form of an entry; a field with another label stays behind the one it was written after.
_RANK = {
    label.casefold(): rank
    for rank, label in enumerate(
        (
            *(HYPOTHESIS, COMMAND, CONFIG, RESULT, COMPARISON, PLOTS, ARTIFACTS, CONFIDENCE),
            *(INTERPRETATION, NEXT_ACTION),
        )
    )
}
# What later entries may say of this one: the key in a template, and the label.
LATER = {"completed_by": "Completed by", "superseded_by": "Superseded by", "decided_by": "Decided by"}
NO_LATER: Mapping[str, Sequence[str]] = {}
_SUFFIX = re.compile(r"\s*\([^)]*\)\s*$")


class Section(Struct, frozen=True, kw_only=True):
    """One bullet of an entry. `computed` sections come from the runs and are never edited."""

    label: str
    text: str
    computed: bool = False


def sections(
    record: Record,
    said: ComputedTexts | None,
    *,
    later: Mapping[str, Sequence[str]] = NO_LATER,
    answer: Answer | None = None,
    plots: Sequence[str] = (),
    artifacts: str = "",
) -> tuple[Section, ...]:
    """All sections of an entry in order. A field without text holds a place for a computed section.

    `said` are the computed texts of its runs, `answer` is that to its comparison, `plots` are the pictures that it
    names, and `artifacts` the files that its runs left.
    """
    found = [Section(label=one_line(f.label), text=clean(f.text)) for f in record.entry.fields]
    taken = {s.label.casefold() for s in found if s.text.strip()}
    computed = [
        *_computed(record, said),
        (COMPARISON, "computed", items(answer_lines.entry_lines(answer) if answer is not None else [])),
        (PLOTS, "drawn", "\n\n".join(plots)),
        (ARTIFACTS, "kept", artifacts),
        (CONFIDENCE, "computed", _trust_text(trust_of(record.entry, len(record.runs), answer))),
    ]
    for label, suffix, text in computed:
        if text:
            name = _free(label, suffix, taken)
            found.insert(_place(found, label), Section(label=name, text=clean(text), computed=True))
    return (
        *_relations(record, later, taken, synopsis.outcome(answer) if answer is not None else None),
        *(s for s in found if s.text.strip()),
    )


def _free(label: str, suffix: str, taken: set[str]) -> str:
    """The label of a computed section, which no field has."""
    names = (label, f"{label} ({suffix})", *(f"{label} ({suffix}, {n})" for n in range(2, len(taken) + 3)))
    return next(name for name in names if name.casefold() not in taken)


def _computed(record: Record, said: ComputedTexts | None) -> list[tuple[str, str, str]]:
    is_planned = bool(record.entry.commands) or record.entry.comparison is not None
    planned = (f"{COMMAND} (planned)", "not yet run", facts.planned_section(record) if is_planned else "")
    if said is None:
        return [planned]
    result = "reported" if all(s.run.is_reported for s in record.runs) else "measured"
    return [
        (COMMAND, "executed", said.command),
        planned,
        (CONFIG, "recorded", said.config),
        (RESULT, result, said.result),
    ]


def _trust_text(trust: Trust | None) -> str:
    """The confidence with its reasons; empty if there are none, since the heading has the word."""
    return escape(one_line(trust.text)) if trust is not None and (trust.reasons or trust.stated is not None) else ""


@functools.lru_cache(maxsize=256)
def _rank(label: str) -> int | None:
    return _RANK.get(_SUFFIX.sub("", label).casefold())


def _place(found: list[Section], label: str) -> int:
    """The place of a computed section: behind the field of its kind, else before the first field that the form puts
    after it."""
    wanted = _rank(label)
    assert wanted is not None  # noqa: S101  computed labels are all in the form
    same = [at for at, section in enumerate(found) if _rank(section.label) == wanted]
    if same:
        return same[0] + 1
    for at, section in enumerate(found):
        rank = _rank(section.label)
        if rank is not None and rank > wanted:
            return at
    return len(found)


# The outcomes of a comparison that say nothing for its code.
_DOUBTFUL = ("open", "worse", "mixed")


def _by(later: Mapping[str, Sequence[str]], key: str, outcome: str | None) -> str | None:
    """The later entries that say this of the entry; the one that discards or keeps it says so, and where the answer
    does not speak for what was kept."""
    kept = f"kept, though the answer is {outcome}" if outcome in _DOUBTFUL else "kept"
    verdicts = dict.fromkeys(later.get("kept_by", ()), kept) | dict.fromkeys(later.get("discarded_by", ()), "discarded")
    is_decision = key == "decided_by"
    said = (f"{i} ({verdicts[i]})" if is_decision and i in verdicts else i for i in later.get(key, ()))
    return ", ".join(said) or None


def _decided(entry: Entry) -> str | None:
    """`MOE-003: kept, commit 3f2a9c01d` of a decision on code."""
    if entry.decides is None:
        return None
    verdict = {True: ": kept", False: ": discarded", None: ""}[entry.kept]
    return f"{entry.decides}{verdict}" + (f", commit `{entry.commit}`" if entry.commit else "")


def _relations(
    record: Record, later: Mapping[str, Sequence[str]], taken: set[str], outcome: str | None
) -> list[Section]:
    entry = record.entry
    pairs = [
        ("Continues", entry.continues),
        ("Completes", entry.completes),
        ("Supersedes", entry.supersedes),
        ("Decides", _decided(entry)),
        *((label, _by(later, key, outcome)) for key, label in LATER.items()),
    ]
    if record.state in SETTABLE_STATES:
        pairs.append(("State", record.state))
    return [
        Section(label=_free(label, "recorded", taken), text=clean(text), computed=True) for label, text in pairs if text
    ]
