"""`logbook status`: the one call after losing all context, within a budget of bytes. What is left out is counted."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias, cast

from logbook_agent.findings.best import BestCase, bests
from logbook_agent.findings.opening import Synopsis
from logbook_agent.findings.read import Findings
from logbook_agent.findings.status_answer import StatusAnswer
from logbook_agent.findings.status_order import StatusLine, fitting, lines_of, newest_last
from logbook_agent.findings.summaries import TEXT_CHARS
from logbook_agent.findings.thread import Thread
from logbook_agent.model.entry import OPEN
from logbook_agent.model.header import Criterion, Header
from logbook_agent.model.record import UnfinishedRun
from logbook_agent.model.stats import median
from logbook_agent.model.summary import Summary, Trial
from logbook_agent.text.markdown import cut_sentence
from logbook_agent.text.shell_words import assignments

BUDGET_BYTES = 8000
# What is always there takes no more.
LEAST_BYTES = 2000
# A longer text ends after the last whole sentence; a title or a name is shorter.
_NAME_CHARS, _ASKED_CHARS = 100, 300
_LAST = 5
# Of entries that share a case, or supersede one, the latest.
_SHOWN_ENTRIES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class OnMachine:
    """What `status` says beside the records: where the `view` is and which of its blocks were `edited` by hand, IDs
    that were `reserved` and never became an entry, `runs` that have not ended, entries whose `series` of runs is made
    now, and the `claims` of plans in all worktrees of the clone."""

    view: str
    edited: Sequence[str] = ()
    reserved: Sequence[str] = ()
    runs: Sequence[UnfinishedRun] = ()
    series: Sequence[str] = ()
    claims: Sequence[Mapping[str, object]] = ()


# How many bytes an answer takes where it is shown.
Size: TypeAlias = Callable[[StatusAnswer], int]


def json_size(answer: StatusAnswer, warnings: Sequence[str] = ()) -> int:
    """The bytes of the answer in JSON, with its envelope."""
    whole = {"schema": "logbook/status/1", "data": answer, "warnings": list(warnings)}
    return len(json.dumps(whole, ensure_ascii=False, indent=1).encode("utf-8", "surrogatepass")) + 1


def status(found: Findings, here: OnMachine, budget: int = BUDGET_BYTES, size: Size = json_size) -> StatusAnswer:
    """Answers, decisions, refuted ideas, what is open and what comes next, as much as the budget of bytes holds, the
    most useful first (`findings.status_order`)."""
    lines = [
        *_opening(found),
        *_results(found),
        *_going_on(found, here),
        *_setting(found, here),
        *_records(found),
    ]
    header = found.header
    head = {
        "logbook": {"topic": header.topic, "title": _name(header.title), "prefix": header.prefix},
        "asked": cut_sentence(found.opening.asked, _ASKED_CHARS),
    }
    end = _end(found)

    def whole(answer: dict[str, Any]) -> StatusAnswer:
        return cast("StatusAnswer", {**answer, **end})

    return whole(fitting(head, lines, lambda answer: size(whole(answer)), budget))


def _end(found: Findings) -> dict[str, Any]:
    """How many entries there are, by state, and how many cannot be read; which results are newer than the summary."""
    entries = found.summaries
    counts = {"total": len(entries), **Counter(str(entry["state"]) for entry in entries)}
    before = [i for w in found.opening.in_words if w.kind == "summary" for i in w.before[-_LAST:]]
    more = {"damaged": len(found.unreadable), "summary_before": before}
    return {"entries": counts, **{name: value for name, value in more.items() if value}}


def _opening(found: Findings) -> Iterator[StatusLine]:
    """What is said of the whole thread."""
    header, first = found.header, found.opening
    closing = header.closing
    single = {
        "not_settled": _text(first.not_settled),
        "command": first.command,
        "best_so_far": _text(first.best),
        "closed": closing and {"at": closing.at, "conclusion": _text(closing.conclusion)},
        "summary": _text(header.summary or ""),
    }
    yield from (line for kind, value in single.items() if value for line in lines_of(kind, [value]))
    # Decisions have a list of their own.
    said = [w for w in first.in_words if w.entry and w.kind != "decision"]
    yield from lines_of("in_words", [{"id": w.entry, "kind": w.kind, "text": _text(w.text)} for w in said])


# -- results -------------------------------------------------------------------------------------------------


def _results(found: Findings) -> Iterator[StatusLine]:
    """Answers, decisions, negative results, and failures that no negative result speaks of."""
    thread, first = found.thread, found.opening
    order = {entry: n for n, entry in enumerate(thread.by_id)}
    for kind, answers, at in (("answers.settled", first.found, 0), ("answers.open", first.left, len(first.found))):
        ages = [-order[one.entry] for one in answers]
        yield from lines_of(kind, [_answer_line(thread, one) for one in answers], ages, first=at)
    yield from newest_last("decisions", [_decided(thread, e) for e in thread.decisions])
    yield from newest_last("negative_results", [_told(thread, e, e["negative"]) for e in thread.negative])
    negative = {e["id"] for e in thread.negative}
    failed = [f for f in first.failed if f.entry not in negative]
    yield from lines_of("failed", [{"id": f.entry, "title": _name(f.title), "text": _text(f.text)} for f in failed])


def _answer_line(thread: Thread, one: Synopsis) -> dict[str, object]:
    found = {
        "id": one.entry,
        "title": _name(one.title),
        "answer": _text(one.text),
        "outcome": one.outcome,
        "settled": one.is_settled,
    }
    pairs = 0 if one.is_hopeless else one.pairs
    more: dict[str, object] = {"why": _text(one.why), "command": one.command, "pairs_to_add": pairs}
    # Nearly all are exploratory.
    more |= {"confidence": one.confidence} if one.confidence != "exploratory" else {}
    more |= {"superseded_by": list(thread.superseded_by(one.entry)[-_SHOWN_ENTRIES:])}
    return found | {name: value for name, value in more.items() if value}


def _told(thread: Thread, entry: Summary, text: str | None) -> dict[str, object]:
    line = {"id": entry["id"], "title": _name(entry["title"]), **({"text": _text(text)} if text else {})}
    later = thread.superseded_by(entry["id"])
    return line | ({"superseded_by": list(later[-_SHOWN_ENTRIES:])} if later else {})


def _decided(thread: Thread, entry: Summary) -> dict[str, object]:
    """A decision; of one about the code of an entry, which, whether it was kept, and its commit."""
    about = {"decides": entry["decides"], "kept": entry["kept"], "commit": entry["commit"]}
    return _told(thread, entry, entry["decision"]) | {name: value for name, value in about.items() if value is not None}


# -- what goes on, and what comes next -----------------------------------------------------------------------


def _going_on(found: Findings, here: OnMachine) -> Iterator[StatusLine]:
    """Running work, entries that wait, criteria that lack something, next actions."""
    thread, first = found.thread, found.opening
    seen: Counter[str] = Counter()
    for number, criterion in enumerate(found.header.stop_criteria, 1):
        kind = "criteria.met" if criterion.met else "criteria.unmet"
        yield StatusLine(kind=kind, value=_criterion(number, criterion), rank=seen[kind], place=number)
        seen[kind] += 1
    running = [{k: v for k, v in one.data().items() if v is not None} for one in here.runs]
    yield from newest_last("running", running)
    yield from newest_last("detached_series", list(here.series))
    yield from newest_last("claimed", list(here.claims))
    order = {entry: n for n, entry in enumerate(thread.by_id)}
    ages = [(OPEN.index(e["state"]), -order[e["id"]]) for e in thread.open]
    yield from lines_of("open", [(e["state"], _open(e)) for e in thread.open], ages)
    steps = [{"id": e["id"], "next": _text(e["next"] or "")} for e in thread.next_actions]
    if first.next and not steps:
        steps = [({"id": first.next_of} if first.next_of else {}) | {"next": _text(first.next)}]
    # In the order of `logbook next`.
    yield from lines_of("next_actions", steps[::-1])
    yield from lines_of("edited_by_hand", [_name(name) for name in here.edited])
    yield from newest_last("reserved", list(here.reserved))


def _open(entry: Summary) -> dict[str, object]:
    # Of a settled entry, the next action has its own line.
    step = {"next": _text(entry["next"])} if entry["next"] and not entry["settled"] else {}
    return {"id": entry["id"], "title": _name(entry["title"]), **step}


def _criterion(number: int, criterion: Criterion) -> dict[str, object]:
    """The text, whether it is met, and what shows it, or what to type."""
    judgement, computed = criterion.judgement, criterion.computed
    line: dict[str, object] = {"text": _text(criterion.text), "met": criterion.met}
    if criterion.doubt is not None:
        line["doubt"] = _text(criterion.doubt)
    if computed is not None:
        line |= {"computed": computed.state, "reason": _text(computed.why)}
    if judgement is not None:
        line["evidence"] = _text(judgement.evidence)
    elif computed is not None and computed.evidence:
        line["evidence"] = computed.runs_text
    command = f"logbook criteria --met {number} --evidence ID" if computed is None else computed.command
    return line | ({"command": command} if command and not criterion.met else {})


# -- what was measured, and against what ---------------------------------------------------------------------


def _setting(found: Findings, here: OnMachine) -> Iterator[StatusLine]:
    """The best cases, what results are compared with, and where things are."""
    header, thread = found.header, found.thread
    # What the baseline itself measured is known.
    cases = sorted(bests(thread, found.answers), key=lambda best: best.is_baseline)
    for item, best in zip(lines_of("best", list(map(_best, cases))), cases, strict=True):
        said = frozenset({**best.problem, **best.flags})
        yield StatusLine(kind="best", value=item.value, rank=item.rank, place=item.place, config=best.config, said=said)
    metrics = [":".join(t for t in (m.name, m.direction, m.unit) if t) for m in header.metrics]
    for kind, values in (
        ("baseline", [baseline] if (baseline := _baseline(header)) else []),
        ("metrics", metrics),
        ("gates", [*header.gates]),
        ("constraints", [*map(_text, header.constraints), *([found.budget] if found.budget else [])]),
        ("view", [here.view] if here.view else []),
        ("issue", [header.issue.url] if header.issue is not None else []),
        ("links", [f"{_name(link.label)}: {link.url}" for link in header.links]),
    ):
        yield from lines_of(kind, values)


def _baseline(header: Header) -> dict[str, object] | None:
    baseline = header.baseline
    if baseline is None:
        return None
    plain = {
        "date": baseline.date,
        "case": _text(assignments(baseline.config)),
        "numbers": [
            ({"config": _text(assignments(n.config))} if n.config else {})
            | {"metrics": dict([*n.metrics.items()][:_LAST])}
            for n in baseline.numbers[:_LAST]
        ],
        "entry": baseline.entry,
        "source": _text(baseline.source or ""),
        "moved": [{"at": m.at, "reason": _text(m.reason)} for m in header.baseline_moves[-1:]],
    }
    return {k: v for k, v in plain.items() if v}


def _best(best: BestCase) -> dict[str, object]:
    """The best case of a problem, without its config."""
    entries, more = list(best.entries[-_SHOWN_ENTRIES:]), len(best.entries) - _SHOWN_ENTRIES
    told = {
        "unit": best.unit,
        "label": best.label and _name(best.label),
        "problem": _text(assignments(best.problem)),
        "flags": _text(assignments(best.flags)),
        "apart": _text(assignments(best.apart)),
        "against": _text(best.against),
        "problems": _text("; ".join(best.problems)),
        "is_baseline": best.is_baseline,
    }
    return {
        "metric": best.metric,
        "value": _rounded(best.value),
        **({"low": _rounded(best.low), "high": _rounded(best.high)} if best.runs > 1 else {"run": best.run}),
        **({"entry": entries[0]} if len(entries) == 1 else {"entries": entries}),
        **({"more_entries": more} if more > 0 else {}),
        "runs": best.runs,
        "cases": best.cases,
        **{name: text for name, text in told.items() if text},
    }


def _records(found: Findings) -> Iterator[StatusLine]:
    """The last entries, and the numbers of those that compare nothing."""
    answered = {one.entry for one in found.opening.answers}
    last = [_last(e, is_answered=e["id"] in answered) for e in found.summaries[-_LAST:]]
    yield from newest_last("last", last)
    counted = [s for s in found.thread.counted if s["comparison"] is None and s["measured"]]
    cases = list(chain.from_iterable(map(_cases, counted)))
    for item, (_, config) in zip(newest_last("runs", cases), cases, strict=True):
        yield StatusLine(kind="runs", value=item.value[0], rank=item.rank, place=item.place, config=config)


def _last(entry: Summary, *, is_answered: bool) -> dict[str, object]:
    plain: dict[str, object] = {name: entry[name] for name in ("id", "opened", "state")}
    more = {"result": None if is_answered else entry["result"], "interpretation": entry["interpretation"]}
    return {**plain, "title": _name(entry["title"]), **{name: _text(text) for name, text in more.items() if text}}


def _cases(entry: Summary) -> Iterator[tuple[dict[str, object], dict[str, str]]]:
    """Each case of an entry with its medians, and its config."""
    of: dict[str, dict[str, Trial]] = {}
    for metric, measured in entry["measured"].items():
        for trial in measured.get("trials", ()):
            of.setdefault(trial["key"], {})[metric] = trial
    for trials in of.values():
        one = next(iter(trials.values()))
        line: dict[str, object] = {"id": entry["id"], **({"label": _name(one["label"])} if one["label"] else {})}
        medians = {name: _rounded(median(trial["values"])) for name, trial in trials.items()}
        yield {**line, "runs": len(one["runs"]), "metrics": medians}, one["config"]


def _rounded(value: float) -> float:
    """Eight digits of a number: more than any noise leaves."""
    return float(f"{value:.8g}")


def _text(text: str) -> str:
    # What the index cut ends in the middle of a sentence.
    was_cut = text.endswith("…") and len(text) > 0.9 * TEXT_CHARS
    return cut_sentence(text, min(TEXT_CHARS, len(text) - 1) if was_cut else TEXT_CHARS)


def _name(text: str) -> str:
    return cut_sentence(text, _NAME_CHARS)
