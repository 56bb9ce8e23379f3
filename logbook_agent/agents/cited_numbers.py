"""What the record says of a citation: the number of a case, or the change between two sides. The numbers, the answers
and what makes two sides unlike are those of `findings`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import structs

from logbook_agent.agents.citations import BASE, BASELINE, NOT_COMPARABLE, Citation, Cited, NoNumber, parsed
from logbook_agent.findings.case_repeats import Repeats, repeats
from logbook_agent.findings.cases import Case, value_of
from logbook_agent.findings.comparison import words
from logbook_agent.findings.comparison.answer import Answer, Finding, Outcome
from logbook_agent.findings.identity import COMMAND, commands_apart, residue
from logbook_agent.findings.read import Findings, read
from logbook_agent.findings.references import Contrast, beside_baseline, checked, rows_of
from logbook_agent.findings.tables.frame import frame_of, show, varies
from logbook_agent.model.comparison import CODE_AXIS, COMMIT, code_hash, code_name
from logbook_agent.model.entry import entry_of
from logbook_agent.model.errors import LogbookError
from logbook_agent.model.stats import median
from logbook_agent.model.units import with_unit
from logbook_agent.model.values import canonical
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.phrases import listed, nearest

_SHOWN = 4


def findings_in(workspace: Workspace) -> Callable[[str], Findings]:
    """What finds the logbook of an entry, each read once."""
    known: dict[str, Findings] = {}

    def findings_of(entry_id: str) -> Findings:
        book = workspace.book(entry_id)
        if book.topic not in known:
            known[book.topic] = read(workspace, book)
        return known[book.topic]

    return findings_of


def saying(findings_of: Callable[[str], Findings]) -> Callable[[str], Cited]:
    """What says what the record has for a citation; each is looked up once. `findings_of` an entry are those of its
    logbook."""

    @functools.cache
    def say(text: str) -> Cited:
        try:
            citation = parsed(text)
            return _cited(findings_of(entry_of(citation.reference)), citation)
        except LogbookError as error:
            hint = error.hint if isinstance(error, NoNumber) else ""
            return Cited(problems=(": ".join(filter(None, [error.message, error.cause])),), hint=hint)

    return say


def _cited(findings: Findings, citation: Citation) -> Cited:
    """What the record says of a citation, also of what was discarded. Raises NotFound, and NoNumber for one that does
    not name one number."""
    names = [citation.reference, *([citation.against] if citation.against not in (None, BASE, BASELINE) else [])]
    entries = [findings.records.resolve(entry_of(name)) for name in names if name is not None]
    standings = {entry: findings.standing(findings.entry(entry)) for entry in entries}
    discarded = {entry for entry, one in standings.items() if one.withdrawn is None and one.discarded_by is not None}
    why = [f"{entry} is {one.why}" for entry, one in standings.items() if one.why and entry not in discarded]
    why += findings.baseline_doubts if citation.against == BASELINE else []
    if why:
        return Cited(problems=tuple(why))
    found = _found(findings, citation, entries)
    return (
        structs.replace(found, text=f"{found.text}, discarded") if discarded and found.text != NOT_COMPARABLE else found
    )


def _found(findings: Findings, citation: Citation, entries: Sequence[str]) -> Cited:
    if citation.against in (None, BASE):
        is_whole = citation.reference == entry_of(citation.reference)
        answer = findings.comparisons.answer_of(entries[0]) if is_whole else None
        if citation.against == BASE:
            return _answered(answer, citation)
        if answer is not None and any(f.metric == citation.metric for f in answer.findings):
            try:
                return _side(answer, citation)
            except NoNumber:
                if not citation.where:
                    raise
            # By another name that its rows have, such as the commit.
        return _number(_rows(findings, citation), citation)
    try:
        return _change(_rows(findings, citation), citation)
    except NoNumber as error:
        if findings.comparisons.answer_of(entries[0]) is None:
            raise
        hint = _write(citation, reference=entries[0], against=BASE, where="")
        is_of_two = len(entries) > 1 and all(map(findings.comparisons.answer_of, entries))
        cause = "both are comparisons, and no value names one case of each" if is_of_two else error.cause
        raise NoNumber(error.message, cause=cause, hint=hint) from None


def _rows(findings: Findings, citation: Citation) -> list[list[Case]]:
    """The rows of the reference; before them those of what it is compared with. Raises NoNumber for two parts of one
    comparison, whose answer is cited instead."""
    records, reference, against = findings.records, citation.reference, citation.against
    if against == BASELINE:
        return beside_baseline(records, Contrast(references=(reference,)))[1]
    references = (against, reference) if against is not None else (reference,)
    asked = checked(records, Contrast(references=references), baseline=False)
    if against is not None and len(asked.entries) == 1 and records.entry(asked.entries[0]).comparison is not None:
        raise NoNumber(
            f"{against} and {reference} are parts of one comparison",
            cause="its answer says what they differ by",
            hint=_write(citation, reference=asked.entries[0], against=BASE),
        )
    return rows_of(asked, {entry: records.record(entry) for entry in asked.entries})


# -- one number --------------------------------------------------------------------------------------


def _number(sides: Sequence[Sequence[Case]], citation: Citation) -> Cited:
    [rows] = sides
    case = _one_case(rows, citation, citation.reference)
    units = (one.row.metrics[citation.metric].unit for one in case.cases if citation.metric in one.row.metrics)
    return Cited(text=_text(median(case.values(citation.metric)), next((u for u in units if u), None), citation.metric))


def _side(answer: Answer, citation: Citation) -> Cited:
    """The median of a side over the pairs that count."""
    found: dict[tuple[tuple[str, str], ...], str] = {}
    for f in (f for f in answer.findings if f.metric == citation.metric):
        for name, side in ((answer.question.base, f.base), (f.side, f.other)):
            place = {answer.question.axis: words.label(answer, name), **f.case}
            if side.median is not None and _is_side(citation, answer, place, name):
                found.setdefault(tuple(place.items()), _text(side.median, f.unit, f.metric))
    if len(found) != 1:
        raise _not_one(citation, map(dict, found))
    return Cited(text=next(iter(found.values())))


def _one_case(rows: Sequence[Case], citation: Citation, reference: str) -> Repeats:
    """The finished rows of the one case that a citation names."""
    good = [case for case in rows if case.is_good and value_of(case.row, citation.metric) is not None]
    if not good:
        there = [name for c in rows for name in (*c.row.metrics, *c.row.observations)]
        raise _no_metric(citation, f"{reference} has no", "its finished rows have", there)
    items = [item for item in frame_of(good).items if _is_meant(citation, item.place)]
    found = repeats([item.case for item in items])
    if len(found) != 1:
        frame = frame_of([group.cases[0] for group in found] or good)
        names = [n for n in frame.axes() if n not in (citation.metric, "run") and varies(frame.items, n)][:_SHOWN]
        places = [{name: show(item.place.get(name)) for name in names} for item in frame.items]
        raise _not_one(citation, places if found else [], reference)
    return found[0]


def _is_meant(citation: Citation, place: Mapping[str, object]) -> bool:
    """Whether a place has each `NAME=VALUE` of a citation, and each `VALUE` under any name."""

    def has(part: str) -> bool:
        name, equals, value = part.partition("=")
        values, wanted = ([place.get(name)], value) if equals else ([*place.values()], part)
        return any(wanted in (show(v), canonical(v)) for v in values if isinstance(v, str | int | float | bool))

    return all(map(has, citation.where))


def _is_side(citation: Citation, answer: Answer, place: Mapping[str, object], side: str) -> bool:
    """Whether a citation means the place of a side, which is called as readers see it or as the record has it; a code
    by its name or its commit."""
    axis = answer.question.axis
    names = [place[axis], side, *((code_name(side), code_hash(side)) if axis == CODE_AXIS else ())]
    return any(_is_meant(citation, {**place, axis: name}) for name in names)


def _text(value: float, unit: str | None, metric: str) -> str:
    [text], shown = with_unit([value], unit, metric)
    return text + (f" {shown}" if shown else "")


# -- a change ----------------------------------------------------------------------------------------


def _answered(answer: Answer | None, citation: Citation) -> Cited:
    """The change that a comparison found, with its interval."""
    if answer is None:
        raise NoNumber(
            f"{citation.reference} has no base",
            cause="no comparison with a pair is stated there",
            hint=_write(citation, against=None),
        )
    found = [f for f in answer.findings if f.metric == citation.metric]
    if not found:
        there = [f.metric for f in answer.findings]
        raise _no_metric(citation, f"{citation.reference} compares no", "it compares", there)

    def place(f: Finding) -> dict[str, str]:
        return {answer.question.axis: words.label(answer, f.side), **f.case}

    mine = [f for f in found if _is_side(citation, answer, place(f), f.side)]
    if len(mine) != 1:
        raise _not_one(citation, map(place, mine))
    if mine[0].change is None:
        return Cited(text=NOT_COMPARABLE, problems=(f"no pair of {citation.reference} has a ratio",))
    one = mine[0]
    outcome = "open" if one.lacks is not None else str(one.outcome) if one.outcome is Outcome.NO_DIFFERENCE else ""
    said = [words.interval(one) or "no interval", outcome, words.freed(answer, one.side)]
    return Cited(text=f"{words.signed(mine[0].change)} ({', '.join(filter(None, said))})")


def _change(sides: Sequence[Sequence[Case]], citation: Citation) -> Cited:
    """The change between two cases whose order was not drawn, where they differ in one thing at most."""
    names = (citation.against or "", citation.reference)
    good = [_one_case(rows, citation, name) for name, rows in zip(names[1:], sides[1:], strict=True)]
    # A value that no row of the other side has, such as that of an axis, names a case of this one alone.
    is_known = any(_is_meant(citation, item.place) for item in frame_of(sides[0]).items)
    good.insert(0, _one_case(sides[0], citation if is_known else structs.replace(citation, where=()), names[0]))
    both = [case for side in good for case in side.cases]
    unlike = [other for name in residue(both) for other in (commands_apart(both) if name == COMMAND else [name])]
    if "commit" in unlike:  # which is what `code` names
        unlike = [name for name in unlike if name != CODE_AXIS]
    units = {case.row.metrics[citation.metric].unit for case in both if citation.metric in case.row.metrics}
    if len(units) > 1:
        unlike.append("the unit")
    if len(unlike) > 1:
        return Cited(text=NOT_COMPARABLE, problems=(f"the sides differ in {listed(unlike, _SHOWN)}",))
    one, two = (median(side.values(citation.metric)) for side in good)
    if not one > 0 < two:
        return Cited(text=NOT_COMPARABLE, problems=("the numbers have no ratio",))
    return Cited(text=f"{words.signed(two / one - 1)} (order not drawn)")


# -- what to write instead ---------------------------------------------------------------------------


def _not_one(citation: Citation, places: Iterable[Mapping[str, str]], reference: str = "") -> NoNumber:
    """The error for a citation that names no case, or several."""
    of = f"{reference or citation.reference} {citation.metric}"
    # A commit is what `code` names.
    cases = [
        ",".join(f"{n}={value}" for n, value in place.items() if n != COMMIT or CODE_AXIS not in place)
        for place in places
    ]
    if not cases:
        return NoNumber(f"no row of {of} has {', '.join(citation.where)}", cause="no case has this value")
    return NoNumber(
        f"{of} has {len(cases)} cases",
        cause=f"name one: {listed([f'@{case}' for case in cases], _SHOWN)}",
        hint=_write(citation, where=cases[0]),
    )


def _no_metric(citation: Citation, lacks: str, has: str, names: Iterable[str]) -> NoNumber:
    there = [*dict.fromkeys(names)]
    return NoNumber(
        f"{lacks} {citation.metric}",
        cause=f"{has} {listed(there, _SHOWN) or 'no number'}",
        hint=_write(citation, metric=nearest(citation.metric, there) or there[0]) if there else "",
    )


def _write(citation: Citation, **parts: str | None) -> str:
    """The citation with parts that the record has."""
    has = {
        "reference": citation.reference,
        "against": citation.against,
        "metric": citation.metric,
        "where": ",".join(citation.where),
        **parts,
    }
    beside, at = f" vs {has['against']}" if has["against"] else "", f"@{has['where']}" if has["where"] else ""
    return f"write [[{has['reference']}{beside} {has['metric']}{at}]]"
