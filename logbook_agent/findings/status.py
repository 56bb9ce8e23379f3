"""`logbook status`: the one call after losing all context. At most 8,000 bytes, and what is cut is counted."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from logbook_agent.findings.best import BestCase, bests
from logbook_agent.findings.opening import Line
from logbook_agent.findings.progress import UnfinishedRun
from logbook_agent.findings.read import Findings
from logbook_agent.findings.thread import Summary, Thread
from logbook_agent.model.header import BaselineNumbers, Criterion, Header, Link
from logbook_agent.text.markdown import one_line
from logbook_agent.text.words import assignments

LIMIT_BYTES = 8000
# What was asked, a sentence about a comparison, and a command that is to be typed are not cut below this.
_ASKED_CHARS, _SENTENCE_CHARS, _COMMAND_CHARS = 300, 200, 600
# Room for the envelope of the answer: schema, warnings.
_RESERVED_BYTES = 800
# From generous to sparse: characters of a text, entries of a list.
_STEPS = ((600, 12), (300, 10), (200, 8), (140, 6), (90, 4), (60, 3), (40, 2), (24, 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class OnMachine:
    """What `status` tells beside the records: where the `view` is and which of its blocks were `edited` by hand, IDs
    that were `reserved` and never became an entry, `runs` that have not ended, and entries whose `series` of runs is
    made now."""

    view: str
    edited: Sequence[str] = ()
    reserved: Sequence[str] = ()
    runs: Sequence[UnfinishedRun] = ()
    series: Sequence[str] = ()


def status(found: Findings, here: OnMachine) -> dict[str, Any]:
    """What was asked and found, next actions, scope, baseline, best row, criteria, last entries; within the limit."""
    for text_limit, list_limit in _STEPS:
        answer = _answer(found, here, _Cutter(text_limit, list_limit))
        size = len(json.dumps(answer, ensure_ascii=False, indent=1).encode("utf-8", "surrogatepass"))
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


def _answer(found: Findings, here: OnMachine, cut: _Cutter) -> dict[str, Any]:
    header, entries, thread, first = found.header, found.summaries, found.thread, found.opening
    counts = Counter(entry["state"] for entry in entries)
    answer: dict[str, Any] = {
        "logbook": {"topic": header.topic, "title": cut.text(header.title), "prefix": header.prefix},
        "asked": cut.text(first.asked, at_least=_ASKED_CHARS),
        "not_settled": first.not_settled or None,
        "command": cut.text(first.command, at_least=_COMMAND_CHARS) or None,
        "settled": cut.first("settled", [_line(line, cut) for line in first.settled]),
        "open_questions": cut.first("open_questions", [_line(line, cut) for line in first.open]),
        "next_actions": cut.last("next_actions", [_next(e, cut) for e in thread.next_actions]),
        "summary": cut.text(header.summary, at_least=_ASKED_CHARS),
        "closed": _closed(header, cut),
        "view": here.view,
        "scope": {
            "metrics": cut.first("metrics", [cut.text(_metric(m.name, m.direction, m.unit)) for m in header.metrics]),
            "constraints": cut.first("constraints", [cut.text(c) for c in header.constraints]),
        },
        "baseline": _baseline(header, cut),
        "best": cut.first("best", [_best(best, cut) for best in bests(thread, found.answers)]),
        "decisions": cut.last("decisions", [_told(thread, e, e["decision"], cut) for e in thread.decisions]),
        "negative_results": cut.last(
            "negative_results", [_told(thread, e, e["negative"], cut) for e in thread.negative]
        ),
        "entries": {"total": len(entries), **counts},
        "open": {
            state: cut.last(f"open.{state}", [_open(e, cut) for e in thread.open if e["state"] == state])
            for state in dict.fromkeys(e["state"] for e in thread.open)
        },
        "running": cut.first("running", [_open_run(one, cut) for one in here.runs]),
        "detached_series": cut.first("detached_series", list(here.series)),
        "last": [_last(e, cut) for e in cut.last("last", list(entries[-5:]))],
        "criteria": cut.first("criteria", [_criterion(c, cut) for c in header.stop_criteria]),
        "issue": header.issue.url if header.issue is not None else None,
        "links": cut.first("links", [_link(link, cut) for link in header.links]),
    }
    if here.reserved:
        answer["reserved"] = cut.last("reserved", list(here.reserved))
    if here.edited:
        answer["edited_by_hand"] = cut.first("edited_by_hand", list(here.edited))
    if found.unreadable:
        answer["damaged"] = len(found.unreadable)
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
        "case": cut.text(assignments(baseline.config)) or None,
        "numbers": cut.first("baseline.numbers", [_numbers(n, cut) for n in baseline.numbers]),
        "entry": baseline.entry,
        "source": cut.text(baseline.source),
        "confidence": cut.text(baseline.confidence),
        "moved": [
            {"at": m.at, "reason": cut.text(m.reason)} for m in cut.last("baseline.moved", list(header.baseline_moves))
        ],
    }
    return {k: v for k, v in plain.items() if v}


def _numbers(numbers: BaselineNumbers, cut: _Cutter) -> dict[str, Any]:
    return {
        "config": cut.mapping("baseline.config", numbers.config),
        "metrics": cut.mapping("baseline.metrics", numbers.metrics),
    }


def _closed(header: Header, cut: _Cutter) -> dict[str, Any] | None:
    closing = header.closing
    return None if closing is None else {"at": closing.at, "conclusion": cut.text(closing.conclusion)}


def _criterion(criterion: Criterion, cut: _Cutter) -> dict[str, Any]:
    """The text, whether it is met, and what shows it."""
    judgement, computed = criterion.judgement, criterion.computed
    line: dict[str, Any] = {"text": cut.text(criterion.text), "met": criterion.met}
    if criterion.doubt is not None:
        line["doubt"] = criterion.doubt
    if computed is not None:
        line |= {"computed": computed.state, "reason": cut.text(computed.reason)}
    if judgement is not None:
        return {**line, "evidence": cut.text(judgement.evidence)}
    return {**line, "evidence": computed.runs_text} if computed is not None and computed.evidence else line


def _link(link: Link, cut: _Cutter) -> str:
    return f"{cut.text(link.label)}: {cut.text(link.url, at_least=120)}"


def _best(best: BestCase, cut: _Cutter) -> dict[str, Any]:
    """The best case of a problem."""
    entries = list(best.entries)
    told = {
        "problem": cut.text(assignments(best.problem)),
        "flags": cut.text(assignments(best.flags)),
        "apart": cut.text(assignments(best.apart)),
        "against": cut.text(best.against),
    }
    return {
        "metric": best.metric,
        "value": best.value,
        **({"low": best.low, "high": best.high} if best.runs > 1 else {"run": best.run}),
        "unit": cut.text(best.unit),
        **({"entry": entries[0]} if len(entries) == 1 else {"entries": cut.first("best.entries", entries)}),
        "runs": best.runs,
        "cases": best.cases,
        "label": cut.text(best.label),
        "config": cut.text(assignments(best.config)),
        **({"is_baseline": True} if best.is_baseline else {}),
        **{name: text for name, text in told.items() if text},
    }


def _line(line: Line, cut: _Cutter) -> dict[str, Any]:
    """A finding in one sentence, with the entry that has it, and how to settle an open one."""
    found = {
        "id": line.entry,
        "title": cut.text(line.title),
        "metric": cut.text(line.metric),
        "side": cut.text(line.side),
        "case": cut.text(line.case),
        "outcome": line.outcome,
        "found": cut.text(line.text, at_least=_SENTENCE_CHARS),
        "confidence": line.confidence,
        "to_settle": cut.text(line.to_settle, at_least=_SENTENCE_CHARS),
        "command": cut.text(line.command, at_least=_COMMAND_CHARS),
    }
    return {k: v for k, v in found.items() if v and v != "exploratory"}


def _told(thread: Thread, entry: Summary, text: str | None, cut: _Cutter) -> dict[str, Any]:
    line = {"id": entry["id"], "title": cut.text(entry["title"]), **({"text": cut.text(text)} if text else {})}
    later = thread.superseded_by(entry["id"])
    return line | ({"superseded_by": list(later)} if later else {})


def _next(entry: Summary, cut: _Cutter) -> dict[str, Any]:
    return {"id": entry["id"], "next": cut.text(entry["next"])}


def _open(entry: Summary, cut: _Cutter) -> dict[str, Any]:
    line = {"id": entry["id"], "title": cut.text(entry["title"])}
    return line | ({"next": cut.text(entry["next"])} if entry["next"] else {})


def _open_run(one: UnfinishedRun, cut: _Cutter) -> dict[str, Any]:
    data = one.data() | {
        "label": cut.text(one.run.label),
        "last": cut.text(one.last),
        "said": cut.text(one.said),
    }
    return {name: value for name, value in data.items() if value is not None}


def _last(entry: Summary, cut: _Cutter) -> dict[str, Any]:
    return {
        "id": entry["id"],
        "opened": entry["opened"],
        "state": entry["state"],
        "title": cut.text(entry["title"]),
        "result": cut.text(entry["result"]),
        "confidence": cut.text(entry["confidence_text"]),
        "interpretation": cut.text(entry["interpretation"]),
    }
