"""Recipes of stages: checked whole, carried out one after another, stopped and taken up again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from logbook_agent.store.book import Book
from tests.conftest import Cli
from tests.recipes.sweep_support import BENCH, RECIPE, runs_of, write_recipe

PAIR = """\
name: pair
question: Is new any faster than old?
command: [bash, bench.sh, "{size}", "{mode}"]
fixed: {size: 2}
axes:
  mode: [old, new]
compare: {axis: mode, base: old}
metrics: [tflops]
confirm: 0
cost: {seconds_per_run: 2}
scale:
  tiny:
    fixed: {size: 1}
"""
STORY = """\
name: story
question: Is new any faster, and does that change with size?
criteria:
- {text: Both modes are measured., predicate: {compared: {axis: mode, values: [old, new]}}}
- Somebody is convinced.
constraints:
- Both sides have the same size.
stages:
- recipe: pair
  set: {repeats: 2}
  baseline: {mode: old}
- {recipe: demo, set: {size: [1, 2], confirm: 0}}
"""
DEMO = RECIPE + "after: [pair]\ncost: {seconds_per_run: 3}\nscale:\n  tiny: {}\n"


def write_story(folder: Path, story: str = STORY, *, pair: str = PAIR, demo: str = DEMO, bench: str = BENCH) -> None:
    write_recipe(folder, pair, name="pair", bench=bench)
    write_recipe(folder, demo, bench=bench)
    write_recipe(folder, story, name="story", bench=bench)


def labels(folder: Path, entry_id: str) -> list[tuple[object, object]]:
    return [(run.config["size"], run.config["mode"]) for run in runs_of(folder, entry_id)]


# -- the plan ----------------------------------------------------------------------------------------


def test_a_dry_run_shows_all_stages_and_the_total(cli: Cli, folder: Path) -> None:
    write_story(folder)
    answer = cli("sweep", "story", "--scale", "tiny", "--dry-run")
    assert answer.code == 0
    assert all(line.startswith("warning: can-answer: ") for line in answer.err.splitlines())
    assert (
        answer.out
        == """\
story: Is new any faster, and does that change with size?

stage 1 of 2
pair: Is new any faster than old?
  2 cases, 2 runs each; order as-listed
  cost: about 8 s for 4 runs at 2 s (the recipe)
  first command: bash bench.sh 1 old
runs:
     1  mode=old repeat 1
     2  mode=old repeat 2
     3  mode=new repeat 1
     4  mode=new repeat 2

stage 2 of 2
demo: How does it change with size?
  4 cases, 2 of them controls; order as-listed
  cost: about 12 s for 4 runs at 3 s (the recipe)
  first command: bash bench.sh 1 old
runs:
     1  size=1 mode=old (control)
     2  size=1 mode=new
     3  size=2 mode=old (control)
     4  size=2 mode=new

