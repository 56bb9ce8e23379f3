"""What counts as a measured result: by the cases of a table, of runs that finished, in one unit."""

from __future__ import annotations

import dataclasses
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from logbook_agent.findings import computed_texts
from logbook_agent.findings.measurements import measured
from logbook_agent.findings.summaries import summary_of
from logbook_agent.findings.thread import Thread
from logbook_agent.model.errors import StoreError
from logbook_agent.model.run import Code, Device, Env, Exit, Row
from tests.unit.issue.report_support import (
    HEADER,
    ROOM,
    SNAPSHOT,
    documents,
    fields,
    record,
    records,
    row,
    run,
    updated,
    visible,
)

ENTRY = "MOE-I8-005"


FAILED = {"exit": Exit(code=1)}


def repeated(*values: float, **changed: dict[str, Any]) -> Any:
    """One entry with a run for each value; `changed["n2"]` is what the second one has otherwise."""
    runs = [run(ENTRY, n, row(v, quant_mode="none"), **changed.get(f"n{n}", {})) for n, v in enumerate(values, 1)]
    return record(5, "Repeats", *runs)


def best(text: str) -> str:
    found = re.search(r"## Best so far\n\n(.*?)\n\n", visible(text), re.DOTALL)
    return found[1] if found else ""


# -- cases -------------------------------------------------------------------------------------------


APART = {
    "env": {"env": Env(declared={"XLA_FLAGS": "b"})},
    "code": {"code": Code(commit="f" * 40, identity="other")},
    "software": {"software": {"jax": "0.8.0"}},
    "devices": {"devices": (Device(platform="tpu", kind="TPU v5p", count=8, used=8),)},
    "argv": {"argv": ("bench", "-v")},
    "cwd": {"cwd": "elsewhere"},
    "state": FAILED,
}


ALIKE = {"host": {"host": dataclasses.replace(run(ENTRY, 1).host, name="pod-b")}}


@pytest.mark.parametrize("name", [*APART, *ALIKE])
def test_the_issue_and_a_table_take_the_same_for_a_case(name: str) -> None:
    other = {**APART, **ALIKE}[name]
    same = {"code": Code(commit="0" * 40, identity="one")} if name == "code" else {}
    found = repeated(1.0, 3.0, n1=same, n2={**same, **other})
    table = computed_texts.table_of(found, HEADER.metrics)
    assert table is not None
    column = [c.name for c in table.columns].index("tflops")
    assert [r[column] for r in table.values] == ([1.0, 3.0] if name in APART else [2.0])
    # The second run failed, or all rows count.
    values = [r[column] for r in table.values if name != "state" or r[column] == 1.0]
    of = measured(found, HEADER)["tflops"]
    assert of["cases"] == len(of["trials"]) == len(values)
    assert sorted(v for t in of["trials"] for v in t["values"]) == (
        [1.0, 3.0] if len(values) > 1 or name in ALIKE else [1.0]
    )


# -- runs that failed --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ended", "state"),
    [
        (Exit(code=1), "failed"),
        (Exit(signal="SIGKILL"), "failed"),
        (Exit(signal="SIGTERM", timeout=True), "timeout"),
        (Exit(signal="SIGINT", interrupted=True), "interrupted"),
    ],
)
def test_what_only_unfinished_runs_measured_is_shown_and_not_ranked(ended: Exit, state: str) -> None:
    found = repeated(999.0, n1={"exit": ended})
    text = documents([found]).block(ROOM)
    assert best(text) == ""
    assert "Best" not in text
    assert f"| {state} | exploratory | 999.000 TF/s ({state}, not counted) |" in text


# -- units and numbers -------------------------------------------------------------------------------


def as_speed(of: Row) -> Row:
    return dataclasses.replace(of, metrics={"speed": of.metrics["tflops"]})


