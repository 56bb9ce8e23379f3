"""What somebody who had not read the code found: each was a wrong answer, or a refusal of a right one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Cli

HERE = Path(__file__).parent
AB = ("ab", "--axis", "env:Q=1,2")


def outcome(cli: Cli) -> str:
    [finding] = cli("compare", "T-000", "--json").data["answer"]["findings"]
    return str(finding["outcome"])


@pytest.fixture
def logbook(cli: Cli) -> Cli:
    assert (
        cli("start", "t", "--prefix", "T", "--metric", "time_s:min:s", "--metric", "loss:min", "--stop", "s").code == 0
    )
    return cli


def test_an_old_file_that_is_copied_with_its_time_is_withheld(logbook: Cli, folder: Path) -> None:
    (folder / "old.json").write_text((HERE / "hyperfine-good.json").read_text())
    made = logbook("run", "--json", "--read", "hyperfine", "--", "sh", "-c",
                   "touch -d '2 days ago' old.json; cp -p old.json {file}")  # fmt: skip
    [run] = made.data["runs"]
    assert [p["grade"] for p in run["problems"] if "before this run" in p["text"]] == ["withheld"]


def test_the_file_of_read_is_no_code_of_the_command(logbook: Cli, folder: Path) -> None:
    (folder / "hf.sh").write_text(f"cp {HERE}/hyperfine-good.json $1\n")
    made = logbook(*AB, "--metric", "time_s", "--read", "hyperfine:out.json", "--max-pairs", "2", "--json",
                   "--", "sh", "hf.sh", "out.json")  # fmt: skip
    assert made.data["pairs"] == 2


@pytest.mark.parametrize("form", ["METRIC loss={} step=$s", "step=$s loss={}", "RESULT step=$s loss={}"])
def test_the_order_in_which_ranks_print_is_no_difference(logbook: Cli, folder: Path, form: str) -> None:
    (folder / "b.sh").write_text(
        "n=$((LOGBOOK_RUN % 3)); [ $Q = 1 ] && o='0 1' || o='1 0'\n"
        f'for s in 1 2 3; do for r in $o; do echo "[rank$r]: {form.format("$((r+1)).$((9-s))$n")}"; done; done\n'
    )
    logbook(*AB, "--metric", "loss", "--", "sh", "b.sh")
    assert outcome(logbook) not in ("better", "worse")


def test_a_script_that_goes_into_the_folder_by_its_path_runs_the_code_asked_for(
    cli: Cli, folder: Path, git: Callable[..., str]
) -> None:
    git("init", "-q")
    script = folder / "b.sh"
    script.write_text("echo METRIC x=10.$((LOGBOOK_RUN % 3))\n")
    git("add", "b.sh")
    git("commit", "-qm", "one")
    cli("start", "t", "--prefix", "T", "--metric", "x:min")
    script.write_text("echo METRIC x=5.$((LOGBOOK_RUN % 3))\n")
    git("commit", "-qam", "two")
    cli("ab", "--code", "HEAD~1", "HEAD", "--evaluator", "none", "--", "sh", "-c", f"cd {folder} && sh b.sh")
    assert outcome(cli) == "better"


def test_a_verdict_says_what_got_worse(logbook: Cli, folder: Path) -> None:
    (folder / "b.sh").write_text(
        'n=$((LOGBOOK_RUN * 7 % 10)); [ $Q = 1 ] && r="time_s=1.0$n loss=0" || r="time_s=0.5$n loss=3"\n'
        "echo RESULT $r\n"
    )
    logbook(
        "criteria", "--predicate", '1=compared: {axis: "env:Q", values: ["1", "2"], settled: true, outcomes: [better]}'
    )
    logbook(*AB, "--metric", "time_s", "--", "sh", "b.sh")
    [criterion] = logbook("criteria", "--json").data["criteria"]
    assert "loss is 3 with Q=2, 0 with Q=1 (worse)" in criterion["computed"]["reason"]


def test_a_zero_beside_values_of_several_sizes_is_no_best(logbook: Cli) -> None:
    for number, value in enumerate(("3.8", "1.5", "0")):
        logbook("run", "--config", f"a={number}", "--", "echo", f"METRIC loss={value}")
    values = {one["value"] for one in logbook("status", "--json").data["best"] if one["metric"] == "loss"}
    assert (1.5 in values, 0 in values) == (True, False)


def test_the_hint_of_a_spent_budget_helps(logbook: Cli) -> None:
    for _ in range(3):
        logbook("run", "--", "echo", "METRIC loss=1")
    logbook("criteria", "--budget", "runs=1")
    refused = logbook("run", "--", "echo", "METRIC loss=1")
    assert refused.code == 2
    words = refused.err.partition("logbook criteria ")[2].split()
    assert logbook("criteria", *words).code in (0, 1)
    assert logbook("run", "--", "echo", "METRIC loss=1").code == 0


def test_a_run_that_somebody_interrupted_is_no_failure_of_its_side(logbook: Cli, folder: Path) -> None:
    (folder / "b.sh").write_text(
        "[ $LOGBOOK_RUN = 2 ] && kill -INT $PPID && sleep 5\necho METRIC time_s=1.$((LOGBOOK_RUN % 3))\n"
    )
    ab = (*AB, "--metric", "time_s", "--max-pairs", "2")
    assert logbook(*ab, "--", "sh", "b.sh").code == 130
    assert logbook("ab", "--id", "T-000").code == 0
    found = logbook("compare", "T-000", "--json").data["answer"]
    assert (found["pairs"], found["failed"]) == (2, {})