in all: 8 runs to make; about 20 s
"""
    )
    assert not (folder / "logbooks").exists()
    data = cli("sweep", "story", "--dry-run", "--json").data
    assert [stage["recipe"] for stage in data["stages"]] == ["pair", "demo"]
    assert (data["runs"], data["cost"]) == (8, {"seconds": 20.0})


def test_the_list_names_it(cli: Cli, folder: Path) -> None:
    write_story(folder)
    assert "story              2 stages   Is new any faster, and" in cli("sweep").out
    [listed] = [r for r in cli("sweep", "--json").data["recipes"] if r["name"] == "story"]
    assert (listed["cases"], listed["stages"], listed["scales"]) == (6, ["pair", "demo"], ["tiny"])


@pytest.mark.parametrize(
    ("texts", "options", "message", "hint"),
    [
        ({"story": STORY.replace("recipe: pair", "recipe: pear")}, (), "story.yaml, line 9: no recipe 'pear'", "pair?"),
        ({"demo": STORY.replace("story", "demo")}, (), "story.yaml, line 12: the stage demo has stages", "in place of"),
        ({"story": STORY + "- {recipe: pair, set: {repeats: 2}}\n"}, (), "stages 1 and 3 run the same", "repeats"),
        ({"story": STORY.replace("[1, 2]", "[x]")}, (), "demo: story.yaml, line 12: size takes a", "set: {size: 1}"),
        (
            {"story": STORY.replace("repeats: 2", "repeat: 2")},
            (),
            "story.yaml, line 10: unknown key 'repeat'",
            "set: {r",
        ),
        (
            {"story": STORY.replace("repeats: 2", "repeats: x")},
            (),
            "story.yaml, line 10: repeats must be",
            "repeats: 1",
        ),
        ({"story": STORY.replace("{mode: old}", "{mod: old}")}, (), "story.yaml, line 11: unknown key 'mod'", "mode?"),
        ({"story": STORY.replace("{mode: old}", "{mode: olt}")}, (), "line 11: no case of pair has mode=olt", "old?"),
        ({}, ("--set", "mode=new"), "stage 1 of story, pair: --set mode=new: mode=old has nothing to be compared", ""),
        ({}, ("--scale", "tinny"), "stage 1 of story, pair: pair.yaml, line 11: unknown scale 'tinny'", "tiny?"),
        ({"story": STORY.replace("compared:", "compard:")}, (), "story.yaml, line 4: the predicate is not valid", ""),
        (
            {"demo": DEMO + "criteria: [{text: x, predicate: {date: soon}}]"},
            (),
            "stage 2 of story, demo: demo.yaml, line 16: the predicate is not valid",
            "",
        ),
        ({}, ("--set", "sise=3"), "unknown key 'sise'", "did you mean --set size=3?"),
        ({"demo": DEMO + "limits: {cases: 1}\n"}, (), "stage 2 of story, demo: demo.yaml, line 16: demo has 2", "V,V"),
        ({"demo": DEMO.replace("bash,", "bashh,")}, (), "stage 2 of story, demo: command not found: bashh", "bash"),
        ({"demo": DEMO + "limits: {hours: 0.001}\n"}, (), "stage 2 of story, demo: demo would take", "hours"),
    ],
)
def test_nothing_runs_before_all_stages_fit(
    started: Cli, folder: Path, texts: dict[str, str], options: tuple[str, ...], message: str, hint: str
) -> None:
    write_story(folder, texts.get("story", STORY), demo=texts.get("demo", DEMO))
    answer = started("sweep", "story", *options)
    assert answer.code in (2, 127), answer.err
    assert message in answer.err
    assert hint in answer.err
    assert not (folder / "logbooks/moe/entries").exists()


# -- carrying out ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_stages_from_end_to_end(started: Cli, folder: Path) -> None:
    write_story(folder)
    answer = started("sweep", "story", "--set", "size=3", "--scale", "tiny")
    assert answer.code == 0, answer.err
    # That the second recipe comes after the first is satisfied by the first stage.
    assert answer.err.count("warning") == answer.err.count("warning: can-answer: ") == 2
    lines = [line for line in answer.err.splitlines() if line.startswith("stage")]
    assert lines == ["stage 1 of 2: pair", "stage 2 of 2: demo"]
    assert labels(folder, "MOE-000") == [(3, "old")] * 2 + [(3, "new")] * 2
    assert labels(folder, "MOE-001") == [(3, "old"), (3, "new")]
    runs = folder / "logbooks/moe/runs"
    assert (
        answer.out
        == f"""\
