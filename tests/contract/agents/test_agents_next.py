"""What `logbook next` lists, and in which order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli

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
  predicate: {verdict: {axis: mode, values: [a, b]}}
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
    found: list[dict[str, Any]] = cli("next", "--json", "--all").data["steps"]
    return found


def bench(mode: str, size: int) -> tuple[str, ...]:
    return ("python", "bench.py", "--mode", mode, "--size", str(size))


def test_the_order_and_what_each_step_says(thread: Cli) -> None:
    assert thread("run", "--next", "look at the cache", "--", *bench("a", 1)).code == 0
    assert thread("note", "--plan", "Mode b", "--command", " ".join(bench("b", 1))).code == 0
    found = steps(thread)
    assert [one["kind"] for one in found] == [
        "next action",
        "plan",
        "criterion",
        "matrix",
        "matrix",
        "first comparison",
    ]
    action, plan, criterion, *cells, _ = found
    assert action["what"] == "look at the cache"
    assert plan["command"] == "logbook run --id MOE-001"
    assert criterion["command"].startswith("logbook ab --axis mode=a,b -- python bench.py")
    assert criterion["settles"] == "mode b was compared with a"
    # What fills the cell mode=b size=1 is the command of the criterion.
    assert [cell["what"] for cell in cells] == ["Measure mode=a size=2", "Measure mode=b size=2"]
    assert cells[0]["why"].startswith("3 ")
    assert cells[0]["command"] == "logbook ab --axis size=1,2 -- python bench.py --mode a --size 1"

    # One home for what comes first.
    takes_back = (["edit", "MOE-000", "--next", ""], ["edit", "MOE-001", "--state", "abandoned"], ["note", "x"])
    for kind, words in zip(("next action", "plan", "criterion"), takes_back, strict=True):
        first, status = steps(thread)[0], thread("status", "--json").data
        assert first["kind"] == kind
        assert status["next_actions"][-1]["next"] == first["what"]
        assert thread(*words).code == 0


def test_of_a_criterion_with_alternatives_one_command_is_proposed(thread: Cli) -> None:
    assert thread("run", "--", *bench("a", 1)).code == 0
    either = "any: [{verdict: {axis: size, values: [1, 2]}}, {verdict: {axis: size, values: [2, 1]}}]"
    thread("criteria", "--add", "either", "--predicate", either)
    [criterion] = [step for step in steps(thread) if step.get("settles", "").startswith("either")]
    command = "logbook ab --axis size=1,2 -- python bench.py --mode a --size 1"
    assert (criterion["why"], criterion["command"]) == ("no comparison of size=2 with 1", command)
    line = thread("status", "--json").data["criteria"][-1]
    assert (line["text"], line["reason"], line["command"]) == ("either", criterion["why"], command)


def test_a_next_action_is_closed_by_the_run_of_its_command(thread: Cli) -> None:
    command = " ".join(bench("b", 1))
    assert thread("run", "--next", f"measure `{command}`, then decide", "--", *bench("a", 1)).code == 0
    assert steps(thread)[0]["command"] == f"logbook run --continues MOE-000 -- {command}"
    # The same words in another order are the same command; another command is none.
    assert thread("run", "--", *bench("b", 2)).code == 0
    assert steps(thread)[0]["kind"] == "next action"
    assert thread("run", "--", "python", "bench.py", "--size", "1", "--mode", "b").code == 0
    assert steps(thread)[0]["kind"] != "next action"
    assert all(one.get("id") != "MOE-000" for one in thread("status", "--json").data["next_actions"])


@pytest.mark.slow
def test_a_comparison_that_is_superseded_is_not_continued(thread: Cli, folder: Path) -> None:
    # Random numbers: no practical number of pairs tells them apart.
    (folder / "noise.py").write_text("import random; print(f'METRIC time_ms={random.Random().uniform(1, 900)} ms')\n")
    done = thread("ab", "--axis", "env:MODE=a,b", "--pairs", "8", "--", "python", "noise.py")
    assert done.code == 0, done.err
    assert ("MOE-000", "comparison") in [(one.get("id"), one["kind"]) for one in steps(thread)]
    assert thread("note", "--title", "It was wrong", "--supersedes", "MOE-000").code == 0
    assert "MOE-000" not in [one.get("id") for one in steps(thread)]


@pytest.mark.parametrize(
    ("named", "words", "closes"),
    [
        ("logbook run -- sh bench.sh 2", ["run", "--", "sh", "bench.sh", "2"], True),
        ("logbook run --id MOE-000", ["run", "--id", "MOE-000"], True),
        ("logbook ab --axis n=1,2 -- sh bench.sh", ["ab", "--axis", "n=2,1", "--", "sh", "bench.sh", "{axis}"], True),
        ("logbook ab --axis n=1,3 -- sh bench.sh", ["ab", "--axis", "n=1,2", "--", "sh", "bench.sh", "{axis}"], False),
        # A failure is an answer, too.
        ("try `sh bench.sh fail`", ["run", "--", "sh", "bench.sh", "fail"], True),
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
