"""What somebody who had not read the code found: each was a wrong answer, or a refusal of a right one."""

from __future__ import annotations

import shlex
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


@pytest.mark.parametrize(
    "lines",
    ["METRIC loss=0.2\nMETRIC loss=nan", "METRIC loss=950\nMETRIC loss=1,050", "RESULT loss=0.2\nRESULT loss=inf",
     'RESULT_JSON {"metrics": {"loss": {"samples": [0.2, NaN]}}}', "loss: 0.2\nloss: nan"],
)  # fmt: skip
def test_a_case_that_also_reported_no_number_has_no_number(logbook: Cli, lines: str) -> None:
    made = logbook("run", "--json", "--", "printf", lines.replace("\n", "\\n") + "\\n")
    [run] = made.data["runs"]
    assert [row.get("metrics", {}) for row in run["rows"]] == [{}]
    assert any("is not a measurement" in problem["text"] for problem in run["problems"])
    assert logbook("status", "--json").data.get("best", []) == []


def compared(logbook: Cli, folder: Path, base: str, other: str, *more: str) -> dict[str, str]:
    """What readers say of two sides that print these lines, where N is a digit that varies."""
    (folder / "b.sh").write_text(f"[ $Q = 1 ] && o='{base}' || o='{other}'\n"
                                 'echo "$o" | sed "s/N/$((LOGBOOK_RUN * 7 % 10))/g"\n')  # fmt: skip
    said = logbook(*AB, *more, "--metric", "time_s", "--", "sh", "b.sh").out
    view = (folder / "logbooks/t.md").read_text().replace("\\", "")
    return {"ab": said, "compare": logbook("compare", "T-000").out, "status": logbook("status").out, "view": view}


@pytest.mark.parametrize("unit", [" %", "%", " ms"])
def test_a_unit_that_one_side_alone_states_is_another_one(cli: Cli, folder: Path, unit: str) -> None:
    cli("start", "t", "--prefix", "T", "--metric", "x:max")
    (folder / "b.sh").write_text(
        f'n=$((LOGBOOK_RUN * 7 % 10)); [ $Q = 1 ] && echo "x: 0.9$n" || echo "x: 91.$n{unit}"\n'
    )
    assert "two units" in cli(*AB, "--", "sh", "b.sh").out
    assert outcome(cli) == "open"


def test_a_case_that_one_side_lost_is_said_first(logbook: Cli, folder: Path) -> None:
    base = "RESULT case=a time_s=1.0N\nRESULT case=b time_s=2.0N"
    said = compared(logbook, folder, base, "RESULT case=a time_s=0.5N", "--config", "size=1")
    assert {name: "time_s is not reported with Q=2, a number with Q=1 at case=b (worse)" in text
            for name, text in said.items()} == dict.fromkeys(said, True)  # fmt: skip
    assert logbook("status", "--json").data["answers"][0]["outcome"] != "better"


def test_a_count_on_a_line_of_its_own_is_said_first(logbook: Cli, folder: Path) -> None:
    said = compared(logbook, folder, "METRIC rows=1000\nMETRIC time_s=1.0N", "METRIC rows=10\nMETRIC time_s=0.5N")
    assert {name: "rows is 10 with Q=2, 1000 with Q=1" in text for name, text in said.items()} == dict.fromkeys(
        said, True
    )


def test_a_problem_of_one_side_is_said_first_and_in_full(logbook: Cli, folder: Path) -> None:
    said = compared(logbook, folder, "METRIC time_s=1.0N", "METRIC time_s=0.5N\nMETRIC loss=nan")
    assert {name: 'such as 181873 or 0.9" is noted with Q=2' in text for name, text in said.items()} == dict.fromkeys(
        said, True
    )


def test_a_side_without_a_number_is_named_with_the_reason(logbook: Cli, folder: Path) -> None:
    (folder / "b.sh").write_text('[ $Q = 1 ] && echo METRIC time_s=1 || echo "{" >$LOGBOOK_RESULT_FILE\n')
    said = logbook(*AB, "--metric", "time_s", "--", "sh", "b.sh").out
    assert "2 reported nothing: result file: not JSON" in said


def test_a_time_below_zero_is_no_best_and_no_baseline(logbook: Cli) -> None:
    for value in ("-0.54", "0.84"):
        logbook("run", "--", "echo", f"METRIC time_s={value}")
    assert [one["value"] for one in logbook("status", "--json").data["best"]] == [0.84]
    assert logbook("baseline", "--entry", "T-000", "--reason", "r").code != 0
    logbook("edit", "T-000", "--accept", "the clock was set back, as is known")
    assert logbook("status", "--json").data["best"][0]["value"] < 0.84


