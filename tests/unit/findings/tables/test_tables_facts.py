"""Rows of unlike runs never share a cell: code, variables, launcher, packages, host."""

from __future__ import annotations

import pytest

from logbook_agent.findings.cases import Case, cases
from logbook_agent.findings.facts import executed
from logbook_agent.findings.tables.build import tabulate
from logbook_agent.findings.tables.spec import Table, TableSpec
from logbook_agent.model.code import Code, UntrackedFile
from logbook_agent.model.comparison import Part
from logbook_agent.model.entry import Entry
from logbook_agent.model.record import Record, RunStatus
from logbook_agent.model.run import Device, Env, Failure, Host, Launch, Measurement, Row, Run

TPU = (Device(platform="tpu", kind="TPU v5p", count=4, used=4),)
CPU = (Device(platform="cpu", kind="cpu", count=1, used=1),)


def case(
    value: float,
    *,
    run: int = 1,
    mode: str = "none",
    devices: tuple[Device, ...] = TPU,
    failed: bool = False,
    **facts: str,
) -> Case:
    row = Row(
        config={"mode": mode},
        metrics={} if failed else {"y": Measurement(samples=(value,))},
        devices=devices,
        failed=Failure(reason="oom") if failed else None,
    )
    return Case(entry="X-001", run=run, row=row, facts={k.replace("__", ":"): v for k, v in facts.items()})


def table(*found: Case, **spec: object) -> Table:
    return tabulate(found, TableSpec(**spec), declared=())  # type: ignore[arg-type]


def names(found: Table) -> list[str]:
    return [column.name for column in found.columns]


@pytest.mark.parametrize(
    "fact",
    [
        "commit",
        "env__XLA_FLAGS",
        "package__jax",
    ],
)
def test_a_fact_that_differs_is_a_column(fact: str) -> None:
    axis = fact.replace("__", ":")
    found = table(case(1.0, **{fact: "a"}), case(9.0, run=2, **{fact: "b"}))
    assert (names(found), found.rows) == ([axis, "y"], (("a", "1"), ("b", "9")))
    alike = table(case(1.0, **{fact: "a"}), case(9.0, run=2, **{fact: "a"}))
    assert (names(alike), alike.rows, alike.constants) == (["y"], (("5 [1, 9]",),), {"mode": "none"})


def test_a_variable_that_is_not_set_differs_and_a_package_that_is_not_reported_does_not() -> None:
    unset = table(case(1.0), case(2.0, run=2, env__XLA_FLAGS="--x"))
    assert unset.rows == (("—", "1"), ("--x", "2"))
    assert unset.values[0] == (None, 1.0)
    for partly in ("package__jax", "file__a.py", "host"):
        assert names(table(case(1.0), case(2.0, run=2, **{partly: "1"}))) == ["y"]
    failed = table(case(1.0, env__A="1"), case(0.0, run=2, failed=True))
    assert failed.rows == (("1", "1"), ("—", "failed: oom"))


def test_the_host_tells_rows_apart_where_it_is_the_device() -> None:
    def two(devices: tuple[Device, ...]) -> Table:
        return table(case(1.0, devices=devices, host="a"), case(3.0, run=2, devices=devices, host="b"))

    assert two(CPU).rows == (("a", "1"), ("b", "3"))
    assert two(TPU).rows == (("2 [1, 3]",),)
    assert "host differs between the rows and is not shown" in two(TPU).notes


# from runs


def code(identity: str, *, commit: str = "c" * 40, diff: str | None = None, **files: str) -> Code:
    untracked = tuple(UntrackedFile(path=path, sha256=sha, bytes=1) for path, sha in files.items())
    return Code(commit=commit, identity=identity, dirty=bool(diff or files), diff_sha256=diff, untracked=untracked)


def run(number: int, code: Code | None = None, *, launcher: Launch | None = None, **changes: object) -> Run:
    row = Row(config={"k": 1}, metrics={"y": Measurement(samples=(float(number),))})
    fields = {"host": Host(name="here"), "devices": CPU, "rows": (row,), "env": Env(), **changes}
    return Run(
        entry="X-001",
        run=number,
        argv=("true",),
        started="2026-01-01T00:00:00+00:00",
        code=code,
        launcher=launcher,
        **fields,  # type: ignore[arg-type]
    )


def record(*runs: Run) -> Record:
    entry = Entry(id="X-001", title="t", opened="2026-01-01T00:00:00+00:00")
    return Record(entry=entry, runs=tuple(RunStatus(run=r, state="finished") for r in runs), state="finished")


def test_facts_of_a_run() -> None:
    here = run(
        1,
        code("i1"),
        env=Env(declared={"A": "2"}, relevant={"A": "1", "B": "1"}),
        software={"jax": "0.7", "python": "3.11", "logbook-agent": "0.1"},
    )
    there = run(2, launcher=Launch(name="ray", target="v5p-8"), software={"logbook-agent": "0.2"})
    facts = [dict(c.facts) for c in cases(record(here, there))]
    assert facts == [
        {
            "commit": "ccccccccc",
            "host": "here",
            "env:A": "2",
            "env:B": "1",
            "package:jax": "0.7",
            "package:python": "3.11",
        },
        {"launcher": "ray on v5p-8"},
    ]


def test_where_a_checkout_was_is_no_fact() -> None:
    """`--code` sets where Python looks; both sides are of one setting, and the path is gone when they are compared."""
    env = Env(declared={"PYTHONPATH": "/checkouts/base", "A": "1"})
    part = Part(pair=1, side="main@ccccccccc")
    compared = run(1, code("i1"), env=env, config={"code": "main@ccccccccc"}, part=part)
    typed = run(2, code("i1"), env=env, config={"code": "main@ccccccccc"})
    facts = [dict(c.facts) for c in cases(record(compared, typed))]
    assert [{k for k in f if k.startswith("env:")} for f in facts] == [{"env:A"}, {"env:A", "env:PYTHONPATH"}]
    assert executed(compared) == executed(typed).replace("PYTHONPATH=/checkouts/base ", "")
