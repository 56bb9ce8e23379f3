"""The page of a logbook as sections, each one HTML element with a stable ID.

The sections of the thread come first (`thread_sections.py`), then a section for each entry under its ID. They are
always there; an empty one is hidden.
"""

from __future__ import annotations

from msgspec import Struct

from logbook_agent.findings.read import Findings
from logbook_agent.model.errors import StoreError
from logbook_agent.pages.blocks import Blocks
from logbook_agent.pages.templating.templates import templates_of
from logbook_agent.report.page.context import PageContext
from logbook_agent.report.page.entry_section import Kept, entry_section
from logbook_agent.report.page.links import NO_LINKS, NoLinks
from logbook_agent.report.page.rendering import PageSection
from logbook_agent.report.page.thread_sections import foot, sections
from logbook_agent.store.workspace import Workspace

# The index over all logbooks; and the page of a logbook whose topic is `index` (a topic has no dot).
INDEX, INDEX_TOPIC_PAGE = "index.html", "index.logbook.html"


class Page(Struct, frozen=True, kw_only=True):
    """The content of a page: the sections of the `thread`, and those of its `entries`. `damaged`: for each entry that
    is left out, why it cannot be read."""

    title: str
    thread: tuple[PageSection, ...]
    entries: tuple[PageSection, ...]
    foot: str
    damaged: tuple[str, ...] = ()


def page_file(topic: str) -> str:
    """The name of a logbook's page, which is never that of the index."""
    return INDEX_TOPIC_PAGE if f"{topic}.html" == INDEX else f"{topic}.html"


def page(workspace: Workspace, findings: Findings, links: NoLinks = NO_LINKS, *, kept: Kept | None = None) -> Page:
    """The page of a logbook as its records stand, with `links` to the files of its runs.

    Whoever makes the page again and again passes the same `kept`: what did not change is taken from it. What cannot be
    read is said on the page. Raises StoreError when the header cannot be read, or a template of the project fails.
    """
    header, kept = findings.header, {} if kept is None else kept
    # The table of all results needs every record, too: each is read once.
    records = {record.id: record for record in findings.contents.records}
    context = PageContext.of(findings, Blocks(templates_of(workspace), header), links, [*records.values()])
    damaged, entries = [*findings.unreadable], list[PageSection]()
    for summary in findings.summaries:
        try:
            # One that could not be read with the others says why.
            record = records.get(summary["id"]) or findings.records.record(summary["id"])
            entries.append(entry_section(context, record, summary, kept))
        except StoreError as error:
            damaged.append(error.message)
    for gone in kept.keys() - {one.id for one in entries}:
        del kept[gone]
    return Page(
        title=header.title,
        thread=tuple(sections(context, damaged)),
        entries=tuple(entries),
        foot=foot(header, workspace.now()),
        damaged=tuple(damaged),
    )
