"""Sittings of pairs, and how far the answer to a comparison is borne out by them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from logbook_agent.findings.comparison.answer import Finding, Outcome
from logbook_agent.model.comparison import APART_S
from logbook_agent.model.entry import Confidence


def sittings(times: Sequence[tuple[str, str]]) -> list[int]:
    """The places (in times sorted by start) where a sitting begins: so much later than all before had ended."""
    found: list[int] = []
    last = ""
    for at, (started, ended) in enumerate(times):
        if not found or _gap_s(last, started) > APART_S:
            found.append(at)
        last = max(last, ended)
    return found


def _gap_s(ended: str, started: str) -> float:
    try:
        return (datetime.fromisoformat(started) - datetime.fromisoformat(ended)).total_seconds()
    except (ValueError, TypeError):  # no time, or one without a zone
        return 0.0


def confidence(findings: Sequence[Finding]) -> tuple[Confidence, tuple[str, ...]]:
    """How far the goals are borne out, by the one that is borne out the least."""
    goals = [f for f in findings if not f.is_guard]
    left = sum(not f.is_settled for f in goals)
    if not goals or left == len(goals):
        return "exploratory", ("nothing is settled yet",)
    if left:
        return "exploratory", (f"{left} of {len(goals)} answers are open",)
    if any(f.is_replicated is False for f in goals):
        return "exploratory", ("a second sitting settled it otherwise",)
    if not all(f.is_replicated for f in goals):
        return "exploratory", ("settled in one sitting",)
    cases = {tuple(f.case.items()) for f in goals}
    by_metric: dict[tuple[str, str], set[Outcome]] = {}
    for f in goals:
        by_metric.setdefault((f.side, f.metric), set()).add(f.outcome)
    if len(cases) > 1 and all(len(outcomes) == 1 for outcomes in by_metric.values()):
        return "stable", (f"settled in two sittings, and the same in {len(cases)} cases",)
    return "replicated", ("settled in two sittings",)
