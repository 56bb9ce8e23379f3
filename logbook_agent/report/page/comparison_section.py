"""The values of the section about comparisons: a row for each in a forest plot, and a card for each."""

from __future__ import annotations

from collections.abc import Sequence

from logbook_agent.findings.comparison import words
from logbook_agent.findings.comparison.answer import Answer, Finding
from logbook_agent.findings.comparison.synopsis import cases_of, is_same, outcome
from logbook_agent.findings.opening import Synopsis
from logbook_agent.report.figures.over_cases import against
from logbook_agent.report.page.entry_section import Around
from logbook_agent.report.page.intervals import Interval, axis_svg, row_svg, scale_of
from logbook_agent.text.markdown import one_line
from logbook_agent.text.shell_words import assignments

SHOWN_CARDS, _SHOWN_FINDINGS, _SHOWN_ROWS = 12, 12, 40


def comparison_values(around: Around) -> dict[str, object]:
    """A card for each comparison that has findings, the settled ones first, of these the latest; and where there are
    several sides, cases or comparisons a row for each."""
    findings = around.findings
    found = [a for a in reversed(findings.answers) if a.findings]
    found.sort(key=lambda a: not any(f.is_found for f in a.findings))
    commands = {one.entry: one for one in findings.opening.answers}
    titles = {s["id"]: s["title"] for s in findings.summaries}
    return {
        "forest": _forest(found),
        "cards": [_card(a, titles[a.entry], commands.get(a.entry)) for a in found[:SHOWN_CARDS]],
        "more_cards": max(0, len(found) - SHOWN_CARDS),
    }


def _forest(found: Sequence[Answer]) -> dict[str, object] | None:
    """A row for each side and case of every comparison, by its first metric; None for a single one, which has a
    card."""
    first = [(answer, case[0]) for answer in found for case in cases_of(answer)]
    if len(found) < 2:
        return None
    shown = first[:_SHOWN_ROWS]
    drawn = [_interval(answer, f) for answer, f in shown]
    scale = scale_of(drawn)
    rows = [
        _row(f) | {"entry": a.entry, "name": f"{against(a, f)}: {f.metric}", "bar": row_svg(one, scale)}
        for (a, f), one in zip(shown, drawn, strict=True)
    ]
    return {"rows": rows, "axis": axis_svg(scale), "more": len(first) - len(shown), "is_bent": scale.bend > 0}


def _card(answer: Answer, title: str, first: Synopsis | None) -> dict[str, object]:
    rows = _rows(answer)[:_SHOWN_FINDINGS]
    shown = [first for first, _ in rows]
    drawn = [_interval(answer, f) for f in shown]
    scale = scale_of(drawn)
    several = len(cases_of(answer)) > 1
    notes = list(dict.fromkeys(text for f in shown for text in (*_unpractical(answer, f), *f.left_out, *f.notes)))
    return {
        "entry": answer.entry,
        "title": one_line(title),
        "outcome": outcome(answer),
        "asked": _asked(answer, several=several),
        "rows": [
            _row(f)
            | {
                "name": names + (" (watched)" if f.is_watched else ""),
                "case": _place(answer, f) if several else "",
                "bar": row_svg(one, scale),
                "needs": f"needs {words.more_pairs(f)}" if f.lacks_pairs and words.is_practical(f) else "",
            }
            for (f, names), one in zip(rows, drawn, strict=True)
        ],
        "notes": "; ".join(notes),
        "axis": axis_svg(scale),
        "more": len(_rows(answer)) - len(shown),
        "command": first.command if first is not None else "",
        "to_add": first.to_add if first is not None else "",
        "about": [*words.about(answer), *words.method(answer)],
    }


def _rows(answer: Answer) -> list[tuple[Finding, str]]:
    """The findings in their order with the names of their metrics: those of one side and case with the same numbers
    share a row."""
    of = {id(f): found for found in cases_of(answer) for f in found}
    first = {id(f): next(one for one in of[id(f)] if one is f or is_same(one, f)) for f in answer.findings}
    names = {id(f): [one.metric for one in of[id(f)] if first[id(one)] is f] for f in answer.findings}
    return [(f, ", ".join(names[id(f)])) for f in answer.findings if first[id(f)] is f]


def _unpractical(answer: Answer, f: Finding) -> list[str]:
    """What an open finding needs where that is no number of pairs, and no gate, of which `words.about` tells."""
    is_told = f.lacks is None or f.lacks.what == "gate" or words.is_practical(f)
    return [] if is_told else [f"needs {words.to_settle(answer, f)}"]


def _asked(answer: Answer, *, several: bool) -> str:
    case = assignments(answer.findings[0].case)
    return words.asked(answer) + (f" at {case}" if case and not several else "")


def _place(answer: Answer, f: Finding) -> str:
    """`int8 topk=4`: what tells a side and case from the others of its comparison."""
    side = words.subject(answer, f.side) if len(answer.question.sides) > 1 else ""
    return " ".join(filter(None, [side, assignments(f.case)]))


def _row(f: Finding) -> dict[str, object]:
    return {
        "outcome": f.outcome.value,
        "change": words.signed(f.change) if f.change is not None else "no number",
        "sure": "; ".join(filter(None, [words.factor(f), words.interval(f)])),
        "pairs": words.pairs(f),
        "needs": "",
    }


def _interval(answer: Answer, f: Finding) -> Interval:
    least = answer.question.minimum_effect
    said = f"{f.metric} {words.signed(f.change)}" if f.change is not None else f"{f.metric}: no number"
    sure = words.interval(f) or "too few pairs for an interval"
    return Interval(
        change=f.change,
        low=f.low,
        high=f.high,
        least=least,
        outcome=f.outcome.value.replace(" ", "-"),
        said=f"{said} ({sure}), minimum effect {words.percent(least)}%",
    )
