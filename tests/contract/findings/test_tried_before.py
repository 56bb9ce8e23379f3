"""What was tried before: `run` says what did not work out, `note --plan` also what was measured."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Cli

pytestmark = pytest.mark.slow

FAILS = ["sh", "-c", "echo out of luck >&2; exit 3"]
GOOD = ["sh", "-c", "echo RESULT tflops=2"]
Git = Callable[..., str]


def said(answer_err: str) -> list[str]:
    return [line for line in answer_err.splitlines() if " before: " in line or "logbook list --tried" in line]


@pytest.mark.slow
def test_a_failure_is_told_before_it_is_run_again(git: Git, folder: Path, started: Cli) -> None:
    head = git("rev-parse", "HEAD").strip()[:9]
    assert said(started("run", "--", *FAILS).err) == []
    err = started("run", "--", *FAILS).err
    assert err.startswith(f"tried before: MOE-000 run 1 (same command, at {head}): failed: exit code 3: out of luck\n")
    (folder / "bench.py").write_text("print('RESULT tflops=2')\n")
    started("run", "--env", "OMP_NUM_THREADS=2", "--", *FAILS)
    [first, second, third] = said(started("note", "--plan", "--title", "x", "--command", shlex.join(FAILS)).err)
    assert first.startswith(f"tried before: MOE-002 run 1 (same command, at {head}+): failed")
    assert second.startswith(f"tried before: MOE-001 run 1 (same command, at {head}): failed")
    assert third.startswith("tried before: MOE-000 run 1")
    started("run", "--", *FAILS)
    [*_, more] = lines = said(started("run", "--", *FAILS).err)
    assert (len(lines), more.startswith("and 2 more ")) == (3, True)
    assert more.endswith(": logbook list --tried")


def test_what_was_measured_is_told_by_plan_alone(started: Cli) -> None:
    started("run", "--repeat", "2", "--", *GOOD)
    answer = started("run", "--json", "--", *GOOD)
    assert (answer.data["id"], said(answer.out + answer.err)) == ("MOE-001", [])
    lines = said(started("note", "--plan", "--title", "x", "--command", shlex.join(GOOD)).err)
    assert lines == [
        "measured before: MOE-001 run 1 (same command): 1 row, tflops 2.000 TF/s",
        "measured before: MOE-000 run 2 (same command): 1 row, tflops 2.000 TF/s",
    ]
    # Messages are part of the JSON, where that is asked for.
    plan = started("note", "--plan", "--title", "x", "--command", shlex.join(GOOD), "--json")
    assert plan.err == ""
    assert '"measured before: MOE-001 run 1' in plan.out


def test_a_failure_that_was_got_over_is_not_told_again(folder: Path, started: Cli) -> None:
    command = ["sh", "-c", "cat good"]
    started("run", "--", *command)
    (folder / "good").write_text("RESULT tflops=2\n")
    started("run", "--", *command)
    assert said(started("run", "--", *command).err) == []
    (folder / "good").unlink()
    started("run", "--", *command)
    [line] = said(started("run", "--", *command).err)
    assert line.startswith("tried before: MOE-003 run 1")


@pytest.mark.slow
def test_marks_and_answers_are_reported(started: Cli, folder: Path) -> None:
    bench = "case $2 in none) v=100;; fp8) v=110;; *) v=90;; esac; echo RESULT tflops=$v.$LOGBOOK_RUN"
    (folder / "bench.sh").write_text(bench)
    command = ("sh", "bench.sh", "--mode")
    assert (
        started("ab", "--axis", "mode=none,int8,fp8", "--seed", "1", "--pairs", "10", "--", *command, "none").code == 0
    )
    [line] = said(started("run", "--", *command, "int8").err)
    assert "(same command): worse: int8 has " in line
    # The base and a side with a gain are no negative results.
    for mode in ("none", "fp8"):
        assert said(started("run", "--", *command, mode).err) == []
    started("note", "--plan", "--title", "x", "--command", "true --wide")
    started("edit", "MOE-004", "--state", "abandoned", "--interpretation", "no memory for it")
    assert said(started("run", "--", "true", "--wide").err) == [
        "tried before: MOE-004 (planned): abandoned: no memory for it"
    ]


@pytest.mark.slow
def test_no_entry_of_another_branch_is_missed(started: Cli, folder: Path) -> None:
    started("run", "--", *FAILS)
    whole = next((folder / "logbooks/moe/entries").glob("MOE-000.*")).read_text()
    for number in range(1, 130):
        name = f"MOE-{number:03d}"
        (folder / f"logbooks/moe/entries/{name}.yaml").write_text(whole.replace("MOE-000", name))
    plan = f"commands:\n- argv: {json.dumps(['true', '--wide'])}\nstate: abandoned\n"
    (folder / "logbooks/moe/entries/MOE-129.yaml").rename(folder / "logbooks/moe/entries/MOE-130.yaml")
    (folder / "logbooks/moe/entries/MOE-130.yaml").write_text(whole + plan)
    assert said(started("run", "--", "true", "--wide").err) == ["tried before: MOE-130 (planned): abandoned"]
