"""What was tried and did not work out: failures, marked entries, and verdicts of the comparisons that entries keep; and
all of it in words, for the list, for the view and the issue, and when it is tried again."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from logbook_agent.findings.thread import Summary
from logbook_agent.findings.tried.keys import FAILURE, MARKED, VERDICT, Item, command_key, item_of
from logbook_agent.findings.trust import Answered
from logbook_agent.findings.where import case_told, shared
from logbook_agent.model.entry import VOID, Entry, is_withdrawn
from logbook_agent.model.errors import UsageError
from logbook_agent.model.values import canonical
from logbook_agent.text import markdown as md
from logbook_agent.text.commands.flags import normal_name
from logbook_agent.text.near import choice
from logbook_agent.text.words import assignments

if TYPE_CHECKING:
    from logbook_agent.findings.evidence.answers import Answer
    from logbook_agent.model.run import Run
    from logbook_agent.store.book import Book

KINDS = (VERDICT, FAILURE, MARKED)


def verdicts(book: Book, entry: Entry, kept: Sequence[Answered], axes: Callable[[], Collection[str]]) -> list[Item]:
    """What the comparisons that an entry keeps found to be no gain: verdicts `regressive` and `neutral`, as they
    stand now, each about the configuration on the other side; none from a comparison with an entry that does
    not count. `axes`: the config keys that tell where one holds, asked for where there is one."""

    @functools.cache
    def run_of(entry_id: str, number: int) -> Run:
        [run] = book.runs(entry_id, stamps=book.run_stamps(entry_id, [number]))
        return run

    standing = [one for one in kept if entry.state != VOID and not one.uncounted]
    return [item for one in standing for answer in one.answers for item in _negative(entry.id, answer, run_of, axes)]


def _negative(
    kept_with: str, answer: Answer, run_of: Callable[[str, int], Run], axes: Callable[[], Collection[str]]
) -> Iterator[Item]:
    from logbook_agent.findings.comparisons.told import delta_text, interval_text
    from logbook_agent.findings.evidence.verdict import Verdict

    for line in answer.lines:
        for m in line.metrics:
            if m.withheld_by or m.judgement is None:
                continue
            if m.judgement.verdict not in (Verdict.REGRESSIVE, Verdict.NEUTRAL):
                continue
            reason = f"{m.metric} {delta_text(m)}" + (f" ({t})" if (t := interval_text(m)) else "")
            reason += m.marked
            cases = [item.case for item in sorted(line.pair.other.items, key=lambda item: item.run)]
            last = cases[-1]
            yield {
                **item_of(run_of(last.entry, last.run), last.row, VERDICT, m.judgement.verdict.value, reason),
                "runs": sorted({case.run for case in cases if case.entry == last.entry}),
                "metric": m.metric,
                "delta": None if m.ratio is None else m.ratio - 1,
                "against": answer.base,
                "base": answer.base,
                "other": answer.other,
                "axis": answer.axis,
                "case": case_told(line.pair.case, shared(answer, line.pair), axes()),
                "of_cases": len(answer.lines),
                "kept_with": kept_with,
            }


# -- the list ----------------------------------------------------------------------------------------


def chosen(
    items: Sequence[Item],
    entries: Sequence[Summary],
    *,
    where: Mapping[str, str],
    kind: str | None = None,
    outcome: str | None = None,
    entry_id: str | None = None,
) -> list[Item]:
    """Of all that was tried, oldest first: what has these values of config or flags, is of a kind, has an outcome, is
    of an entry (its present ID). Raises UsageError for a name that no entry has.

    `since`: the later run of the same command that finished, when there is one in an entry that nobody took back.
    """
    if kind not in (None, *KINDS):
        raise UsageError(
            f"unknown kind {kind!r}", cause=f"kinds are {', '.join(KINDS)}", hint=choice("--kind", kind, KINDS)
        )
    configs = {id(i): {normal_name(key): canonical(value) for key, value in i["config"].items()} for i in items}
    _check(items, outcome, where, sorted({key for config in configs.values() for key in config}))
    wanted = {(key, canonical(value)) for key, value in where.items()}
    finished: dict[str, tuple[str, str]] = {}
    for entry in (e for e in entries if not is_withdrawn(e["state"])):
        for key, (run, started) in entry["finished"].items():
            finished[key] = max(finished.get(key, ("", "")), (started, f"{entry['id']}/{run}"))
    kept = [
        {**item, "since": _since(item, finished)}
        for item in items
        if kind in (None, item["kind"])
        and outcome in (None, item["outcome"])
        and entry_id in (None, item["entry"])
        and wanted <= configs[id(item)].items()
    ]
    return sorted(kept, key=lambda item: (item["at"], item["entry"]))


def _since(item: Item, finished: Mapping[str, tuple[str, str]]) -> str | None:
    if item["kind"] != FAILURE or not item["command"]:
        return None
    started, run = finished.get(command_key(item["command"]), ("", ""))
    return run if started >= item["at"] and run != f"{item['entry']}/{item['run']}" else None


def _check(items: Sequence[Item], outcome: str | None, where: Mapping[str, str], keys: Sequence[str]) -> None:
    """Raises UsageError for an outcome or a key that nothing here has."""
    from difflib import get_close_matches

    outcomes = sorted({item["outcome"] for item in items})
    if outcome is not None and outcome not in outcomes:
        near = get_close_matches(outcome, outcomes, n=1)
        raise UsageError(
            f"nothing has the outcome {outcome!r}",
            cause=f"outcomes here are {', '.join(outcomes) or 'none yet'}",
            hint=f"--outcome {near[0]}" if near else "logbook tried",
        )
    for key in (k for k in where if items and k not in keys):
        near = get_close_matches(key, keys, n=1)
        raise UsageError(
            f"nothing that was tried has a {key!r}",
            cause=f"its config has {', '.join(keys[:20]) or 'no keys'}",
            hint=f"{near[0]}={where[key]}" if near else "logbook tried",
        )


_SHOWN_CHARACTERS = 100
_NO_GAIN = ("neutral", "regressive")
# Verdicts of one comparison that the view and the issue tell one by one; more are told together.
_SHOWN_VERDICTS = 3


def outcome_text(item: Item) -> str:
    """`out_of_memory`, `failed: exit code 1: ...`, `regressive: tflops -4.98% (...) against none`."""
    why = f": {item['reason']}" if item["reason"] else ""
    against = f" against {item['against']}" if item.get("against") else ""
    return f"{item['outcome']}{why}{against}"


def outcomes_text(items: Sequence[Item]) -> str:
    """The first failure and the first verdict, with how many more there are; what there is beside them is a mark."""
    found = []
    for kind, noun in ((FAILURE, "failure"), (VERDICT, "verdict")):
        # A loss says more than a difference that is too small to matter.
        own = sorted((i for i in items if i["kind"] == kind), key=lambda i: bool(i["outcome"] == "neutral"))
        more = f" and {len(own) - 1} more {noun}{'s' * (len(own) > 2)}" if len(own) > 1 else ""
        found += [outcome_text(item) + more for item in own[:1]]
    return "; ".join(found or map(outcome_text, items))


def where_text(item: Item) -> str:
    """`MOE-I8-003 run 2`, or `runs 1, 2` where the same came out of several; of many `runs 1, 2, …, 10, 11`."""
    runs = item["runs"]
    if not runs:
        return str(item["entry"])
    shown = ", ".join(map(str, runs if len(runs) <= 5 else [*runs[:2], "…", *runs[-2:]]))
    return f"{item['entry']} run{'s' * (len(runs) > 1)} {shown}"


def verdict_lines(found: Sequence[Item]) -> list[str]:
    """What the comparisons of one entry found to be no gain, as Markdown: each case, or many of them in one line."""
    groups: dict[tuple[Any, ...], list[Item]] = {}
    for item in found:
        key = (item["axis"], item["base"], item["other"], item["metric"], item["outcome"])
        groups.setdefault(key, []).append(item)
    lines = []
    for (axis, base, other, metric, outcome), items in groups.items():
        sides = md.escape(f"{base} → {other}")
        subject = f"{md.inline_code(axis)} {sides}" if axis is not None else sides
        if len(items) <= _SHOWN_VERDICTS:
            lines += [f"{subject}{_case(item)}: {outcome}, {md.escape(item['reason'])}" for item in items]
        else:
            deltas = [item["delta"] for item in items if item["delta"] is not None]
            span = f"{md.escape(metric)} {min(deltas):+.2%} to {max(deltas):+.2%}"
            lines.append(f"{subject}: {outcome} in {len(items)} of {items[0]['of_cases']} cases, {span}")
    return lines


def tells_verdicts(text: str) -> bool:
    """Whether a text may have lines of verdicts in it: where these hold follows from the rows of all entries."""
    return any(f": {word}" in text for word in _NO_GAIN)


def _case(item: Item) -> str:
    case = assignments(item["case"])
    return f", {md.inline_code(md.cut_line(case, _SHOWN_CHARACTERS))}" if case else ""
