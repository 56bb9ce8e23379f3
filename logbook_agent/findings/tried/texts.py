"""What was tried and what came out, in words: for the list, for the view and the issue, and when it is tried again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from logbook_agent.findings.tried.keys import how_it_failed
from logbook_agent.model.record import RunStatus
from logbook_agent.model.stats import median
from logbook_agent.model.units import format_value, known
from logbook_agent.text import markdown as md

_SHOWN_CHARACTERS = 100
# Verdicts of one comparison that the view and the issue tell one by one; more are told together.
_SHOWN_VERDICTS = 3


def outcome_text(item: Mapping[str, Any]) -> str:
    """`out_of_memory`, `failed: exit code 1: ...`, `regressive: tflops -4.98% (...) against none`."""
    why = f": {item['reason']}" if item["reason"] else ""
    against = f" against {item['against']}" if item.get("against") else ""
    return f"{item['outcome']}{why}{against}"


def case_text(item: Mapping[str, Any]) -> str:
    """What tells a case of a run or of a comparison from the others; empty where it is the only one."""
    return " ".join(f"{k}={v}" for k, v in (item.get("case") or {}).items())


def where_text(item: Mapping[str, Any]) -> str:
    """`MOE-I8-003 run 2`, or `runs 1, 2` where the same came out of several."""
    runs = item["runs"] or ([item["run"]] if item["run"] is not None else [])
    if not runs:
        return str(item["entry"])
    shown = ", ".join(map(str, runs[-5:]))
    return f"{item['entry']} run{'s' * (len(runs) > 1)} {'…, ' if len(runs) > 5 else ''}{shown}"


def run_failure_text(status: RunStatus) -> str | None:
    """What a run says of its failure: reasons of its failed cases, else how it ended; None when it measured all."""
    run = status.run
    reasons = dict.fromkeys(row.failed.reason for row in run.rows if row.failed is not None)
    if reasons:
        count = sum(row.failed is not None for row in run.rows)
        return ", ".join(reasons) + (f" in {count} of {len(run.rows)} cases" if len(run.rows) > 1 else "")
    if status.state == "timeout":
        return f"timeout: {how_it_failed(run)}"
    return f"failed: {how_it_failed(run)}" if status.state == "failed" else None


def measured_text(status: RunStatus, metrics: Sequence[str]) -> str:
    """The range of the first of these metrics that a run measured, else that it finished."""
    rows = status.run.rows
    for name in dict.fromkeys([*metrics, *(n for row in rows for n in row.metrics)]):
        found = [(median(m.samples), m.unit) for row in rows if (m := row.metrics.get(name)) is not None and m.samples]
        if found:
            values = sorted(value for value, _ in found)
            low, high = (format_value(v, decimals=known(name).decimals) for v in (values[0], values[-1]))
            unit = found[0][1]
            return f"{name} {low}" + (f" .. {high}" if low != high else "") + (f" {unit}" if unit else "")
    return "finished, no metric"


def verdict_lines(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """What the comparisons of one entry found to be no gain, as Markdown: each case, or many of them in one line."""
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for item in found:
        key = (item["axis"], item["base"], item["other"], item["metric"], item["outcome"])
        groups.setdefault(key, []).append(item)
    lines = []
    for (axis, base, other, _, outcome), items in groups.items():
        sides = md.escape(f"{base} → {other}")
        subject = f"{md.inline_code(axis)} {sides}" if axis is not None else sides
        if len(items) <= _SHOWN_VERDICTS:
            lines += [f"{subject}{_case(item)}: {outcome}, {md.escape(item['reason'])}" for item in items]
        else:
            lines.append(f"{subject}: {outcome} in {len(items)} of {items[0]['of_cases']} cases, {_span(items)}")
    return lines


def _case(item: Mapping[str, Any]) -> str:
    case = " ".join(f"{k}={v}" for k, v in item["case"].items())
    return f", {md.inline_code(_cut(case))}" if case else ""


def _span(items: Sequence[Mapping[str, Any]]) -> str:
    deltas = [item["delta"] for item in items if item["delta"] is not None]
    return f"{md.escape(items[0]['metric'])} {min(deltas):+.2%} to {max(deltas):+.2%}"


def _cut(text: str) -> str:
    line = md.one_line(text)
    return line if len(line) <= _SHOWN_CHARACTERS else line[: _SHOWN_CHARACTERS - 1] + "…"
