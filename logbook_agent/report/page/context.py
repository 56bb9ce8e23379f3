"""What every section of a page is made of."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from markupsafe import Markup
from msgspec import Struct

from logbook_agent.findings.read import Findings
from logbook_agent.model.record import Record
from logbook_agent.pages.blocks import Blocks
from logbook_agent.pages.cited import with_numbers
from logbook_agent.report.page.curve_charts import CurveCharts
from logbook_agent.report.page.links import NoLinks
from logbook_agent.text.as_html import as_html, as_inline_html
from logbook_agent.text.markdown import one_line

# Pages stay small: the newest entries have plots, and those whose runs left files the pictures among them.
_WITH_PLOTS, _WITH_PICTURES = 30, 20


# Entries repeat each other: most have the config and the command of another one.
@functools.lru_cache(maxsize=4096)
def _html(text: str, ids: frozenset[str]) -> Markup:
    return Markup(as_html(text, ids))  # noqa: S704 - escaped there


class PageContext(Struct, frozen=True, kw_only=True):
    """The reading of a logbook, and how its texts become HTML: `ids` are the entries of the page, `drawn` those with
    plots on it, `pictured` those whose runs left pictures that are on it, `curves` the charts of its curves."""

    findings: Findings
    blocks: Blocks
    links: NoLinks
    ids: frozenset[str]
    drawn: frozenset[str]
    pictured: frozenset[str]
    curves: CurveCharts

    @classmethod
    def of(cls, findings: Findings, blocks: Blocks, links: NoLinks, records: Sequence[Record]) -> PageContext:
        """The context of a page with these records."""
        pictured = [r.id for r in records if any(status.run.artifacts for status in r.runs)]
        return cls(
            findings=findings,
            blocks=blocks,
            links=links,
            ids=frozenset(findings.order),
            drawn=frozenset(findings.order[-_WITH_PLOTS:]),
            pictured=frozenset(pictured[-_WITH_PICTURES:]),
            curves=CurveCharts(findings, records),
        )

    @property
    def zone(self) -> str:
        """The time zone of the logbook."""
        return self.findings.header.zone

    def html(self, text: str | None, pictures: dict[str, str] | None = None) -> Markup:
        """Markdown of a record, as blocks; `pictures` as for `as_html`."""
        text = with_numbers(self.findings, text or "", plain=True)
        return Markup(as_html(text, self.ids, pictures)) if pictures else _html(text, self.ids)  # noqa: S704 - escaped there

    def line(self, text: str | None) -> Markup:
        """Markdown of a record, within a line."""
        return Markup(as_inline_html(one_line(with_numbers(self.findings, text or "", plain=True)), self.ids))  # noqa: S704 - escaped there

    def later(self, entry_id: str) -> Sequence[str]:
        """The entries that supersede this one."""
        return self.findings.thread.superseded_by(entry_id)
