"""What was tried and what came out, in words: for the list, for the view and the issue, and when it is tried again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from logbook_agent.findings.tried.keys import FAILURE, VERDICT, Item
from logbook_agent.text import markdown as md
from logbook_agent.text.words import assignments

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
