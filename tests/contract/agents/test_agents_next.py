"""What `logbook next` lists, and in which order."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli, FixedClock

HEADER = """
title: Modes
prefix: MOE
goal: Which mode is faster?
metrics:
- {name: time_ms, direction: min, unit: ms}
matrix:
- {axis: mode, values: [a, b]}
- {axis: size, values: [1, 2]}
stop_criteria:
- text: mode b was compared with a
  predicate: {compared: {axis: mode, values: [a, b], settled: true}}
- text: at most nine hours
  predicate: {budget: {hours: 9}}
"""
BENCH = """
import argparse, os
p = argparse.ArgumentParser()
p.add_argument("--mode"); p.add_argument("--size"); p.add_argument("--slow", default="0")
a = p.parse_args()
time = 100 + int(os.environ["LOGBOOK_RUN"]) % 7 / 10 - (10 if a.mode == "b" else 0)
print(f"RESULT mode={a.mode} size={a.size} time_ms={time}")
"""


@pytest.fixture
def thread(cli: Cli, folder: Path) -> Cli:
    (folder / "thread.yaml").write_text(HEADER)
    (folder / "bench.py").write_text(BENCH)
    assert cli("start", "moe", "--from", "thread.yaml").code == 0
    return cli


def steps(cli: Cli) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cli("next", "--json").data["steps"]
    return found


def bench(mode: str, size: int) -> tuple[str, ...]:
    return ("python", "bench.py", "--mode", mode, "--size", str(size))


def test_the_order_and_what_each_step_says(thread: Cli) -> None:
    assert thread("run", "--next", "look at the cache", "--", *bench("a", 1)).code == 0
    assert thread("note", "--plan", "Mode b", "--command", " ".join(bench("b", 1))).code == 0
    found = steps(thread)
    assert [one["kind"] for one in found] == ["criterion", "plan", "next action"]
    criterion, plan, action = found
    assert criterion["command"] == "logbook ab --axis mode=a,b --like MOE-000/1"
    assert criterion["settles"] == "mode b was compared with a"
    assert plan["command"] == "logbook run --id MOE-001"
    assert action["what"] == "look at the cache"

    # One home for what comes first.
    assert [one["next"] for one in thread("status", "--json").data["next_actions"]] == [action["what"]]
    assert thread("criteria", "--drop", "1", "--reason", "it is another question").code == 0
    assert [one["kind"] for one in steps(thread)] == ["plan", "next action"]
    assert thread("edit", "MOE-001", "--state", "abandoned").code == 0
    assert [one["kind"] for one in steps(thread)] == ["next action"]
    assert thread("edit", "MOE-000", "--next", "").code == 0
    assert [one["kind"] for one in steps(thread)] == ["first comparison"]


@pytest.mark.slow
def test_open_pairs_come_before_prose_and_a_second_sitting_last(
    git: Callable[..., str], thread: Cli, clock: FixedClock
) -> None:
    assert thread("criteria", "--drop", "1", "--reason", "it is another question").code == 0
    for size, more in ((1, ("--next", "look at the cache")), (2, ("--max-pairs", "3"))):
        words = ("ab", "--axis", "mode=a,b", *more, "--", *bench("a", size))
        assert thread(*words).code == 0
    # Pairs made now would belong to the first sitting.
    assert [one["kind"] for one in steps(thread)] == ["comparison", "next action"]
    clock.tick(11)
    assert [(one["kind"], one["id"], one.get("command")) for one in steps(thread)] == [
        ("comparison", "MOE-002", "logbook ab --id MOE-002 --max-pairs 7"),
        ("next action", "MOE-001", None),
        ("replication", "MOE-001", "logbook ab --id MOE-001 --max-pairs 10"),
    ]
    # What is kept is worth a second sitting; what is discarded is not.
    assert thread("keep", "MOE-001").code == 0
    assert [(one["kind"], one["id"]) for one in steps(thread)] == [
        ("comparison", "MOE-002"),
        # Its changes are to be committed.
        ("next action", "MOE-003"),
        ("replication", "MOE-001"),
    ]
    assert thread("discard", "MOE-001", "--why", "too complex").code == 0
    assert [one["kind"] for one in steps(thread)] == ["comparison"]
    # What a later entry asks again is left to it.
    again = thread("ab", "--new", "--axis", "mode=a,b", "--max-pairs", "3", "--json", "--", *bench("a", 2))
    assert [one["id"] for one in steps(thread) if one["kind"] == "comparison"] == [again.data["id"]]
    # What came of a later entry that counts no more is no answer.
    assert thread("edit", again.data["id"], "--state", "void").code == 0
    assert [one["id"] for one in steps(thread) if one["kind"] == "comparison"] == ["MOE-002"]


def test_at_most_ten_steps_are_listed(thread: Cli) -> None:
    for number in range(12):
        assert thread("note", "--plan", f"Plan {number}", "--command", "true").code == 0
    data = thread("next", "--json").data
    assert (len(data["steps"]), data["left_out"]) == (10, 3)


def test_of_a_criterion_with_alternatives_one_command_is_proposed(thread: Cli) -> None:
    assert thread("run", "--", *bench("a", 1)).code == 0
    pair = "{{compared: {{axis: size, values: [{}], settled: true}}}}"
    either = f"any: [{pair.format('1, 2')}, {pair.format('2, 1')}]"
    thread("criteria", "--add", "either", "--predicate", either)
    [criterion] = [step for step in steps(thread) if step.get("settles", "").startswith("either")]
    command = "logbook ab --axis size=1,2 --like MOE-000/1"
    why = "no comparison of size=2 with 1; no comparison of size=1 with 2"
    assert (criterion["why"], criterion["command"]) == (why, command)
    line = thread("status", "--json").data["criteria"][-1]
    assert (line["text"], line["reason"], line["command"]) == ("either", criterion["why"], command)


def test_one_next_action_that_two_entries_name_is_one_step(thread: Cli) -> None:
    command = " ".join(bench("b", 1))
    for text in ("look at the cache", "look at the cache", f"measure `{command}`", f"then `{command}`"):
        assert thread("run", "--next", text, "--", *bench("a", 1)).code == 0
    found = [one["id"] for one in steps(thread) if one["kind"] == "next action"]
    assert found == ["MOE-003", "MOE-001"]
    assert [one["id"] for one in thread("status", "--json").data["next_actions"]] == found


def test_a_next_action_is_closed_by_the_run_of_its_command(thread: Cli) -> None:
    command = " ".join(bench("b", 1))
    assert thread("run", "--next", f"measure `{command}`, then decide", "--", *bench("a", 1)).code == 0
    assert steps(thread)[-1]["command"] == f"logbook run --continues MOE-000 -- {command}"
    # The same words in another order are the same command; another command is none.
    assert thread("run", "--", *bench("b", 2)).code == 0
    assert steps(thread)[-1]["kind"] == "next action"
    assert thread("run", "--", "python", "bench.py", "--size", "1", "--mode", "b").code == 0
    assert steps(thread)[-1]["kind"] != "next action"
    assert all(one.get("id") != "MOE-000" for one in thread("status", "--json").data["next_actions"])


def test_a_next_action_to_ask_again_is_closed_by_the_same_question(thread: Cli, folder: Path) -> None:
    ask = ("ab", "--axis", "mode=a,b", "--max-pairs", "1", *("--", *bench("a", 1)))
    assert thread(*ask).code == 0
    assert thread("note", "Later", "--next", "again: `logbook ab --like MOE-000`").code == 0
    assert "MOE-001" in [step.get("id") for step in steps(thread)]
    (folder / "bench.py").write_text(BENCH + "# other code\n")
    assert thread("ab", "--like", "MOE-000", "--max-pairs", "1").code == 0
    assert "MOE-001" not in [step.get("id") for step in steps(thread)]


@pytest.mark.parametrize("place", [".", "sub"])
def test_the_command_of_a_next_action_runs_in_its_folder(
    git: Callable[..., str], cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    (folder / "sub").mkdir()
    for name, number in ((".", 1), ("sub", 2)):
        (folder / name / "bench.sh").write_text(f"echo METRIC a={number}\n")
    cli("start", "moe", "--prefix", "MOE", "--metric", "a:max")
    cli("run", "--cwd", "sub", "--next", "`sh bench.sh x`", "--", "sh", "bench.sh")
    cli("note", "An idea", "--next", "`sh bench.sh y`")
    cli("note", "An idea", "--next", "logbook run -- sh bench.sh z")
    monkeypatch.chdir(folder / place)
    commands = [one["command"] for one in steps(cli) if one["kind"] == "next action"]
    assert len(commands) == 3
    for command, measured in zip(commands, (1, 1, 2), strict=True):
        options, _, words = command.partition(" -- ")
        [row] = cli(*shlex.split(f"{options} --json -- {words}")[1:]).data["runs"][0]["rows"]
        assert row["metrics"]["a"]["median"] == measured


def test_a_run_that_was_cut_off_is_waited_for_and_made_again(
    git: Callable[..., str], cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("start", "moe", "--prefix", "MOE", "--metric", "a:max")
    (folder / "bench.sh").write_text(
        "if [ -f ../kill ]; then rm ../kill; kill -9 $PPID; sleep 1; fi; echo METRIC a=3\n"
    )
    (folder / "sub").mkdir()
    (folder / "kill").touch()
    words = [sys.executable, "-m", "logbook_agent", "run", "--cwd", "sub", "--", "sh", "../bench.sh"]
    subprocess.run(words, cwd=folder, capture_output=True, check=False)
    [step] = steps(cli)
    if step["why"] == "MOE-000 is orphaned":
        assert cli(*shlex.split(step["command"])[1:]).code != 2
        [step] = steps(cli)
    assert (step["kind"], step["why"]) == ("run", "MOE-000 is interrupted")
    # One word for it, once.
    said = [line for line in cli("status").out.splitlines() if "interrupted" in line]
    assert said == ["interrupted: MOE-000 sh ../bench.sh", "entries: 1 (1 interrupted)"]
    for place, cwd in (("sub", ""), (".", "--cwd sub ")):
        monkeypatch.chdir(folder / place)
        [step] = steps(cli)
        assert step["command"] == f"logbook run --id MOE-000 {cwd}-- sh ../bench.sh"
    assert cli(*shlex.split(step["command"])[1:]).code == 0
    assert "run" not in [one["kind"] for one in steps(cli)]


def test_what_a_person_judges_and_what_a_target_lacks_have_a_command(cli: Cli, folder: Path) -> None:
    cli("start", "moe", "--prefix", "MOE", "--metric", "a:max", "--stop", "someone agrees")
    cli("start", "two", "--prefix", "TWO", "--metric", "a:max")
    target = "target: {metric: a, at_least: 3}"
    cli("-L", "moe", "criteria", "--add", "three", "--predicate", target)
    cli("-L", "moe", "run", "--", "echo", "METRIC a=3")
    reached, judged = cli("-L", "moe", "next", "--json").data["steps"][:2]
    assert "more that reach it would settle it" in reached["why"]
    command = reached["command"]
    assert re.fullmatch(r"logbook run --id MOE-000 --repeat \d+ -- echo 'METRIC a=3'", command)
    assert (judged["why"], judged["command"]) == (
        "a person judges it",
        "logbook -L moe criteria --met 1 --evidence ID",
    )
    assert cli(*shlex.split(command)[1:]).code == 0
    assert [c["met"] for c in cli("-L", "moe", "criteria", "--json").data["criteria"]] == [False, True]
    # Of a side of a comparison, pairs are what adds runs.
    cli("-L", "two", "criteria", "--add", "three", "--predicate", target)
    assert (
        cli("-L", "two", "ab", "--axis", "n=3,4", "--max-pairs", "2", "--", "sh", "-c", "echo METRIC a={axis}").code
        == 0
    )
    assert re.fullmatch(
        r"logbook ab --id TWO-000 --max-pairs \d+", cli("-L", "two", "next", "--json").data["steps"][0]["command"]
    )


def test_withheld_numbers_are_accepted_by_a_command(cli: Cli, git: Callable[..., str], folder: Path) -> None:
    cli("start", "moe", "--prefix", "MOE", "--metric", "a:max")
    (folder / "bench.sh").write_text("echo '# edited' >> bench.sh; sleep 1.1; echo METRIC a=3\n")
    git("add", ".")
    git("commit", "-q", "-m", "first")
    cli("run", "--", "sh", "bench.sh")
    [step] = [one for one in steps(cli) if one["kind"] == "run"]
    command = "logbook edit MOE-000 --accept WHY"
    assert (step["command"], "code changed during the run: bench.sh" in step["why"]) == (command, True)
    assert f"  to let them count: {command}\n" in cli("status").out
    assert cli(*shlex.split(command)[1:]).code == 0
    assert command not in cli("status").out + cli("next").out


@pytest.mark.slow
def test_a_comparison_that_is_superseded_is_not_continued(thread: Cli) -> None:
    assert thread("criteria", "--drop", "1", "--reason", "it is another question").code == 0
    done = thread("ab", "--axis", "mode=a,b", "--max-pairs", "2", "--", *bench("a", 1))
    assert done.code == 0, done.err
    assert ("MOE-001", "comparison") in [(one.get("id"), one["kind"]) for one in steps(thread)]
    assert thread("note", "--title", "It was wrong", "--supersedes", "MOE-001").code == 0
    assert "MOE-001" not in [one.get("id") for one in steps(thread)]


@pytest.mark.parametrize(
    ("named", "words", "closes"),
    [
        ("logbook run -- sh bench.sh 2", ["run", "--", "sh", "bench.sh", "2"], True),
        ("logbook run --id MOE-000", ["run", "--id", "MOE-000"], True),
        ("logbook ab --axis n=1,2 -- sh bench.sh", ["ab", "--axis", "n=2,1", "--", "sh", "bench.sh", "{axis}"], True),
        ("logbook ab --axis n=1,3 -- sh bench.sh", ["ab", "--axis", "n=1,2", "--", "sh", "bench.sh", "{axis}"], False),
        # What failed is left to do.
        ("try `sh bench.sh fail`", ["run", "--", "sh", "bench.sh", "fail"], False),
        ("try `sh bench.sh fail`", ["run", "--continues", "MOE-001", "--", "sh", "bench.sh", "fail"], False),
        ("logbook run --id MOE-000", ["run", "--id", "MOE-000", "--", "sh", "bench.sh", "fail"], False),
        ("logbook ab --axis n=1,fail -- sh b", ["ab", "--axis", "n=1,fail", "--", "sh", "bench.sh", "{axis}"], False),
    ],
)  # fmt: skip
def test_what_closes_a_next_action(cli: Cli, folder: Path, named: str, words: list[str], closes: bool) -> None:
    (folder / "bench.sh").write_text('test "$1" != fail && echo METRIC a=$1.$LOGBOOK_RUN')
    cli("start", "moe", "--prefix", "MOE", "--metric", "a:max")
    cli("note", "--plan", "A plan", "--command", "true")
    cli("note", "An idea", "--next", named)
    more = ["--pairs", "1"] if words[0] == "ab" else []
    cli(words[0], *more, *words[1:])
    left = [one.get("id") for one in cli("status", "--json").data["next_actions"]]
    assert ("MOE-001" in left) is not closes


def test_an_ab_of_code_closes_the_action_that_names_it(cli: Cli, git: Callable[..., str], folder: Path) -> None:
    cli("start", "moe", "--prefix", "MOE", "--metric", "a:max")
    (folder / "bench.sh").write_text("echo METRIC a=$(cat speed.sh).$LOGBOOK_RUN\n")
    (folder / "speed.sh").write_text("1")
    git("add", ".")
    git("commit", "-q", "-m", "first")
    git("branch", "fast")
    command = "logbook ab --code fast WORK -- sh bench.sh"
    cli("note", "An idea", "--next", f"Try it: `{command}`")
    (folder / "speed.sh").write_text("2")
    assert cli("ab", "--pairs", "1", *shlex.split(command)[2:]).code == 0
    assert "MOE-000" not in [one.get("id") for one in cli("status", "--json").data["next_actions"]]


def test_criteria_are_named_from_the_first_moment(thread: Cli) -> None:
    assert [one["kind"] for one in steps(thread)] == ["first comparison", "criterion"]
    assert steps(thread)[0]["command"] == "logbook run -- COMMAND", "what start said"


def test_code_that_changes_is_named_as_it_is_now(cli: Cli, git: Callable[..., str], folder: Path) -> None:
    assert cli("start", "t", "--prefix", "T", "--metric", "time_ms:min:ms", "--stop", "faster").code == 0
    (folder / "bench.sh").write_text("echo METRIC time_ms=2\n")
    git("add", ".")
    git("commit", "-q", "-m", "first")
    git("tag", "base")
    predicate = "compared: {axis: code, values: [HEAD, WORK], settled: true, min_effect: 0.3}"
    hint = cli("criteria", "--predicate", f"1={predicate}", "--json").error["hint"]
    named = git("rev-parse", "--short=9", "HEAD"), git("branch", "--show-current")
    assert f"1={predicate.replace('HEAD, WORK', ', '.join(named))}" in hint
    assert cli(*shlex.split(hint)[1:]).code == 0
    assert (
        cli("criteria", "--predicate", f"1={predicate.replace('HEAD, WORK', 'base, main')}", "--reason", "x").code == 0
    )
    (folder / "bench.sh").write_text("echo METRIC time_ms=1\n")
    assert cli("run", "--", "sh", "bench.sh").code == 0
    first = cli("status", "--json").data["command"]
    assert first == f"logbook ab --code {named[0]} WORK --like T-001/1 --evaluator none"
    assert steps(cli)[0]["command"] == f"logbook ab --code {named[0]} main --like T-001/1 --min-effect 0.3"
    git("commit", "-q", "-a", "-m", "second")
    for command in (first, steps(cli)[0]["command"]):
        assert cli(*shlex.split(command)[1:], "--pairs", "1").code == 0
    # What was changed is committed: its base is that of the A/B. What names one commit twice is refused.
    hint = cli("criteria", "--predicate", f"1={predicate}", "--reason", "done", "--json").error["hint"]
    assert f"1={predicate.replace('HEAD, WORK', ', '.join(named))}" in hint
    assert cli(*shlex.split(hint)[1:]).code == 0
    git("tag", "last")
    for values in ("main, main", "last, " + git("rev-parse", "HEAD")):
        twice = cli(
            "criteria", "--predicate", f"1={predicate.replace('HEAD, WORK', values)}", "--reason", "x", "--json"
        )
        assert twice.error["message"].endswith("is there twice")


def test_a_target_that_a_sweep_has_not_reached_often_enough_makes_more_of_it(cli: Cli, folder: Path) -> None:
    cli("start", "t", "--prefix", "T", "--metric", "x:min:s")
    (folder / "b.sh").write_text("echo RESULT size=$1 x=1\n")
    (folder / "r.yaml").write_text("name: r\ncommand: [sh, b.sh, '{size}']\naxes: {size: [1, 2]}\nconfirm: 0\n")
    assert cli("criteria", "--add", "often", "--predicate", "target: {metric: x, at_most: 2}").code == 0
    assert cli("sweep", "r.yaml").code == 0
    [step] = [one for one in steps(cli) if one["kind"] == "criterion"]
    assert "6 more that reach it would settle it" in step["why"]
    assert cli(*shlex.split(step["command"])[1:]).code == 0
    assert [one["met"] for one in cli("criteria", "--json").data["criteria"]] == [True]
