"""`logbook status`: the one call after losing all context, on one page. Each section shows its first three lines and
counts the others: the newest; of what is settled the greatest effects, of what is open what needs the fewest pairs.
What no practical number of pairs settles is counted alone, unless there is no other answer. Where the page is too long,
whole sections are left out, the last ones first."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from logbook_agent.findings.best import BestCase, best_reported, bests
from logbook_agent.findings.open_steps import OpenStep, first_step, is_waiting, nothing_left, waiting, waiting_for
from logbook_agent.findings.opening import Failed, best_text, reported_text
from logbook_agent.findings.read import Findings
from logbook_agent.findings.synopses import Synopsis
from logbook_agent.findings.thread import Thread
from logbook_agent.model.header import Criterion, Header
from logbook_agent.model.record import GOING, UnfinishedRun
from logbook_agent.model.summary import Summary
from logbook_agent.text.markdown import cut_sentence, plain
from logbook_agent.text.phrases import assignments

BUDGET_BYTES = 8000
# What is always there takes no more.
LEAST_BYTES = 2000
# A longer text ends after the last whole sentence; a title or a name is shorter.
_TEXT_CHARS, _NAME_CHARS = 300, 100
# So many lines of a section are shown, and so many numbers of a baseline.
SHOWN = 3

# The answer of `logbook status` as plain data.
StatusAnswer: TypeAlias = dict[str, Any]
# How many bytes an answer takes where it is shown.
Size: TypeAlias = Callable[[StatusAnswer], int]
# Lists that stand in every answer, also when they are empty.
_LISTS = ("answers", "decisions", "negative_results", "criteria", "running", "next_actions", "failed", "best")


class OnMachine(Struct, frozen=True, kw_only=True):
    """What `status` says beside the records: where the `view` is, IDs that were `reserved` and never became an entry,
    `runs` that have not ended, entries whose `series` of runs is made now, the `claims` of plans in all worktrees
    of the clone, what another worktree has `executed`, and what is `left` to do with the code here where the records
    name no step."""

    view: str
    reserved: Sequence[str] = ()
    runs: Sequence[UnfinishedRun] = ()
    series: Sequence[str] = ()
    claims: Sequence[Mapping[str, object]] = ()
    executed: Sequence[Mapping[str, object]] = ()
    left: OpenStep | None = None

    @property
    def making(self) -> list[str]:
        """The entries whose runs are made now."""
        going = (one.run.entry for one in self.runs if one.state in GOING)
        return [*dict.fromkeys([*self.series, *going, *(str(one["id"]) for one in self.claims)])]

    def free(self, command: str) -> str:
        """The command, unless it goes on with an entry that is being executed, or was elsewhere."""
        return "" if {one["id"] for one in (*self.claims, *self.executed)} & {*command.split()} else command


class _Section(Struct, frozen=True, kw_only=True):
    """A part of the answer under its key: a list, lists by state, or one value. `more` lines are not shown."""

    key: str
    value: Any
    more: int = 0

    @property
    def count(self) -> int:
        lines = self.value if isinstance(self.value, list) else [self.value]
        return self.more + (sum(map(len, self.value.values())) if self.key == "open" else len(lines))


def json_size(answer: StatusAnswer, warnings: Sequence[str] = ()) -> int:
    """The bytes of the answer in JSON, with its envelope."""
    whole = {"schema": "logbook/status/1", "data": answer, "warnings": list(warnings)}
    return len(json.dumps(whole, ensure_ascii=False, indent=1).encode("utf-8", "surrogatepass")) + 1


def status(found: Findings, here: OnMachine, budget: int = BUDGET_BYTES, size: Size = json_size) -> StatusAnswer:
    """The sections of a thread in the order of their use, as many as the budget of bytes holds. One that takes more
    than half of it alone is left out first."""
    sections = [one for one in _sections(found, here) if one.value or one.more]
    shown = [one for one in sections if len(json.dumps(one.value)) <= budget // 2]
    answer = _answer(found, shown, sections)
    while shown and size(answer) > budget:
        shown.pop()
        answer = _answer(found, shown, sections)
    return answer


def _answer(found: Findings, shown: Sequence[_Section], sections: Sequence[_Section]) -> StatusAnswer:
    header, entries = found.header, found.summaries
    answer: StatusAnswer = {
        "logbook": {"topic": header.topic, "title": _name(header.title), "prefix": header.prefix},
        "asked": _text(found.opening.asked),
        **{key: [] for key in _LISTS},
        "open": {},
    }
    for one in shown:
        answer[one.key] = answer[one.key] + one.value if answer.get(one.key) else one.value
    left_out: Counter[str] = Counter()
    for one in sections:
        left_out[one.key] += one.more if one in shown else one.count
    answer["entries"] = {"total": len(entries), **Counter(str(entry["state"]) for entry in entries)}
    more = {"damaged": len(found.unreadable), "left_out": {key: n for key, n in left_out.items() if n}}
    return answer | {key: value for key, value in more.items() if value}


def _first(key: str, lines: Iterable[Any]) -> _Section:
    """The first three lines, which are the most useful."""
    all_ = [*lines]
    return _Section(key=key, value=all_[:SHOWN], more=max(0, len(all_) - SHOWN))


def _sections(found: Findings, here: OnMachine) -> Iterator[_Section]:
    """All sections, the most useful first."""
    header, thread, first = found.header, found.thread, found.opening
    closing = header.closing
    yield _Section(key="closed", value=closing and {"at": closing.at, "conclusion": _text(closing.conclusion)})
    yield _Section(key="not_settled", value=_text(first.not_settled))
    yield _Section(key="command", value=here.free(first.command))
    yield _Section(key="summary", value=_text(header.summary or ""))
    yield _Section(
        key="summary_before", value=[i for w in first.in_words if w.kind == "summary" for i in w.before[-SHOWN:]]
    )
    # What was settled of other code since comes last.
    past = {entry for answer in found.answers if answer.is_settled for entry in answer.of_other_code}
    # What nobody would add to is counted: no practical number of pairs settles it, or it is kept as it is.
    left = [one for one in first.left if one.command or not thread.standing[one.entry].kept_by]
    nearest = [one for one in left if not one.is_hopeless] or ([] if first.found else [*first.left])
    for answers in (sorted(first.found, key=lambda one: one.entry in past), nearest):
        shown = _with_latest([one for one in answers if not thread.superseded_by(one.entry)], [*thread.by_id])
        yield _first("answers", [_comparison(found, one, here) for one in shown])
    yield _Section(key="answers", value=[], more=len(first.left) - len(nearest))
    yield _first("decisions", [_decision(found, e) for e in _not_superseded(thread, thread.decisions)])
    yield _criteria(header, here)
    yield _first("running", [{k: v for k, v in one.data().items() if v is not None} for one in reversed(here.runs)])
    yield _first("detached_series", reversed(here.series))
    yield _first("claimed", reversed(here.claims))
    yield _first("executed", reversed(here.executed))
    yield _open(thread)
    yield _first("next_actions", _next_actions(found, here))
    yield _first("negative_results", [_said(e, e["negative"]) for e in _not_superseded(thread, thread.negative)])
    # What is said above is not said again.
    above = {e["id"] for e in (*thread.negative, *thread.open)}
    yield _first("failed", [_failed(f) for f in first.failed if f.entry not in above])
    yield _first("best", map(_best, bests(thread, found.answers)))
    yield _first(
        "reported",
        [
            {"metric": one.metric, "value": one.value, "entry": one.entry, "text": reported_text(one)}
            for one in best_reported(thread)
        ],
    )
    # Decisions have a list of their own.
    said = [w for w in first.in_words if w.entry and w.kind != "decision"]
    yield _first("in_words", [{"id": w.entry, "kind": w.kind, "text": _text(w.text)} for w in said])
    yield _Section(key="baseline", value=_baseline(header))
    yield _first(
        "metrics",
        [
            ":".join(t for t in (m.name, m.direction, m.unit, "" if m.primary else "watched") if t)
            for m in header.metrics
        ],
    )
    yield _first("gates", header.gates)
    yield _first("free", header.free)
    yield _first("constraints", map(_text, [*header.constraints, *([found.budget] if found.budget else [])]))
    yield _first("reserved", reversed(here.reserved))
    yield _Section(key="view", value=here.view)
    yield _Section(key="issue", value=header.issue.url if header.issue is not None else "")
    yield _first("links", [f"{_name(link.label)}: {link.url}" for link in header.links])


def _with_latest(answers: list[Synopsis], order: list[str]) -> list[Synopsis]:
    """Answers as they come, but for the latest in the `order` of entries: it is among those that are shown."""
    at = max(range(len(answers)), key=lambda n: order.index(answers[n].entry), default=0)
    return answers if at < SHOWN else [*answers[: SHOWN - 1], answers[at], *answers[SHOWN - 1 : at], *answers[at + 1 :]]


def _not_superseded(thread: Thread, entries: Sequence[Summary]) -> list[Summary]:
    return [e for e in reversed(entries) if not thread.superseded_by(e["id"])]


def _comparison(found: Findings, one: Synopsis, here: OnMachine) -> dict[str, object]:
    """A comparison in one sentence; of one with an open goal why, and the command that adds so many pairs. Without
    `pairs_to_add`, no practical number of them would settle it."""
    more = {
        "why": _text(one.why),
        # Whether a label may differ is for a person to say: `why` has how.
        "command": here.free(found.typed(one.command)) if one.lacks != "gate" else "",
        "pairs_to_add": one.pairs,
        "lacks": one.lacks if one.lacks != "pairs" else "",
        # Nearly all are exploratory.
        "confidence": one.confidence if one.confidence != "exploratory" else "",
    }
    return {
        "id": one.entry,
        "title": _name(one.title),
        "answer": cut_sentence(one.text, 2 * _TEXT_CHARS),
        "outcome": one.outcome,
        "settled": one.is_settled,
        **{name: value for name, value in more.items() if value},
    }


def _said(entry: Summary, text: str | None) -> dict[str, object]:
    return {"id": entry["id"], "title": _name(entry["title"]), **({"text": _text(text)} if text else {})}


def _failed(one: Failed) -> dict[str, object]:
    told = {"id": one.entry, "title": _name(one.title), "text": _text(one.text), "command": one.command}
    return {name: text for name, text in told.items() if text or name != "command"}


def _decision(found: Findings, entry: Summary) -> dict[str, object]:
    """A decision; of one about the code of an entry, which, whether it was kept, and the commit that holds it."""
    about = {"decides": entry["decides"], "kept": entry["kept"], "commit": entry["commit"]}
    # What it decides may be on another branch.
    decided = entry["decides"] if entry["decides"] in found.thread.by_id else None
    stated = found.entry(decided).comparison if decided is not None else None
    code = stated.code.get(stated.question.sides[0]) if stated is not None else None
    if code is not None and code.dirty and code.commit == entry["commit"]:
        del about["commit"]  # on which its changes were made, and which does not hold them
    return _said(entry, entry["decision"]) | {name: value for name, value in about.items() if value is not None}


def _criteria(header: Header, here: OnMachine) -> _Section:
    """Stop criteria in their order, those first that are not met."""
    numbered = [*enumerate(header.stop_criteria, 1)]
    shown = sorted(sorted(numbered, key=lambda one: one[1].met)[:SHOWN], key=lambda one: one[0])
    return _Section(key="criteria", value=[_criterion(one, here) for _, one in shown], more=len(numbered) - len(shown))


def _criterion(criterion: Criterion, here: OnMachine) -> dict[str, object]:
    """The text, whether it is met, and what shows it, or what to type."""
    judgement, computed = criterion.judgement, criterion.computed
    line: dict[str, object] = {"text": _text(criterion.text), "met": criterion.met}
    if criterion.doubt is not None:
        line["doubt"] = _text(criterion.doubt)
    if computed is not None:
        line["computed"] = computed.state
        # What a person judged otherwise is shown by what the judgement names.
        line |= {"reason": _text(computed.reason)} if judgement is None or criterion.doubt is not None else {}
    if judgement is not None:
        line["evidence"] = _text(judgement.evidence)
    elif computed is not None and computed.evidence:
        line["evidence"] = computed.entries_text
    command = here.free(computed.command) if computed is not None and not criterion.met else ""
    return line | ({"command": command} if command else {})


def _open(thread: Thread) -> _Section:
    """Entries that wait, by state, the newest of the most urgent state first."""
    urgency = list(dict.fromkeys(e["state"] for e in thread.open))
    newest = list(reversed(thread.open))
    newest.sort(key=lambda e: urgency.index(e["state"]))
    of: dict[str, list[dict[str, object]]] = {}
    for e in newest[:SHOWN]:
        # Of a settled entry, the next action has its own line.
        step = {"next": _text(e["next"])} if e["next"] and not e["settled"] else {}
        of.setdefault(e["state"], []).append({"id": e["id"], "title": _name(e["title"]), **step})
    return _Section(key="open", value=of, more=max(0, len(newest) - SHOWN))


def _next_actions(found: Findings, here: OnMachine) -> list[dict[str, str]]:
    """What people wrote, in the order of `logbook next`; before it a comparison or a decision that comes first there.
    Where nobody wrote any, the first step of all, also that of a closed thread."""
    thread = found.thread
    written = [{"id": e["id"], "next": _text(e["next"] or "")} for e in reversed(thread.next_actions)]
    first = first_step(thread, found.opening.answers) or here.left
    if first is None and here.making:
        first = OpenStep(kind="run", text="", entry=here.making[0])
    if first is not None and (not written or first.kind in ("comparison", "decision")):
        if first.entry in here.making:
            first = waiting_for(first)
        elif is_waiting(first):
            first = waiting(found.records, found.here, first)
        command = here.free(found.typed(first.command))
        step = {"id": first.entry, "next": _text(first.text), "command": command}
        return [{key: text for key, text in step.items() if text}, *written]
    is_done = found.header.stop_criteria and not found.opening.not_settled
    text = found.opening.next or (nothing_left(found.header) if is_done else "")
    return written or ([{"next": _text(text)}] if text else [])


def _best(best: BestCase) -> dict[str, object]:
    """The best case of a problem, in numbers and in a sentence."""
    entries, more = list(best.entries[-SHOWN:]), len(best.entries) - SHOWN
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
        "text": _text(best_text(best)),
    }


def _baseline(header: Header) -> dict[str, object] | None:
    baseline = header.baseline
    if baseline is None:
        return None
    plain = {
        "date": baseline.date,
        "case": _text(assignments(baseline.config)),
        "numbers": [
            ({"config": _text(assignments(n.config))} if n.config else {})
            | {"metrics": {name: _rounded(value) for name, value in [*n.metrics.items()][:SHOWN]}}
            for n in baseline.numbers[:SHOWN]
        ],
        "entry": baseline.entry,
        "source": _text(baseline.source or ""),
        "moved": [{"at": m.at, "reason": _text(m.reason)} for m in header.baseline_moves[-1:]],
    }
    return {k: v for k, v in plain.items() if v}


def _rounded(value: float) -> float:
    """Eight digits of a number: more than any noise leaves."""
    return float(f"{value:.8g}")


def _text(text: str) -> str:
    return plain(cut_sentence(text, _TEXT_CHARS))


def _name(name: str) -> str:
    return cut_sentence(name, _NAME_CHARS)
