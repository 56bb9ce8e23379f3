"""Typing what `ab`, `next` and `status` print gets out of what went wrong, and each of them prints the same."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Answer, Cli
from tests.contract.campaign.ab_entry_support import ASK, BENCH, COMMAND, Git, added, commit, with_benchmark

pytestmark = pytest.mark.slow


@pytest.fixture
def ready(started: Cli, git: Git, folder: Path) -> Cli:
    return with_benchmark(started, git, folder)


def steps(cli: Cli) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cli("next", "--json").data["steps"]
    return found


def type_in(cli: Cli, command: str, *more: str) -> Answer:
    return cli(*shlex.split(command)[1:], *more)


@pytest.mark.parametrize("axis", ["mode", "code"])
def test_a_gate_that_no_run_reports_is_left_by_one_printed_command(
    ready: Cli, git: Git, folder: Path, axis: str
) -> None:
    assert ready("edit", "--gate", "ok == 1", "--reason", "wrong is no gain").code == 0
    ask = ASK
    if axis == "code":
        (folder / "lib.sh").write_text("speed=110\n")
        commit(git, "Faster")
        ask = ("ab", "--code", "HEAD~1", "HEAD", "--max-pairs", "1")
    failed = ready(*ask, *(COMMAND if axis == "mode" else ("--", "sh", "bench.sh")))
    [step] = [one for one in steps(ready) if one["kind"] == "comparison"]
    said = "no run reports ok: have the command print it and run it again, or drop the gate: "
    [out] = {tuple(re.findall(f"{said}`(.*?)`", text.replace("N", "n"))) for text in (failed.out, step["why"])}
    assert said[1:] in ready("status").out
    assert step["command"] in failed.out
    # It shows what the command prints.
    assert "RESULT tflops=1" in type_in(ready, step["command"]).out
    assert "ask the same" not in ready("next").out
    assert type_in(ready, out[0]).code == 0
    assert "no run reports" not in ready("next").out
    assert added(ready("ab", "--id", step["id"], "--max-pairs", "1", "--json"), 1)["id"] == step["id"]


def test_a_gate_of_one_of_two_logbooks_is_dropped_as_printed(ready: Cli) -> None:
    assert ready("edit", "--gate", "ok == 1", "--reason", "it must hold").code == 0
    ready("ab", "--axis", "mode=base,new", "--max-pairs", "1", *COMMAND)
    [command] = re.findall("drop the gate: `(.*?)`", ready("next").out)
    assert ready("start", "other", "--goal", "another").code == 0
    assert type_in(ready, command).code == 0


def test_a_gate_of_the_entry_alone_is_dropped_there(ready: Cli) -> None:
    added(ready(*ASK, "--json", *COMMAND), 1)
    assert ready("edit", "MOE-000", "--gate", "ok == 1").code == 0
    [step] = steps(ready)
    assert "`logbook edit MOE-000 --drop 'ok == 1'`" in step["why"]
    assert ready("edit", "MOE-000", "--drop", "ok == 1").code == 0
    [step] = steps(ready)
    assert step["command"] == "logbook ab --id MOE-000 --max-pairs 9"


@pytest.mark.parametrize("how", ["a side failed", "time", "a side failed later"])
def test_every_reader_continues_alike(ready: Cli, folder: Path, how: str) -> None:
    if how != "time":
        run = 2 if how == "a side failed" else 4
        (folder / "bench.sh").write_text(f'[ "$LOGBOOK_RUN" -ne {run} ] || exit 3\n{BENCH}')
    typed = ("--max-time", "1ms") if how == "time" else ()
    made = ready("ab", "--axis", "mode=base,new", "--max-pairs", "10", *typed, "--json", *COMMAND)
    [command] = re.findall(r"continue: (logbook [^\n]*)", made.data["stopped"]["why"])
    # What never passed on this code is not asked of it again, unless somebody types what the end named.
    never_passed = how == "a side failed"
    shown = "logbook discard MOE-000 --why 'mode=new fails'" if never_passed else command
    assert steps(ready)[0]["command"] == shown
    assert shown in ready("status").out
    if not never_passed:
        assert command in ready("compare", "MOE-000").out
    # All that was asked for is made, in the same entry.
    assert added(type_in(ready, command, "--json"), 10)["id"] == "MOE-000"
    assert not any(command in ready(*words).out for words in (("next",), ("status",), ("compare", "MOE-000")))


@pytest.mark.parametrize("is_open", [False, True])
def test_a_discarded_question_takes_what_it_asked_again_with_it(ready: Cli, folder: Path, is_open: bool) -> None:
    if not is_open:
        (folder / "lib.sh").write_text("exit 4\n")
    ready(*ASK, *COMMAND)
    again = ready("ab", "--new", *ASK[1:], *COMMAND)
    assert "MOE-001" in again.out
    assert [step["id"] for step in steps(ready)] == ["MOE-001"]
    assert ready("discard", "MOE-001", "--why", "it was no idea").code == 0
    assert "MOE-000" not in ready("next").out
    # An entry that was taken back decides nothing.
    assert ready("edit", "MOE-001", "--state", "void", "--reason", "typed wrongly").code == 0
    assert "MOE-000" in ready("next").out


def test_a_block_whose_last_side_failed_is_judged_once_that_pair_is_made(ready: Cli, folder: Path) -> None:
    (folder / "bench.sh").write_text(f'[ "$LOGBOOK_RUN" -ne 20 ] || exit 3\n{BENCH}')
    made = ready("ab", "--axis", "mode=base,new", "--max-pairs", "10", "--json", *COMMAND)
    assert (made.data["stopped"]["by"], made.data["pairs"]) == ("failed", 9)
    [found] = made.data["answer"]["findings"]
    assert (found["outcome"], found["interval"], found["judged"], found["pairs"]) == ("open", None, 0, 9)
    assert found["to_settle"] == "at least 1 more pair"
    [found] = added(type_in(ready, steps(ready)[0]["command"], "--json"), 10)["answer"]["findings"]
    assert (found["outcome"], found["judged"]) == ("better", 10)


def test_open_code_that_is_kept_is_said(ready: Cli) -> None:
    added(ready(*ASK, "--json", *COMMAND), 1)
    kept = ready("keep", "MOE-000")
    assert (kept.code, "MOE-000 is kept, though nothing is settled yet" in kept.err) == (0, True)
    ready("ab", "--new", "--axis", "mode=base,new", *COMMAND)
    assert "though" not in ready("keep", "MOE-002").err


def test_a_command_for_which_the_budget_has_too_few_runs_says_so(ready: Cli) -> None:
    added(ready(*ASK, "--json", *COMMAND), 1)
    assert ready("criteria", "--budget", "runs=8").code == 0
    for text in (steps(ready)[0]["why"], ready("status").out, ready("compare", "MOE-000").out):
        assert "the budget leaves 6 runs" in text
    made = type_in(ready, steps(ready)[0]["command"], "--json")
    assert (made.code, made.data["stopped"]["by"], made.data["pairs"]) == (2, "interrupted", 4)
    assert "budget leaves" not in ready("next").out
