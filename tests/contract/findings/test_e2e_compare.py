"""`logbook compare` from the command line: the answer of a design, else numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.findings.kept import once

pytestmark = pytest.mark.slow

HEADER = """\
topic: moe
prefix: MOE
metrics: [{name: tflops, direction: max, unit: TF/s}]
baseline:
  config: {mode: none}
"""
# int8 is 10% faster than none, fp8 10% slower.
BENCH = "case $2 in none) v=100;; int8) v=110;; *) v=90;; esac; echo RESULT topk=2 tflops=$v.$LOGBOOK_RUN"
COMMAND = ("sh", "bench.sh", "--mode")


def measure(cli: Cli, mode: str, *options: str, runs: int = 4) -> None:
    """Runs of one mode, each a little faster than the one before."""
    repeat = ("--repeat", str(runs)) if runs > 1 else ()
    assert cli("run", "--config", f"mode={mode}", *repeat, *options, "--", *COMMAND, mode).code == 0


def ab(cli: Cli, *modes: str, pairs: int = 10, seed: int = 1, options: tuple[str, ...] = ()) -> None:
    axis = ("--axis", f"mode={','.join(modes)}", "--pairs", str(pairs), "--seed", str(seed))
    answer = cli("ab", *axis, *options, "--", *COMMAND, "{axis}")
    assert answer.code == 0, answer


@pytest.fixture
def bench(started: Cli, folder: Path) -> Cli:
    (folder / "bench.sh").write_text(BENCH)
    return started


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept") / "pair"


@pytest.fixture
def pair(bench: Cli, folder: Path, kept: Path) -> Cli:
    """MOE-000 has mode none at 100 TF/s, MOE-001 int8 at 110."""
    once(kept, folder, lambda: [measure(bench, mode) for mode in ("none", "int8")])
    return bench


# -- the answer of a design ----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, 8])
@pytest.mark.sample(1)
def test_the_base_is_the_one_that_is_stated_whichever_ran_first(bench: Cli, folder: Path, seed: int) -> None:
    ab(bench, "none", "int8", pairs=12, seed=seed)
    first = json.loads((folder / "logbooks/moe/runs/MOE-000/01/run.json").read_text())["part"]["side"]
    assert first == {1: "none", 8: "int8"}[seed], "the seeds differ in the side that runs first"
    shown = bench("show", "MOE-000", "--json").data["answer"]
    del shown["continued_in"]
    for words in (["MOE-000"], ["MOE-000", "--axis", "mode"], ["MOE-000", "--axis", "mode", "--base", "none"]):
        assert bench("compare", *words, "--json").data == {"answer": shown, "numbers": None}
    assert (shown["base"], shown["findings"][0]["side"], shown["findings"][0]["outcome"]) == ("none", "int8", "better")
    text = bench("compare", "MOE-000").out
    assert text.startswith(f"MOE-000, mode: int8 against none\n{shown['findings'][0]['sentence']}\n  none 100")
    assert (shown["confidence"], "confidence: exploratory (" in text) == ("exploratory", True)
    turned = bench("compare", "MOE-000", "--axis", "mode", "--base", "int8", "--json")
    assert turned.data["answer"] == shown
    [warning] = json.loads(turned.out)["warnings"]
    assert all(word in warning for word in ("--base int8", "MOE-000", "none"))
    assert shown["findings"][0]["sentence"] in bench("table", "MOE-000", "--pivot", "mode", "--delta").out


def test_which_sides_a_comparison_holds(bench: Cli) -> None:
    ab(bench, "none", "int8", "fp8")
    sides = {s["part"]["side"]: s["run"] for s in bench("show", "MOE-000", "--full", "--json").data["runs"][:3]}

    def answered(*words: str) -> bool:
        answer = bench("compare", *words, "--json")
        assert answer.code == 0, answer
        return answer.data["answer"] is not None

    assert answered(f"MOE-000/{sides['none']}", f"MOE-000/{sides['int8']}")
    assert answered("MOE-000", "--metric", "tflops")
    assert not answered("MOE-000", "--axis", "mode", "--base", "int8"), "int8 against fp8 was not asked"
    again = bench("show", "MOE-000", "--full", "--json").data["runs"]
    of_none = [r["run"] for r in again if r["part"]["side"] == "none"]
    assert not answered(f"MOE-000/{of_none[0]}", f"MOE-000/{of_none[1]}"), "both are of one side"


@pytest.mark.parametrize("pairs", [1, 2])
def test_pairs_that_nothing_can_be_compared_of_say_what_was_seen(bench: Cli, pairs: int) -> None:
    ab(bench, "none", "int8", pairs=pairs)
    [found] = bench("compare", "MOE-000", "--json").data["answer"]["findings"]
    assert (found["outcome"], found["pairs"], found["interval"]) == ("open", pairs, None)
    assert found["change"] == pytest.approx(0.1, abs=0.01)


def test_a_comparison_without_a_pair_says_so(bench: Cli, folder: Path) -> None:
    (folder / "bench.sh").write_text("exit 3")
    assert bench("ab", "--axis", "mode=none,int8", "--", *COMMAND, "{axis}").code != 0
    answer = bench("compare", "MOE-000", "--json").data["answer"]
    assert (answer["pairs"], answer["void"]) == (0, [])
    assert "no pair" in bench("compare", "MOE-000").out
    assert bench("edit", "MOE-000", "--state", "void").code == 0
    assert bench("compare", "MOE-000", "--json").data["answer"]["void"] == ["MOE-000"]
    assert "no pair" not in bench("compare", "MOE-000").out


def test_what_is_no_comparison(pair: Cli) -> None:
    """Every misuse is reported with what to type instead, and nothing is written."""
    for words, named, hint in [
        (["MOE-000"], "MOE-000", "logbook compare MOE-000 OTHER"),
        (["MOE-000", "MOE-000/1"], "MOE-000/1", "logbook compare ID/1 ID/2"),
        (["MOE-000", "MOE-001", "--base", "x"], "--base x", "--axis NAME --base x"),
        (["MOE-000/9", "MOE-001"], "MOE-000/9", "MOE-000/4"),
        (["MOE-000", "--baseline"], "moe", "logbook baseline --entry ID"),
        (["MOE-000", "MOE-001", "--metric", "tflop"], "'tflop'", "--metric tflops"),
        (["MOE-000", "MOE-001", "--where", "topk=3"], "topk=3", "--where topk=2"),
    ]:
        answer = pair("compare", *words, "--json")
        assert answer.code == 2, words
        assert named in answer.error["message"]
        assert hint in answer.error["hint"], answer.error
    measure(pair, "fp8", "--id", "MOE-000", runs=1)
    assert pair("compare", "MOE-000", "--json").error["hint"] == "logbook compare MOE-000 --axis mode"


def test_against_the_baseline(cli: Cli, folder: Path) -> None:
    (folder / "bench.sh").write_text(BENCH)
    (folder / "h.yaml").write_text(HEADER + "  entry: MOE-000\n")
    assert cli("start", "--from", "h.yaml").code == 0
    measure(cli, "none")
    measure(cli, "int8")
    assert "| tflops @ MOE-000 | tflops @ MOE-001 |" in cli("compare", "MOE-001", "--baseline").out
    assert "| tflops @ none | tflops @ int8 |" in cli("compare", "MOE-001", "--baseline", "--axis", "mode").out


def test_a_long_answer_is_cut_and_says_so(started: Cli) -> None:
    rows = "for k in $(seq 200); do for m in a b; do echo RESULT mode=$m topk=$k tflops=$k; done; done"
    assert started("run", "--config", "topk=0", "--config", "mode=x", "--", "sh", "-c", rows).code == 0
    answer = started("compare", "MOE-000", "--axis", "mode")
    assert len(answer.out.encode()) <= 8000
    assert ": logbook ab --axis mode=" in answer.out
    assert "160 more rows" in answer.out
    assert len(started("compare", "MOE-000", "--axis", "mode", "--json").data["numbers"]["rows"]) == 200