stage 1 of 2: pair
MOE-000: 4 of 4 rows, none failed
rows: {runs}/MOE-000/sweep.csv
log: {runs}/MOE-000/sweep.log
baseline: mode=old
stage 2 of 2: demo
MOE-001: 2 of 2 rows, none failed
rows: {runs}/MOE-001/sweep.csv
log: {runs}/MOE-001/sweep.log
next: logbook criteria
"""
    )
    header = Book(folder / "logbooks", "moe").header
    assert header.baseline is not None
    assert (header.baseline.entry, header.baseline.config["mode"]) == ("MOE-000", "old")
    assert header.baseline.numbers[0].metrics == {"tflops": 30.0}
    assert header.baseline_moves[0].reason == "the stage pair of story measured it"
    # Typed again: nothing is run, and the baseline stays what it is.
    again = started("sweep", "story", "--set", "size=3", "--scale", "tiny", "--json")
    assert again.code == 0, again.out
    told = [(s["recipe"], s["id"], s["ran"], s["baseline"]) for s in again.data["stages"]]
    assert told == [("pair", "MOE-000", 0, None), ("demo", "MOE-001", 0, None)]
    assert (again.data["exit_status"], again.data["stopped"]) == (0, None)
    dry = started("sweep", "story", "--set", "size=3", "--scale", "tiny", "--dry-run").out
    assert "finished as MOE-000; --new starts another" in dry
    assert dry.endswith("in all: 0 runs to make; about 0 s\n")
    anew = started("sweep", "story", "--set", "size=3", "--scale", "tiny", "--new", "--json")
    assert [stage["id"] for stage in anew.data["stages"]] == ["MOE-002", "MOE-003"]
    assert started("doctor").code == 0


@pytest.mark.slow
def test_several_values_go_where_the_key_is_an_axis(started: Cli, folder: Path) -> None:
    write_story(folder)
    assert started("sweep", "story", "--set", "size=3,4").code == 0
    assert {size for size, _ in labels(folder, "MOE-000")} == {2}, "one value, and that of the recipe"
    assert [size for size, _ in labels(folder, "MOE-001")] == [3, 3, 4, 4]


@pytest.mark.slow
def test_a_baseline_that_is_there_is_not_moved(cli: Cli, folder: Path) -> None:
    write_story(folder)
    assert cli("start", "moe", "--prefix", "MOE", "--metric", "tflops", "--baseline", "tflops=7").code == 0
    answer = cli("sweep", "story", "--json")
    assert [stage["baseline"] for stage in answer.data["stages"]] == [None, None]
    assert Book(folder / "logbooks", "moe").header.baseline_moves == ()


@pytest.mark.slow
def test_a_baseline_that_names_another_case_stays(cli: Cli, folder: Path) -> None:
    write_story(folder)
    assert cli("start", "moe", "--prefix", "MOE", "--baseline", "mode=new").code == 0
    answer = cli("sweep", "story", "--json")
    assert answer.code == 0, answer.err
    assert "the baseline stays mode=new, not mode=old" in json.loads(answer.out)["warnings"]
    assert cli("baseline", "--json").data["baseline"]["config"] == {"mode": "new"}


@pytest.mark.slow
def test_what_is_no_baseline_is_a_warning(started: Cli, folder: Path) -> None:
    write_story(folder, bench='[ "$2" = old ] && exit 5\necho "RESULT tflops=$1"\n')
    answer = started("sweep", "story", "--json")
    assert (answer.code, answer.data["stages"][0]["baseline"]) == (1, None)
    [warning] = [w for w in json.loads(answer.out)["warnings"] if not w.startswith("can-answer: ")]
    assert warning.startswith("mode=old did not become the baseline: ")


@pytest.mark.slow
def test_an_interrupted_story_goes_on_by_the_same_command(started: Cli, folder: Path) -> None:
    stop = 'if [ "$1$2" = 2new ] && [ ! -e again ]; then touch again; kill -INT $PPID; sleep 5; fi\n'
    write_story(folder, bench=stop + 'echo "RESULT tflops=$1"\n')
    first = started("sweep", "story")
    assert first.code == 130
    line = "stopped: stage 1 of 2, pair, was interrupted; to continue: logbook sweep story"
    assert first.out.splitlines()[-1] == line
    assert not (folder / "logbooks/moe/entries/MOE-001.yaml").exists()
    dry = started("sweep", "story", "--dry-run").out
    assert "resumes MOE-000, which is unfinished" in dry
    assert dry.endswith("in all: 6 runs to make; about 12 s\n"), "two are there"
    second = started("sweep", "story", "--json")
    assert second.code == 0, second.err
    assert [(s["id"], s["ran"], s["rows"]) for s in second.data["stages"]] == [("MOE-000", 2, 4), ("MOE-001", 4, 4)]
    assert second.data["stages"][0]["baseline"] == "mode=old"


@pytest.mark.slow
def test_a_stage_that_failed_outright_stops_the_story(started: Cli, folder: Path) -> None:
    write_story(folder, bench='[ -e fixed ] || exit 5\necho "RESULT tflops=$1"\n')
    answer = started("sweep", "story", "--set", "repeats=1", "--json")
    assert (answer.code, answer.data["exit_status"], len(answer.data["stages"])) == (1, 1, 1)
    retry = "logbook sweep story --set repeats=1 --retry-failed"
    assert answer.data["stopped"] == (
        f"stage 1 of 2, pair, failed in every run; see logbook show MOE-000; then continue: {retry}"
    )
    # Typed again it stays stopped: what ended by itself is not run again unasked.
    assert started("sweep", "story", "--set", "repeats=1", "--json").data["stages"][0]["ran"] == 0
    (folder / "fixed").touch()
    again = started(*retry.split()[1:], "--json")
    assert again.code == 0, again.out
    assert [(s["id"], s["ran"], s["failed"]) for s in again.data["stages"]] == [("MOE-000", 2, 0), ("MOE-001", 4, 0)]


def test_a_failed_setup_stops_the_story(started: Cli, folder: Path) -> None:
    write_story(folder, pair=PAIR + "setup: [['false']]\n")
    answer = started("sweep", "story")
    assert answer.code == 1
    last = "stopped: stage 1 of 2, pair, did not finish; to continue: logbook sweep story"
    assert answer.out.splitlines()[-1] == last


@pytest.mark.slow
def test_one_failed_case_does_not_stop_it(started: Cli, folder: Path) -> None:
    write_story(folder, bench='[ "$1$2" = 2new ] && exit 5\necho "RESULT tflops=$1"\n')
    answer = started("sweep", "story", "--json")
    assert (answer.code, [stage["failed"] for stage in answer.data["stages"]]) == (1, [2, 1])


@pytest.mark.slow
def test_a_void_entry_is_no_stage(started: Cli, folder: Path) -> None:
    write_story(folder)
    assert started("sweep", "story").code == 0
    assert started("edit", "MOE-001", "--state", "void").code == 0
    data = started("sweep", "story", "--json").data
    assert [(stage["id"], stage["ran"]) for stage in data["stages"]] == [("MOE-000", 0), ("MOE-002", 4)]


@pytest.mark.slow
def test_a_story_is_not_an_entry(started: Cli, folder: Path) -> None:
    write_story(folder)
    assert started("sweep", "story").code == 0
    answer = started("sweep", "story", "--resume", "MOE-000")
    assert answer.code == 2
    assert "story has stages, so it is not a plan by itself" in answer.err


def test_criteria_of_a_story(started: Cli, folder: Path) -> None:
    write_story(folder)
    answer = started("criteria", "--recipe", "story", "--json")
    assert [c["text"] for c in answer.data["criteria"]] == ["Both modes are measured.", "Somebody is convinced."]