def test_a_saved_time_may_be_below_zero(logbook: Cli) -> None:
    logbook("edit", "--metric", "saved_ms:max:ms", "--reason", "what is saved, against the base")
    for value in ("-7.5", "-2.5"):
        logbook("run", "--", "echo", f"METRIC saved_ms={value}")
    said = logbook("status").out
    assert "Best saved_ms so far: -5 ms (2 runs, -7.5 to -2.5)" in said
    assert "withheld" not in said


def test_the_ends_of_curves_are_told_apart(logbook: Cli, folder: Path) -> None:
    short = "RESULT step=1 loss=0.9 \nRESULT step=20 loss=0.5N \nMETRIC time_s=1.0N"
    said = compared(logbook, folder, short, short.replace("20", "200"))
    expected = "the last step of loss is 200 with Q=2, 20 with Q=1"
    assert {name: expected in text for name, text in said.items()} == dict.fromkeys(said, True)


def test_a_number_that_never_changes_is_questioned(logbook: Cli, folder: Path) -> None:
    said = compared(logbook, folder, "METRIC time_s=6.0N", "METRIC time_s=5.31415")
    expected = "runs of 2 report 5.31415: an old result, read again?"
    assert {name: expected in text for name, text in said.items()} == dict.fromkeys(said, True)


def test_a_data_file_that_changed_is_no_repeat_without_a_word(
    logbook: Cli, folder: Path, git: Callable[..., str]
) -> None:
    git("init", "-q")
    (folder / "size.json").write_text("5")
    (folder / "b.sh").write_text("echo METRIC time_s=$(cat size.json).$((LOGBOOK_RUN * 7 % 10))\n")
    git("add", "b.sh", "size.json")
    git("commit", "-qm", "one")
    for size in ("5", "9"):
        (folder / "size.json").write_text(size)
        logbook("run", "--", "sh", "b.sh")
    assert "tracked files that are no code differ" in logbook("compare", "T-000", "T-001").out
    ab = (*AB, "--metric", "time_s", "--max-pairs", "1", "--", "sh", "b.sh")
    logbook(*ab)
    (folder / "size.json").write_text("7")
    assert "between pairs, tracked files changed that are no code" in logbook(*ab).out


@pytest.mark.parametrize("metric", ["accuracy:min", "loss:max", "tokens_per_s:min"])
def test_a_direction_against_the_name_is_noted(cli: Cli, metric: str) -> None:
    cli("start", "t", "--prefix", "T", "--metric", metric)
    name, _, direction = metric.partition(":")
    [run] = cli("run", "--json", "--", "echo", f"METRIC {name}=3").data["runs"]
    assert any(f"its direction is {direction}" in problem["text"] for problem in run["problems"])


def test_counts_that_lie_apart_are_said_first_though_they_vary(logbook: Cli, folder: Path) -> None:
    said = compared(logbook, folder, "RESULT tokens=27835N time_s=1.0N", "RESULT tokens=2513N time_s=0.5N")
    assert {name: "tokens is at most 2513" in text and "with Q=2, at least 27835" in text
            for name, text in said.items()} == dict.fromkeys(said, True)  # fmt: skip


def test_two_codes_that_differ_in_data_are_two_cases(logbook: Cli, git: Callable[..., str], folder: Path) -> None:
    (folder / "bench.sh").write_text("echo METRIC time_s=$(cat speed.txt)\n")
    (folder / "speed.txt").write_text("2\n")
    git("add", ".")
    git("commit", "-q", "-m", "slow")
    git("checkout", "-q", "-b", "idea")
    (folder / "speed.txt").write_text("1\n")
    git("commit", "-q", "-a", "-m", "fast")
    assert logbook("ab", "--code", "HEAD~1", "idea", "--max-pairs", "2", "--", "sh", "bench.sh").code == 0
    [best] = logbook("status", "--json").data["best"]
    assert (best["value"], best["low"], best["high"], best["runs"]) == (1, 1, 1, 2)
    # A baseline is one of them.
    refused = logbook("baseline", "--entry", "T-000", "--reason", "x", "--json")
    assert (refused.code, refused.error["hint"].startswith("name it: --entry T-000 --config ")) == (2, True)
    words = shlex.split(refused.error["hint"].partition(": ")[2])
    assert logbook("baseline", *words, "--reason", "x", "--json").code == 0
    assert logbook("baseline", "--json").data["baseline"]["numbers"][0]["metrics"] == {"time_s": 2.0}
