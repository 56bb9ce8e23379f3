"""What an A/B, `next` and `status` print after something went wrong, and typing just that."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Answer, Cli, FixedClock
from tests.contract.campaign.ab_entry_support import ASK, BENCH, COMMAND, Git, added, commit, runs, with_benchmark
from tests.seams import Store

pytestmark = pytest.mark.slow

TYPED = ("--title", "Both *modes*", "--hypothesis", "new is faster", "--discard", "1", "--min-effect", "2%")

RECIPE = """\
name: built
question: Is it faster?
setup: [{argv: [sh, -c, "(echo '#!/bin/sh'; cat bench.sh) > prog; chmod +x prog"]}]
command: [./prog, --mode, "{mode}"]
axes: {mode: [base, new]}
metrics: [tflops]
"""


@pytest.fixture
def ready(started: Cli, git: Git, folder: Path) -> Cli:
    return with_benchmark(started, git, folder)


def step(cli: Cli) -> dict[str, Any]:
    """The first step of `next`."""
    found: dict[str, Any] = cli("next", "--json").data["steps"][0]
    return found


def type_in(cli: Cli, command: str, *more: str) -> Answer:
    """What a printed command answers, as it stands."""
    return cli(*shlex.split(command)[1:], *more)


@pytest.mark.parametrize("pairs", [("--max-pairs", "3"), ("--pairs", "8")])
@pytest.mark.parametrize("cause", ["a side", "the setup"])
def test_what_is_asked_again_keeps_all_that_was_typed(
    ready: Cli, folder: Path, pairs: Sequence[str], cause: str
) -> None:
    setup = ("--setup", "sh lib.sh") if cause == "the setup" else ()
    (folder / "lib.sh").write_text("exit 4\n")
    failed = ready("ab", "--axis", "mode=base,new", *pairs, *TYPED, *setup, *COMMAND)
    assert failed.code != 0
    assert step(ready)["command"].startswith("logbook discard MOE-000 --why "), "the same code fails again"
    (folder / "lib.sh").write_text("speed=100\n")
    command = step(ready)["command"]
    assert command == "logbook ab --like MOE-000"
    assert f"fix that, then continue: {command}\n" in failed.out
    assert command in ready("status").out
    made = added(type_in(ready, command, "--json"), int(pairs[1]))
    entry = Store(folder).entry(made["id"])
    assert (made["id"], entry.title) == ("MOE-001", "Both *modes*")
    assert [(one.label, one.text) for one in entry.fields] == [("Hypothesis", "new is faster")]
    stated = entry.comparison
    assert (stated.question.minimum_effect, bool(stated.design.fixed)) == (0.02, pairs[0] == "--pairs")
    assert (stated.run.setup, stated.run.discard) == (dict([setup]).get("--setup") if setup else None, 1)
    assert sum("discarded" in run for run in runs(folder, "MOE-001")) == 2


def test_a_plan_keeps_the_number_of_its_pairs(ready: Cli) -> None:
    assert ready(*ASK[:-1], "2", "--plan", *COMMAND).code == 0
    command = step(ready)["command"]
    assert command in ready("status").out
    added(type_in(ready, command, "--json"), 2)


def test_a_plan_keeps_its_gates(ready: Cli, folder: Path) -> None:
    planned = ready("ab", "--plan", *ASK[1:], "--gate", "ok == 1", "--free", "checksum", *COMMAND)
    assert planned.code == 0, planned.err
    stated = Store(folder).entry("MOE-000")
    assert ([*stated.gates], [*stated.free]) == (["ok == 1"], ["checksum"])
    failed = ready("ab", "--id", "MOE-000", "--max-pairs", "1")
    assert (failed.code, "gate ok == 1" in failed.out) == (1, True), failed.out


def test_a_plan_needs_a_commit_to_return_to(started: Cli, folder: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    (folder / "bench.sh").write_text(BENCH)
    refused = started(*ASK, "--plan", "--json", *COMMAND)
    assert (refused.code, "commit" in refused.error["hint"]) == (2, True)
    assert started("list", "--json").data == []


def test_a_commit_that_fails_is_discarded(ready: Cli, git: Git, folder: Path) -> None:
    (folder / "bench.sh").write_text("echo boom >&2; exit 3\n")
    commit(git, "Broken")
    words = ("--evaluator", "none", "--", "sh", "bench.sh")
    failed = ready("ab", "--code", "HEAD~1", "HEAD", *words)
    shown = step(ready)
    [said] = re.findall("[0-9a-f]{9} is a commit, which fails again: compare another one, or .*", shown["why"])
    assert f"{said}: {shown['command']}" in failed.out
    # What it printed stands there: no log has to be looked at.
    assert "boom" in shown["why"]
    assert type_in(ready, shown["command"]).code == 0
    assert "MOE-000" not in ready("next").out


@pytest.mark.parametrize("typed", ["idea", "HEAD"])
def test_a_branch_that_was_mended_is_compared_again(ready: Cli, git: Git, folder: Path, typed: str) -> None:
    git("branch", "-M", "main")
    git("checkout", "-q", "-b", "idea")
    (folder / "bench.sh").write_text("echo boom >&2; exit 3\n")
    commit(git, "Broken")
    words = ("--evaluator", "none", "--max-pairs", "1", "--", "sh", "bench.sh")
    assert ready("ab", "--code", "main", typed, *words).code == 3
    git("branch", "-f", "main", git("commit-tree", "-m", "The other side moves on", "-p", "main", "main^{tree}"))
    commit(git, "The records alone")
    assert "logbook discard MOE-000" in step(ready)["command"], "the side that failed is as it was"
    git("checkout", "-q", "idea")
    (folder / "bench.sh").write_text(BENCH)
    (folder / "lib.sh").write_text("speed=110\n")
    git("commit", "-q", "-a", "--amend", "-m", "Mended")
    again = step(ready)
    assert again["command"] == "logbook ab --code main idea --like MOE-000"
    assert " failed: exit code 3" in again["why"]
    assert "it has another commit now" in again["why"]
    assert added(type_in(ready, again["command"], "--json"), 1)["id"] == "MOE-001"
    assert "MOE-000" not in ready("next").out


@pytest.mark.parametrize("gate", ["same checksum", "ok == 1"])
def test_a_value_that_fails_a_gate_is_asked_again_of_other_code_alone(ready: Cli, folder: Path, gate: str) -> None:
    """A flag has nothing to mend: asked again, it makes another entry that fails. The gate is decided by MOE-000."""
    gated = BENCH.replace("10))", "10)) checksum=$2 ok=$([ $2 = base ] && echo 1 || echo 0)")
    (folder / "bench.sh").write_text(gated)
    assert ready("edit", "--gate", gate, "--reason", "it").code == 0
    assert ready(*ASK, *COMMAND).code == 1
    first = step(ready)
    assert first["command"] == "logbook discard MOE-001 --why 'mode=new fails'"
    assert ("logbook ab --id MOE-001 --free checksum" in first["why"]) is (gate == "same checksum")
    # Asked again all the same, and then answered in the first entry: both leave the list.
    assert ready(*ASK, "--new", *COMMAND).code == 1
    assert step(ready)["id"] == "MOE-002"
    if gate == "same checksum":
        assert ready("ab", "--id", "MOE-001", "--free", "checksum", "--max-pairs", "10").code == 0
        assert not {"MOE-001", "MOE-002"} & {one.get("id") for one in ready("next", "--json").data["steps"]}
        return
    (folder / "bench.sh").write_text(gated.replace("echo 0", "echo 1"))
    again = step(ready)
    assert (again["id"], again["command"]) == ("MOE-002", "logbook ab --like MOE-002")
    assert added(type_in(ready, again["command"], "--json"), 1)["id"] == "MOE-003"
    assert not {"MOE-001", "MOE-002"} & {one.get("id") for one in ready("next", "--json").data["steps"]}


@pytest.mark.parametrize("discarded", [False, True])
@pytest.mark.parametrize("has_criterion", [False, True])
def test_a_branch_that_failed_a_gate_is_compared_again_once_it_is_mended(
    ready: Cli, git: Git, folder: Path, discarded: bool, has_criterion: bool
) -> None:
    git("branch", "-M", "main")
    (folder / "bench.sh").write_text("echo RESULT tflops=10$(($$ % 9)) checksum=$(cat sum.sh)\n")
    for branch, text in (("main", "1"), ("idea", "2")):
        if branch != "main":
            git("checkout", "-q", "-b", branch)
        (folder / "sum.sh").write_text(text)
        commit(git, f"Checksum {text}")
    assert ready("edit", "--gate", "same checksum", "--reason", "it").code == 0
    asks = "compared: {axis: code, values: [main, idea], settled: true}"
    if has_criterion:
        assert ready("criteria", "--add", "idea is better", "--predicate", asks).code == 0
    assert ready("ab", "--code", "main", "idea", "--max-pairs", "1", "--", "sh", "bench.sh").code == 1
    steps = ready("next", "--json").data["steps"]
    discards = [one["command"] for one in steps if "command" in one]
    assert discards == [f"logbook discard MOE-001 --why '{git('rev-parse', '--short=9', 'idea')} fails'"]
    if discarded:
        assert type_in(ready, discards[0]).code == 0
    (folder / "sum.sh").write_text("1")
    (folder / "more.sh").write_text("# faster\n")
    git("add", "more.sh")
    git("commit", "-q", "-a", "--amend", "-m", "Mended")
    if discarded and not has_criterion:
        assert "MOE-001" not in ready("next").out
        return
    again = step(ready)
    assert again["command"] == "logbook ab --code main idea --like MOE-001"
    assert again["kind"] == ("criterion" if has_criterion else "comparison")
    # The ID of a decision lies between.
    assert added(type_in(ready, again["command"], "--json"), 1)["id"] == f"MOE-00{2 + discarded}"
    assert "MOE-001" not in ready("next").out


def test_no_pairs_are_asked_for_that_the_rule_cannot_use(ready: Cli, folder: Path) -> None:
    """It has spent its 5% by 100 pairs; hundreds would be needed here."""
    noisy = 'n=$((1000 + LOGBOOK_RUN * 37 % 11 * 6)); [ "$2" = base ] || n=$((n + 8)); echo "RESULT tflops=$n"\n'
    (folder / "bench.sh").write_text(noisy)
    assert ready(*ASK[:-1], "20", "--seed", "2", *COMMAND).code == 0
    [why] = [one["why"] for one in ready("status", "--json").data["answers"]]
    assert re.search(r"measure for longer in each run; an effect of 4.3% or more is ruled out$", why), why
    assert "--min-effect" not in ready("status").out, "new pairs would say what these say"
    assert "--max-pairs" not in ready("next").out + ready("status").out
    # No command settles it, so it is no open step; the conclusion has it as a limitation.
    closed = ready("close", "--conclusion", "Nothing", "--dry-run")
    assert ("limitation: MOE-000: " in closed.out, "open" in closed.err) == (True, False)
    more = ready("ab", "--id", "MOE-000", "--max-pairs", "200", "--json").data
    assert (more["pairs"], "measure for longer" in more["stopped"]["why"]) == (100, True), more["stopped"]


def test_what_an_open_answer_rules_out_meets_a_criterion_that_asks_for_that(ready: Cli, folder: Path) -> None:
    noisy = 'n=$((1000 + LOGBOOK_RUN * 37 % 11 * 6)); [ "$2" = base ] || n=$((n + 8)); echo "RESULT tflops=$n"\n'
    (folder / "bench.sh").write_text(noisy)
    assert ready(*ASK[:-1], "20", "--seed", "2", *COMMAND).code == 0
    predicate = "compared: {axis: mode, values: [base, new], settled: true%s}"
    assert ready("criteria", "--add", "new is settled", "--predicate", predicate % "").code == 0
    way = "measure for longer in each run, or give the criterion a larger min_effect, with a reason (logbook criteria "
    for question in ("next", "criteria"):
        assert (way in (text := ready(question).out), "--min-effect" in text) == (True, False), text
    for outcomes, met in (("[better]", False), ("[no difference]", True)):
        larger = predicate % f", min_effect: 0.1, outcomes: {outcomes}"
        ready("criteria", "--predicate", f"1={larger}", "--reason", "10% would do")
        [one] = ready("criteria", "--json").data["criteria"]
        assert (one["met"], "command" in one) == (met, False), one
        assert "or more is ruled out" in one["computed"]["reason"], one
    ready("criteria", "--predicate", f"1={predicate % ''}", "--reason", "it would not")
    # Asked all the same, of code that was edited meanwhile.
    (folder / "bench.sh").write_text(f"{noisy}# edited\n")
    assert ready("ab", "--like", "MOE-000", "--min-effect", "50%").code == 0
    assert [one["outcome"] for one in ready("status", "--json").data["answers"]] == ["no difference"], (
        "one still stands"
    )
    [step] = ready("next", "--json").data["steps"]
    assert step["why"].startswith("MOE-000: new against base is open"), "the criterion asks for effects from 1% on"
    assert step["why"].endswith(
        "MOE-004 settles it for effects of 50% or more, and the criterion asks for effects from 1% on"
    )


def test_the_rest_of_a_fixed_number_of_pairs_is_asked_for(ready: Cli, folder: Path) -> None:
    (folder / "bench.sh").write_text(f'[ "$LOGBOOK_RUN" -lt 7 ] || exit 3\n{BENCH}')
    ready(*ASK[:-2], "--pairs", "20", *COMMAND)
    (folder / "bench.sh").write_text(BENCH)
    [answer] = ready("status", "--json").data["answers"]
    assert "its 20 pairs are judged once; it needs at least 17 more pairs" in answer["why"], answer
    assert type_in(ready, answer["command"], "--json").code == 0


def test_what_was_asked_again_and_discarded_is_no_open_answer(ready: Cli, git: Git, folder: Path) -> None:
    added(ready(*ASK, "--json", *COMMAND), 1)
    (folder / "lib.sh").write_text("speed=110\n")
    commit(git, "Faster")
    assert added(ready(*ASK, "--json", *COMMAND), 1)["id"] == "MOE-001"
    assert [one["id"] for one in ready("status", "--json").data["answers"]] == ["MOE-001", "MOE-000"]
    assert ready("discard", "MOE-001", "--why", "no gain").code == 0
    assert ready("status", "--json").data["answers"] == []


def test_a_branch_that_moved_on_since_is_named(ready: Cli, git: Git, folder: Path) -> None:
    git("branch", "-M", "main")
    git("checkout", "-q", "-b", "idea")
    (folder / "lib.sh").write_text("speed=110\n")
    commit(git, "Faster")
    then = git("rev-parse", "--short=9", "HEAD")
    ask = ("--max-pairs", "1", "--json")
    added(ready("ab", "--code", "main", "idea", *ask, "--", "sh", "bench.sh"), 1)
    assert "moved on" not in ready("ab", "--like", "MOE-000", *ask).err
    (folder / "lib.sh").write_text("speed=120\n")
    commit(git, "Faster still")
    now = git("rev-parse", "--short=9", "HEAD")
    again = ready("ab", "--like", "MOE-000", *ask)
    assert f"idea has moved on; this compares {then}, as before; for {now}: logbook ab --code main idea" in again.err
    assert added(again, 3)["id"] == "MOE-000"
    typed = next(line for line in again.err.splitlines() if "moved on" in line).partition("logbook ")[2].split()
    newer = added(ready(*typed, *ask), 1)
    assert (newer["id"], newer["values"][1]) == ("MOE-001", f"idea@{now}")
    assert "The same was asked of other code in MOE-000." in ready("show", "MOE-001").out
    # Both names are said in one line; where they are one code by now, no command compares them.
    main = git("rev-parse", "--short=9", "main")
    git("branch", "-f", "main", "idea")
    both = ready("ab", "--like", "MOE-000", *ask).err
    assert f"main and idea have moved on; this compares {main} and {then}, as before\n" in both


def test_changes_that_were_committed_are_not_compared_with_themselves(ready: Cli, git: Git, folder: Path) -> None:
    git("branch", "-M", "main")
    (folder / "lib.sh").write_text("speed=110\n")
    then = git("rev-parse", "--short=9", "HEAD")
    ask = ("--max-pairs", "1", "--json")
    added(ready("ab", "--code", "main", "WORK", *ask, "--", "sh", "bench.sh"), 1)
    assert ready("keep", "MOE-000").code == 0
    (folder / "lib.sh").write_text("speed=120\n")
    commit(git, "Faster still")
    # What HEAD has is not what was measured: that is compared with what was before.
    hint = ready("keep", "MOE-000", "--json").error["hint"]
    assert hint.endswith(": logbook ab --like MOE-000")
    again = ready("ab", "--like", "MOE-000", *ask)
    assert f"main has moved on; this compares {then}, as before\n" in again.err
    assert added(again, 1)["id"] == "MOE-002"


def test_a_program_that_the_setup_builds(ready: Cli, git: Git, folder: Path) -> None:
    (folder / ".gitignore").write_text("prog\n")
    commit(git, "Faster")
    (folder / "lib.sh").write_text("speed=110\n")
    commit(git, "Faster still")
    build = ("--setup", "(echo '#!/bin/sh'; cat bench.sh) > prog; chmod +x prog", "--max-pairs", "1")
    for axis in (("--code", "HEAD~1", "HEAD"), ("--axis", "env:X=1,2")):
        added(ready("ab", *axis, *build, "--json", "--", "./prog"), 1)
    (folder / "prog").unlink()
    (folder / "recipes").mkdir()
    (folder / "recipes/built.yaml").write_text(RECIPE)
    assert ready("sweep", "built", "--set", "confirm=0").code == 0
    (folder / "prog").unlink()
    missing = ready("ab", "--axis", "env:X=1,3", "--setup", "true", "--", "./prog")
    assert missing.code == 127
    assert "command not found: ./prog" in missing.out
    assert "command not found: ./prog" in ready("next", "--json").data["steps"][-1]["why"]


def test_a_command_without_the_flag_of_an_axis_is_printed_whole_with_it(
    ready: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = ("--max-pairs", "1", "--json")
    added(ready("ab", "--axis", "env:X=1,2", *ask, "--", "sh", "bench.sh"), 1)
    (folder / "sub").mkdir()
    monkeypatch.chdir(folder / "sub")
    hint = ready("ab", "--axis", "mode=base,new", "--like", "MOE-000", *ask).error["hint"]
    assert hint.endswith(": logbook ab --axis mode=base,new --cwd .. -- sh bench.sh --mode '{axis}'")
    made = type_in(ready, hint.rpartition(": ")[2].replace(" -- ", " --max-pairs 1 --json -- "))
    assert added(made, 1)["id"] == "MOE-001"


def test_a_commit_that_needs_a_build_is_asked_again_with_a_setup(ready: Cli, git: Git, folder: Path) -> None:
    (folder / "make.sh").write_text("touch made\n")
    (folder / "bench.sh").write_text(f"[ -f made ] || exit 1\n{BENCH}")
    commit(git, "Built")
    words = ("--evaluator", "none", "--max-pairs", "1", "--", "sh", "bench.sh")
    failed = ready("ab", "--code", "HEAD~1", "HEAD", *words)
    [typed] = re.findall("if it needs a build first: (logbook ab .*)", failed.out)
    assert "if it needs a build, give ab --like MOE-000 a --setup; " in step(ready)["why"]
    build = "test ! -e make.sh || sh make.sh"
    made = added(type_in(ready, typed.replace("COMMAND THAT MAKES IT", build), "--json"), 1)
    assert made["id"] == "MOE-001"
    assert "COMMAND THAT" not in ready("ab", "--id", "MOE-001", "--max-pairs", "1").out


@pytest.mark.parametrize("setup", ["exit 2", "test -e made"], ids=["both", "base"])
def test_a_setup_that_fails_is_given_another_one(ready: Cli, git: Git, folder: Path, setup: str) -> None:
    (folder / "lib.sh").write_text("speed=110\n")
    (folder / "made").touch()
    commit(git, "Faster")
    words = ("--setup", setup, "--max-pairs", "1", "--", "sh", "bench.sh")
    failed = ready("ab", "--code", "HEAD~1", "HEAD", *words)
    typed = "logbook ab --id MOE-000 --setup 'COMMAND THAT MAKES IT'"
    assert typed in failed.out
    assert (step(ready)["id"], "give ab --id MOE-000 another --setup" in step(ready)["why"]) == ("MOE-000", True)
    made = added(type_in(ready, typed.replace("COMMAND THAT MAKES IT", "true"), "--json"), 1)
    assert (made["id"], Store(folder).entry("MOE-000").comparison.run.setup) == ("MOE-000", "true")
    assert [entry["state"] for entry in ready("list", "--json").data] == ["finished"]


def test_a_criterion_names_the_plan_that_asks_it(ready: Cli) -> None:
    asks = "compared: {axis: mode, values: [base, new], settled: true}"
    assert ready("criteria", "--add", "new is settled", "--predicate", asks).code == 0
    assert ready(*ASK, "--plan", *COMMAND).code == 0
    [only] = ready("next", "--json").data["steps"]
    assert (only["kind"], only["command"]) == ("criterion", "logbook ab --id MOE-000")


def test_a_gate_that_takes_the_answer_of_a_criterion_is_named(ready: Cli, git: Git, folder: Path) -> None:
    git("branch", "-M", "main")
    git("checkout", "-q", "-b", "idea")
    (folder / "lib.sh").write_text("speed=110\n")
    commit(git, "Faster")
    asks = "compared: {axis: code, values: [main, idea], settled: true}"
    assert ready("criteria", "--add", "idea is settled", "--predicate", asks).code == 0
    assert ready("ab", "--code", "main", "idea", "--", "sh", "bench.sh").code == 0
    git("branch", "-f", "main", "idea")
    git("checkout", "-q", "main")
    (folder / "lib.sh").write_text("speed=120\n")
    commit(git, "Faster still")
    assert ready("criteria", "--json").data["criteria"][0]["met"]
    assert ready("edit", "--gate", "tflops <= 50", "--reason", "it has to fit").code == 0
    [one] = ready("criteria", "--json").data["criteria"]
    assert "MOE-000: main failed: gate tflops <= 50" in one["computed"]["reason"]
    # What main has by now is not compared with it.
    assert (one["met"], "command" in one) == (False, False)


def test_a_comparison_that_was_measured_and_discarded_is_named(started: Cli) -> None:
    asks = "compared: {axis: v, values: [a, b]}"
    assert started("criteria", "--add", "b was compared", "--predicate", asks).code == 0
    command = ("--", "sh", "-c", "echo METRIC tflops=$LOGBOOK_RUN", "x", "{v}")
    assert started("ab", "--axis", "v=a,b", "--max-pairs", "1", *command).code == 0
    assert started("discard", "MOE-000", "--why", "no").code == 0
    assert step(started)["why"] == "MOE-000 was discarded by MOE-001"


def test_later_pairs_are_said_where_they_differ_from_the_answer(ready: Cli, folder: Path) -> None:
    (folder / "new.txt").write_text("110")
    bench = 'n=100; [ "$2" = base ] || n=$(cat new.txt); echo "METRIC tflops=$n.$((LOGBOOK_RUN % 7))"\n'
    (folder / "bench.sh").write_text(bench)
    assert ready(*ASK[:-1], "20", *COMMAND).code == 0
    assert "later pairs" not in ready("ab", "--id", "MOE-000", "--max-pairs", "2").out
    (folder / "new.txt").write_text("150")
    assert "later pairs, which do not decide: +49" in ready("ab", "--id", "MOE-000", "--max-pairs", "8").out


def test_a_setup_that_does_not_do_is_not_kept_and_two_builds_are_said(ready: Cli, git: Git, folder: Path) -> None:
    (folder / ".gitignore").write_text("built\n")
    (folder / "bench.sh").write_text(f"[ -f built ] || exit 1\n{BENCH}")
    commit(git, "A build")
    (folder / "built").touch()
    added(ready(*ASK, "--json", *COMMAND), 1)
    (folder / "lib.sh").write_text("speed=120\n")
    assert "add --setup COMMAND, which makes built" in step(ready)["why"]
    failed = ready("ab", "--id", "MOE-000", "--max-pairs", "1", "--setup", "true")
    assert (
        "git does not hold built, and the checkout lacks it; if the command needs it: logbook ab --id MOE-000 --setup"
        in failed.out
    )
    # With the code of before, nothing is missing.
    git("checkout", "-q", "lib.sh")
    added(type_in(ready, f"{step(ready)['command']} --max-pairs 1 --json"), 2)
    (folder / "lib.sh").write_text("speed=120\n")
    added(ready("ab", "--id", "MOE-000", "--max-pairs", "1", "--setup", "touch built", "--json"), 3)
    said = "not all pairs had one build: 2 pairs without a setup, 1 pair after touch built"
    assert said in ready("compare", "MOE-000").out
    assert said in (folder / "logbooks/moe.md").read_text()
    added(type_in(ready, f"{step(ready)['command']} --json"), 10)


def test_a_checkout_of_an_axis_that_lacks_its_build_is_asked_again_with_a_setup(
    ready: Cli, git: Git, folder: Path
) -> None:
    (folder / ".gitignore").write_text("built\n")
    (folder / "bench.sh").write_text(f"cat built || exit 1\n{BENCH}")
    commit(git, "A build")
    (folder / "built").touch()
    assert ready("ab", "--frozen", *ASK[1:], *COMMAND).code != 0
    found = step(ready)
    assert found["command"] == "logbook ab --like MOE-000 --setup 'COMMAND THAT MAKES IT'"
    added(type_in(ready, found["command"].replace("COMMAND THAT MAKES IT", "touch built"), "--json"), 1)


def test_a_second_sitting_on_other_code_has_a_setup_in_its_command(
    ready: Cli, git: Git, folder: Path, clock: FixedClock
) -> None:
    (folder / ".gitignore").write_text("built\n")
    bench = 'n=100; [ "$2" = base ] || n=110; echo "METRIC tflops=$n.$((LOGBOOK_RUN % 7))"\n'
    (folder / "bench.sh").write_text(f"[ -f built ] || exit 1\n{bench}")
    commit(git, "A build")
    (folder / "built").touch()
    added(ready(*ASK[:-1], "20", "--json", *COMMAND), 10)
    clock.tick(60)
    (folder / "lib.sh").write_text("speed=120\n")
    found = step(ready)
    assert (found["kind"], "--setup 'COMMAND THAT MAKES IT'" in found["command"]) == ("replication", True)
    added(type_in(ready, found["command"].replace("COMMAND THAT MAKES IT", "touch built"), "--json"), 20)


def test_a_side_that_the_files_of_the_base_fail_is_measured_with_its_own(ready: Cli, git: Git, folder: Path) -> None:
    bench = '. ./lib.sh\n[ -n "$NAME" ] || exit 3\necho METRIC tflops=$NAME.$LOGBOOK_RUN\n'
    (folder / "bench.sh").write_text(bench.replace("NAME", "speed"))
    commit(git, "Speed")
    (folder / "lib.sh").write_text("rate=120\n")
    (folder / "bench.sh").write_text(bench.replace("NAME", "rate"))
    failed = ready("ab", "--code", "HEAD", "WORK", "--max-pairs", "1", "--", "sh", "bench.sh")
    assert failed.code != 0
    [typed] = re.findall("logbook ab --like .*? --evaluator none", step(ready)["why"])
    added(type_in(ready, typed, "--json"), 1)
    assert "MOE-000" not in [one.get("id") for one in ready("next", "--json").data["steps"]]


def test_a_watched_metric_stays_watched_in_what_is_printed(ready: Cli, folder: Path) -> None:
    (folder / "bench.sh").write_text('echo "METRIC tflops=1$LOGBOOK_RUN"; echo "METRIC nodes=1$LOGBOOK_RUN"\n')
    assert ready("edit", "--metric", "nodes:watched", "--reason", "a count").code == 0
    assert ready(*ASK, *COMMAND).code == 0
    [typed] = re.findall("logbook edit --metric nodes:min.*? --reason ", ready("wait", "MOE-001").out)
    assert type_in(ready, f"{typed}less", "--json").code == 0
    assert "metric: nodes:min:watched" in ready("status").out


def test_status_holds_no_signs_of_markdown(ready: Cli, git: Git, folder: Path) -> None:
    line = "make: *** [Makefile:2: prog] Error 2 <b> _x_ [a](b) `c*d`"
    (folder / "fail.sh").write_text(f"cat <<'END' >&2\n{line}\nEND\nexit 2\n")
    assert ready("run", "--", "sh", "fail.sh").code == 2
    [failed] = ready("status", "--json").data["failed"]
    assert failed["text"] == f"exit code 2: {line}"
    assert f"exit code 2: {line}\n" in ready("status").out
