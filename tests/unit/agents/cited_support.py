"""Records in memory, and what a citation of them says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

from logbook_agent.agents.citations import Cited
from logbook_agent.agents.cited_numbers import saying
from logbook_agent.findings.protocol import Records
from logbook_agent.findings.read import Findings
from logbook_agent.model.code import Code
from logbook_agent.model.comparison import Comparison, Design, Part, Question
from logbook_agent.model.entry import Entry, State
from logbook_agent.model.errors import NotFound
from logbook_agent.model.header import Header, Metric
from logbook_agent.model.record import Record, RunStatus, Summaries
from logbook_agent.model.run import Exit, Host, Measurement, Row, Run

AT = "2026-02-10T10:00:00+00:00"
METRICS = (Metric(name="tflops", direction="max", unit="TF/s"), Metric(name="time_us", direction="min", unit="us"))
HEADER = Header(topic="moe", title="MoE", prefix="M", opened=AT, metrics=METRICS)


@dataclass
class InMemory:
    """The records of a logbook, which no disk has."""

    records: dict[str, Record] = field(default_factory=dict)
    header: Header = HEADER
    topic: str = "moe"

    def outgoing(self) -> InMemory:
        return self

    def entry_ids(self) -> list[str]:
        return sorted(self.records)

    def resolve(self, entry_id: str) -> str:
        if entry_id not in self.records:
            raise NotFound(f"no entry {entry_id}")
        return entry_id

    def entry(self, entry_id: str) -> Entry:
        return self.record(entry_id).entry

    def entry_text(self, entry_id: str) -> str:
        return repr(self.entry(entry_id)).replace("=", ": ")

    def record(self, entry_id: str) -> Record:
        return self.records[self.resolve(entry_id)]

    def run_named(self, entry_id: str, text: str) -> int:
        if all(str(status.run.run) != text for status in self.record(entry_id).runs):
            raise NotFound(f"{entry_id} has no run {text}")
        return int(text)

    def summaries(self, summarise: Callable[[Record], Any]) -> Summaries:
        found = [summarise(record) for _, record in sorted(self.records.items())]
        return Summaries(entries=tuple(found), damaged=())

    # -- what stands there -----------------------------------------------------------------------

    def add(self, entry_id: str, runs: Sequence[Run] = (), **entry: Any) -> None:
        state: State = entry.get("state") or "finished"
        self.records[entry_id] = Record(
            entry=Entry(id=entry_id, title="x", opened=AT, **entry),
            runs=tuple(RunStatus(run=run, state="finished") for run in runs),
            state=state,
        )

    def say(self) -> Callable[[str], Cited]:
        found = Findings(cast(Records, self), lambda: datetime(2026, 2, 10, tzinfo=UTC))
        return saying(lambda _: found)


def run(entry: str, number: int, config: Mapping[str, Any], values: Mapping[str, float], **more: Any) -> Run:
    measured = {
        m.name: Measurement(samples=(values[m.name],), unit=m.unit, direction=m.direction)
        for m in METRICS
        if m.name in values
    }
    more.setdefault("code", Code(commit="a" * 40, identity="b" * 40, dirty=False))
    return Run(
        entry=entry,
        run=number,
        argv=("bench", *(f"--{name}={value}" for name, value in config.items())),
        cwd=".",
        started=f"2026-02-10T{10 + number // 60:02d}:{number % 60:02d}:00+00:00",
        ended=f"2026-02-10T{10 + number // 60:02d}:{number % 60:02d}:30+00:00",
        duration_s=30.0,
        exit=Exit(code=0),
        host=Host(name="box"),
        rows=(Row(config=dict(config), metrics=measured),),
        **more,
    )


def ab(records: InMemory, entry: str, *, effect: float = 1.06, pairs: int = 12, **more: Any) -> None:
    """An A/B of quant_mode none and int8 that int8 wins."""
    asked = Question(axis="quant_mode", base="none", sides=("int8",), metrics=("tflops",))
    stated = Comparison(question=asked, design=Design(seed=1, budget_pairs=pairs))
    runs: list[Run] = []
    for pair in range(1, pairs + 1):
        sides = [("none", 100.0), ("int8", 100.0 * effect)]
        for mode, value in sides if pair % 3 else reversed(sides):
            one = {"tflops": value + (pair * 7 % 5) / 10 + (0.03 if mode == "int8" else 0.0) * (pair % 2)}
            part = Part(pair=pair, side=mode)
            runs.append(run(entry, len(runs) + 1, {"quant_mode": mode, "topk": 2}, one, part=part))
    records.add(entry, runs, comparison=stated, **more)
