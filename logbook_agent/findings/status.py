"""`logbook status`: the one call after losing all context. At most 8,000 bytes, and what is cut is counted."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict, cast

from logbook_agent.findings.best import BestCase, bests
from logbook_agent.findings.opening import SHOWN_FAILED, Line, Opening, Synopsis
from logbook_agent.findings.read import Findings
from logbook_agent.findings.thread import Thread
from logbook_agent.model.entry import State
from logbook_agent.model.header import Criterion, Header
from logbook_agent.model.record import UnfinishedRun
from logbook_agent.model.summary import Summary
from logbook_agent.text.markdown import cut_sentence, one_line
from logbook_agent.text.shell_words import assignments

LIMIT_BYTES = 8000
# Room for the envelope of the answer: schema, warnings.
_RESERVED_BYTES = 800
# From generous to sparse: characters of a text, entries of a list.
_STEPS = ((600, 12), (300, 10), (200, 8), (140, 6), (90, 4), (60, 3), (40, 2), (24, 1))
# The texts that are cut, by key, and how many characters they keep in any case: what was asked, a sentence about a
# comparison and a command that is to be typed stay whole for longer. All other texts stay as they are.
_TEXTS = {
    **dict.fromkeys(("title", "conclusion", "metrics", "constraints", "reason", "evidence"), 0),
    **dict.fromkeys(("metric", "side", "case", "source", "confidence", "problem", "flags", "apart", "against"), 0),
    **dict.fromkeys(("unit", "label", "config", "last", "said", "result", "interpretation"), 0),
    "links": 160,
    # How something failed, and what comes next: often one sentence that says it at its end.
    "text": 160,
    "next": 160,
    "found": 200,
    "answer": 240,
    "why": 240,
    "to_settle": 200,
    "asked": 300,
    "summary": 300,
    "command": 600,
}
# The lists of which the newest, that is the last ones, are kept; of others the first ones.
_NEWEST = {"next_actions", "decisions", "negative_results", "open", "last", "moved", "reserved"}


@dataclass(frozen=True, slots=True, kw_only=True)
class OnMachine:
    """What `status` says beside the records: where the `view` is and which of its blocks were `edited` by hand, IDs
    that were `reserved` and never became an entry, `runs` that have not ended, entries whose `series` of runs is made
    now, and whether the working tree is the `code` that was kept last."""

    view: str
    edited: Sequence[str] = ()
    reserved: Sequence[str] = ()
    runs: Sequence[UnfinishedRun] = ()
    series: Sequence[str] = ()
    code: Mapping[str, object] | None = None


class BookNames(TypedDict):
    topic: str
    title: str
    prefix: str


class FoundLine(TypedDict):
    """A finding of a comparison in one sentence, and what would settle an open one."""

    id: str
    title: str
    found: str
    confidence: NotRequired[str]
    to_settle: NotRequired[str]
    command: NotRequired[str]


class AnswerInStatus(TypedDict):
    """A comparison in one sentence (`answer`); of one with an open goal, `why`. What to type to add pairs stands in
    `open_questions`."""

    id: str
    title: str
    answer: str
    outcome: str
    settled: bool
    confidence: NotRequired[str]
    why: NotRequired[str]
    pairs_to_add: NotRequired[int]


class BestLine(TypedDict):
    """The best case of a problem, measured in one `entry` or several `entries`."""

    metric: str
    value: float
    unit: str | None
    runs: int
    label: str | None
    config: str
    entry: NotRequired[str]
    entries: NotRequired[list[str]]


class JudgedCriterion(TypedDict):
    """A stop criterion: whether it is met, and by what."""

    text: str
    met: bool
    reason: NotRequired[str]
    evidence: NotRequired[str]


class NextAction(TypedDict):
    id: str
    next: str


class NextStep(TypedDict):
    """The latest next action, or what else comes next: then `id` may be null."""

    id: str | None
    next: str


class ClosedLine(TypedDict):
    at: str
    conclusion: str


class LastEntry(TypedDict):
    """One of the last entries."""

    id: str
    opened: str
    state: State
    title: str
    result: str | None
    confidence: str | None
    interpretation: str | None


class ThreadState(TypedDict):
    """Where a thread stands: the part of `logbook status` that pages and notebooks show."""

    logbook: BookNames
    asked: str
    not_settled: str | None
    answers: list[AnswerInStatus]
    settled: list[FoundLine]
    open_questions: list[FoundLine]
    in_words: list[dict[str, str]]
    best_so_far: str | None
    failed: list[dict[str, str]]
    next_step: NextStep | None
    next_actions: list[NextAction]
    closed: ClosedLine | None
    best: list[BestLine]
    entries: dict[str, int]
    last: list[LastEntry]
    criteria: list[JudgedCriterion]


class StatusAnswer(ThreadState):
    """The answer of `logbook status`, with what is scarcely read by programs as plain data."""

    command: str | None
    summary: str | None
    summary_before: list[str]
    view: str
    scope: dict[str, list[str]]
    baseline: dict[str, object] | None
    decisions: list[dict[str, object]]
    negative_results: list[dict[str, object]]
    open: dict[str, list[dict[str, object]]]
    running: list[dict[str, object]]
    detached_series: list[str]
    issue: str | None
    links: list[str]
    cut: dict[str, int]
    code: NotRequired[dict[str, object]]
    reserved: NotRequired[list[str]]
    edited_by_hand: NotRequired[list[str]]
    damaged: NotRequired[int]


def status(found: Findings, here: OnMachine) -> StatusAnswer:
    """What was asked and found, next actions, scope, baseline, best row, criteria, last entries; within the limit."""
    whole = _answer(found, here)
    for characters, entries in _STEPS:
        cutter = _Cutter(characters, entries)
        answer = {**cutter.cut(whole), "cut": {"texts": cutter.texts, **cutter.lists}}
        size = len(json.dumps(answer, ensure_ascii=False, indent=1).encode("utf-8", "surrogatepass"))
        if size <= LIMIT_BYTES - _RESERVED_BYTES:
            break
    return cast("StatusAnswer", answer)


class _Cutter:
    """Cuts texts and lists to a size and counts what it cut."""

    def __init__(self, characters: int, entries: int) -> None:
        self._characters, self._entries = characters, entries
        self.texts = 0
        self.lists: dict[str, int] = {}

    def cut(self, value: Any, key: str = "", path: str = "") -> Any:
        """The value that stands under a key, at a path such as `open.blocked`."""
        if isinstance(value, str) and key in _TEXTS:
            text = cut_sentence(value, max(self._characters, _TEXTS[key]))
            self.texts += text != one_line(value)
            return text
        if isinstance(value, Mapping) and key in ("config", "metrics"):
            return {k: self.cut(v, key) for k, v in self._kept(list(value.items()), path)}
        if isinstance(value, Mapping):
            return {k: self.cut(v, k, f"{path}.{k}".removeprefix(".")) for k, v in value.items()}
        if isinstance(value, list | tuple):
            is_newest = not _NEWEST.isdisjoint((key, path.partition(".")[0]))
            return [self.cut(v, key, path) for v in self._kept(value, path, is_newest=is_newest)]
        return value

    def _kept(self, values: Sequence[Any], path: str, *, is_newest: bool = False) -> Sequence[Any]:
        more = len(values) - self._entries
        if more <= 0:
            return values
        self.lists[path] = self.lists.get(path, 0) + more
        return values[-self._entries :] if is_newest else values[: self._entries]


def _answer(found: Findings, here: OnMachine) -> dict[str, object]:
    """The answer before it is cut."""
    header, entries, thread, first = found.header, found.summaries, found.thread, found.opening
    answer: dict[str, object] = {
        "logbook": {"topic": header.topic, "title": header.title, "prefix": header.prefix},
        "asked": first.asked,
        "not_settled": first.not_settled or None,
        "command": first.command or None,
        "answers": [_answer_line(one) for one in first.answers],
        "settled": [_line(line) for line in first.settled],
        "open_questions": [_line(line) for line in first.open],
        **_others(first),
        "next_actions": [{"id": e["id"], "next": e["next"]} for e in thread.next_actions],
        "summary": header.summary,
        "summary_before": [i for w in first.in_words if w.kind == "summary" for i in w.before],
        "closed": header.closing and {"at": header.closing.at, "conclusion": header.closing.conclusion},
        "view": here.view,
        "scope": {
            "metrics": [":".join(t for t in (m.name, m.direction, m.unit) if t) for m in header.metrics],
            "constraints": list(header.constraints),
        },
        "baseline": _baseline(header),
        "best": [_best(best) for best in bests(thread, found.answers)],
        "decisions": [_told(thread, e, e["decision"]) for e in thread.decisions],
        "negative_results": [_told(thread, e, e["negative"]) for e in thread.negative],
        "entries": {"total": len(entries), **Counter(str(entry["state"]) for entry in entries)},
        "open": {
            state: [_open(e) for e in thread.open if e["state"] == state]
            for state in dict.fromkeys(e["state"] for e in thread.open)
        },
        "running": [{k: v for k, v in one.data().items() if v is not None} for one in here.runs],
        "detached_series": list(here.series),
        "last": [_last(e) for e in entries[-5:]],
        "criteria": [_criterion(c) for c in header.stop_criteria],
        "issue": header.issue.url if header.issue is not None else None,
        "links": [f"{link.label}: {link.url}" for link in header.links],
    }
    if here.code is not None:
        answer["code"] = dict(here.code)
    if here.reserved:
        answer["reserved"] = list(here.reserved)
    if here.edited:
        answer["edited_by_hand"] = list(here.edited)
    if found.unreadable:
        answer["damaged"] = len(found.unreadable)
    return answer


def _baseline(header: Header) -> dict[str, object] | None:
    baseline = header.baseline
    if baseline is None:
        return None
    plain = {
        "date": baseline.date,
        "case": assignments(baseline.config),
        "numbers": [{"config": n.config, "metrics": n.metrics} for n in baseline.numbers],
        "entry": baseline.entry,
        "source": baseline.source,
        "confidence": baseline.confidence,
        "moved": [{"at": m.at, "reason": m.reason} for m in header.baseline_moves],
    }
    return {k: v for k, v in plain.items() if v}


def _criterion(criterion: Criterion) -> dict[str, object]:
    """The text, whether it is met, and what shows it."""
    judgement, computed = criterion.judgement, criterion.computed
    line: dict[str, object] = {"text": criterion.text, "met": criterion.met}
    if criterion.doubt is not None:
        line["doubt"] = criterion.doubt
    if computed is not None:
        line |= {"computed": computed.state, "reason": computed.reason}
    if judgement is not None:
        return {**line, "evidence": judgement.evidence}
    return {**line, "evidence": computed.runs_text} if computed is not None and computed.evidence else line


def _best(best: BestCase) -> dict[str, object]:
    """The best case of a problem."""
    entries = list(best.entries)
    told = {
        "problem": assignments(best.problem),
        "flags": assignments(best.flags),
        "apart": assignments(best.apart),
        "against": best.against,
    }
    return {
        "metric": best.metric,
        "value": best.value,
        **({"low": best.low, "high": best.high} if best.runs > 1 else {"run": best.run}),
        "unit": best.unit,
        **({"entry": entries[0]} if len(entries) == 1 else {"entries": entries}),
        "runs": best.runs,
        "cases": best.cases,
        "label": best.label,
        "config": assignments(best.config),
        **({"is_baseline": True} if best.is_baseline else {}),
        **{name: text for name, text in told.items() if text},
    }


def _answer_line(one: Synopsis) -> dict[str, object]:
    found = {"id": one.entry, "title": one.title, "answer": one.text, "outcome": one.outcome, "settled": one.is_settled}
    return found | {
        k: v
        for k, v in (("confidence", one.confidence), ("why", one.why), ("pairs_to_add", one.pairs))
        if v and v != "exploratory"
    }


def _others(first: Opening) -> dict[str, object]:
    """What was found without a comparison, and what failed."""
    return {
        "in_words": [{"id": w.entry, "kind": w.kind, "text": w.text} for w in first.in_words if w.entry],
        "best_so_far": first.best or None,
        "failed": [{"id": f.entry, "title": f.title, "text": f.text} for f in first.failed[:SHOWN_FAILED]],
        "next_step": {"id": first.next_of or None, "next": first.next} if first.next else None,
    }


def _line(line: Line) -> dict[str, object]:
    """A finding in one sentence, with the entry that has it, and how to settle an open one."""
    found = {
        "id": line.entry,
        "title": line.title,
        "metric": line.metric,
        "side": line.side,
        "case": line.case,
        "outcome": line.outcome,
        "found": line.text,
        "confidence": line.confidence,
        "to_settle": line.to_settle,
        "command": line.command,
    }
    return {k: v for k, v in found.items() if v and v != "exploratory"}


def _told(thread: Thread, entry: Summary, text: str | None) -> dict[str, object]:
    line = {"id": entry["id"], "title": entry["title"], **({"text": text} if text else {})}
    later = thread.superseded_by(entry["id"])
    return line | ({"superseded_by": list(later)} if later else {})


def _open(entry: Summary) -> dict[str, object]:
    return {"id": entry["id"], "title": entry["title"], **({"next": entry["next"]} if entry["next"] else {})}


def _last(entry: Summary) -> dict[str, object]:
    plain = {name: entry[name] for name in ("id", "opened", "state", "title", "result")}
    return {**plain, "confidence": entry["confidence_text"], "interpretation": entry["interpretation"]}