def test_of_two_units_a_cell_has_the_median_of_the_declared_one() -> None:
    runs = [
        run(ENTRY, n, row(v, unit=u, quant_mode="none")) for n, (v, u) in enumerate(((1.0, "TF/s"), (3.0, "GF/s")), 1)
    ]
    table = computed_texts.table_of(record(5, "Units", *runs), HEADER.metrics)
    assert table is not None
    assert table.rows == (("1 TF/s",),)
    undeclared = computed_texts.table_of(
        record(5, "Units", *(dataclasses.replace(r, rows=(as_speed(r.rows[0]),)) for r in runs)), ()
    )
    assert undeclared is not None
    assert undeclared.rows == (("?",),)
    assert "tflops comes in several units (TF/s, GF/s): not compared" in table.notes
    runs[1] = run(ENTRY, 2, row(3.0, unit="GF/s", quant_mode="int8"))
    table = computed_texts.table_of(record(5, "Units", *runs), HEADER.metrics)
    assert table is not None
    assert [r[-1] for r in table.rows] == ["1 TF/s", "3 GF/s"]


# -- how quickly -------------------------------------------------------------------------------------


def sweep(number: int, rows: int) -> Any:
    entry = f"MOE-I8-{number:03d}"
    runs = [run(entry, n, *(row(100.0 + i + n, i=i, quant_mode="none") for i in range(rows))) for n in (1, 2, 3)]
    return record(number, f"Sweep {number}", *runs)


def test_an_entry_is_worked_out_once_however_often_it_is_rendered(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [*records()[:3], sweep(5, 20)]
    made, counts = documents(found), {"table_of": 0}

    def counting(home: Any, name: str) -> None:
        real = getattr(home, name)

        def call(*args: Any) -> Any:
            counts[name] += 1
            return real(*args)

        monkeypatch.setattr(home, name, call)

    counting(computed_texts, "table_of")
    assert len(made.update(updated(found), 1500).encode()) <= 1500
    assert counts == {"table_of": 3}  # the note was not executed


# -- templates that go wrong -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("fine\n{{ range(1000000)|random }}", "line 2: OverflowError: Range too big"),
        ('{% include "issue_body.md.j2" %}', "line 1: RecursionError: maximum recursion depth exceeded"),
        ("\n{{ [1][3] + 1 }}", "line 2: list object has no element 3"),
        ("{{ 2.0 ** 5000 }}", "line 1: OverflowError"),
        ("{{ 1 / 0 }}", "line 1: ZeroDivisionError: division by zero"),
        ("{{ {}.popitem() }}", "issue_body.md.j2"),
    ],
)
def test_whatever_a_template_does_wrong_is_a_clear_error(tmp_path: Path, template: str, said: str) -> None:
    (tmp_path / "issue_body.md.j2").write_text(template)
    depth = sys.getrecursionlimit()
    with pytest.raises(StoreError) as caught:
        documents(templates=tmp_path).block(ROOM)
    assert said in caught.value.message
    assert caught.value.cause == f"the project's own template in {tmp_path} is not valid"
    assert sys.getrecursionlimit() == depth


# -- which entries a snapshot is about ---------------------------------------------------------------


def test_a_snapshot_covers_the_experiments_there_were_or_the_entries_it_names() -> None:
    void = dataclasses.replace(records()[1], state="void")
    found = [summary_of(r, HEADER) for r in (records()[0], void, *records()[2:])]
    thread = Thread(HEADER, found)
    assert thread.covered(SNAPSHOT) == ["MOE-I8-002"]
    later = dataclasses.replace(SNAPSHOT, last_entry="MOE-I8-004")
    assert thread.covered(later) == ["MOE-I8-002", "MOE-I8-004"]
    assert thread.covered(dataclasses.replace(SNAPSHOT, last_entry=None)) == []
    named = dataclasses.replace(SNAPSHOT, entries=("MOE-I8-003", "MOE-I8-000", "MOE-I8-999"))
    assert thread.covered(named) == ["MOE-I8-000", "MOE-I8-003"]


# -- lists and headings ------------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["finished", "failed"])
@pytest.mark.parametrize("commands", [0, 1, 2])
@pytest.mark.parametrize("change", ["", "a change"])
def test_no_two_blank_lines_in_a_row(state: str, commands: int, change: str) -> None:
    ended = Exit(code=0 if state == "finished" else 1)
    runs = [run(ENTRY, n, argv=("bench", str(n)), exit=ended) for n in range(1, commands + 1)]
    entry = record(5, "Spaced", *runs, fields=fields(change=change) if change else ())
    text = documents([entry]).update(updated([entry, entry]), ROOM)
    assert "\n\n\n" not in text
    assert re.search(r"[^\n]\n(?:```bash|<details>)", text) is None
