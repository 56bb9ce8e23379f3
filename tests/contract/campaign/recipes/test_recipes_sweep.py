"""`logbook sweep`: the list, the plan, and a sweep with its setup, failures, resumption and comparison."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.campaign.recipes.sweep_support import BENCH, COMPARED, RECIPE, REST, runs_of, write_recipe
from tests.contract.running.executors.conftest import settings
from tests.seams import Store
from tests.stored import at

pytestmark = pytest.mark.slow


def test_the_projects_recipes_come_first(cli: Cli, folder: Path) -> None:
    write_recipe(folder)
    write_recipe(folder, RECIPE.replace("demo", "int8-ab"), name="int8-ab")
    write_recipe(folder, "name: [", name="broken")
    answer = cli("sweep", "--json")
    data = json.loads(answer.out)
    names = [(r["name"], r["own"]) for r in data["data"]["recipes"]]
    assert names[:2] == [("demo", True), ("int8-ab", True)]
    assert ("int8-topk", False) in names
    assert [w.split(":")[0] for w in data["warnings"]] == ["broken"]
    assert "demo               8 cases    How does it change with size?" in cli("sweep").out


def test_a_dry_run_writes_nothing_and_needs_no_logbook(cli: Cli, folder: Path) -> None:
    write_recipe(folder)
    answer = cli("sweep", "demo", "--dry-run", "--set", "size=7,9")
    assert answer.code == 0
    plan, _, listed = answer.out.partition("runs:\n")
    assert "bash bench.sh 7 old" in plan
    assert [" ".join(line.split()[1:]) for line in listed.splitlines()] == [
        "size=7 mode=old (control)",
        "size=7 mode=new",
        "size=9 mode=old (control)",
        "size=9 mode=new",
    ]
    assert not (folder / "logbooks").exists()


@pytest.mark.parametrize(
    ("change", "message", "hint"),
    [
        (("{size}", "{sizes}"), "demo.yaml, line 6: ", "did you mean sizes?"),
        (("controls:", "contrls:"), "demo.yaml, line 7: ", "did you mean controls?"),
        (("name: demo", "name: other"), "demo.yaml, line 1: ", "name: demo"),
        (("axes:", "axes: ]"), "recipes/demo.yaml, line 5", ""),
        (("bash, bench.sh", "bashh, bench.sh"), "bashh", ""),
    ],
)
@pytest.mark.sample(4)
def test_what_does_not_fit_runs_nothing(
    started: Cli, folder: Path, change: tuple[str, str], message: str, hint: str
) -> None:
    write_recipe(folder, RECIPE.replace(*change))
    answer = started("sweep", "demo")
    assert answer.code in (2, 3, 127), answer.err
    assert message in answer.err
    assert hint in answer.err
    assert not (folder / "logbooks/moe/entries").exists()


@pytest.mark.parametrize(
    ("scale", "named"),
    [
        ("", "'tinny'"),
        ("scale: {tiny: {}}", "line 12: scale: unknown scale 'tinny'"),
        ("scale: [tinny]", "line 12: scale: "),
    ],
)
def test_a_scale_that_is_not_there(started: Cli, folder: Path, scale: str, named: str) -> None:
    write_recipe(folder, RECIPE + scale + "\n")
    answer = started("sweep", "demo", "--scale", "tinny", "--dry-run")
    assert (answer.code, named in answer.err) == (2, True)


@pytest.mark.slow
def test_a_sweep_from_end_to_end(started: Cli, folder: Path) -> None:
    text = COMPARED + "repeats: 2\norder: interleaved\nseed: 1\nconfirm: 8\n"
    text += "setup: [{label: Allocate, argv: [touch, device]}]\nteardown: [{shell: 'rm device'}]\n"
    # Size 2 fails after its row, size 3 before; a device must be there.
    bench = 'test -e device || exit 9\n[ "$1" = 3 ] && { echo boom >&2; exit 4; }\n'
    bench += 'echo "RESULT size=$1 mode=$2 tflops=$(($1 * 10))"\n'
    write_recipe(folder, text, bench=bench)
    answer = started("sweep", "demo")
    assert answer.code == 1, "a case failed"
    first, best = answer.out.splitlines()[:2]
    assert first == "MOE-000: 16 of 16 rows, 4 failed"
    assert "size=4 mode=new: tflops 40 TF/s" in best
    lines = answer.err.splitlines()
    assert lines[0] == "setup: Allocate"
    assert lines[1].startswith("[1/16] size=1 mode=new repeat 1: tflops 10 TF/s; best so far 10 (size=1 mode=new)")
    assert lines[9].startswith("[9/16] size=3 mode=old repeat 1: failed: exit code 4: boom; best so far 20 (")
    assert lines[16].startswith("[16/16] size=4 mode=old repeat 2: tflops 40 TF/s; ")
    assert lines[-1] == "teardown"
    runs = runs_of(folder)
    assert [run.label for run in runs] == ["setup: Allocate", *[None] * 16, *["comparison"] * 16, "teardown"]
    # Drawn for each round of a size.
    assert [dict(run.config)["mode"] for run in runs[1:5]] == ["new", "old", "old", "new"]
    failed = [row for run in runs for row in run.rows or () if row.failed is not None]
    assert [(row.config, row.failed and row.failed.reason) for row in failed[:1]] == [
        ({"mode": "old", "size": 3}, "exit code 4")
    ]
    assert "boom" in str(failed[0].failed)
    with at(folder / "logbooks/moe/runs/MOE-000/sweep.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 16
    assert sum(row["failed"] == "exit code 4" for row in rows) == 4
    assert not (folder / "device").exists()
    assert "Question: How does it change with size?" in (folder / "logbooks/moe.md").read_text()
    assert started("doctor").code == 0


@pytest.mark.slow
def test_an_interrupted_sweep_goes_on_by_the_same_command(started: Cli, folder: Path) -> None:
    stop = 'if [ "$1$2" = 2new ] && [ ! -e again ]; then touch again; kill -INT $PPID; sleep 5; fi\n'
    path = write_recipe(folder, RECIPE + "teardown: [[touch, released]]\n", bench=stop + 'echo "RESULT tflops=$1"\n')
    first = started("sweep", "demo", "--json")
    assert (first.code, first.data["interrupted"], first.data["ran"]) == (130, True, 3)
    assert [one.rpartition(": ")[2] for one in first.data["problems"]] == [REST]
    assert (folder / "released").exists(), "the teardown is made whatever happened"
    dry = started("sweep", "demo", "--dry-run")
    assert "resumes MOE-000" in dry.out.splitlines()[-1]
    second = started("sweep", "demo", "--json")
    assert second.code == 0, second.out
    assert second.data["id"] == "MOE-000"
    assert (second.data["planned"], second.data["rows"], second.data["ran"]) == (8, 8, 5)
    assert second.err.startswith("MOE-000: 3 of 8 runs ")
    # Complete: named, it is only looked at; not named, it begins anew.
    again = started("sweep", "--id", "MOE-000", "--json")
    assert (again.code, again.data["rows"], again.data["ran"]) == (0, 8, 0)
    assert started("sweep", "demo", "--set", "size=1", "--json").data["id"] == "MOE-001"
    path.write_text(path.read_text().replace("[1, 2, 3, 4]", "[1, 2]"))
    changed = started("sweep", "--id", "MOE-000")
    assert (changed.code, "MOE-000" in changed.err) == (2, True)


def test_a_sweep_stays_with_its_launcher(started: Cli, folder: Path) -> None:
    settings().write_text('[launchers.far]\ntemplate = "env FAR=1 {command}"\n')
    stop = 'if [ "$1" = 2 ] && [ ! -e again ]; then touch again; kill -INT $PPID; sleep 5; fi\n'
    write_recipe(
        folder,
        RECIPE.replace("controls:\n- {mode: old}\ncompare: {axis: mode, base: old}\n", ""),
        bench=stop + 'echo "RESULT tflops=$FAR"\n',
    )
    assert started("sweep", "demo", "--set", "size=1,2", "--on", "far").code == 130
    assert "not on near" in started("sweep", "--id", "MOE-000", "--on", "near").err
    assert started("sweep", "--id", "MOE-000").code == 0
    launched = [run.launcher and run.launcher.name for run in runs_of(folder)]
    assert launched == ["far"] * len(launched)
    assert started("sweep", "demo", "--set", "size=1,2", "--dry-run").out.count("resumes") == 0


def test_a_failed_setup_measures_nothing(started: Cli, folder: Path) -> None:
    write_recipe(folder, RECIPE + "setup: [['false']]\nteardown: [[touch, released]]\n")
    answer = started("sweep", "demo")
    assert answer.code == 1
    assert [run.label for run in runs_of(folder)] == ["setup", "teardown"]


def test_a_broken_rule_is_refused_and_a_habit_is_told(started: Cli, folder: Path) -> None:
    quantised = RECIPE.replace("mode", "quant_mode").replace("old", "none").replace("new", "int8")
    write_recipe(
        folder, quantised.replace("controls:\n- {quant_mode: none}\ncompare: {axis: quant_mode, base: none}\n", "")
    )
    answer = started("sweep", "demo", "--json")
    assert answer.code == 2
    assert "identical-controls" in answer.error["message"]
    write_recipe(folder, quantised + "after: [first]\n")
    warned = started("sweep", "demo", "--set", "size=1,2", "--json")
    assert warned.code == 0
    few, warning = json.loads(warned.out)["warnings"]
    assert few.startswith("can-answer: ")
    assert "--set repeats=10 --set order=interleaved" in few
    assert "after first" in warning


def test_options_that_do_not_go_together(started: Cli, folder: Path) -> None:
    write_recipe(folder)
    assert started("sweep", "--dry-run").code == 2
    assert started("sweep", "demo", "--id", "MOE-000", "--new").code == 2
    assert "did you mean demo?" in started("sweep", "demoo").err
    started("note", "--title", "x")
    refused = started("sweep", "--id", "MOE-000")
    assert (refused.code, "MOE-000" in refused.err) == (2, True)
    assert not (folder / "logbooks/moe/runs").exists()


@pytest.mark.parametrize("order", ["interleaved", "shuffled"])
@pytest.mark.slow
@pytest.mark.sample(1)
def test_a_sweep_that_is_made_again_has_another_order(started: Cli, folder: Path, order: str) -> None:
    stop = "test -e stop && kill -INT $PPID && sleep 5\n"
    write_recipe(folder, RECIPE.replace("[1, 2, 3, 4]", "[1]") + f"order: {order}\nrepeats: 6\n", bench=stop + BENCH)
    assert "by seed 0\n" in started("sweep", "demo", "--dry-run").out
    assert started("sweep", "demo").code == 0
    assert "by seed 1\n" in started("sweep", "demo", "--dry-run", "--new").out
    (folder / "stop").touch()
    assert started("sweep", "demo", "--new").code == 130
    (folder / "stop").unlink()
    # What has begun goes on in its own order, whatever was swept since.
    assert "by seed 1\n" in started("sweep", "demo", "--dry-run").out
    assert started("sweep", "demo", "--new").code == 0
    assert started("sweep", "--id", "MOE-001").code == 0
    orders = []
    for number in range(3):
        use = Store(folder).entry(f"MOE-00{number}").recipe
        assert use is not None
        assert use.seed == number
        made = sorted(runs_of(folder, f"MOE-00{number}"), key=lambda run: run.started)
        made = [run for run in made if run.repeat and run.exit is not None and run.exit.code == 0]
        orders.append([(run.config["mode"], run.repeat) for run in made])
        assert len(orders[-1]) == 12
    assert orders[0] != orders[1] != orders[2] != orders[0]
    # One that a recipe states is kept.
    write_recipe(folder, RECIPE + f"order: {order}\nrepeats: 6\nseed: 7\n")
    assert "by seed 7\n" in started("sweep", "demo", "--dry-run").out
