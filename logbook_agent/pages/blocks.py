"""The blocks of a view as text: header, one for each entry, footer; and the values of their templates."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from msgspec import to_builtins

from logbook_agent.features import hook_module
from logbook_agent.findings.comparison.answer import Answer
from logbook_agent.findings.computed_texts import said_of
from logbook_agent.findings.opening import NO_ANSWERS, SHOWN, SHOWN_FAILED, Failed, Opening
from logbook_agent.findings.synopses import Synopsis
from logbook_agent.findings.tables.spec import Table
from logbook_agent.findings.thread import Thread
from logbook_agent.findings.trust import trust_of
from logbook_agent.model.codec import encode
from logbook_agent.model.entry import NAMED_KINDS
from logbook_agent.model.header import STEP, Baseline, Criterion, Header, Metric
from logbook_agent.model.record import Record
from logbook_agent.model.summary import SaidByEntry
from logbook_agent.model.units import known, with_unit
from logbook_agent.pages.sections import LATER, NO_LATER, Section, sections
from logbook_agent.pages.templates import Templates, templates_of
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.text import markdown as md
from logbook_agent.text.phrases import assignments, minute

# What a heading may end in behind the title; a title that ends so gets a backslash before the bracket.
_SUFFIX = re.compile(rf"\((?=(?:confidence:[^()]*|{'|'.join(NAMED_KINDS)})\)$)")


class Blocks:
    """Renders the blocks of a logbook through its templates."""

    def __init__(self, templates: Templates, header: Header) -> None:
        self._templates = templates
        self._header = header

    @cached_property
    def _values(self) -> dict[str, Any]:
        return header_values(self._header)

    def header(self, plots: Sequence[str] = (), answers: Opening = NO_ANSWERS) -> str:
        """The block of the header. `plots` are the pictures that the header names; `answers` the findings of
        comparisons."""
        shown = opening_values(answers) if answers != NO_ANSWERS else None
        values = {**self._values, "plots": [*plots], "opening": shown}
        return self._templates.render("logbook.md.j2", {"logbook": values})

    def entry(
        self,
        record: Record,
        *,
        later: Mapping[str, Sequence[str]] = NO_LATER,
        answer: Answer | None = None,
        plots: Sequence[str] = (),
    ) -> str:
        """The block of an entry."""
        entry = record.entry
        trust = trust_of(record.entry, len(record.runs), answer)
        found = self.sections(record, later=later, answer=answer, plots=plots)
        values = {
            "id": entry.id,
            "title": _SUFFIX.sub(r"\\(", md.one_line(entry.title)),
            "opened": md.one_line(minute(entry.opened, self._header.zone)),
            "kind": entry.kind,
            "state": record.state,
            "confidence": trust.word if trust is not None else None,
            **{key: list(later.get(key, ())) for key in LATER},
            "sections": [{"label": s.label, "text": s.text, "computed": s.computed} for s in found],
            "section": {s.label: s.text for s in found},
        }
        return self._templates.render("entry.md.j2", {"entry": values, "logbook": self._values})

    def sections(
        self,
        record: Record,
        *,
        later: Mapping[str, Sequence[str]] = NO_LATER,
        answer: Answer | None = None,
        plots: Sequence[str] = (),
    ) -> tuple[Section, ...]:
        """The sections of an entry, before a template lays them out."""
        said = said_of(record, self._header.metrics, self.table) if record.runs else None
        files = artifacts_text(record, lambda path: f"{self._header.topic}/{path}")
        return sections(record, said, later=later, answer=answer, plots=plots, artifacts=files)

    def table(self, table: Table, more_notes: Sequence[str] = ()) -> str:
        """A table as Markdown with its notes; `more_notes` are Markdown already and go into the same list."""
        return table_text(self._templates, table, more_notes)

    def footer(self, thread: Thread) -> str:
        """The block of decisions, negative results and the conclusion. May be empty."""

        def line(summary: SaidByEntry, text: str | None) -> dict[str, object]:
            return {
                "id": summary["id"],
                "opened": md.one_line(minute(summary["opened"], self._header.zone)),
                "title": md.one_line(summary["title"]),
                "text": text,
                "superseded_by": list(thread.superseded_by(summary["id"])),
            }

        closing = self._header.closing
        values = {
            "decisions": [line(s, s["decision"]) for s in thread.decisions],
            "negative_results": [line(s, s["negative"]) for s in thread.negative],
            "closing": {**to_builtins(closing), "at": minute(closing.at, self._header.zone)}
            if closing is not None
            else None,
        }
        return self._templates.render("footer.md.j2", values)


def artifacts_text(record: Record, address: Callable[[str], str | None]) -> str:
    """The files that the runs of an entry left, as Markdown; empty where there are none, or nobody shows them.
    `address` has where each lies, by its path in the folder of the logbook."""
    if not any(status.run.artifacts for status in record.runs) or (showing := hook_module("artifacts")) is None:
        return ""
    text: str = showing.text(record, address)
    return text


def table_text(templates: Templates, table: Table, more_notes: Sequence[str] = ()) -> str:
    """A table as Markdown; below it, in one list, the config that all rows share, its notes, and `more_notes`.

    An empty table is the empty text.
    """
    if not table.columns:
        return ""
    columns = [{"name": c.name, "numeric": c.numeric} for c in table.columns]
    notes = [*(md.escape(n) for n in table.notes), *more_notes]
    if table.constants:
        shared = md.inline_code(assignments(table.constants))
        notes.insert(0, f"same in all rows: {shared}")
    values = {"columns": columns, "rows": table.rows, "notes": notes, "constants": table.constants}
    return templates.render("table.md.j2", {"table": values}).rstrip("\n")


def metric_text(metric: Metric) -> str:
    """A declared metric in words: `tflops` (TF/s, higher is better)."""
    better = {"max": "higher is better", "min": "lower is better", None: ""}[metric.direction]
    about = ", ".join(t for t in (metric.unit or "", better) if t)
    text = md.inline_code(metric.name) + (f" ({about})" if about else "")
    if (metric.reduce, metric.over) != ("last", STEP):
        text += f", of a curve over {md.inline_code(metric.over)} the {metric.reduce} counts"
    return f"{text}: {md.one_line(metric.text)}" if metric.text else text


def number_text(name: str, value: float, metrics: Sequence[Metric]) -> str:
    """`tflops 239.150 TF/s`: a stated number with the metric's unit and digits."""
    declared = next((m for m in metrics if m.name == name), None)
    unit = (declared.unit if declared else None) or known(name).unit
    [text], shown = with_unit([value], unit, name)
    return f"{name} {text}" + (f" {shown}" if shown else "")


