"""The values of the template of an entry's section."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from logbook_agent.features import hook_module
from logbook_agent.findings.read import Findings
from logbook_agent.findings.trust import Compared
from logbook_agent.model.entry import ARTIFACTS, COMMAND, CONFIG
from logbook_agent.model.record import Record, RunStatus
from logbook_agent.model.summary import Summary
from logbook_agent.pages.blocks import Blocks
from logbook_agent.pages.cited import with_numbers
from logbook_agent.pages.sections import Section as Bullet
from logbook_agent.report.figures.catalogue import of_entry
from logbook_agent.report.figures.figure import FigureKind
from logbook_agent.report.page.curve_charts import CurveCharts
from logbook_agent.report.page.links import NO_LINKS, NoLinks
from logbook_agent.report.page.pictures import pictures
from logbook_agent.text.as_html import as_html, as_inline_html
from logbook_agent.text.markdown import cut_line, one_line
from logbook_agent.text.phrases import counted
from logbook_agent.text.times import duration, minute

# A command or config of so many characters is folded.
_LONG = 220
_SHOWN_RUNS = 200
_LEAD_CHARS = 110
# What a line of Markdown has beside its text: the ends of code, and a backslash before a sign.
_MARKS = re.compile(r"`|\\([^\w\s])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """The reading of a logbook, and how its texts become HTML, for every section of a page: `ids` are the entries of
    the page, `drawn` those with plots on it, `pictured` those whose runs left pictures that are on it, `curves` the
    charts of its curves."""

    findings: Findings
    blocks: Blocks
    ids: Collection[str]
    curves: CurveCharts
    links: NoLinks = NO_LINKS
    drawn: Collection[str] = ()
    pictured: Collection[str] = ()

    def html(self, text: str | None, pictures: dict[str, str] | None = None) -> Markup:
        """Markdown of a record, as blocks; `pictures` as for `as_html`."""
        return Markup(as_html(with_numbers(self.findings, text or "", plain=True), self.ids, pictures))  # noqa: S704 - escaped there

    def line(self, text: str | None) -> Markup:
        """Markdown of a record, within a line."""
        return Markup(as_inline_html(one_line(with_numbers(self.findings, text or "", plain=True)), self.ids))  # noqa: S704 - escaped there


def entry_values(
    around: Around,
    record: Record,
    summary: Summary,
    later: Mapping[str, Sequence[str]],
    compared: Compared,
) -> dict[str, object]:
    """An entry with its parts in the order of the view, and its runs."""
    entry, zone = record.entry, around.findings.header.zone
    bullets = around.blocks.sections(record, later=later, compared=compared)
    runs = record.runs[:_SHOWN_RUNS]
    artifacts = _artifacts(around, record)
    # What the prose shows stands there alone.
    prose = {f["name"]: f["picture"] for f in artifacts if f["in_prose"] and f["picture"] is not None}
    in_prose = {*prose}
    drawn = list(of_entry(around.findings, record)) if entry.id in around.drawn else []
    parts = [_part(around, one, record, prose) for one in bullets if not (artifacts and _is_of_files(one))]
    return {
        "id": entry.id,
        "title": one_line(entry.title),
        "state": record.state,
        "kind": entry.kind,
        "confidence": summary["confidence"],
        "opened": minute(entry.opened, zone),
        "opened_utc": entry.opened,
        # The files have a place of their own, with the pictures.
        "parts": parts,
        "artifacts": [{**f, "picture": None} if f["name"] in in_prose - {*prose} else f for f in artifacts],
        "runs": [_run(around, status, zone) for status in runs],
        "runs_said": counted(len(record.runs), "run"),
        "more_runs": len(record.runs) - len(runs),
        "figures": pictures(f for f in drawn if f.kind is not FigureKind.NOISE),
        # A reader of the answer does not need them.
        "folded_figures": pictures(f for f in drawn if f.kind is FigureKind.NOISE),
        "charts": around.curves.of_entry(record),
    }


def _is_of_files(bullet: Bullet) -> bool:
    return bullet.computed and bullet.label.startswith(ARTIFACTS)


def _artifacts(around: Around, record: Record) -> list[dict[str, Any]]:
    """The files that the runs of an entry left, as the template takes them."""
    if not any(status.run.artifacts for status in record.runs) or (showing := hook_module("artifacts")) is None:
        return []
    book, inline = around.findings.records, record.id in around.pictured
    found: list[dict[str, Any]] = showing.shown(book, record, around.links.file, inline=inline)
    return found


def _part(around: Around, bullet: Bullet, record: Record, pictures: dict[str, str]) -> dict[str, object]:
    name = bullet.label.partition(" (")[0]
    is_long = len(bullet.text) > _LONG and name in (COMMAND, CONFIG)
    return {
        "label": bullet.label,
        "name": name.lower().replace(" ", "-") if name.isascii() and name.replace(" ", "").isalpha() else None,
        "folded": _folded(name, bullet.text, record) if is_long else None,
        "html": around.html(bullet.text, None if bullet.computed else pictures),
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


def _run(around: Around, status: RunStatus, zone: str) -> dict[str, object]:
    run, output = status.run, status.run.output
    commit = run.code.commit if run.code is not None else None
    return {
        "number": run.run,
        "label": run.label,
        "state": status.text,
        "started": minute(run.started, zone),
        "took": duration(run.duration_s) if run.duration_s is not None else "",
        "code": commit[:9] if commit else "",
        "log": around.links.log(run.entry, run.run),
        "printed": f"{output.lines:,} lines" if output is not None else "",
    }
