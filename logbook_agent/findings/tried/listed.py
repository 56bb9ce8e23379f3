"""What was tried and did not work out: failures, marked entries, and verdicts of the comparisons that entries keep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from logbook_agent.findings.standing import Summary
from logbook_agent.findings.tried.keys import FAILURE, MARKED, VERDICT, Item, command_key, holds
from logbook_agent.findings.trust import Answered
from logbook_agent.model.entry import VOID, Entry
from logbook_agent.model.errors import UsageError
from logbook_agent.running.commands.flags import normal_name

if TYPE_CHECKING:
    from logbook_agent.findings.evidence.answers import Answer

KINDS = (VERDICT, FAILURE, MARKED)


def verdicts(entry: Entry, kept: Sequence[Answered]) -> list[Item]:
    """What the comparisons that an entry keeps found to be no gain: verdicts `regressive` and `neutral`, as they
    stand now, each about the configuration on the other side; none from a comparison with an entry that was taken
    back."""
    standing = [one for one in kept if entry.state != VOID and not one.withdrawn]
    return [item for one in standing for answer in one.answers for item in _negative(entry.id, answer)]


def _negative(kept_with: str, answer: Answer) -> Iterator[Item]:
    from logbook_agent.findings.comparisons.told import delta_text, interval_text
    from logbook_agent.findings.evidence.verdict import Verdict

    for line in answer.lines:
        for m in line.metrics:
            if m.withheld_by or m.judgement is None:
                continue
            if m.judgement.verdict not in (Verdict.REGRESSIVE, Verdict.NEUTRAL):
                continue
            tried = sorted(line.pair.other.tried, key=lambda t: t.run)
            last = tried[-1]
            facts = last.item.case.facts
            yield {
                "entry": last.item.case.entry,
                "run": last.item.case.run,
                "runs": sorted({t.item.case.run for t in tried if t.item.case.entry == last.item.case.entry}),
                "at": last.trial.started,
                "kind": VERDICT,
                "outcome": m.judgement.verdict.value,
                "reason": f"{m.metric} {delta_text(m)}" + (f" ({t})" if (t := interval_text(m)) else ""),
                "command": list(last.trial.command),
                "config": dict(last.item.row.config),
                "env": {n.removeprefix("env:"): v for n, v in sorted(facts.items()) if n.startswith("env:")},
                "commit": facts.get("commit"),
                "metric": m.metric,
                "delta": None if m.ratio is None else m.ratio - 1,
                "against": answer.base,
                "base": answer.base,
                "other": answer.other,
                "axis": answer.axis,
                "case": dict(line.pair.case),
                "of_cases": len(answer.lines),
                "kept_with": kept_with,
            }


# -- the list ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedQuery:
    """Which of all to show: with these values of config or flags, of a kind, with an outcome, of an entry (its present
    ID)."""

    where: Mapping[str, str] = field(default_factory=dict)
    kind: str | None = None
    outcome: str | None = None
    entry_id: str | None = None


def chosen(items: Sequence[Item], entries: Sequence[Summary], query: TriedQuery) -> list[Item]:
    """What the query asks for of all that was tried, oldest first. Raises UsageError for a name that no entry has.

    `since`: the later run of the same command that finished, when there is one.
    """
    if query.kind is not None and query.kind not in KINDS:
        raise UsageError(f"unknown kind {query.kind!r}", cause=f"kinds are {', '.join(KINDS)}", hint="--kind failure")
    _check(items, query)
    finished = _finished(entries)
    kept = [
        {**item, "since": _since(item, finished)}
        for item in items
        if query.kind in (None, item["kind"])
        and query.outcome in (None, item["outcome"])
        and query.entry_id in (None, item["entry"])
        and holds(item, query.where)
    ]
    return sorted(kept, key=lambda item: (item["at"], item["entry"]))


def _finished(entries: Sequence[Summary]) -> dict[str, tuple[str, str]]:
    """By the key of a command: when it was last started and finished, and in which run."""
    found: dict[str, tuple[str, str]] = {}
    for entry in entries:
        for key, (run, state, started) in entry["latest"].items():
            if state == "finished":
                found[key] = max(found.get(key, ("", "")), (started, f"{entry['id']}/{run}"))
    return found


def _since(item: Item, finished: Mapping[str, tuple[str, str]]) -> str | None:
    if item["kind"] != FAILURE or not item["command"]:
        return None
    started, run = finished.get(command_key(item["command"]), ("", ""))
    same = f"{item['entry']}/{item['run']}"
    return run if started >= item["at"] and run != same else None


def _check(items: Sequence[Item], query: TriedQuery) -> None:
    """Raises UsageError for an outcome or a key that nothing here has."""
    from difflib import get_close_matches

    outcomes = sorted({item["outcome"] for item in items})
    if query.outcome is not None and query.outcome not in outcomes:
        near = get_close_matches(query.outcome, outcomes, n=1)
        raise UsageError(
            f"nothing has the outcome {query.outcome!r}",
            cause=f"outcomes here are {', '.join(outcomes) or 'none yet'}",
            hint=f"--outcome {near[0]}" if near else "logbook tried",
        )
    keys = sorted({normal_name(key) for item in items for key in item["config"]})
    for key in query.where:
        if items and key not in keys:
            near = get_close_matches(key, keys, n=1)
            raise UsageError(
                f"nothing that was tried has a {key!r}",
                cause=f"its config has {', '.join(keys[:20]) or 'no keys'}",
                hint=f"{near[0]}={query.where[key]}" if near else "logbook tried",
            )