def _links(header: Header) -> list[dict[str, str]]:
    """The links of a header: to the experiment issue, those that `start` and `link` named, and to the snapshots."""
    issue = header.issue.url if header.issue is not None else None
    own = [{"label": "Experiment issue", "url": issue}] if issue is not None else []
    named = [{"label": link.label, "url": link.url} for link in header.links if link.url != issue]
    return [*own, *named, *({"label": f"Snapshot {s.name}", "url": s.url} for s in header.snapshots)]


def _criterion_text(criterion: Criterion) -> str:
    judged, doubt, computed = criterion.said
    if not (judged or computed):
        return criterion.text
    box = "[x]" if criterion.met else "[ ]"
    note = f"({'; '.join(filter(None, (md.one_line(judged), doubt, md.escape(md.one_line(computed)))))})"
    return f"{box} {criterion.text}\n{note}" if "\n" in criterion.text else f"{box} {criterion.text} {note}"


def baseline_text(baseline: Baseline | None, metrics: Sequence[Metric]) -> str:
    """A baseline on one line: case, numbers, entry; `none` where there was none."""
    if baseline is None:
        return "none"
    numbers = [
        " ".join(
            t for t in (assignments(n.config), ", ".join(number_text(k, v, metrics) for k, v in n.metrics.items())) if t
        )
        for n in baseline.numbers
    ]
    found = [assignments(baseline.config), *numbers, baseline.entry or ""]
    return md.one_line("; ".join(t for t in found if t)) or "a baseline without case and numbers"


