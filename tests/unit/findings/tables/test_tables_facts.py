"""Rows of unlike runs never share a cell: code, variables, launcher, packages, host."""

from __future__ import annotations

import pytest

from logbook_agent.findings.cases import Case, cases, code_names
from logbook_agent.findings.facts import config_section, executed
from logbook_agent.findings.tables.build import matching, tabulate
from logbook_agent.findings.tables.spec import Table, TableSpec
from logbook_agent.model.comparison import Part
from logbook_agent.model.entry import Entry
from logbook_agent.model.record import Record, RunStatus
from logbook_agent.model.run import Code, Device, Env, Failure, Host, Launch, Measurement, Row, Run, UntrackedFile

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


@pytest.mark.parametrize("fact", ["commit", "launcher", "env__XLA_FLAGS", "package__jax", "file__bench.py"])
def test_a_fact_that_differs_is_a_column(fact: str) -> None:
    axis = fact.replace("__", ":")
    found = table(case(1.0, **{fact: "a"}), case(9.0, run=2, **{fact: "b"}))
    assert (names(found), found.rows) == ([axis, "y"], (("a", "1"), ("b", "9")))
    alike = table(case(1.0, **{fact: "a"}), case(9.0, run=2, **{fact: "a"}))
    assert (names(alike), alike.rows, alike.constants) == (["y"], (("5 [1, 9]",),), {"mode": "none"})
    asked = table(case(1.0, **{fact: "a"}), case(9.0, run=2, **{fact: "b"}), axes=("mode",))
    assert names(asked) == ["mode", axis, "y"]


def test_a_variable_that_is_not_set_differs_and_a_package_that_is_not_reported_does_not() -> None:
    unset = table(case(1.0), case(2.0, run=2, env__XLA_FLAGS="--x"))
    assert unset.rows == (("—", "1"), ("--x", "2"))
    assert unset.values[0] == (None, 1.0)
    for partly in ("package__jax", "file__a.py", "host"):
        assert names(table(case(1.0), case(2.0, run=2, **{partly: "1"}))) == ["y"]
    failed = table(case(1.0, env__A="1"), case(0.0, run=2, failed=True))
    assert failed.rows == (("1", "1"), ("—", "failed: oom"))


def test_facts_are_text_and_not_numbers() -> None:
    found = table(case(1.0, package__jax="0.1"), case(2.0, run=2, package__jax="0.10"))
    assert [row[0] for row in found.rows] == ["0.1", "0.10"]
    assert not found.columns[0].numeric
    assert names(table(case(1.0, commit="1e100"), case(2.0, run=2, commit="10e99"))) == ["commit", "y"]
    chosen = matching([case(1.0, commit="1e100"), case(2.0, run=2, commit="10e99")], {"commit": "10e99"})
    assert [c.run for c in chosen] == [2]
    assert [c.run for c in matching([case(1.0, env__A="1"), case(2.0, run=2)], {"env:A": "—"})] == [2]


def test_a_fact_may_be_the_pivot() -> None:
    found = table(case(1.0, env__A="0"), case(2.0, run=2, env__A="1"), pivot="env:A", delta=True)
    assert names(found) == ["y @ 0", "y @ 1", "delta y"]
    assert found.rows == (("1", "2", "+100.00%"),)


def test_what_changes_with_the_pivot_is_named_and_compared_only_when_implied() -> None:
    pair = (case(1.0, commit="a"), case(2.0, run=2, mode="int8", commit="b"))
    apart = table(*pair, pivot="mode", delta=True)
    assert apart.rows == (("a", "1", "—", "?"), ("b", "—", "2", "?"))
    assert apart.notes[-1] == (
        "no row has two values of mode: it changes together with commit (--implied commit compares them anyway)"
    )
    together = table(*pair, pivot="mode", delta=True, implied=("commit",))
    assert together.rows == (("1", "2", "+100.00%"),)
    assert together.notes == ("commit differs with mode: none a, int8 b",)


def test_a_fact_that_is_not_shown_is_named() -> None:
    found = table(case(1.0, commit="a"), case(2.0, mode="int8", run=2, commit="b"), axes=("mode",))
    assert found.notes == ("commit differs between the rows and is not shown",)


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


def test_code_is_named_by_commit_and_diff() -> None:
    assert code_names([code("i1"), code("i2", diff="d" * 64), code("i3", diff="e" * 64), None, Code()]) == [
        "ccccccccc",
        "ccccccccc+ddddddd",
        "ccccccccc+eeeeeee",
        None,
        None,
    ]


def test_commits_of_entries_alone_are_one_code() -> None:
    # One tree without the logbook root: the identity is the same, the commit is not.
    assert code_names([code("i1", commit="a" * 40), code("i1", commit="b" * 40)]) == ["aaaaaaaaa"] * 2


def test_naming_an_untracked_file_is_no_other_code() -> None:
    named, plain, later = code("i1", file="f" * 64), code("i2"), code("i2", commit="d" * 40)
    assert code_names([named, plain, later]) == ["ccccccccc"] * 3
    assert names(tabulate(cases(record(run(1, named), run(2, plain))), TableSpec(), declared=())) == ["y"]
    other = code("i3", file="e" * 64)
    found = tabulate(cases(record(run(1, named), run(2, other), run(3, plain))), TableSpec(), declared=())
    assert [row[0] for row in found.rows] == ["fffffff", "eeeeeee", "—"]


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


def config_lines(*runs: Run) -> list[str]:
    return [line for line in config_section(record(*runs), None).splitlines() if "code" in line or "installed" in line]


def test_config_tells_two_dirty_trees_apart() -> None:
    dirty, other = code("i1", diff="a" * 64), code("i2", diff="b" * 64)
    assert config_lines(run(1, dirty), run(2, dirty)) == ["- code: `ccccccccc`, with uncommitted changes"]
    assert config_lines(run(1, dirty), run(2, other)) == [
        "- code differs: `ccccccccc`, with uncommitted changes (aaaaaaa) (run 1); "
        "`ccccccccc`, with uncommitted changes (bbbbbbb) (run 2)"
    ]


def test_config_compares_the_packages_that_both_runs_report() -> None:
    less, more = {"jax": "0.7"}, {"jax": "0.7", "numpy": "2.0"}
    assert config_lines(run(1, software=less), run(2, software=more))[1:] == ["- installed: jax 0.7, numpy 2.0"]
    assert config_lines(run(1, software=more), run(2, software={**more, "jax": "0.8"}))[1:] == [
        "- installed: numpy 2.0",
        "- installed differs: jax 0.7 (run 1); jax 0.8 (run 2)",
    ]
