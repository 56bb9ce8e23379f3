"""What every section of a page is made of, and the section of an entry."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup
from msgspec import Struct

from logbook_agent.features import hook_module
from logbook_agent.findings.comparison.answer import Answer
from logbook_agent.findings.read import Findings
from logbook_agent.model.entry import ARTIFACTS, COMMAND, CONFIG
from logbook_agent.model.record import Record
from logbook_agent.model.summary import Summary
from logbook_agent.pages.blocks import Blocks
from logbook_agent.pages.blocks import Section as Bullet
from logbook_agent.pages.views import with_numbers
from logbook_agent.report.figures.catalogue import of_entry
from logbook_agent.report.figures.figure import FigureKind
from logbook_agent.report.page.charts import OF_AN_ENTRY, CurveCharts, pictures
from logbook_agent.report.page.document import PageSection, section
from logbook_agent.report.page.links import NoLinks
from logbook_agent.text.as_html import as_html, as_inline_html
from logbook_agent.text.markdown import cut_line, one_line

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


# A command or config of so many characters is folded.
_LONG = 220
_LEAD_CHARS = 110
# What a line of Markdown has beside its text: the ends of code, and a backslash before a sign.
_MARKS = re.compile(r"`|\\([^\w\s])")
# The sections of entries by their IDs, each with what it was made of.
Kept = dict[str, tuple[list[object], PageSection]]


def entry_section(page: PageContext, record: Record, summary: Summary, kept: Kept) -> PageSection:
    """The section of an entry: the one that is kept, where all that it follows from is the same."""
    findings, entry = page.findings, record.entry
    later, answer = findings.later(entry.id), findings.answer_of(entry)
    logs = [page.links.log(entry.id, status.run.run) for status in record.runs]
    files = [page.links.file(status.run, one) for status in record.runs for one in status.run.artifacts]
    curves = page.curves.points if entry.id in page.curves.entries else 0
    shown = entry.id in page.drawn, entry.id in page.pictured, curves
    cited = [with_numbers(findings, f.text, plain=True) for f in entry.fields if "[[" in f.text]
    made_of: list[object] = [
        findings.records.header,
        record,
        summary["confidence"],
        later,
        answer,
        logs,
        files,
        shown,
        cited,
    ]
    if entry.id not in kept or kept[entry.id][0] != made_of:
        values = _values(page, record, later, answer)
        made = section(
            entry.id, "entry", page=page, record=record, confidence=summary["confidence"], logs=logs, **values
        )
        kept[entry.id] = made_of, made
    return kept[entry.id][1]


def _values(
    page: PageContext, record: Record, later: Mapping[str, Sequence[str]], answer: Answer | None
) -> dict[str, Any]:
    """The parts of an entry in the order of the view, its files and its plots."""
    bullets = page.blocks.sections(record, later=later, answer=answer)
    artifacts = _artifacts(page, record)
    # The files have a place of their own, with the pictures; what the prose shows stands there alone.
    prose = {f["name"]: f["picture"] for f in artifacts if f["in_prose"] and f["picture"] is not None}
    named = {*prose}
    parts = [_part(page, one, record, prose) for one in bullets if not (artifacts and _is_of_files(one))]
    drawn = [*of_entry(page.findings, record)] if record.id in page.drawn else []
    return {
        "parts": parts,
        "labelled": any(status.run.label for status in record.runs),
        "with_code": any(status.run.code and status.run.code.commit for status in record.runs),
        "artifacts": [{**f, "picture": None} if f["name"] in named - {*prose} else f for f in artifacts],
        "figures": pictures((f for f in drawn if f.kind is not FigureKind.NOISE), OF_AN_ENTRY),
        # A reader of the answer does not need them.
        "folded_figures": pictures((f for f in drawn if f.kind is FigureKind.NOISE), OF_AN_ENTRY),
        "charts": page.curves.of_entry(record),
    }


def _is_of_files(bullet: Bullet) -> bool:
    return bullet.computed and bullet.label.startswith(ARTIFACTS)


def _artifacts(page: PageContext, record: Record) -> list[dict[str, Any]]:
    """The files that the runs of an entry left, as the template takes them."""
    if not any(status.run.artifacts for status in record.runs) or (showing := hook_module("artifacts")) is None:
        return []
    found: list[dict[str, Any]] = showing.shown(
        page.findings.records, record, page.links.file, inline=record.id in page.pictured
    )
    return found


def _part(page: PageContext, bullet: Bullet, record: Record, prose: dict[str, str]) -> dict[str, object]:
    name = bullet.label.partition(" (")[0]
    is_long = len(bullet.text) > _LONG and name in (COMMAND, CONFIG)
    return {
        "label": bullet.label,
        "name": name.lower().replace(" ", "-") if name.isascii() and name.replace(" ", "").isalpha() else None,
        "folded": _folded(name, bullet.text, record) if is_long else None,
        "html": page.html(bullet.text, None if bullet.computed else prose),
    }


def _folded(name: str, text: str, record: Record) -> str:
    """The line shown for a long command or config until it is unfolded."""
    if name == COMMAND:
        words = next((s.run.command[:2] for s in record.runs), ())
        commands = len({(s.run.label, s.run.argv) for s in record.runs})
        said = f"{cut_line(' '.join(words), _LEAD_CHARS)} …" if words else "commands"
        return said + (f" and {commands - 1} more" if commands > 1 else "")
    # As plain text: cut anywhere, its Markdown would not close.
    first = _MARKS.sub(r"\1", text.removeprefix("- ").partition("\n")[0])
    return cut_line(first, _LEAD_CHARS)
