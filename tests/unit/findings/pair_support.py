"""Rows of runs made by hand, and what sets them side by side on the axis `mode`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from logbook_agent.findings.cases import Case
from logbook_agent.findings.comparison.answer import Answer, EntryPairs
from logbook_agent.findings.comparison.answers import answer_for
from logbook_agent.findings.contrast import Contrasted, beside
from logbook_agent.findings.references import Contrast
from logbook_agent.model.header import Metric
from logbook_agent.model.run import Device, Failure, Measurement, Row

DECLARED = (Metric(name="t", direction="max"),)


def answers(tried: Sequence[EntryPairs], declared: Sequence[Metric] = ()) -> tuple[Answer, ...]:
    """The answer of each entry beside the others."""
    return tuple(answer_for(one, tried, declared) for one in tried)


def trial(run: int, config: dict[str, Any], value: float | None = 1.0, **more: Any) -> Case:
    """A row of a run; `value` None: it failed. `more`: entry, state, facts, labels, started, command, busy."""
    row = Row(
        config=config,
        metrics={} if value is None else {"t": Measurement(samples=(value,))},
        labels=more.get("labels", {}),
        devices=(Device(platform="tpu", kind="TPU v5p", count=4, used=4),),
        failed=Failure(reason="RESOURCE_EXHAUSTED") if value is None else None,
    )
    facts = {"commit": "aaa", **more.get("facts", {})}
    return Case(
        entry=more.get("entry", "T-000"),
        run=run,
        state=more.get("state", "finished"),
        row=row,
        facts=facts,
        command=more.get("command", ("bench",)),
        started=more.get("started", f"{run:03d}"),
        busy=more.get("busy"),
    )


def on_axis(trials: list[Case], axis: str = "mode", base: str | None = None) -> Contrasted:
    asked = Contrast(references=("T-000",), axis=axis, base_value=base)
    return beside(asked, [trials], DECLARED)


def only(found: Contrasted) -> dict[str, Any]:
    """The cells of the one row, raw, by their columns."""
    [row] = found.table.values
    return dict(zip((column.name for column in found.table.columns), row, strict=True))
