"""Which findings of comparisons the rows of a table belong to, so that whoever picks two of them is shown their
verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from logbook_agent.findings.cases import Case
from logbook_agent.findings.comparison.answer import Answer, Finding
from logbook_agent.findings.comparison.words import asked, label, sentence
from logbook_agent.model.values import canonical


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A finding in a sentence, of the comparison in `entry` that asks `asked`; its pairs are in `entries`."""

    entry: str
    entries: tuple[str, ...]
    asked: str
    outcome: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RowPart:
    """What a row is in a comparison: the place of its answer, its side, as it is called there, and the places of the
    findings of its case. Two rows of one answer have the verdicts that both name, if their sides differ."""

    answer: int
    side: str
    verdicts: tuple[int, ...]


def verdicts(answers: Sequence[Answer]) -> list[Verdict]:
    """The findings of all answers, in their order."""
    return [
        Verdict(
            entry=answer.entry,
            entries=answer.entries,
            asked=asked(answer),
            outcome=finding.outcome.value,
            text=sentence(answer, finding),
        )
        for answer in answers
        for finding in answer.findings
    ]


def row_parts(answers: Sequence[Answer], rows: Sequence[Sequence[Case]]) -> list[RowPart | None]:
    """The part of each row, whose cases are runs of one side; None where no comparison drew their order. The places
    of findings are those of `verdicts`."""
    first: list[int] = []
    places: dict[str, list[int]] = {}
    total = 0
    for place, answer in enumerate(answers):
        first.append(total)
        total += len(answer.findings)
        for entry in answer.entries:
            places.setdefault(entry, []).append(place)
    found: list[RowPart | None] = []
    for row in rows:
        own = [case for case in row if case.part is not None and case.entry in places]
        among = places[own[0].entry] if own else []
        if len(among) > 1:
            # The entry made pairs under several conditions, and each of them has an answer of its own.
            among = [place for place in among if _has_pair_of(answers[place], own[0])]
        if not among or own[0].part is None:
            found.append(None)
            continue
        place, side = among[-1], own[0].part.side
        answer = answers[place]
        told = [n for n, f in enumerate(answer.findings, first[place]) if _is_of(f, own[0], side, answer.question.base)]
        found.append(RowPart(answer=place, side=label(answer, side), verdicts=tuple(told)))
    return found


def _has_pair_of(answer: Answer, case: Case) -> bool:
    """Whether the run of a row belongs to a pair of this answer."""
    return any(began <= case.started <= ended for began, ended in answer.times)


def _is_of(finding: Finding, case: Case, side: str, base: str) -> bool:
    """Whether a finding is about a row: of its case, and of its side or, for a row of the base, of any side."""
    same = all(canonical(case.row.config.get(name)) == canonical(value) for name, value in finding.case.items())
    return same and side in (finding.side, base)
