"""Records of runs from the facts of the matrix of like for like."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import yaml

from logbook_agent.findings.cases import cases
from logbook_agent.findings.tables.spec import Case
from logbook_agent.model.entry import Entry
from logbook_agent.model.record import Record, RunStatus
from logbook_agent.model.run import Code, Device, Env, Exit, Host, Launch, Measurement, Row, Run, UntrackedFile

MATRIX: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "like_for_like.yaml").read_text(encoding="utf-8"))
METRIC = "tflops"


RUNS = 3


def sides(base: dict[str, Any], other: dict[str, Any]) -> tuple[list[Case], list[Case]]:
    """The rows of two entries whose facts depart from the matrix's as these say."""
    found = cases(*(record(f"T-{n}", _facts(given), n) for n, given in enumerate((base, other))))
    return found[:RUNS], found[RUNS:]


def _facts(given: dict[str, Any]) -> dict[str, Any]:
    """The facts of a side: mappings are merged, and a null takes a fact away."""
    found = dict(MATRIX["facts"])
    for name, value in given.items():
        old = found.get(name)
        merges = isinstance(old, dict) and isinstance(value, dict) and name != "devices"
        found[name] = {k: v for k, v in {**old, **value}.items() if v is not None or k == "diff"} if merges else value
    return found


def record(entry: str, facts: dict[str, Any], number: int) -> Record:
    found = tuple(_run(entry, facts, number, run) for run in range(1, RUNS + 1))
    statuses = tuple(RunStatus(run=run, state=facts["state"]) for run in found)
    return Record(
        entry=Entry(id=entry, title="t", opened="2026-02-10T10:43:00+00:00"), runs=statuses, state=facts["state"]
    )


def _run(entry: str, facts: dict[str, Any], number: int, run: int) -> Run:
    argv = facts["argv"] if isinstance(facts["argv"], list) else shlex.split(facts["argv"])
    argv = [*argv, *shlex.split(facts.get("argv+", ""))]
    launcher = facts["launcher"]
    devices = (Device(**facts["devices"]),) if facts["devices"] else ()
    value = 100 * (1 + number * 0.1) * (1 + run / 1000)
    row = Row(
        config=facts["config"],
        metrics={METRIC: Measurement(samples=(value,), unit=facts["unit"], direction="max")},
        observations=facts["observations"],
        labels=facts["labels"],
        devices=devices,
        host=facts["host"] if launcher else None,
    )
    return Run(
        entry=entry,
        run=run,
        label=facts["label"],
        argv=("ssh", launcher["target"], *argv) if launcher else tuple(argv),
        cwd=facts["cwd"],
        launcher=Launch(
            name=launcher["name"], target=launcher["target"], prefix=("ssh", launcher["target"]), command=tuple(argv)
        )
        if launcher
        else None,
        env=Env(relevant=facts["env"]),
        code=_code(facts["code"]),
        host=Host(name=facts["host"]),
        software=facts["software"],
        started=f"2026-02-10T10:{10 * number + run:02d}:00+00:00",
        ended=f"2026-02-10T10:{10 * number + run:02d}:50+00:00",
        exit=Exit(code=0),
        rows=(row,),
    )


def _code(given: dict[str, Any] | None) -> Code | None:
    """As provenance records it: identity is that of tree, diff and untracked files, without the logbook root."""
    if given is None:
        return None
    untracked = tuple(UntrackedFile(path=p, sha256=d * 20, bytes=1) for p, d in given["untracked"].items())
    return Code(
        commit=str(given["commit"]) * 4,
        identity=f"{given['tree']} {given['diff']} {given['untracked']}",
        dirty=given["diff"] is not None,
        diff_sha256=given["diff"] and given["diff"] * 20,
        untracked=untracked,
    )
