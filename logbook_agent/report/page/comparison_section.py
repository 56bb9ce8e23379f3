"""The values of the section about comparisons: a row for each in a forest plot, and a card for each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from logbook_agent.findings.comparison import words
from logbook_agent.findings.comparison.answer import Answer, Finding
from logbook_agent.findings.comparison.synopsis import cases_of, is_same, outcome
from logbook_agent.report.figures.over_cases import against
from logbook_agent.report.page.context import PageContext
from logbook_agent.report.page.intervals import Interval, axis_svg, row_svg, scale_of
from logbook_agent.text.phrases import assignments

_SHOWN_CARDS, _SHOWN_FINDINGS, _SHOWN_ROWS = 12, 12, 40


def comparison_values(page: PageContext) -> dict[str, Any]:
    """A card for each comparison that has findings, the settled ones first, of these the latest; and where there are
    several comparisons a row for each side and case, by its first metric."""
    findings = page.findings
    found = [a for a in reversed(findings.answers) if a.findings]
    found.sort(key=lambda a: not any(f.is_found for f in a.findings))
    rows = [
        (answer, case[0], f"{against(answer, case[0])}: {case[0].metric}")
        for answer in found
        for case in cases_of(answer)
    ]
    synopses = {one.entry: one for one in findings.opening.answers}
    titles = {s["id"]: s["title"] for s in findings.summaries}
    return {
        "forest": _drawn(rows, _SHOWN_ROWS) if len(found) > 1 else None,
        "cards": [
            {"title": titles[a.entry], "synopsis": synopses.get(a.entry), **_card(a)} for a in found[:_SHOWN_CARDS]
        ],
        "more_cards": max(0, len(found) - _SHOWN_CARDS),
    }


def _drawn(rows: Sequence[tuple[Answer, Finding, str]], most: int) -> dict[str, Any]:
    """Findings with their names, each as an interval on one axis."""
    shown = rows[:most]
    drawn = [_interval(answer, f) for answer, f, _ in shown]
    scale = scale_of(drawn)
    return {
        "rows": [(a, f, name, row_svg(one, scale)) for (a, f, name), one in zip(shown, drawn, strict=True)],
        "axis": axis_svg(scale),
        "more": len(rows) - len(shown),
        "is_bent": scale.bend > 0,
    }


def _card(answer: Answer) -> dict[str, Any]:
    """The findings in their order; those of one side and case with the same numbers share a row."""
    groups: list[list[Finding]] = []
    for f in answer.findings:
        same = next((g for g in groups if (g[0].side, g[0].case) == (f.side, f.case) and is_same(g[0], f)), None)
        groups.append([f]) if same is None else same.append(f)
    several = len(cases_of(answer)) > 1
    rows = [(answer, group[0], ", ".join(f.metric for f in group)) for group in groups]
    shown = [f for _, f, _ in rows[:_SHOWN_FINDINGS]]
    case = assignments(answer.findings[0].case)
    return {
        "answer": answer,
        "outcome": outcome(answer),
        "asked": words.asked(answer) + (f" at {case}" if case and not several else ""),
        "place": _place if several else None,
        "notes": dict.fromkeys(text for f in shown for text in (*_unpractical(answer, f), *f.left_out, *f.notes)),
        **_drawn(rows, _SHOWN_FINDINGS),
    }


def _unpractical(answer: Answer, f: Finding) -> Iterable[str]:
    """What an open finding needs where that is no number of pairs, and no gate, of which `answer_lines.about` tells."""
    is_told = f.lacks is None or f.lacks.what == "gate" or f.is_practical
    return () if is_told else (f"needs {words.to_settle(answer, f)}",)


def _place(answer: Answer, f: Finding) -> str:
    """`int8 topk=4`: what tells a side and case from the others of its comparison."""
    side = words.subject(answer, f.side) if len(answer.question.sides) > 1 else ""
    return " ".join(filter(None, [side, assignments(f.case)]))


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
