"""The sections of a page about the whole thread, by name, in the order of the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from markupsafe import Markup

from logbook_agent import __version__
from logbook_agent.findings.best import SHOWN as SHOWN_BEST
from logbook_agent.findings.best import bests, choices
from logbook_agent.findings.cases import cases, without_mended
from logbook_agent.findings.opening import SHOWN_FAILED
from logbook_agent.findings.tables.build import tabulate
from logbook_agent.findings.tables.spec import Table, TableSpec
from logbook_agent.model.header import Header
from logbook_agent.pages.blocks import baseline_text, header_values
from logbook_agent.report.figures.catalogue import of_thread
from logbook_agent.report.figures.figure import FigureKind
from logbook_agent.report.page.comparison_section import comparison_values
from logbook_agent.report.page.context import PageContext
from logbook_agent.report.page.curve_charts import chart_values
from logbook_agent.report.page.pictures import pictures
from logbook_agent.report.page.rendering import PageSection, section
from logbook_agent.text.as_html import number_columns
from logbook_agent.text.markdown import escape
from logbook_agent.text.times import minute, stamp

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
