"""The index over all logbooks of a root."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from logbook_agent.findings.read import Findings
from logbook_agent.pages.templating.html import render_html
from logbook_agent.report.document import around
from logbook_agent.report.page import ASSETS, page_file
from logbook_agent.report.thread import claim_values, counts, foot
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.as_html import as_html, visible
from logbook_agent.text.markdown import one_line

_SHOWN_CLAIMS = 2


def index_document(workspace: Workspace, found: Sequence[Findings], damaged: Sequence[str] = ()) -> str:
    """The index as one HTML file: a card for each logbook, which links `TOPIC.html`. `damaged` says what cannot be
    read."""
    books = [_card(findings) for findings in found]
    total = sum(len(findings.summaries) for findings in found)
    values = {"books": books, "total": f"{total:,}", "warnings": damaged}
    body = visible(render_html(ASSETS, "index.html.j2", values))
    last = foot(found[0].header, workspace.now()) if len(found) == 1 else ""
    return around(body, title="Logbooks", name="Logbooks", nav=(), above=None, foot=last)


def _card(findings: Findings) -> dict[str, Any]:
    header = findings.header
    return {
        "topic": header.topic,
        "address": page_file(header.topic),
        "title": one_line(header.title),
        "goal": Markup(as_html(header.goal)) if header.goal else None,  # noqa: S704 - escaped there
        "claims": [claim_values(claim) for claim in findings.settled[:_SHOWN_CLAIMS]],
        "counts": counts(header, findings.summaries),
        "closed": header.closing is not None,
    }
