"""After a sweep that explores: its best case and the base in pairs, and what is said of both."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import Cli
from tests.contract.campaign.ab_entry_support import Git, commit
from tests.contract.campaign.recipes.sweep_support import COMPARED, REST, runs_of, write_recipe
from tests.stored import at

# Size 3 comes out best once, and below all others after that. The last digits follow from the number of the run.
LUCKY = """\
n=$((LOGBOOK_RUN * 7 % 10))3
if [ "$2" = old ]; then echo "RESULT size=$1 mode=$2 tflops=105.$n"
elif [ "$1" != 3 ]; then echo "RESULT size=$1 mode=$2 tflops=100.$n"
elif [ -e lucky ]; then echo "RESULT size=$1 mode=$2 tflops=95.$n"
else touch lucky; echo "RESULT size=$1 mode=$2 tflops=112.$n"; fi
"""
MODES = """\
name: modes
question: Which one is the best?
command: [bash, bench.sh, "{mode}"]
axes:
  mode: [a, b, c, d]
compare: {axis: mode, base: a}
metrics: [tflops]
"""
# Mode d is 3% ahead.
STEADY = """\
[ "$1" = d ] && gain=30 || gain=0
echo "RESULT tflops=$((1000 + gain + LOGBOOK_RUN * 7 % 10)).3"
"""


def stated(folder: Path) -> dict[str, Any]:
    text = at(folder / "logbooks/moe/entries/MOE-000.yaml").read_text()
    found: dict[str, Any] = yaml.safe_load(text)["comparison"]
    return found


@pytest.mark.slow
def test_a_lucky_case_is_compared_and_is_no_winner(started: Cli, folder: Path) -> None:
    write_recipe(folder, COMPARED, bench=LUCKY)
    answer = started("sweep", "demo")
    assert answer.code == 0, answer.err
    lines = answer.out.splitlines()
    assert re.fullmatch(r"best while exploring: size=3 mode=new: tflops 112.\d+ TF/s, the value of 1 run", lines[1])
    said = next(line for line in lines if line.startswith("new has "))
    assert re.fullmatch(r"new has 9.\d+% less tflops than old at size=3 \(95%: .* (10|20) pairs\)", said)
    assert stated(folder)["question"] == {"axis": "mode", "base": "old", "sides": ["new"], "metrics": ["tflops"]}
    status = started("status", "--json").data
    [line] = status["answers"]
    assert (line["settled"], line["outcome"]) == (True, "worse")
    assert line["answer"].startswith(said.partition(";")[0])
    assert not any(best["value"] > 106 for best in status["best"])
    issue = re.sub(r"<!--.*?-->", "", started("sync", "--create", "--repo", "a/b", "--dry-run").out, flags=re.DOTALL)
    assert said in issue
    assert "112." not in issue.partition("### MOE-000")[0]
    # The medians are those of the pairs, as in the table: what was measured before stands in rows of its own.
    [finding] = started("compare", "MOE-000", "--json").data["answer"]["findings"]
    table = started("table", "MOE-000", "--json").data
    columns = [column["name"] for column in table["columns"]]
    pairs = [dict(zip(columns, row, strict=True)) for row in table["values"] if "comparison" in row]
    assert {row["mode"]: row["tflops"] for row in pairs} == {
        "old": finding["base"]["median"],
        "new": finding["other"]["median"],
    }


@pytest.mark.parametrize(
    ("order", "repeats", "explores"),
    [("interleaved", 10, False), ("shuffled", 10, False), ("interleaved", 2, True), ("as-listed", 8, True)],
)
@pytest.mark.sample(2)
@pytest.mark.slow
def test_a_plan_with_enough_drawn_pairs_is_the_comparison_and_another_one_explores(
    started: Cli, folder: Path, order: str, repeats: int, explores: bool
) -> None:
    write_recipe(folder, MODES, bench=STEADY, name="modes")
    answer = started("sweep", "modes", "--set", f"order={order}", "--set", f"repeats={repeats}", "--json")
    assert answer.code == 0, answer.err
    found = {f["side"]: f["outcome"] for f in answer.data["answer"]["findings"]}
    sides = ["d"] if explores else ["b", "c", "d"]
    assert list(found) == sides
    assert found["d"] == "better"
    assert {found[side] for side in sides[:-1]} <= {"open", "no difference"}
    assert stated(folder)["question"]["sides"] == sides
    assert (answer.data["best"] or {}).get("label") == ("mode=d" if explores else None)
    extra = [run for run in runs_of(folder) if run.label == "comparison"]
    assert len(extra) in ((20, 40) if explores else (0,))
    assert all(run.part is not None for run in (extra if explores else runs_of(folder)))
    assert all(run.part is None for run in runs_of(folder)[: 4 * repeats]) is explores


@pytest.mark.slow
def test_without_a_base_the_best_is_compared_with_the_runner_up(started: Cli, folder: Path) -> None:
    text = MODES.replace("compare: {axis: mode, base: a}\n", "repeats: 2\n")
    write_recipe(folder, text, bench=STEADY, name="modes")
    answer = started("sweep", "modes", "--json")
    [finding] = answer.data["answer"]["findings"]
    assert (finding["side"], finding["outcome"]) == ("d", "better")
    assert stated(folder)["question"]["base"] in ("a", "b", "c")
    none = started("sweep", "modes", "--set", "confirm=0", "--json")
    assert (none.data["best"], none.data["answer"]) == (None, None)


@pytest.mark.slow
@pytest.mark.wide
def test_a_sweep_that_stays_open_goes_on_by_what_it_says(started: Cli, folder: Path) -> None:
    noisy = 'speed=1000; [ "$1" = d ] && speed=1030\n'
    noisy += 'echo "RESULT tflops=$((speed + LOGBOOK_RUN * LOGBOOK_RUN * LOGBOOK_RUN * 7919 % 197)).3"\n'
    write_recipe(folder, MODES, bench=noisy, name="modes")
    answer = started("sweep", "modes")
    assert answer.code == 0, answer.err
    stopped = re.search(r"^stopped: .*; to continue: logbook (sweep .*)$", answer.out, re.MULTILINE)
    assert stopped is not None, answer.out
    again = started(*stopped[1].split())
    assert again.code == 0, again.err
    made = len([run for run in runs_of(folder) if run.label == "comparison"])
    assert made > 40
    assert made % 20 == 0, "whole blocks of two sides"


# Of cases that are alike, d is lucky once; c fails, and is the best once it is mended.
MOVES = """\
if [ "$1" = c ] && [ ! -e mended ]; then exit 3; fi
[ "$1" = c ] && gain=900 || gain=0
[ "$1" = d ] && [ ! -e lucky ] && touch lucky && gain=400
echo "RESULT tflops=$((1000 + gain + LOGBOOK_RUN * LOGBOOK_RUN * 7919 % 197)).3"
"""


def all_steps(cli: Cli) -> list[str]:
    """The commands that `next` prints, typed one after another until it prints none; each makes runs."""
    typed = list[str]()
    while steps := cli("next", "--json").data["steps"]:
        typed.append(steps[0]["command"])
        assert typed.count(typed[-1]) == 1, typed
        answer = cli(*typed[-1].split()[1:], "--json")
        assert (answer.code, answer.data["ran"] > 0) == (0, True), (typed, answer.err)
    return typed


@pytest.mark.slow
def test_a_best_case_that_moves_leaves_the_comparison_that_has_pairs(started: Cli, folder: Path) -> None:
    write_recipe(folder, MODES + "confirm: 4\n", bench=MOVES, name="modes")
    assert started("sweep", "modes").code == 1
    [line] = started("status", "--json").data["answers"]
    assert (line["pairs_to_add"], line["answer"][:15]) == (6, "d against a is ")
    (folder / "mended").touch()
    again = started("sweep", "--id", "MOE-000", "--retry-failed", "--json")
    assert again.data["best"]["label"] == "mode=c"
    assert all_steps(started)[0] == "logbook sweep --id MOE-000 --set confirm=10"
    assert stated(folder)["question"]["sides"] == ["d"]


@pytest.mark.slow
def test_a_comparison_goes_on_with_the_code_of_its_first_pair(started: Cli, git: Git, folder: Path) -> None:
    write_recipe(folder, MODES + "confirm: 4\nsetup: [[test, -e, bench.sh]]\n", bench=STEADY, name="modes")
    commit(git, "The benchmark")
    assert started("sweep", "modes").code == 0
    (folder / "bench.sh").write_text(STEADY.replace("1000", "3000"))
    assert all_steps(started) == ["logbook sweep --id MOE-000 --set confirm=10"]
    assert "under other conditions" not in started("compare", "MOE-000").out
    assert max(run.rows[0].metrics.tflops.samples[0] for run in runs_of(folder) if run.rows) < 2000


# -- what was cut off, and units ---------------------------------------------------------------------


@pytest.mark.slow
def test_a_run_that_was_cut_off_behind_its_row_is_made_again(started: Cli, folder: Path) -> None:
    bench = 'echo "RESULT tflops=$(($1 * 10))"\n'
    bench += 'if [ "$1$2" = 2new ] && [ ! -e again ]; then touch again; kill -INT $PPID; sleep 5; fi\n'
    write_recipe(folder, bench=bench)
    first = started("sweep", "demo", "--json")
    assert (first.code, first.data["rows"]) == (130, 3)
    assert [one.rpartition(": ")[2] for one in first.data["problems"]] == [REST]
    second = started("sweep", "demo", "--json").data
    assert (second["id"], second["rows"], second["ran"], second["problems"]) == ("MOE-000", 8, 5, [])
    with at(folder / "logbooks/moe/runs/MOE-000/sweep.csv").open(newline="") as stream:
        assert sorted((row["size"], row["mode"]) for row in csv.DictReader(stream)) == sorted(
            (str(size), mode) for size in (1, 2, 3, 4) for mode in ("old", "new")
        )
    [line] = started("list", "--json").data
    assert (line["state"], line["result"][:6]) == ("finished", "8 rows")


@pytest.mark.parametrize(("unit", "best"), [("", None), (", unit: s", "size=2")])
def test_values_in_two_units_are_not_ranked(started: Cli, folder: Path, unit: str, best: str | None) -> None:
    text = re.sub(r"controls:.*?compare[^\n]*\n", "", COMPARED, flags=re.DOTALL)
    text = text.replace("[tflops]", f"[{{name: latency, direction: max{unit}}}]")
    write_recipe(folder, text, bench='[ "$1" = 1 ] && echo "METRIC latency=500 us" || echo "METRIC latency=2 s"\n')
    answer = started("sweep", "demo", "--set", "size=1,2", "--json")
    assert answer.code == 1
    [problem] = answer.data["problems"]
    assert "latency has values in us and s" in problem
    assert (answer.data["best"] or {}).get("label") == best
    assert "latency 500 us" in answer.err
    dry = started("sweep", "demo", "--set", "size=1,2", "--dry-run").out
    assert "unfinished" not in dry
