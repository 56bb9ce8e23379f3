"""The index over all logbooks of a root."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from logbook_agent.findings.read import Findings
from logbook_agent.report.html import render_html
from logbook_agent.report.page.document import around
from logbook_agent.report.page.page import ASSETS, PageSection, page_file
from logbook_agent.report.page.thread import counts, foot
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.as_html import as_html, visible
from logbook_agent.text.markdown import one_line

_SHOWN_LINES = 2


def index_document(
    workspace: Workspace,
    found: Sequence[Findings],
    damaged: Sequence[str] = (),
    *,
    scripts: Sequence[str] = (),
    connect: str = "'none'",
    banner: str = "",
) -> str:
    """The index as one HTML file: a card for each logbook, which links `TOPIC.html`. `damaged` says what cannot be
    read; the others are those of `document`."""
    parts = [head(found, damaged).html, *(card(findings).html for findings in found)]
    first, *cards = (Markup(html) for html in parts)  # noqa: S704 - escaped where they are made
    body = render_html(ASSETS, "index.html.j2", {"head": first, "cards": cards})
    last = foot(found[0].header, workspace.now()) if len(found) == 1 else ""
    pieces = around(
        [body], title="Logbooks", scripts=scripts, connect=connect, banner=banner,
        name="Logbooks", nav=(), above=None, foot=last,
    )  # fmt: skip
    return "".join(pieces)


def head(found: Sequence[Findings], damaged: Sequence[str]) -> PageSection:
    """What is said above the cards."""
    total = sum(len(findings.summaries) for findings in found)
    return _part("index-head", "index_head", books=len(found), total=f"{total:,}", warnings=damaged)


def card(findings: Findings) -> PageSection:
    """The card of a logbook: what was asked and found."""
    header, first = findings.header, findings.opening
    return _part(
        f"book-{header.topic}",
        "index_card",
        topic=header.topic,
        address=page_file(header.topic),
        title=one_line(header.title),
        goal=Markup(as_html(header.goal)) if header.goal else None,  # noqa: S704 - escaped there
        lines=[*first.settled, *first.open][:_SHOWN_LINES],
        not_settled=first.not_settled,
        counts=counts(header, findings.summaries, len(findings.unreadable)),
        closed=header.closing is not None,
    )


def _part(id: str, name: str, **values: object) -> PageSection:
    return PageSection(id=id, html=visible(render_html(ASSETS, f"{name}.html.j2", values)))
