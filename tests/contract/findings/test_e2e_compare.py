"""`logbook compare` from the command line: the answer of a design, else numbers."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.campaign.ab_entry_support import Git
from tests.contract.findings.kept import once
from tests.stored import at

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
    first = json.loads(at(folder / "logbooks/moe/runs/MOE-000/01/run.json").read_text())["part"]["side"]
    assert first == {1: "none", 8: "int8"}[seed], "the seeds differ in the side that runs first"
    shown = bench("show", "MOE-000", "--json").data["answer"]
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


def test_a_side_that_failed_in_each_pair_failed_in_the_issue(bench: Cli, folder: Path) -> None:
    (folder / "bench.sh").write_text(f"{BENCH}; test $2 = none")
    options = ("--axis", "mode=none,int8", "--pairs", "2", "--", *COMMAND, "{axis}")
    assert bench("ab", *options).code != 0
    assert "int8 failed in 1 pair: exit code 1" in bench("compare", "MOE-000").out
    assert bench("sync", "--offline", "out").code == 0
    [row] = [line for line in (folder / "out/issue.md").read_text().splitlines() if line.startswith("| MOE-000 |")]
    assert "int8 failed in 1 pair: exit code 1" in row
    assert row.endswith("| `mode: int8 against none` |")


def test_an_open_answer_says_why_and_what_to_type_as_status_does(bench: Cli) -> None:
    ab(bench, "none", "int8", pairs=2)
    [status] = bench("status", "--json").data["answers"]
    data = bench("compare", "MOE-000", "--json").data
    assert (data["why"], data["command"]) == (status["why"], status["command"])
    lines = [line.strip() for line in bench("status").out.splitlines()]
    assert bench("compare", "MOE-000").out.splitlines()[-2:] == [
        line for line in lines if line.startswith(("why it is open:", "to ask it again"))
    ]
    assert bench(*shlex.split(data["command"])[1:]).code == 0
    assert data["command"] not in bench("compare", "MOE-000").out


def test_a_comparison_without_a_pair_says_so(bench: Cli, folder: Path) -> None:
    (folder / "bench.sh").write_text("exit 3")
    assert bench("ab", "--axis", "mode=none,int8", "--", *COMMAND, "{axis}").code != 0
    answer = bench("compare", "MOE-000", "--json").data["answer"]
    assert (answer["pairs"], answer["void"]) == (0, False)
    assert "no pair" in bench("compare", "MOE-000").out
    assert bench("edit", "MOE-000", "--state", "void").code == 0
    assert bench("compare", "MOE-000", "--json").data["answer"]["void"] is True
    assert "no pair" not in bench("compare", "MOE-000").out


def test_what_is_no_comparison(pair: Cli) -> None:
    """Every misuse is reported with what to type instead, and nothing is written."""
    for words, named, hint in [
        (["MOE-000"], "MOE-000", "logbook compare MOE-000 MOE-001"),
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
    assert "logbook ab cannot vary mode" in answer.out
    assert "160 more rows" in answer.out
    assert len(started("compare", "MOE-000", "--axis", "mode", "--json").data["numbers"]["rows"]) == 200


# -- numbers of rows that no design drew ---------------------------------------------------------------


def test_other_rows_have_their_numbers_the_residue_and_one_command(pair: Cli) -> None:
    measure(pair, "int8", "--env", "XLA_FLAGS=--xla_a", runs=1)
    found = pair("compare", "MOE-000", "MOE-002", "--json").data["numbers"]
    assert {name: list(of.values()) for name, of in found["residue"].items()} == {
        "mode": ["none", "int8"],
        "env:XLA_FLAGS": ["—", "--xla_a"],
    }
    text = pair("compare", "MOE-000", "MOE-002").out
    assert f"not drawn by chance; to settle one difference alone: {found['command']}" in text
    assert "env:XLA_FLAGS differs with side: MOE-000 —, MOE-002 --xla_a" in text
    program, *words = shlex.split(found["command"])
    assert (program, pair(*words[:1], "--pairs", "1", *words[1:]).code) == ("logbook", 0)
    stated = pair("show", "MOE-003", "--json").data["comparison"]["question"]
    assert (stated["axis"], stated["base"], stated["sides"]) == ("mode", "none", ["int8"])
    # What lies in one comparison has its answer; rows beside it name it.
    assert pair("compare", "MOE-003", "--json").data["answer"]["pairs"] == 1
    beside = pair("compare", "MOE-003", "MOE-001", "--axis", "mode", "--json").data["numbers"]
    assert (beside["answered_by"], beside["command"]) == ("MOE-003", "logbook compare MOE-003")


def test_words_of_a_command_that_no_config_explains_are_named(bench: Cli) -> None:
    for words in ((), ("--fast",)):
        assert bench("run", "--config", "mode=none", "--", *COMMAND, "none", *words).code == 0
    found = bench("compare", "MOE-000", "MOE-001", "--json").data["numbers"]
    assert found["residue"] == {"command": {"MOE-000": "—", "MOE-001": "--fast"}}
    assert found["command"] is None
    assert "logbook ab cannot vary command" in found["settle"]


def test_every_reader_takes_the_median_of_the_same_runs(cli: Cli, folder: Path) -> None:
    """Also of runs whose partner in a pair failed: they measured their side as well as the others."""
    (folder / "bench.sh").write_text(
        "case $2 in none) v=1;; int8) v=2;; esac; [ $LOGBOOK_RUN != 5 ] || v=9; "
        "echo RESULT tflops=$v.$LOGBOOK_RUN ok=$(case $2$LOGBOOK_RUN in int83|int84) echo 0;; *) echo 1;; esac)"
    )
    assert cli("start", "moe", "--prefix", "MOE", "--metric", "tflops:max:TF/s", "--gate", "ok == 1").code == 0
    cli("ab", "--axis", "mode=none,int8", "--seed", "1", "--pairs", "8", "--", *COMMAND, "{axis}")
    for _ in range(4):
        cli("ab", "--id", "MOE-000")
    [f] = cli("compare", "MOE-000", "--json").data["answer"]["findings"]
    assert f["pairs"] < 8, "a pair counts for nothing"
    numbers = cli("table", "MOE-000", "--pivot", "mode", "--json").data
    columns = [column["name"] for column in numbers["columns"]]
    [row] = [row for row in numbers["values"] if "finished" in row]
    of_table = [row[columns.index(f"tflops @ {mode}")] for mode in ("none", "int8")]
    assert [f["base"]["median"], f["other"]["median"]] == of_table
    assert f["base"]["runs"] + f["other"]["runs"] > 2 * f["pairs"]
    [best] = cli("status", "--json").data["best"]
    assert best["value"] in of_table
    (folder / "note.md").write_text("[[MOE-000 tflops@mode=none]]")
    assert cli("cite", "note.md").code == 0
    assert f"{of_table[0]:.3f}"[:4] in (folder / "note.md").read_text().partition(">")[2]
    cli("baseline", "--entry", "MOE-000", "--config", "mode=none", "--reason", "r")
    assert cli("baseline", "--json").data["baseline"]["numbers"][0]["metrics"]["tflops"] == pytest.approx(of_table[0])


def test_code_as_the_axis_of_plain_runs_is_their_commit(bench: Cli, folder: Path, git: Git) -> None:
    for text in (BENCH, f"{BENCH} # again"):
        (folder / "bench.sh").write_text(text)
        git("add", "-A")
        git("commit", "-q", "-m", "A version")
        measure(bench, "none", "--title" if text == BENCH else "--continues", "A" if text == BENCH else "MOE-000")
    commits = [git("rev-parse", "--short=9", name).strip() for name in ("HEAD~1", "HEAD")]
    for axis in ("code", "commit"):
        shown = bench("compare", "MOE-000", "MOE-001", "--axis", axis)
        assert f"to settle it: logbook ab --code {' '.join(commits)} --like MOE-000/1" in shown.out
    refused = bench("compare", "MOE-000", "MOE-001", "--axis", "nope", "--json")
    assert refused.error["hint"] == "choose one of them: --axis commit"
    assert bench("compare", "MOE-000", "MOE-001", *refused.error["hint"].split()[-2:]).code == 0
    # The rows of one entry have one commit, which makes no two sides; its runs do.
    refused = bench("compare", "MOE-000", "--axis", "nope", "--json")
    assert refused.error["hint"] == "choose one of them: --axis run"


def test_each_side_of_code_has_its_own_commit(bench: Cli, folder: Path, git: Git) -> None:
    # The second commit differs in a file that is no code by its suffix.
    for name in ("bench.sh", "fast"):
        (folder / name).touch()
        git("add", "-A")
        git("commit", "-q", "-m", f"With {name}")
    commits = [git("rev-parse", "--short=9", name) for name in ("HEAD~1", "HEAD")]
    command = ("--", *COMMAND, "none")
    assert bench("ab", "--code", "HEAD~1", "HEAD", "--max-pairs", "1", *command).code == 0
    measure(bench, "none", runs=1)
    (folder / "bench.sh").write_text(f"{BENCH} # other code")
    git("commit", "-q", "-a", "-m", "Other code")
    measure(bench, "none", "--continues", "MOE-001", runs=1)
    rows = [line.split("|") for line in bench("table").out.splitlines() if "MOE-00" in line]
    found = {(row[1].strip(), name) for row in rows for name in commits if any(name == cell.strip() for cell in row)}
    assert found == {("MOE-000", commits[0]), ("MOE-000", commits[1]), ("MOE-001", commits[1])}
    [*_, head] = bench("compare", "MOE-001", "MOE-000", "--axis", "code").out.partition("| ---")[0].splitlines()
    assert all(f"tflops @ {name} " in head for name in commits)


def test_the_code_that_was_kept_is_no_unsettled_best(bench: Cli) -> None:
    ab(bench, "none", "int8", pairs=2, options=("--metric", "tflops"))
    assert "no comparison settles whether it is better" in bench("status").out
    assert bench("keep", "MOE-000", "--why", "simpler").code == 0
    assert "mode=int8: kept (MOE-001)" in bench("status").out
