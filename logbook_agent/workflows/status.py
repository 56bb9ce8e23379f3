"""`logbook status`: the one call after losing all context. At most 8,000 bytes, and what is cut is counted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from logbook_agent.markdown.text import one_line
from logbook_agent.model.header import BaselineNumbers, Header, Link
from logbook_agent.model.record import Record
from logbook_agent.stats import median
from logbook_agent.store.book import Book, Contents
from logbook_agent.workflows.reading import line_of
from logbook_agent.workflows.views import edited_blocks
from logbook_agent.workflows.workspace import Workspace

LIMIT_BYTES = 8000
# Room for the envelope of the answer: schema, warnings.
_RESERVED_BYTES = 600
_WARNING_CHARACTERS = 150
# From generous to sparse: characters of a text, entries of a list.
_STEPS = ((600, 12), (300, 10), (200, 8), (140, 6), (90, 4), (60, 3), (40, 2), (24, 1))
_OPEN_STATES = ("running", "orphaned", "interrupted", "blocked", "planned")


def status(workspace: Workspace, book: Book) -> dict[str, Any]:
    """Scope, baseline, best row, last entries, what is open, next actions, criteria; within the limit."""
    contents = book.contents()
    workspace.warnings += [f"cannot be read: {e.message}"[:_WARNING_CHARACTERS] for e in contents.damaged[:3]]
    edited = edited_blocks(book)
    for text_limit, list_limit in _STEPS:
        answer = _answer(book, contents, edited, text_limit, list_limit)
        size = len(json.dumps(answer, ensure_ascii=False, indent=1).encode())
        if size <= LIMIT_BYTES - _RESERVED_BYTES:
            break
    return answer


class _Cutter:
    """Cuts texts and lists to a size and counts what it cut."""

    def __init__(self, text_limit: int, list_limit: int) -> None:
        self.text_limit = text_limit
        self.list_limit = list_limit
        self.texts = 0
        self.lists: dict[str, int] = {}

    def text(self, text: str | None, *, at_least: int = 0) -> str | None:
        if text is None:
            return None
        text, limit = one_line(text), max(self.text_limit, at_least)
        if len(text) <= limit:
            return text
        self.texts += 1
        return text[: limit - 1] + "…"

    def mapping(self, name: str, values: Mapping[str, Any]) -> dict[str, Any]:
        pairs = self.first(name, list(values.items()))
        return {k: self.text(v) if isinstance(v, str) else v for k, v in pairs}

    def first(self, name: str, values: list[Any]) -> list[Any]:
        return self._kept(name, values, values[: self.list_limit])

    def last(self, name: str, values: list[Any]) -> list[Any]:
        return self._kept(name, values, values[-self.list_limit :])

    def _kept(self, name: str, values: list[Any], kept: list[Any]) -> list[Any]:
        if len(kept) < len(values):
            self.lists[name] = self.lists.get(name, 0) + len(values) - len(kept)
        return kept


def _answer(book: Book, contents: Contents, edited: list[str], text_limit: int, list_limit: int) -> dict[str, Any]:
    cut = _Cutter(text_limit, list_limit)
    header, records = contents.header, contents.records
    counts: dict[str, int] = {}
    for record in records:
        counts[record.state] = counts.get(record.state, 0) + 1
    answer: dict[str, Any] = {
        "logbook": {"topic": header.topic, "title": cut.text(header.title), "prefix": header.prefix},
        "view": str(book.view_path),
        "scope": {
            "goal": cut.text(header.goal),
            "metrics": cut.first("metrics", [cut.text(_metric(m.name, m.direction, m.unit)) for m in header.metrics]),
            "constraints": cut.first("constraints", [cut.text(c) for c in header.constraints]),
        },
        "baseline": _baseline(header, cut),
        "best": _best(header, records, cut),
        "entries": {"total": len(records), **counts},
        "open": {
            state: cut.last(f"open.{state}", [_open(r, cut) for r in records if r.state == state])
            for state in _OPEN_STATES
            if counts.get(state)
        },
        "last": [_last(r, header, cut) for r in cut.last("last", list(records[-5:]))],
        "next_actions": cut.last("next_actions", _next_actions(records, cut)),
        "criteria": cut.first("criteria", [cut.text(c.text) for c in header.stop_criteria]),
        "links": cut.first("links", [_link(link, cut) for link in header.links]),
    }
    if edited:
        answer["edited_by_hand"] = cut.first("edited_by_hand", edited)
    if contents.damaged:
        answer["damaged"] = len(contents.damaged)
    answer["cut"] = {"texts": cut.texts, **cut.lists}
    return answer


def _metric(name: str, direction: str | None, unit: str | None) -> str:
    return ":".join(t for t in (name, direction, unit) if t)


def _baseline(header: Header, cut: _Cutter) -> dict[str, Any] | None:
    baseline = header.baseline
    if baseline is None:
        return None
    plain = {
        "date": baseline.date,
        "case": cut.text(" ".join(f"{k}={v}" for k, v in baseline.config.items())) or None,
        "numbers": cut.first("baseline.numbers", [_numbers(n, cut) for n in baseline.numbers]),
        "entry": baseline.entry,
        "source": cut.text(baseline.source),
        "confidence": cut.text(baseline.confidence),
    }
    return {k: v for k, v in plain.items() if v}


def _numbers(numbers: BaselineNumbers, cut: _Cutter) -> dict[str, Any]:
    return {
        "config": cut.mapping("baseline.config", numbers.config),
        "metrics": cut.mapping("baseline.metrics", numbers.metrics),
    }


def _link(link: Link, cut: _Cutter) -> str:
    return f"{cut.text(link.label)}: {cut.text(link.url, at_least=120)}"


def _best(header: Header, records: tuple[Record, ...], cut: _Cutter) -> list[dict[str, Any]]:
    """The best measured row for each primary metric whose direction is known, with its whole config:
    rows of different cases are not ranked against the baseline here."""
    found = []
    for metric in header.metrics:
        if not metric.primary or metric.direction is None:
            continue
        rows = [
            (median(row.metrics[metric.name].samples), record.id, status.run, row)
            for record in records
            if record.state != "void"
            for status in record.runs
            for row in status.run.rows
            if metric.name in row.metrics
        ]
        if rows:
            choose = max if metric.direction == "max" else min
            value, entry_id, run, row = choose(rows, key=lambda r: r[0])
            found.append(
                {
                    "metric": metric.name,
                    "value": value,
                    "unit": row.metrics[metric.name].unit,
                    "entry": entry_id,
                    "run": run.run,
                    "label": run.label,
                    "config": cut.text(" ".join(f"{k}={v}" for k, v in row.config.items())),
                    "among_rows": len(rows),
                }
            )
    return cut.first("best", found)


def _open(record: Record, cut: _Cutter) -> dict[str, Any]:
    line = {"id": record.id, "title": cut.text(record.entry.title)}
    return line | ({"next": cut.text(record.next_action)} if record.next_action else {})


def _last(record: Record, header: Header, cut: _Cutter) -> dict[str, Any]:
    line = line_of(record, header)
    return {
        "id": line["id"],
        "opened": line["opened"],
        "state": line["state"],
        "title": cut.text(line["title"]),
        "result": cut.text(line["result"]),
        "interpretation": cut.text(record.entry.text("Interpretation")),
    }


def _next_actions(records: tuple[Record, ...], cut: _Cutter) -> list[dict[str, Any]]:
    """Next actions that no later entry took up (by continuing, completing or superseding)."""
    taken = {
        target
        for r in records
        for target in (r.entry.continues, r.entry.completes, r.entry.supersedes)
        if target is not None
    }
    return [
        {"id": r.id, "next": cut.text(r.next_action)}
        for r in records
        if r.next_action and r.id not in taken and r.state not in ("abandoned", "void")
    ]
