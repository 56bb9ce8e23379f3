"""What was tried and did not work out: failures, marked entries, and findings of comparisons without a gain; and all of
it in words, for the list, for the view and the issue, and when it is tried again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from logbook_agent.findings.comparison.answers import Outcome
from logbook_agent.findings.thread import Summary
from logbook_agent.findings.tried.keys import FAILURE, MARKED, VERDICT, Item, command_key
from logbook_agent.model.entry import is_withdrawn
from logbook_agent.model.errors import UsageError
from logbook_agent.model.values import canonical
from logbook_agent.text.commands.flags import normal_name
from logbook_agent.text.near import choice

if TYPE_CHECKING:
    from logbook_agent.findings.comparison.answers import Answer

KINDS = (VERDICT, FAILURE, MARKED)


def without_gain(answers: Sequence[Answer]) -> list[Item]:
    """What comparisons found without a gain (`Answer.without_gain`)."""
    from logbook_agent.findings.comparison.words import change_text, sentence

    return [
        {
            "kind": VERDICT,
            "entry": answer.entry,
            "run": None,
            "runs": [],
            "at": answer.last,
            "command": [],
            "case": dict(f.case),
            "config": {**f.case, answer.question.axis: f.side},
            "env": {},
            "commit": None,
            "outcome": f.outcome.value,
            "reason": sentence(answer, f),
            "metric": f.metric,
            "delta": f.change,
            "change": change_text(f),
            "against": answer.question.base,
            "axis": answer.question.axis,
        }
        for answer in answers
        for f in answer.without_gain
    ]


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


def outcome_text(item: Item) -> str:
    """`out_of_memory`, `failed: exit code 1: ...`, `worse: int8 has 4.98% less tflops than none (...)`."""
    why = f": {item['reason']}" if item["reason"] else ""
    return f"{item['outcome']}{why}"


def outcomes_text(items: Sequence[Item]) -> str:
    """The first failure and the first verdict, with how many more there are; what there is beside them is a mark."""
    found = []
    for kind, noun in ((FAILURE, "failure"), (VERDICT, "verdict")):
        # A loss says more than a difference that is too small to matter.
        own = sorted((i for i in items if i["kind"] == kind), key=lambda i: bool(i["outcome"] == Outcome.NO_DIFFERENCE))
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
