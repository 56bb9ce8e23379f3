"""A literal logbook, as small as it can be with everything in it that an issue shows."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from logbook_agent.findings.best import bests
from logbook_agent.findings.opening import Opening
from logbook_agent.findings.summaries import summary_of
from logbook_agent.findings.thread import Thread
from logbook_agent.issue.documents import IssueDocuments
from logbook_agent.issue.issue_body import IssueValues
from logbook_agent.issue.links import Links
from logbook_agent.issue.update_text import UpdatedEntry
from logbook_agent.model.code import Code
from logbook_agent.model.entry import Entry, Field, PlannedCommand
from logbook_agent.model.header import (
    Baseline,
    BaselineNumbers,
    Closing,
    Criterion,
    CriterionJudgement,
    ExperimentIssue,
    Header,
    Link,
    Metric,
    Snapshot,
)
from logbook_agent.model.record import Record, record_of
from logbook_agent.model.run import Device, Env, Exit, Host, Measurement, Output, Row, Run, Scalar
from logbook_agent.pages.sections import NO_LATER
from logbook_agent.pages.templating.templates import Templates

REPO = "https://github.com/example/moe"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
VIEW = f"{REPO}/blob/{COMMIT}/logbooks/moe_ep_int8.md"
ROOM = 60_000
SNAPSHOT = Snapshot(
    name="moe-i8/first-ab",
    commit=COMMIT,
    at="2026-02-11T09:00:00+00:00",
    url=f"{REPO}/releases/tag/moe-i8%2Ffirst-ab",
    last_entry="MOE-I8-002",
)
HEADER = Header(
    topic="moe_ep_int8",
    title="MoE EP Int8",
    prefix="MOE-I8",
    opened="2026-02-10T10:40:00+00:00",
    goal="evaluate int8 quantised MoE throughput.",
    metrics=(
        Metric(name="tflops", direction="max", unit="TF/s"),
        Metric(name="tokens_per_s", direction="max", unit="tokens/s"),
    ),
    constraints=("same shape and device count on both sides.",),
    links=(
        Link(label="Prior issue", url=f"{REPO}/issues/7"),
        Link(label="Harness", url="scripts/bench.py"),
    ),
    baseline=Baseline(
        date="2026-02-09",
        config={"tokens": 32768, "topk": 2, "quant_mode": "none", "lr": 0.1},
        numbers=(BaselineNumbers(metrics={"tflops": 239.15}),),
        confidence="replicated",
        source="the sweep of @ada, see #7",
    ),
    stop_criteria=(
        Criterion(
            text="none against int8 at one fixed case.",
            judgement=CriterionJudgement(met=True, evidence="MOE-I8-002", by="ada", at="2026-02-11T08:00:00+00:00"),
        ),
        Criterion(
            text="one top-k sweep.",
            judgement=CriterionJudgement(
                met=False, evidence=f"{REPO}/issues/9", by="ada", at="2026-02-11T08:00:00+00:00"
            ),
        ),
        Criterion(text="a verdict on int8."),
    ),
    issue=ExperimentIssue(url=f"{REPO}/issues/41"),
    snapshots=(SNAPSHOT,),
)
LINKS = Links(commit=COMMIT, view=VIEW, entries={f"MOE-I8-00{n}": f"{VIEW}#L{n + 1}0" for n in range(3)})


def fields(**texts: str) -> tuple[Field, ...]:
    return tuple(Field(label=label.replace("_", " ").capitalize(), text=text) for label, text in texts.items())


def row(value: float, *, unit: str | None = "TF/s", tokens: float | None = None, **config: Scalar) -> Row:
    metrics = {"tflops": Measurement(samples=(value,), unit=unit)}
    if tokens is not None:
        metrics["tokens_per_s"] = Measurement(samples=(tokens,), unit="tokens/s")
    return Row(config={"tokens": 32768, "topk": 2, "lr": "0.10", **config}, metrics=metrics)


def run(entry: str, number: int, *rows: Row, argv: Sequence[str] = ("bench",), **more: Any) -> Run:
    facts: dict[str, Any] = {
        "exit": Exit(code=0),
        "ended": "2026-02-10T11:00:01+00:00",
        "duration_s": 1.0,
        "code": Code(commit=COMMIT, branch="main"),
        "host": Host(name="pod-a"),
        "devices": (Device(platform="tpu", kind="TPU v5p", count=4, used=4),),
        "software": {"jax": "0.7.0"},
        "env": Env(relevant={"XLA_FLAGS": "--xla_a=1 --xla_b"}),
        **more,
    }
    return Run(entry=entry, run=number, argv=tuple(argv), started="2026-02-10T11:00:00+00:00", rows=rows, **facts)


def record(number: int, title: str, *runs: Run, **entry: Any) -> Record:
    opened = f"2026-02-10T1{number % 10}:00:00+00:00"
    return record_of(
        Entry(id=f"MOE-I8-{number:03d}", title=title, opened=opened, **entry), tuple(runs), lambda _: "gone"
    )


def records() -> list[Record]:
    smoke = run(
        "MOE-I8-001",
        1,
        argv=("python", "bench.py", "--tokens", "128"),
        exit=Exit(code=1),
        output=Output(bytes=40, lines=2, sha256="0" * 64, error_tail=("ImportError: ask @bob, fixes #1", "gave up")),
    )
    sides = [
        run(
            "MOE-I8-002", n, row(value, tokens=1000.0 * n, quant_mode=mode), label=mode, argv=("bench", "--quant", mode)
        )
        for n, (mode, value) in enumerate((("none", 241.0), ("none", 243.0), ("int8", 260.0)), 1)
    ]
    return [
        record(0, "Kickoff", kind="note", fields=fields(hypothesis="int8 is faster.", next_action="smoke tests.")),
        record(
            1,
            "Smoke tests",
            smoke,
            continues="MOE-I8-000",
            fields=fields(hypothesis="it runs.", negative_result="no launcher on this host.", next_action="mend it."),
        ),
        record(
            2,
            "First A/B",
            *sides,
            continues="MOE-I8-001",
            fields=fields(
                hypothesis="int8 gains 5%.",
                change="quantise both operands.",
                interpretation="- int8 is ahead.\n- One run of int8 only.",
                next_action="repeat int8.",
            ),
        ),
        record(3, "Go on", kind="decision", fields=fields(decision="int8 stays; cc @carol, fixes #3.")),
        record(4, "Top-k sweep", commands=(PlannedCommand(label="Sweep", argv=("bench", "--topk-list", "1,2,4")),)),
    ]


def documents(
    found: Sequence[Record] | None = None,
    *,
    header: Header = HEADER,
    links: Links = LINKS,
    templates: Path | None = None,
    first: Opening | None = None,
    **changed: Any,
) -> IssueDocuments:
    header = dataclasses.replace(header, **changed)
    summaries = [summary_of(r, header) for r in (records() if found is None else found)]
    first = Opening(asked=header.goal or header.title) if first is None else first
    best = bests(Thread(header, summaries), ())
    values = IssueValues(header=header, links=links, summaries=summaries, first=first, best_cases=best)
    return IssueDocuments(templates=Templates(templates), values=values)


def updated(found: Sequence[Record], later: Mapping[str, Any] | None = None) -> list[UpdatedEntry]:
    return [UpdatedEntry(record=r, later=(later or {}).get(r.id, NO_LATER)) for r in found]


def visible(text: str) -> str:
    """With the spaces of no width that make text inert as `·`, and the long addresses short."""
    return text.replace("\u200b", "·").replace(VIEW, "VIEW")


CLOSING = Closing(
    at="2026-02-12T09:00:00+00:00",
    conclusion="int8 is **beneficial** here; ping @dan",
    limitations=("one host",),
    next_steps=("EP 8",),
)


def correction() -> Any:
    return record(
        5,
        "First A/B, repeated",
        run("MOE-I8-005", 1, row(236.0, quant_mode="none")),
        supersedes="MOE-I8-002",
        fields=fields(interpretation="the first one shared its host."),
    )


def section(text: str, heading: str) -> str:
    found = re.search(rf"^## {heading}\n\n(.*?)(?=\n\n## |\Z)", visible(text), re.MULTILINE | re.DOTALL)
    return found[1] if found else ""
