"""`logbook ab` from the command line: order, the rule that ends it, its entry, and going on with it."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import pytest

from logbook_agent.store.book import Book
from tests.conftest import Cli, FixedClock
from tests.e2e.e2e_support import LOGBOOK

# int8 is 6% faster; the noise is the number of the run, and as large as the third word says.
BENCH = """\
speed=100; [ "$2" = int8 ] && speed=106; [ "$2" = int4 ] && speed=97
echo "METRIC tflops=$speed.$((LOGBOOK_RUN * ${3:-7} % 10)) TF/s"
"""
AB = ("ab", "--axis", "quant_mode=none,int8")
# Draws AB BA BA AB BA BA BA AB BA AB.
SEED = ("--seed", "5")
COMMAND = ("--", "sh", "bench.sh", "--quant-mode", "{axis}")


@pytest.fixture
def ready(started: Cli, folder: Path) -> Cli:
    (folder / "bench.sh").write_text(BENCH)
    return started


def values(folder: Path, entry_id: str = "MOE-000") -> list[object]:
    """What the runs of an entry were made with, in order."""
    return [run.config["quant_mode"] for run in Book(folder / "logbooks", "moe").runs(entry_id)]


@pytest.mark.slow
def test_pairs_are_added_until_the_interval_is_narrow(ready: Cli, folder: Path, clock: FixedClock) -> None:
    answer = ready(*AB, *SEED, "--until-interval", "1.5%", "--title", "Both modes", *COMMAND)
    assert answer.code == 0, answer.err
    first, second = answer.out.splitlines()
    assert first == "MOE-000: 8 pairs; stopped: every interval is narrower than 1.5%"
    assert second.startswith("tflops: none 100.")
    assert second.endswith(": beneficial")
    assert "8 pairs, p = 0.0078 by signed ranks, 7 looks, order effect " in second
    assert answer.err.splitlines()[0].startswith("pair 1 of at most 20: tflops +")
    assert values(folder)[:6] == ["none", "int8", "int8", "none", "int8", "none"]
    assert len(values(folder)) == 16
    view = (folder / "logbooks/moe.md").read_text()
    assert "MOE-000 Both modes (confidence: exploratory)" in view
    assert "8 pairs, p = 0.0078 by signed ranks, 7 looks, order effect" in view
    assert "): **beneficial**" in view
    once = (
        "none → int8: beneficial in 8 runs against the base, "
        "in one sitting: another, 10 minutes or more later, may replicate it"
    )
    assert f"- Confidence: exploratory (computed: {once})" in view
    [line] = ready("list", "--json").data
    assert line["result"].startswith("16 rows, tflops 100.")
    assert line["result"].endswith(", beneficial")
    # Two pairs of another day replicate it.
    clock.tick(24 * 60)
    assert ready(*AB, "--id", "MOE-000", "--repeat", "2", *COMMAND).code == 0
    view = (folder / "logbooks/moe.md").read_text()
    assert "- Confidence: replicated (computed: none → int8: beneficial in 10 runs against the base)" in view


def test_the_budget_ends_it_and_the_answer_says_which(ready: Cli) -> None:
    noisy = (*COMMAND, "3")
    answer = ready(*AB, *SEED, "--until-interval", "0.01%", "--max-pairs", "2", "--json", *noisy)
    assert answer.code == 0
    assert (answer.data["pairs"], answer.data["ran"], answer.data["stopped"]["by"]) == (2, 4, "pairs")
    [compared] = answer.data["comparisons"]
    [metric] = compared["pairs"][0]["metrics"]
    assert (compared["base"], compared["other"]) == ("none", "int8")
    assert (metric["verdict"], metric["missing_runs"]) == ("inconclusive", 4)
    assert metric["interleaved"] is True
    assert metric["order_effect"] is not None
    timed = ready(*AB, "--max-time", "1ms", *noisy)
    assert timed.out.startswith("MOE-001: 1 pair; stopped: another pair would not end within 0.001 s\n")
    assert "\n  one run on a side: samples of one process are no repeats (within-process)\n" in timed.out


@pytest.mark.slow
def test_a_fixed_number_of_pairs_and_a_higher_bar(ready: Cli) -> None:
    answer = ready(*AB, "--repeat", "6", "--min-effect", "8%", "--metric", "tflops", "--json", *COMMAND)
    assert (answer.data["stopped"]["by"], answer.data["minimum_effect"]) == ("pairs", 0.08)
    assert answer.data["comparisons"][0]["pairs"][0]["metrics"][0]["verdict"] == "neutral"


@pytest.mark.slow
def test_three_values_each_against_the_first(ready: Cli, folder: Path) -> None:
    three = ("ab", "--axis", "quant_mode=none,int8,int4", *SEED, "--repeat", "6")
    answer = ready(*three, "--", "sh", "bench.sh", "x", "{axis}")
    assert [line.rpartition(": ")[2] for line in answer.out.splitlines()[1:]] == ["beneficial", "regressive"]
    # Drawn for each round anew: ABC CBA BAC ACB.
    rounds = [values(folder)[at : at + 3] for at in range(0, 12, 3)]
    assert rounds[:2] == [["none", "int8", "int4"], ["int4", "int8", "none"]]
    assert rounds[2:] == [["int8", "none", "int4"], ["none", "int4", "int8"]]


@pytest.mark.slow
def test_a_variable_needs_no_place_in_the_command(ready: Cli) -> None:
    script = "echo METRIC tflops=10${MODE:-0}.$LOGBOOK_RUN"
    answer = ready("ab", "--axis", "env:MODE=,6", "--repeat", "6", "--", "sh", "-c", script)
    assert "(empty) 100." in answer.out
    assert answer.out.rstrip().endswith(": beneficial"), answer.out
    assert "MODE=6 sh -c" in ready("show", "MOE-000").out


def test_a_side_that_fails_ends_it_and_its_code_is_ours(ready: Cli, folder: Path) -> None:
    script = "[ $2 = none ] || { echo first >&2; echo 'no kernel for int8' >&2; exit 3; }; echo METRIC tflops=1"
    (folder / "bench.sh").write_text(script)
    answer = ready(*AB, *SEED, "--", "sh", "bench.sh", "--quant-mode", "none")
    assert answer.code == 3
    assert "\n  first\n  no kernel for int8\n" in f"\n{answer.err}"
    assert answer.out == "MOE-000: 0 pairs; stopped: run 2, quant_mode=int8: failed, exit code 3\n"
    assert ready("list", "--json").data[0]["state"] == "failed"
    assert len(values(folder)) == 2


@pytest.mark.slow
def test_a_first_pair_that_was_cut_off_is_completed(ready: Cli, folder: Path) -> None:
    """The second run of all fails: nothing can be compared yet, and --id goes on."""
    (folder / "bench.sh").write_text('[ "$LOGBOOK_RUN" -ne 2 ] || exit 3\n' + BENCH)
    assert ready(*AB, *SEED, "--repeat", "6", *COMMAND).code == 3
    answer = ready(*AB, "--id", "MOE-000", "--repeat", "6", *COMMAND)
    assert (answer.code, answer.out.splitlines()[0]) == (0, "MOE-000: 6 pairs; stopped: 6 pairs run as planned")
    assert answer.err.splitlines()[0].startswith("pair 1 of 6: tflops +")
    assert values(folder)[:4] == ["none", "int8", "int8", "int8"]
    assert answer.out.rstrip().endswith(": beneficial")


@pytest.mark.slow
def test_going_on_looks_first_at_what_there_is(ready: Cli, folder: Path) -> None:
    """What is there is held against as much as all looks to come need; where that is enough, nothing is run."""
    assert ready(*AB, *SEED, "--repeat", "12", *COMMAND).code == 0
    answer = ready(*AB, "--id", "MOE-000", "--until-interval", "2.5%", *COMMAND)
    assert answer.out.startswith("MOE-000: 12 pairs; stopped: every interval is narrower than 2.5%\n")
    assert "14 looks" in answer.out, "one at the end of the first, and after 8, 10, ... 32 pairs"
    assert len(values(folder)) == 24


def test_a_value_that_is_no_number_is_told(ready: Cli) -> None:
    for line, said in (
        ("RESULT quant_mode={axis} tflops=nan", "nothing was measured; tflops: 'nan' is not a measurement"),
        ("METRIC tflops=nan", "no rows"),
    ):
        answer = ready(*AB, "--json", "--", "sh", "-c", f"echo {line}; : {{axis}}")
        assert answer.data["stopped"]["by"] == "not-comparable"
        assert said in answer.data["stopped"]["why"]
        assert "nan" in answer.data["stopped"]["why"]


def test_four_pairs_from_either_side_and_a_fifth_that_was_cut_off(ready: Cli, folder: Path) -> None:
    (folder / "bench.sh").write_text('[ "$LOGBOOK_RUN" -ne 10 ] || exit 3\n' + BENCH)
    assert ready(*AB, *SEED, "--repeat", "5", *COMMAND).code == 3
    for base in ("none", "int8"):
        found = ready("compare", "MOE-000", "--axis", "quant_mode", "--base", base, "--json").data
        [metric] = found["comparisons"][0]["pairs"][0]["metrics"]
        assert (metric["verdict"], metric["interleaved"], metric["interval"]) == ("inconclusive", True, None)
        # In the fifth pair int8 ran first.
        assert (metric["base"]["runs"], metric["other"]["runs"]) == ((4, 5) if base == "none" else (5, 4))
        reasons = [
            "4 of 5 planned pairs: the result is judged when all are there",
            "2 more pairs are needed before an effect can be told from chance",
            "1 run without a partner left out",
        ]
        assert metric["reasons"][:3] == reasons


def test_a_command_that_ignores_the_axis_is_met_after_one_pair(ready: Cli) -> None:
    script = "echo RESULT quant_mode=none tflops=1.$LOGBOOK_RUN # {axis}"
    answer = ready(*AB, "--json", "--", "sh", "-c", script)
    assert answer.code == 0
    assert (answer.data["stopped"]["by"], answer.data["ran"]) == ("not-comparable", 2)
    assert "quant_mode has one value in these rows: none" in answer.data["stopped"]["why"]


def test_a_difference_beside_the_axis_withholds_the_verdict(ready: Cli) -> None:
    script = "echo RESULT quant_mode={axis} dtype=$([ {axis} = none ] && echo f32 || echo bf16) tflops=1.$LOGBOOK_RUN"
    answer = ready(*AB, "--repeat", "2", "--config", "dtype=x", "--", "sh", "-c", script)
    assert "): withheld\n  differs in " in answer.out
    assert "  if that is intended: logbook compare MOE-000 --axis quant_mode --allow " in answer.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((*AB, "--", "sh", "bench.sh"), "-- sh bench.sh --quant-mode '{axis}'"),
        ((*AB, "--", "sh", "bench.sh", "{quant_mod}"), "-- sh bench.sh '{axis}'\n"),
        (("ab", "--axis", "quant_mode", *COMMAND), "--axis quant_mode=none,int8"),
        (("ab", "--axis", "quant_mode=none", *COMMAND), "has one value"),
        (("ab", "--axis", "topk=2,2.0", *COMMAND), "has a value twice"),
        (("ab", "--axis", "topk=2,", *COMMAND), "has an empty value"),
        (
            (*AB, "--repeat", "3", "--until-interval", "1%", *COMMAND),
            "--repeat and --until-interval cannot be used together",
        ),
        ((*AB, "--repeat", "0", *COMMAND), "--repeat must be at least 1"),
        ((*AB, "--min-effect", "much", *COMMAND), "--min-effect 1%"),
        (
            (*AB, "--config", "quant_mode=x", *COMMAND),
            "--config quant_mode and --axis quant_mode cannot be used together",
        ),
        ((*AB,), "no command to run"),
        ((*AB, "--", "logbook", "bench", "--label", "x", "--", "hillclimb", "{axis}"), "is an option of logbook bench"),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_run(
    ready: Cli, folder: Path, words: tuple[str, ...], said: str
) -> None:
    answer = ready(*words)
    assert answer.code == 2
    assert said in answer.err
    assert not (folder / "logbooks/moe/entries").exists()


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_there_and_id_goes_on_in_turn(ready: Cli, folder: Path) -> None:
    (folder / "bench.sh").write_text('[ "$LOGBOOK_RUN" -ne 4 ] || { : > waits; exec sleep 60; }\n' + BENCH)
    process = subprocess.Popen(
        [*LOGBOOK, *AB, *SEED, *COMMAND], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    until = time.monotonic() + 20
    while not (folder / "waits").exists() and time.monotonic() < until:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, "Traceback" in err) == (130, False)
    again = "the same command with --id MOE-000"
    stopped = f"interrupted after 1 of at most 20 pairs; to make the rest: {again}"
    assert out.startswith(f"MOE-000: 1 pair; stopped: {stopped}\n")
    assert ready("list", "--json").data[0]["state"] == "interrupted"
    answer = ready(*AB, "--id", "MOE-000", "--repeat", "7", *COMMAND)
    assert answer.code == 0, answer.err
    assert answer.out.startswith("MOE-000: 8 pairs; stopped: 7 pairs run as planned\n")
    assert answer.out.splitlines()[1].endswith(": beneficial")
    assert "7 looks" in answer.out, "the seven that were planned at first count"
    assert values(folder)[:6] == ["none", "int8", "int8", "none", "none", "int8"]
    assert ready("list", "--json").data[0]["state"] == "finished"


def test_only_the_same_comparison_is_gone_on_with(ready: Cli) -> None:
    assert ready(*AB, *SEED, "--repeat", "1", *COMMAND).code == 0
    for words, said in (
        (("--axis", "mode=none,int8"), "MOE-000 is not an A/B of mode against none"),
        (("--axis", "quant_mode=int8,none"), "MOE-000 is not an A/B of quant_mode against int8"),
        (("--axis", "quant_mode=none,int4"), "run 2 of MOE-000 is out of order"),
        (("--axis", "quant_mode=none,int8", "--title", "x"), "--id MOE-000 adds runs"),
    ):
        answer = ready("ab", *words, "--id", "MOE-000", "--repeat", "1", *COMMAND)
        assert (answer.code, said in answer.err) == (2, True), answer.err


@pytest.mark.slow
def test_going_on_may_change_the_terms(ready: Cli) -> None:
    assert ready(*AB, *SEED, "--repeat", "1", *COMMAND).code == 0
    answer = ready(*AB, "--id", "MOE-000", "--repeat", "9", "--min-effect", "8%", "--json", *COMMAND)
    assert (answer.data["pairs"], answer.data["minimum_effect"]) == (10, 0.08)
    assert len(ready("show", "MOE-000", "--json").data["comparisons"]) == 1
    assert "): **neutral**" in ready("show", "MOE-000").out
