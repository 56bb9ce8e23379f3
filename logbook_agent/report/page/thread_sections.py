"""The sections of a page about the whole thread, by name, in the order of the page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from markupsafe import Markup

from logbook_agent import __version__
from logbook_agent.findings.best import SHOWN as SHOWN_BEST
from logbook_agent.findings.best import bests, choices
from logbook_agent.findings.cases import cases, without_mended
from logbook_agent.findings.comparison import words
from logbook_agent.findings.comparison.answer import Answer, Finding
from logbook_agent.findings.comparison.synopsis import cases_of, is_same, outcome
from logbook_agent.findings.opening import SHOWN_FAILED
from logbook_agent.findings.tables.build import tabulate
from logbook_agent.findings.tables.spec import Table, TableSpec
from logbook_agent.model.header import Header
from logbook_agent.pages.blocks import baseline_text, header_values
from logbook_agent.report.figures.catalogue import of_thread
from logbook_agent.report.figures.figure import FigureKind
from logbook_agent.report.figures.over_cases import against
from logbook_agent.report.page.charts import chart_values, pictures
from logbook_agent.report.page.document import PageSection, section
from logbook_agent.report.page.intervals import Interval, axis_svg, row_svg, scale_of
from logbook_agent.report.page.sections import PageContext
from logbook_agent.text.as_html import number_columns
from logbook_agent.text.markdown import escape
from logbook_agent.text.phrases import assignments, minute, stamp

_SHOWN_CARDS, _SHOWN_FINDINGS, _SHOWN_INTERVALS = 12, 12, 40


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
        "forest": _drawn(rows, _SHOWN_INTERVALS) if len(found) > 1 else None,
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
    is_told = answer.is_discarded or f.lacks is None or f.lacks.what == "gate" or f.is_practical
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


# A page of a thousand entries stays small.
_SHOWN_ROWS = 2000
_ENTRY = "entry"


def sections(page: PageContext, damaged: Sequence[str]) -> Iterator[PageSection]:
    """The sections of the thread. `damaged` says what could not be read."""
    findings, header = page.findings, page.findings.header
    told = header_values(header)
    opening = findings.opening
    values: dict[str, dict[str, Any]] = {
        "summary": {
            "opening": opening,
            "header": header,
            "damaged": damaged,
            "scope": _scope(header),
            "links": told["links"],
            "shown_failed": SHOWN_FAILED,
        },
        "running": {"charts": ()},
        "comparisons": comparison_values(page),
        "criteria": {"criteria": header.stop_criteria},
        "best": {"best": choices(bests(findings.thread, findings.answers))[:SHOWN_BEST]},
        # All comparisons stand above, as rows of the page.
        "plots": {
            "charts": page.curves.of_thread(),
            "figures": pictures(f for f in of_thread(findings) if f.kind is not FigureKind.FOREST),
        },
        "open": {"thread": findings.thread},
        "timeline": {"summaries": findings.summaries},
        "results": _results(page),
    }
    return (section(name, name, page=page, **own) for name, own in values.items())


def running_section(charts: Sequence[dict[str, Any]]) -> PageSection:
    """The curves of runs that go on; empty on a page that is not live."""
    return section("running", "running", charts=[chart_values(f"running-{n}", data) for n, data in enumerate(charts)])


def foot(header: Header, now: datetime) -> str:
    """The last line of a page."""
    made = f"{minute(stamp(now), header.zone)} ({header.zone})"
    return f"Generated {made} from the records of {header.topic} by logbook-agent {__version__}."


def _scope(header: Header) -> dict[str, list[str]]:
    """Metrics, constraints, baseline and matrix of the thread: labels with texts in Markdown."""
    told = header_values(header)
    moves = [f"{m['at']}: {m['reason']}; before: {escape(m['before'])}" for m in told["baseline_moves"]]
    return {
        "Metrics": [*told["metrics"], *told["secondary_metrics"]],
        "Gates": list(map(escape, told["gates"])),
        "Constraints": list(header.constraints),
        "Baseline": [escape(baseline_text(header.baseline, header.metrics))] if header.baseline is not None else [],
        "Baseline moved": moves,
        "Matrix": [" ".join(filter(None, (f"`{a.axis}`:", ", ".join(a.values), a.text))) for a in header.matrix],
    }


def _results(page: PageContext) -> dict[str, Any]:
    """The rows of all entries that count, in one table."""
    findings = page.findings
    table = tabulate(cases(*map(without_mended, findings.counting)), TableSpec(), declared=findings.header.metrics)
    order = _columns(table)
    numeric = number_columns(n for n, (at, _) in enumerate(order, 1) if table.columns[at].numeric)
    return {"table": table, "order": order, "numeric": Markup(numeric), "rows": table.rows[:_SHOWN_ROWS]}  # noqa: S704 - numbers


def _columns(table: Table) -> list[tuple[int, str]]:
    """The places of the columns as a reader wants them, each with its role: what a row is called, then metrics, then
    the other axes."""
    axes: Sequence[int] = range(table.axes)
    first = next((at for at in axes if table.columns[at].name == _ENTRY), axes[0] if axes else None)
    return [
        *([(first, "lead")] if first is not None else []),
        *((at, "metric") for at in range(table.axes, len(table.columns))),
        *((at, "axis") for at in axes if at != first),
    ]
