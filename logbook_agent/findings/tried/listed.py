"""What was tried and did not work out: failures, marked entries, and findings of comparisons without a gain; and all of
it in words, for the list, for the view and the issue, and when it is tried again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from logbook_agent.findings.comparison.answers import Outcome
from logbook_agent.findings.thread import Summary
from logbook_agent.findings.tried.keys import FAILURE, VERDICT, Item, command_key
from logbook_agent.model.entry import is_withdrawn
from logbook_agent.model.values import canonical
from logbook_agent.text.commands.flags import normal_name

if TYPE_CHECKING:
    pass


# -- the list ----------------------------------------------------------------------------------------


def chosen(items: Sequence[Item], entries: Sequence[Summary], words: Sequence[str] = ()) -> list[Item]:
    """Of all that was tried, oldest first, what every word is of: KEY=VALUE of the config or a flag, or a text of its
    entry, kind, outcome, reason or command.

    `since`: the later run of the same command that finished, when there is one in an entry that nobody took back.
    """
    finished: dict[str, tuple[str, str]] = {}
    for entry in (e for e in entries if not is_withdrawn(e["state"])):
        for key, (run, started) in entry["finished"].items():
            finished[key] = max(finished.get(key, ("", "")), (started, f"{entry['id']}/{run}"))
    kept = [{**item, "since": _since(item, finished)} for item in items if all(_is_of(item, word) for word in words)]
    return sorted(kept, key=lambda item: (item["at"], item["entry"]))


def _is_of(item: Item, word: str) -> bool:
    key, equals, value = word.partition("=")
    if equals:
        return (normal_name(key), canonical(value)) in {
            (normal_name(k), canonical(v)) for k, v in item["config"].items()
        }
    texts = (item["entry"], item["kind"], item["outcome"], item["reason"], *item["command"])
    return word.casefold() in "\n".join(texts).casefold()


def _since(item: Item, finished: Mapping[str, tuple[str, str]]) -> str | None:
    if item["kind"] != FAILURE or not item["command"]:
        return None
    started, run = finished.get(command_key(item["command"]), ("", ""))
    return run if started >= item["at"] and run != f"{item['entry']}/{item['run']}" else None


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