def header_values(header: Header) -> dict[str, Any]:
    """The values of a header for templates."""
    baseline, budget = header.baseline, assignments(encode(header.budget))
    return {
        "topic": header.topic,
        "title": md.one_line(header.title),
        "prefix": header.prefix,
        "opened": minute(header.opened, header.zone),
        "zone": header.zone,
        "goal": header.goal,
        "summary": header.summary,
        "metrics": [metric_text(m) for m in header.metrics if m.primary],
        "secondary_metrics": [metric_text(m) for m in header.metrics if not m.primary],
        "gates": [*header.gates, *(f"{name} may differ" for name in header.free)],
        "constraints": [*header.constraints, *([f"budget: {budget}"] if budget else [])],
        "links": _links(header),
        "baseline": None
        if baseline is None
        else {
            "date": baseline.date,
            "code_refs": list(baseline.code_refs),
            "case": assignments(baseline.config),
            "numbers": [
                {
                    "case": assignments(n.config),
                    "metrics": [number_text(k, v, header.metrics) for k, v in n.metrics.items()],
                }
                for n in baseline.numbers
            ],
            "entry": baseline.entry,
            "source": baseline.source,
            "confidence": baseline.confidence,
            "text": baseline.text,
        },
        "baseline_moves": [
            {
                "at": minute(move.at, header.zone),
                "reason": md.one_line(move.reason),
                "before": baseline_text(move.before, header.metrics),
            }
            for move in header.baseline_moves
        ],
        "stop_criteria": [_criterion_text(c) for c in header.stop_criteria],
        "matrix": [{"axis": a.axis, "values": list(a.values), "text": a.text} for a in header.matrix],
        "command_templates": [{"label": c.label, "command": c.command} for c in header.command_templates],
    }


def blocks_of(workspace: Workspace, book: Book) -> Blocks:
    """The blocks of a logbook with the templates of an invocation."""
    return Blocks(templates_of(workspace), book.header)


def _more(count: int, noun: str) -> str:
    return f"{count:,} more {noun}: `logbook list{'' if noun.endswith('comparisons') else ' --tried'}`"


def opening_values(
    first: Opening,
    *,
    plain: Callable[[str], str] = md.escape,
    prose: Callable[[str], Any] = md.one_line,
    link: Callable[[str], str] = str,
    more: Callable[[int, str], str] = _more,
) -> dict[str, object]:
    """The values of the template `opening.md.j2`, which view and issue share. `plain` makes Markdown of plain text,
    `prose` of a title, `link` of an ID; `more` is the text about lines that are left out."""

    def line(of: Synopsis) -> dict[str, object]:
        return {
            "text": plain(of.text),
            "outcome": of.outcome,
            "is_bold": of.is_bold,
            "entry": link(of.entry),
            "title": prose(of.title),
            "confidence": of.confidence,
            "to_settle": plain(of.why),
            "command": md.one_line_code(of.command),
            "to_add": of.to_add,
        }

    def listed(entries: Sequence[Failed]) -> list[dict[str, object]]:
        shown = entries[:SHOWN_FAILED]
        return [{"entry": link(one.entry), "title": prose(one.title), "text": prose(one.text)} for one in shown]

    def left_out(lines: Sequence[object], noun: str, shown: int = SHOWN) -> str:
        return more(len(lines) - shown, noun) if len(lines) > shown else ""

    return {
        "asked": prose(first.asked),
        "settled": [line(one) for one in first.found[:SHOWN]],
        "more_settled": left_out(first.found, "settled comparisons"),
        "not_settled": plain(first.not_settled),
        "command": md.one_line_code(first.command),
        "in_words": [
            {"kind": one.kind, "entry": link(one.entry) if one.entry else "", "text": prose(one.text)}
            for one in first.in_words
            if one.entry
        ],
        "best": plain(first.best),
        "open": [line(one) for one in first.left[:SHOWN]],
        "more_open": left_out(first.left, "open comparisons"),
        "negative": listed(first.negative),
        "more_negative": left_out(first.negative, "negative results", SHOWN_FAILED),
        "failed": listed(first.failed),
        "more_failed": left_out(first.failed, "failures", SHOWN_FAILED),
        "next_of": link(first.next_of) if first.next_of else "",
        "next": prose(first.next),
    }
