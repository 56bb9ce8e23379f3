"""What the record says of a citation: the number of a case, or the change between two sides. The numbers, the answers
and what makes two sides unlike are those of `findings`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from logbook_agent.agents.citations import BASE, BASELINE, NOT_COMPARABLE, Citation, Cited, parsed
from logbook_agent.findings.case_repeats import repeats
from logbook_agent.findings.cases import Case, value_of
from logbook_agent.findings.comparison import words
from logbook_agent.findings.comparison.answer import Answer, Finding, Outcome
from logbook_agent.findings.comparisons import designed
from logbook_agent.findings.identity import residue
from logbook_agent.findings.read import Findings
from logbook_agent.findings.references import Contrast, beside_baseline, checked, rows_of
from logbook_agent.findings.tables.frame import frame_of, show, varies
from logbook_agent.model.entry import entry_of
from logbook_agent.model.errors import LogbookError, UsageError
from logbook_agent.model.stats import median
from logbook_agent.model.units import with_unit
from logbook_agent.model.values import canonical
from logbook_agent.text.near import nearest
from logbook_agent.text.phrases import listed

_SHOWN = 4
_FINISHED = "finished"


def saying(findings_of: Callable[[str], Findings]) -> Callable[[str], Cited]:
    """What says what the record has for a citation; each is looked up once. `findings_of` an entry are those of its
    logbook."""
    known: dict[str, Cited] = {}

    def say(text: str) -> Cited:
        if text not in known:
            try:
                citation = parsed(text)
                known[text] = cited(findings_of(entry_of(citation.reference)), citation)
            except LogbookError as error:
                known[text] = Cited(problems=(error.message + (f": {error.cause}" if error.cause else ""),))
        return known[text]

    return say


def cited(findings: Findings, citation: Citation) -> Cited:
    """What the record says of a citation. Raises NotFound, and UsageError for one that does not name one number."""
    names = [citation.reference, *([citation.against] if citation.against not in (None, BASE, BASELINE) else [])]
    entries = [findings.records.resolve(entry_of(name)) for name in names if name is not None]
    why = [f"{i} is {lost}" for i in dict.fromkeys(entries) if (lost := findings.standing(findings.entry(i)).why)]
    if citation.against == BASELINE:
        why += findings.baseline_doubts
    if why:
        return Cited(problems=tuple(why))
    return _number(findings, citation) if citation.against is None else _change(findings, citation)


# -- one number --------------------------------------------------------------------------------------


def _number(findings: Findings, citation: Citation) -> Cited:
    asked = checked(findings.records, Contrast(references=(citation.reference,)), baseline=False)
    [reference] = asked.references
    is_compared = reference == entry_of(reference) and findings.entry(reference).comparison is not None
    answer = findings.comparisons.answer_of(reference) if is_compared else None
    if answer is not None and any(f.metric == citation.metric for f in answer.findings):
        return _side(answer, citation)
    case = _one_case(findings, citation, reference)
    values = [value for one in case if (value := value_of(one.row, citation.metric)) is not None]
    units = (one.row.metrics[citation.metric].unit for one in case if citation.metric in one.row.metrics)
    return Cited(text=_text(median(values), next((u for u in units if u), None), citation.metric))


def _side(answer: Answer, citation: Citation) -> Cited:
    """The median of a side over the pairs that count."""
    found: dict[tuple[tuple[str, str], ...], tuple[float, str | None]] = {}
    for f in (f for f in answer.findings if f.metric == citation.metric):
        for name, side in ((answer.question.base, f.base), (f.side, f.other)):
            said = {answer.question.axis: name, **f.case}
            shown = {answer.question.axis: words.label(answer, name), **f.case}
            if side.median is not None and all(_has(part, said) or _has(part, shown) for part in citation.where):
                found.setdefault(tuple(shown.items()), (side.median, f.unit))
    if len(found) != 1:
        raise _not_one(citation, [" ".join(f"{k}={v}" for k, v in place) for place in found])
    [(value, unit)] = found.values()
    return Cited(text=_text(value, unit, citation.metric))


def _one_case(findings: Findings, citation: Citation, reference: str) -> Sequence[Case]:
    """The finished rows of the one case that a citation names."""
    records = findings.records
    rows = rows_of(Contrast(references=(reference,)), {entry_of(reference): records.record(entry_of(reference))})[0]
    return _of_one_case(rows, citation, reference)


def _of_one_case(rows: Sequence[Case], citation: Citation, reference: str) -> Sequence[Case]:
    good = [c for c in rows if c.state in (_FINISHED, None) and value_of(c.row, citation.metric) is not None]
    if not good:
        names = [*dict.fromkeys(name for c in rows for name in (*c.row.metrics, *c.row.observations))]
        there = listed(names, _SHOWN)
        raise UsageError(
            f"{reference} has no {citation.metric}",
            cause=f"its finished rows have {there or 'no number'}",
            hint=_write(citation, metric=_near(citation.metric, names)) if names else "",
        )
    found = [g.cases for g in repeats(_selected(good, citation.where))]
    if len(found) != 1:
        frame = frame_of([one[0] for one in found] or good)
        names = [name for name in frame.axes() if name not in (citation.metric, "run") and varies(frame.items, name)]
        said = [" ".join(f"{name}={show(item.place.get(name))}" for name in names[:_SHOWN]) for item in frame.items]
        raise _not_one(citation, said if found else [], reference)
    return found[0]


def _selected(rows: Sequence[Case], where: Sequence[str]) -> list[Case]:
    frame = frame_of(rows)
    return [item.case for item in frame.items if all(_has(part, item.place) for part in where)]


def _has(part: str, place: Mapping[str, object]) -> bool:
    """Whether a place has `NAME=VALUE`, or `VALUE` under any name."""
    name, equals, value = part.partition("=")
    values = [place.get(name)] if equals else [*place.values()]
    wanted = value if equals else part
    return any(wanted in (show(v), canonical(v)) for v in values if isinstance(v, str | int | float | bool))


def _not_one(citation: Citation, cases: Sequence[str], reference: str = "") -> UsageError:
    of = f"{reference or citation.reference} {citation.metric}"
    if not cases:
        return UsageError(f"no row of {of} has {', '.join(citation.where)}", cause="no case has this value")
    return UsageError(
        f"{of} has {len(cases)} cases",
        cause=f"name one by @NAME=VALUE: {listed(cases, _SHOWN)}",
        hint=_write(citation, where=cases[0].replace(" ", ",")),
    )


def _near(metric: str, names: Sequence[str]) -> str:
    return nearest(metric, names) or names[0]


def _write(citation: Citation, *, metric: str = "", where: str = "", against: str | None = "") -> str:
    """The citation with a part that the record has."""
    held = citation.against if against == "" else against
    at = where or ",".join(citation.where)
    beside = f" vs {held}" if held else ""
    return f"write [[{citation.reference}{beside} {metric or citation.metric}{f'@{at}' if at else ''}]]"


def _text(value: float, unit: str | None, metric: str) -> str:
    [text], shown = with_unit([value], unit, metric)
    return text + (f" {shown}" if shown else "")


# -- a change ----------------------------------------------------------------------------------------


def _change(findings: Findings, citation: Citation) -> Cited:
    """The change of the reference from what it is held against."""
    if citation.against == BASE:
        entry = findings.records.resolve(citation.reference)
        answer = findings.comparisons.answer_of(entry)
        if answer is None:
            raise UsageError(
                f"{citation.reference} has no base",
                cause="no comparison with a pair is stated there",
                hint=_write(citation, against=None),
            )
        return _answered(answer, citation)
    if citation.against == BASELINE:
        asked, sides = beside_baseline(findings.records, Contrast(references=(citation.reference,)))
    else:
        names = (citation.against or "", citation.reference)
        asked = checked(findings.records, Contrast(references=names, metrics=(citation.metric,)), baseline=False)
        answer = designed(findings.answers, findings.records, asked)
        if answer is not None and _are_sides(findings, answer, asked):
            return _answered(answer, citation)
        sides = rows_of(asked, {i: findings.records.record(i) for i in asked.entries})
    return _measured(sides, citation)


def _are_sides(findings: Findings, answer: Answer, asked: Contrast) -> bool:
    """Whether the first reference is of runs of the base alone, and the second of runs of one other side."""
    found = []
    for reference in asked.references:
        runs = findings.records.record(entry_of(reference)).runs
        rest = reference[len(entry_of(reference)) :]
        own = [s.run for s in runs if rest in ("", f"/{s.run.run}", f":{s.run.label}") and s.run.part is not None]
        found.append({run.part.side for run in own if run.part is not None})
    return found[0] == {answer.question.base} and len(found[1]) == 1 and found[0] != found[1]


def _answered(answer: Answer, citation: Citation) -> Cited:
    """The change that a comparison found, with its interval."""
    found = [f for f in answer.findings if f.metric == citation.metric]
    if not found:
        names = [*dict.fromkeys(f.metric for f in answer.findings)]
        raise UsageError(
            f"{citation.reference} compares no {citation.metric}",
            cause=f"it compares {listed(names, _SHOWN)}",
            hint=_write(citation, metric=_near(citation.metric, names)) if names else "",
        )
    mine = [f for f in found if all(_has(part, _place(answer, f)) for part in citation.where)]
    if len(mine) != 1:
        raise _not_one(citation, [" ".join(f"{k}={v}" for k, v in _place(answer, f).items()) for f in mine])
    if mine[0].change is None:
        return Cited(text=NOT_COMPARABLE, problems=(f"no pair of {citation.reference} has a ratio",))
    said = words.interval(mine[0])
    is_open = ", open" if mine[0].outcome is Outcome.OPEN else ""
    return Cited(text=f"{words.signed(mine[0].change)} ({said or 'no interval'}{is_open})")


def _place(answer: Answer, finding: Finding) -> dict[str, str]:
    return {answer.question.axis: words.label(answer, finding.side), **finding.case}


def _measured(sides: Sequence[Sequence[Case]], citation: Citation) -> Cited:
    """The change between two cases whose order was not drawn, where they differ in one thing at most."""
    names = (citation.against or "", citation.reference)
    good = [[*_of_one_case(rows, citation, name)] for name, rows in zip(names, sides, strict=True)]
    values = [[v for c in rows if (v := value_of(c.row, citation.metric)) is not None] for rows in good]
    unlike = residue(c for rows in good for c in rows)
    units = {c.row.metrics[citation.metric].unit for rows in good for c in rows if citation.metric in c.row.metrics}
    if len(units) > 1:
        unlike.append("the unit")
    if len(unlike) > 1:
        return Cited(text=NOT_COMPARABLE, problems=(f"the sides differ in {listed(unlike, _SHOWN)}",))
    one, two = (median(v) for v in values)
    if not one > 0 < two:
        return Cited(text=NOT_COMPARABLE, problems=("the numbers have no ratio",))
    return Cited(text=f"{words.signed(two / one - 1)} (order not drawn)")
