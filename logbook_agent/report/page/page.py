"""The page of a logbook as sections, each one HTML element with a stable ID.

The sections stand in this order: `summary`, `comparisons`, `running`, `criteria`, `best`, `plots`, `open`, `timeline`,
`results`, then a section for each entry under its ID. They are always there; an empty one is hidden.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from logbook_agent.findings.read import Findings
from logbook_agent.model.errors import StoreError
from logbook_agent.model.record import Record
from logbook_agent.model.summary import Summary
from logbook_agent.pages.blocks import Blocks
from logbook_agent.pages.cited import with_numbers
from logbook_agent.pages.templating.templates import templates_of
from logbook_agent.report.page import thread_sections
from logbook_agent.report.page.curve_charts import CurveCharts, chart_values
from logbook_agent.report.page.entry_section import Around, entry_values
from logbook_agent.report.page.links import NO_LINKS, NoLinks
from logbook_agent.report.page.pictures import drawn
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.as_html import visible

if TYPE_CHECKING:
    from jinja2 import Environment


# Entries with pictures that their runs left, in the page itself.
_ENTRIES_WITH_PICTURES = 20
ASSETS = Path(__file__).parent / "assets"
# The sections of entries by their IDs, each with what it was made of.
Kept = dict[str, tuple[list[object], str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSection:
    """One element of the page, `<section id=...>` or `<article id=...>`: escaped, without scripts."""

    id: str
    html: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The content of a page. `entries`: the IDs of the entries that have a section. `damaged`: for each entry that is
    left out, why it cannot be read."""

    topic: str
    title: str
    sections: tuple[PageSection, ...]
    entries: tuple[str, ...]
    foot: str
    damaged: tuple[str, ...] = ()


# The index over all logbooks; and the page of a logbook whose topic is `index` (a topic has no dot).
INDEX, INDEX_TOPIC_PAGE = "index.html", "index.logbook.html"


def page_file(topic: str) -> str:
    """The name of a logbook's page, which is never that of the index."""
    return INDEX_TOPIC_PAGE if f"{topic}.html" == INDEX else f"{topic}.html"


def page(
    workspace: Workspace,
    findings: Findings,
    links: NoLinks = NO_LINKS,
    *,
    kept: Kept | None = None,
) -> Page:
    """The page of a logbook as its records stand, with `links` to the files of its runs.

    Whoever makes the page again and again passes the same `kept`: what did not change is taken from it. What cannot be
    read is said on the page. Raises StoreError when the header cannot be read, or a template of the project fails.
    """
    header = findings.header
    blocks = Blocks(templates_of(workspace), header)
    ids = frozenset(findings.order)
    # The table of all results needs every record, too: each is read once.
    records = {record.id: record for record in findings.contents.records}
    around = Around(
        findings=findings,
        blocks=blocks,
        ids=ids,
        links=links,
        drawn=frozenset(drawn(findings.order)),
        pictured=frozenset(_pictured(findings.order, records)),
        curves=CurveCharts(findings, [*records.values()]),
    )
    kept = {} if kept is None else kept
    damaged = list(findings.unreadable)
    made: list[PageSection] = []
    for summary in findings.summaries:
        try:
            html = _entry(around, summary, records, kept)
        except StoreError as error:
            damaged.append(error.message)
            continue
        made.append(PageSection(id=summary["id"], html=html))
    for gone in kept.keys() - {section.id for section in made}:
        del kept[gone]
    sections = [_section(name, values) for name, values in thread_sections.values(around, damaged)]
    sections.insert(1, running_section())
    return Page(
        topic=header.topic,
        title=header.title,
        sections=(*sections, *made),
        entries=tuple(section.id for section in made),
        foot=thread_sections.foot(header, workspace.now()),
        damaged=tuple(damaged),
    )


def _pictured(order: Sequence[str], records: Mapping[str, Record]) -> list[str]:
    """The entries whose pictures are in the page: the newest of those whose runs left files."""
    having = (i for i in order if i in records and any(status.run.artifacts for status in records[i].runs))
    return [*having][-_ENTRIES_WITH_PICTURES:]


def _section(name: str, values: dict[str, object]) -> PageSection:
    return PageSection(id=name, html=visible(render_html(ASSETS, f"{name}.html.j2", values)))


def _entry(around: Around, summary: Summary, records: Mapping[str, Record], kept: Kept) -> str:
    """The section of an entry: the one that is kept, where all that it follows from is the same."""
    findings = around.findings
    # One that could not be read with the others says why.
    record = records.get(summary["id"]) or findings.records.record(summary["id"])
    entry = record.entry
    later, compared = findings.later(entry), findings.compared(entry)
    logs = [around.links.log(entry.id, status.run.run) for status in record.runs]
    files = [around.links.file(status.run, one) for status in record.runs for one in status.run.artifacts]
    curves = around.curves.points if entry.id in around.curves.entries else 0
    shown = entry.id in around.drawn, entry.id in around.pictured, curves
    cited = [with_numbers(findings, f.text, plain=True) for f in entry.fields if "[[" in f.text]
    made_of = [
        around.findings.records.header,
        record,
        summary["confidence"],
        later,
        compared,
        logs,
        files,
        shown,
        cited,
    ]
    if (before := kept.get(entry.id)) is not None and before[0] == made_of:
        return before[1]
    html = visible(render_html(ASSETS, "entry.html.j2", entry_values(around, record, summary, later, compared)))
    kept[entry.id] = made_of, html
    return html


def running_section(charts: Sequence[dict[str, Any]] = ()) -> PageSection:
    """The curves of runs that go on; empty on a page that is not live."""
    values = [chart_values(f"running-{place}", data) for place, data in enumerate(charts)]
    return _section("running", {"charts": values})


def body(found: Page) -> list[str]:
    """All sections as they stand in <main>, a line or more each."""
    own = {*found.entries}
    before = [s.html for s in found.sections if s.id not in own]
    entries = [s.html for s in found.sections if s.id in own]
    return [*before, '<div id="entries"><h2 id="entries-title">Entries</h2>', *entries, "</div>"]


def render_html(folder: Path, name: str, values: Mapping[str, object]) -> str:
    """The text of the package's own template `name` in `folder`."""
    return _environment(folder).get_template(name).render(values)


def html_pieces(folder: Path, name: str, values: Mapping[str, object]) -> Iterator[str]:
    """The same, piece by piece."""
    return _environment(folder).get_template(name).generate(values)


@functools.cache
def _environment(folder: Path) -> Environment:
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        auto_reload=False,  # else each of thousands of renderings looks at the file
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: "" if value is None else value,
    )
