"""Failed runs that are made again."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.campaign.recipes.sweep_support import RECIPE, runs_of, write_recipe
from tests.stored import at


@pytest.mark.slow
def test_failed_runs_are_made_again(started: Cli, folder: Path) -> None:
    # Size 4 fails until it is mended, and then comes out best.
    bench = 'if [ "$1" = 4 ] && [ ! -e mended ]; then echo boom >&2; exit 4; fi\necho "RESULT tflops=$(($1 * 10))"\n'
    write_recipe(folder, RECIPE, bench=bench)
    first = started("sweep", "demo")
    assert first.code == 1
    assert "MOE-000: 8 of 8 rows, 2 failed" in first.out
    assert ": logbook sweep --id MOE-000 --retry-failed\n" in first.out
    # Without the option what failed stays, and the sweep is complete.
    assert started("sweep", "--id", "MOE-000", "--json").data["ran"] == 0
    dry = started("sweep", "demo", "--retry-failed", "--dry-run").out
    assert "resumes MOE-000" in dry
    assert "2 failed runs" in dry
    # Still failing: there is one row per run all the same.
    still = started("sweep", "--id", "MOE-000", "--retry-failed", "--json")
    assert (still.code, still.data["rows"], still.data["failed"], still.data["ran"]) == (1, 8, 2, 2)
    (folder / "mended").touch()
    again = started("sweep", "demo", "--retry-failed", "--json")
    assert again.code == 0, again.out
    assert (again.data["id"], again.data["rows"], again.data["failed"]) == ("MOE-000", 8, 0)
    assert again.data["ran"] == 2
    assert started("status", "--json").data["failed"] == []
    runs = runs_of(folder)
    assert sum(row.failed is not None for run in runs for row in run.rows) == 4, "what failed stays in the record"
    with at(folder / "logbooks/moe/runs/MOE-000/sweep.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert sorted((row["size"], row["mode"]) for row in rows) == sorted(
        (str(size), mode) for size in (1, 2, 3, 4) for mode in ("old", "new")
    )
    assert not any(row["failed"] for row in rows)
    none = started("sweep", "demo", "--retry-failed")
    assert (none.code, "demo" in none.err) == (2, True)
    assert started("sweep", "demo", "--retry-failed", "--new").code == 2


@pytest.mark.slow
def test_a_retry_that_is_interrupted_keeps_the_failure(started: Cli, folder: Path) -> None:
    bench = 'if [ "$1" != 2 ]; then echo "RESULT tflops=$1"; exit; fi\n[ -e tried ] || { touch tried; exit 4; }\n'
    bench += '[ -e stopped ] || { touch stopped; kill -INT $PPID; sleep 5; }\necho "RESULT tflops=$1"\n'
    write_recipe(
        folder, RECIPE.replace("controls:\n- {mode: old}\ncompare: {axis: mode, base: old}\n", ""), bench=bench
    )
    assert started("sweep", "demo", "--set", "size=1,2", "--json").data["failed"] == 1
    stopped = started("sweep", "--id", "MOE-000", "--retry-failed", "--json")
    assert (stopped.code, stopped.data["rows"], stopped.data["failed"], stopped.data["problems"]) == (130, 2, 1, [])
    assert started("sweep", "--id", "MOE-000", "--json").data["failed"] == 1
    done = started("sweep", "--id", "MOE-000", "--retry-failed", "--json")
    assert (done.code, done.data["rows"], done.data["failed"]) == (0, 2, 0)


@pytest.mark.slow
def test_pairs_whose_side_failed_are_made_anew_of_mended_code(started: Cli, folder: Path) -> None:
    """Runs of other code make no pairs with those that there are."""
    text = (
        RECIPE.replace("controls:\n- {mode: old}\n", "")
        .replace("[1, 2, 3, 4]", "[1]")
        .replace("fixed: {mode: new}\n", "")
    )
    text = text.replace("  size: [1]\n", "  size: [1]\n  mode: [old, new]\n") + "order: interleaved\nrepeats: 20\n"
    write_recipe(folder, text, bench='[ "$2" = old ] || exit 3\necho "RESULT tflops=1$LOGBOOK_RUN"\n')
    first = started("sweep", "demo")
    assert "what failed fails again on the same code; once that is mended: logbook sweep demo --new\n" in first.out
    for question in ("next", "status"):
        said = started(question).out
        assert ("--retry-failed" in said, "mend the code and type `logbook sweep demo --new`" in said) == (
            False,
            True,
        ), said
    (folder / "bench.sh").write_text('echo "RESULT tflops=1$LOGBOOK_RUN"\n')
    again = started("sweep", "demo", "--new", "--json").data
    assert (again["id"], again["failed"], again["answer"]["pairs"]) == ("MOE-001", 0, 20)
    assert "MOE-000" not in started("next").out


@pytest.mark.slow
def test_a_run_that_a_gate_failed_is_made_again_too(started: Cli, folder: Path) -> None:
    bench = 'echo "RESULT tflops=$1 ok=$([ "$1" = 2 ] && [ ! -e mended ] && echo 0 || echo 1)"\n'
    write_recipe(folder, RECIPE + "gates: [ok == 1]\n", bench=bench)
    first = started("sweep", "demo", "--set", "size=1,2")
    assert (first.code, "2 failed" in first.out) == (1, True)
    (folder / "mended").touch()
    assert ": logbook sweep --id MOE-000 --retry-failed\n" in first.out
    again = started("sweep", "--id", "MOE-000", "--retry-failed", "--json")
    assert (again.code, again.data["rows"], again.data["failed"], again.data["ran"]) == (0, 4, 0, 2)
