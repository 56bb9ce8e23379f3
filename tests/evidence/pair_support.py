"""Rows of runs made by hand, and their comparison on the axis `mode`."""

from __future__ import annotations

from typing import Any

from logbook_agent.findings.evidence.alike import Terms
from logbook_agent.findings.evidence.answers import Answer, Ask, answer_values
from logbook_agent.findings.evidence.compared import Compared
from logbook_agent.findings.tables.spec import Case
from logbook_agent.model.header import Metric
from logbook_agent.model.run import Device, Failure, Measurement, Row

DECLARED = (Metric(name="t", direction="max"),)


def trial(run: int, config: dict[str, Any], value: float | None = 1.0, **more: Any) -> Case:
    """A row of a run; `value` None: it failed. `more`: entry, state, facts, labels, started."""
    row = Row(
        config=config,
        metrics={} if value is None else {"t": Measurement(samples=(value,))},
        labels=more.get("labels", {}),
        devices=(Device(platform="tpu", kind="TPU v5p", count=4, used=4),),
        failed=Failure(reason="RESOURCE_EXHAUSTED") if value is None else None,
    )
    facts = {"commit": "aaa", **more.get("facts", {})}
    return Case(
        entry=more.get("entry", "T-0"),
        run=run,
        state=more.get("state", "finished"),
        row=row,
        facts=facts,
        command=("bench",),
        started=more.get("started", f"{run:03d}"),
    )


def ask(**terms: Any) -> Ask:
    return Ask(terms=Terms(**terms), declared=DECLARED)


def on_axis(trials: list[Case], **terms: Any) -> Answer:
    [answer] = answer_values(trials, ask(axis="mode", **terms))
    return answer


def only(answer: Answer) -> Compared:
    [line] = answer.lines
    [m] = line.metrics
    return m
