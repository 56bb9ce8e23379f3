"""`logbook ab` from the command line: order, the rule that ends it, its entry, and going on with it."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Answer, Cli, FixedClock
from tests.contract.e2e.e2e_support import LOGBOOK
from tests.contract.findings.kept import once
from tests.seams import Logbook, Store, order_of_pair

# int8 is 6% faster; the noise is the number of the run, and as large as the third word says.
BENCH = """\
speed=100; [ "$2" = int8 ] && speed=106; [ "$2" = int4 ] && speed=97; [ "$2" = same ] && speed=100
echo "METRIC tflops=$speed.$((LOGBOOK_RUN * ${3:-7} % 10)) TF/s"
"""


AB = ("ab", "--axis", "quant_mode=none,int8")


# Draws AB BA BA AB BA AB BA BA AB AB.
SEED = ("--seed", "3")


COMMAND = ("--", "sh", "bench.sh", "--quant-mode", "{axis}")


@pytest.fixture
def ready(started: Cli, folder: Path) -> Cli:
    (folder / "bench.sh").write_text(BENCH)
    return started


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept") / "settled"


@pytest.fixture
def settled(ready: Cli, folder: Path, kept: Path, clock: FixedClock) -> Cli:
    """MOE-000 found in ten pairs that int8 is better."""
    once(kept, folder, lambda: ready(*AB, *SEED, *COMMAND))
    clock.tick(60)
    return ready


def values(folder: Path, entry_id: str = "MOE-000") -> list[object]:
    """What the runs of an entry were made with, in order."""
    return [run.config["quant_mode"] for run in Store(folder).runs(entry_id)]


def finding(answer: Answer) -> Any:
    """The only finding of an answer."""
    [found] = answer.data["answer"]["findings"]
    return found


@pytest.mark.slow
def test_the_comparison_is_stated_first_and_settled_after_a_block(ready: Cli, folder: Path) -> None:
    answer = ready(*AB, *SEED, "--title", "Both modes", "--json", *COMMAND)
    assert answer.code == 0, answer.err
    assert (answer.data["pairs"], answer.data["stopped"]["by"]) == (10, "settled")
    assert answer.err.splitlines()[0].startswith("pair 1 of at most 20: int8: tflops +")
    assert answer.err.splitlines()[9].endswith(", better")
    found = finding(answer)
    assert (found["outcome"], found["pairs"], found["level"]) == ("better", 10, 0.95)
    assert 0.04 < found["interval"][0] < found["change"] < found["interval"][1] < 0.08
    assert found["sentence"].startswith("int8 has ")
    assert " more tflops than none (95%: " in found["sentence"]
    assert found["sentence"].endswith("%; 10 pairs)")
    assert values(folder)[:6] == ["none", "int8", "int8", "none", "int8", "none"]
    stated = (folder / "logbooks/moe/entries/MOE-000.yaml").read_text()
    assert "comparison:\n  question:\n    axis: quant_mode\n    base: none\n    sides:\n    - int8\n" in stated
    assert "seed: 3" in stated
    parts = [r.part for r in Store(folder).runs("MOE-000") if r.part is not None]
    assert [(p.pair, p.side) for p in parts][:3] == [(1, "none"), (1, "int8"), (2, "int8")]


@pytest.mark.slow
def test_every_reader_says_the_same(settled: Cli, folder: Path) -> None:
    ready = settled
    [found] = ready("compare", "MOE-000", "--json").data["answer"]["findings"]
    said = found["sentence"]
    assert said in ready("show", "MOE-000").out
    assert f"- {said.removesuffix(')')} in 1 sitting) [MOE-000 " in ready("status").out
    assert ready("list", "--json").data[0]["result"] == said
    assert said in (folder / "logbooks/moe.md").read_text()
    shown = ready("show", "MOE-000", "--json").data
    assert (shown["answer"]["findings"][0]["sentence"], shown["result"]) == (said, said)
    assert ready("list", "quant_mode", "--json").data[0]["result"] == said
    record = Logbook.open().record("MOE-000")
    assert said in repr(record)
    assert said in record._repr_html_()


@pytest.mark.slow
def test_a_second_sitting_replicates_it_and_the_first_entry_says_where_it_goes_on(settled: Cli, folder: Path) -> None:
    ready = settled
    answer = ready(*AB, *SEED, "--json", *COMMAND)
    assert (answer.data["id"], answer.data["pairs"], answer.data["stopped"]["by"]) == ("MOE-001", 10, "settled")
    found = answer.data["answer"]
    assert (found["entries"], found["pairs"], found["sittings"]) == (["MOE-000", "MOE-001"], 20, 2)
    assert (found["confidence"], len(found["reasons"])) == ("replicated", 1)
    assert "Continued in MOE-001" in (folder / "logbooks/moe.md").read_text()
    assert ready("show", "MOE-000", "--json").data["answer"]["continued_in"] == "MOE-001"
    # What is taken back counts for nothing.
    assert ready("edit", "MOE-001", "--state", "void").code == 0
    first = ready("show", "MOE-000", "--json").data["answer"]
    assert (first["entries"], first["pairs"], first["void"]) == (["MOE-000"], 10, ["MOE-001"])
    assert "Continued in" not in (folder / "logbooks/moe.md").read_text()


@pytest.mark.slow
def test_other_code_is_a_new_question_and_the_old_try_is_named(ready: Cli, folder: Path) -> None:
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b")
    for words in (("init", "-q"), ("add", "bench.sh"), ("commit", "-qm", "one")):
        subprocess.run([*git, *words], cwd=folder, check=True)
    assert ready(*AB, *SEED, *COMMAND).code == 0
    (folder / "bench.sh").write_text(BENCH.replace("106", "107"))
    found = ready(*AB, *SEED, "--json", *COMMAND).data["answer"]
    assert (found["entries"], found["earlier"], found["pairs"]) == (["MOE-001"], ["MOE-000"], 10)


def test_few_pairs_are_open_and_say_what_would_settle_it(ready: Cli) -> None:
    answer = ready(*AB, *SEED, "--max-pairs", "2", "--json", *COMMAND)
    found = finding(answer)
    assert (answer.data["pairs"], answer.data["ran"], answer.data["stopped"]["by"]) == (2, 4, "pairs")
    assert (found["outcome"], found["interval"]) == ("open", None)
    assert found["to_settle"] == "at least 8 more pairs"
    assert "--id MOE-000" in answer.data["stopped"]["why"]
    timed = ready(*AB, "--max-time", "1ms", *COMMAND)
    first = timed.out.splitlines()[0]
    assert first.startswith("MOE-001: 1 pair; stopped: ")
    assert "--max-time" in first
    assert "; to continue: logbook ab --id MOE-001 " in first


@pytest.mark.slow
def test_three_values_each_against_the_first(ready: Cli, folder: Path) -> None:
    three = ("ab", "--axis", "quant_mode=none,int8,int4", *SEED, "--pairs", "10", "--json")
    answer = ready(*three, "--", "sh", "bench.sh", "x", "{axis}")
    found = answer.data["answer"]["findings"]
    assert [(f["side"], f["outcome"]) for f in found] == [("int8", "better"), ("int4", "worse")]
    # Drawn for each round anew: ABC BCA CBA ACB.
    rounds = [values(folder)[at : at + 3] for at in range(0, 12, 3)]
    assert rounds[:2] == [["none", "int8", "int4"], ["int8", "int4", "none"]]
    assert rounds[2:] == [["int4", "int8", "none"], ["none", "int4", "int8"]]


def test_a_side_that_fails_ends_it_and_its_code_is_ours(ready: Cli, folder: Path) -> None:
    script = "[ {axis} = none ] || { echo out of luck >&2; exit 3; }; echo METRIC tflops=1"
    answer = ready(*AB, *SEED, "--", "sh", "-c", script)
    assert answer.code == 3
    first, why, onward = answer.out.splitlines()
    assert first == "MOE-000: 0 pairs; stopped: run 2, quant_mode=int8: failed, exit code 3"
    assert "out of luck" in why
    assert "--id MOE-000" in onward
    assert ready("list", "--json").data[0]["state"] == "failed"
    assert len(values(folder)) == 2


@pytest.mark.slow
def test_a_first_pair_that_was_cut_off_is_completed(ready: Cli, folder: Path) -> None:
    """The second run of all fails: nothing can be compared yet, and --id goes on."""
    (folder / "bench.sh").write_text('[ "$LOGBOOK_RUN" -ne 2 ] || exit 3\n' + BENCH)
    assert ready(*AB, *SEED, "--pairs", "8", *COMMAND).code == 3
    answer = ready(*AB, "--id", "MOE-000", "--json", *COMMAND)
    assert (answer.code, answer.data["pairs"], answer.data["stopped"]["by"]) == (0, 8, "pairs")
    assert values(folder)[:4] == ["none", "int8", "int8", "none"]
    assert finding(answer)["outcome"] == "better"


def test_a_command_that_ignores_the_axis_is_met_after_one_pair(ready: Cli) -> None:
    script = "echo RESULT quant_mode=none tflops=1.$LOGBOOK_RUN # {axis}"
    answer = ready(*AB, "--json", "--", "sh", "-c", script)
    assert answer.code == 0
    assert (answer.data["stopped"]["by"], answer.data["ran"]) == ("not-comparable", 2)
    assert "a run of quant_mode=int8 reported quant_mode=none" in answer.data["stopped"]["why"]


def test_a_metric_that_no_run_reports_is_named_after_one_pair(ready: Cli) -> None:
    answer = ready(*AB, "--metric", "tflop", "--json", *COMMAND)
    assert (answer.data["stopped"]["by"], answer.data["ran"]) == ("not-comparable", 2)
    assert "no run reports tflop, but tflops" in answer.data["stopped"]["why"]


def test_a_direction_is_stated_in_the_header(ready: Cli) -> None:
    answer = ready(*AB, "--metric", "tflops:max", "--json", *COMMAND)
    assert (answer.code, "--metric tflops:max" in answer.error["message"]) == (2, True)
    assert "{name: tflops, direction: max}" in answer.error["hint"]


def test_rows_are_matched_by_their_config_or_left_out(ready: Cli) -> None:
    script = (
        "echo RESULT topk=1 tflops=1; echo RESULT topk=2 tflops=2; [ {axis} = none ] || echo RESULT topk=3 tflops=3"
    )
    answer = ready(*AB, "--max-pairs", "1", "--json", "--", "sh", "-c", script, "--topk", "1")
    found = answer.data["answer"]["findings"]
    assert [f["case"] for f in found] == [{"topk": "1"}, {"topk": "2"}]
    [left_out] = answer.data["answer"]["left_out"]
    assert left_out.startswith("1 pair: ")
    assert "topk=3" in left_out


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ((*AB, "--", "sh", "bench.sh"), "-- sh bench.sh --quant-mode '{axis}'"),
        (("ab", "--axis", "quant_mode", *COMMAND), "--axis quant_mode=none,int8"),
        (("ab", "--axis", "topk=2,2.0", *COMMAND), "topk=2,2.0"),
        (("ab", "--axis", "quant_mode=None,x", *COMMAND), "quant_mode=None"),
        ((*AB, "--pairs", "3", "--max-pairs", "4", *COMMAND), "--max-pairs"),
        ((*AB, "--min-effect", "much", *COMMAND), "--min-effect 1%"),
        ((*AB, "--min-effect", "nan", *COMMAND), "--min-effect 1%"),
        ((*AB, "--config", "quant_mode=x", *COMMAND), "--config quant_mode"),
        ((*AB,), "--"),
    ],
)
@pytest.mark.sample(5)
def test_what_does_not_fit_is_refused_and_nothing_run(
    ready: Cli, folder: Path, words: tuple[str, ...], named: str
) -> None:
    answer = ready(*words)
    assert answer.code == 2
    assert named in answer.err
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
    again = "logbook ab --id MOE-000 --axis quant_mode=none,int8 -- sh bench.sh --quant-mode none"
    first = out.splitlines()[0]
    assert first.startswith("MOE-000: 1 pair; stopped: interrupted ")
    assert first.endswith(f": {again}")
    assert ready("list", "--json").data[0]["state"] == "interrupted"
    answer = ready(*AB, "--id", "MOE-000", "--max-pairs", "9", "--json", *COMMAND)
    assert answer.code == 0, answer.err
    said = (answer.data["pairs"], answer.data["stopped"]["by"], finding(answer)["outcome"])
    assert said == (10, "settled", "better"), answer.data
    assert values(folder)[:6] == ["none", "int8", "int8", "none", "none", "int8"]
    assert ready("list", "--json").data[0]["state"] == "finished"


def test_only_the_same_question_is_gone_on_with(ready: Cli) -> None:
    assert ready(*AB, *SEED, "--max-pairs", "1", *COMMAND).code == 0
    for words, more, named in (
        (("--axis", "mode=none,int8"), (), "axis is quant_mode, not mode"),
        (("--axis", "quant_mode=int8,none"), (), "none, int8, not int8, none"),
        ((*AB[1:], "--min-effect", "2%"), (), "0.01, not 0.02"),
        ((*AB[1:], "--title", "x"), (), "--title"),
        (AB[1:], ("--fast",), "sh bench.sh --quant-mode none, not "),
    ):
        answer = ready("ab", *words, "--id", "MOE-000", "--max-pairs", "1", *COMMAND, *more)
        assert (answer.code, named in answer.err) == (2, True), answer.err
    assert ready("show", "MOE-000", "--json").data["answer"]["pairs"] == 1


def test_a_stated_number_of_pairs_is_made_and_takes_no_more(ready: Cli) -> None:
    made = ready(*AB, *SEED, "--pairs", "2", "--json", *COMMAND)
    assert (made.data["pairs"], made.data["design"]["fixed"]) == (2, True)
    assert (made.data["stopped"]["by"], made.data["stopped"]["why"]) == ("pairs", "2 pairs made")
    for more in (("--pairs", "2"), ("--max-pairs", "8")):
        answer = ready(*AB, "--id", "MOE-000", *more, *COMMAND)
        assert (answer.code, "2 pairs, which are judged once" in answer.err) == (2, True), answer.err
    again = ready(*AB, "--id", "MOE-000", "--json", *COMMAND)
    assert (again.code, again.data["pairs"], again.data["ran"]) == (0, 2, 0)


@pytest.mark.slow
def test_what_the_budget_cannot_settle_says_what_it_needs_and_how_to_go_on(ready: Cli, folder: Path) -> None:
    # The noise is a quarter of the value; the effect is nil.
    (folder / "bench.sh").write_text('echo "METRIC tflops=$((100 + LOGBOOK_RUN * 37 % 90)) TF/s"; : "$2"\n')
    answer = ready(*AB, *SEED, "--max-pairs", "10", "--json", *COMMAND)
    assert (answer.data["pairs"], answer.data["stopped"]["by"]) == (10, "pairs")
    assert "--id MOE-000 --max-pairs 20" in answer.data["stopped"]["why"]
    lines = answer.err.splitlines()
    assert ["needs" in line for line in lines[:10]] == [False] * 9 + [True]
    assert lines[9].endswith(f"; needs {finding(answer)['to_settle']}")
    on = ready(*AB, "--id", "MOE-000", "--max-pairs", "2", "--json", *COMMAND)
    assert (on.data["pairs"], on.data["stopped"]["by"]) == (12, "pairs")


def test_a_table_takes_the_base_that_the_comparison_states(ready: Cli, folder: Path) -> None:
    for seed in range(2, 20):  # one whose first run is that of the other side
        if order_of_pair(seed, 1)[0] == 1:
            break
    assert ready(*AB, "--seed", str(seed), "--max-pairs", "1", *COMMAND).code == 0
    assert values(folder)[0] == "int8"
    columns = ready("table", "--pivot", "quant_mode", "--delta", "--json").data["columns"]
    assert [column["name"] for column in columns] == ["tflops @ none", "tflops @ int8", "delta tflops"]


@pytest.mark.slow
def test_pairs_under_other_conditions_are_another_question_and_counted(ready: Cli) -> None:
    assert ready(*AB, *SEED, "--max-pairs", "2", "--env", "MODE=x", *COMMAND).code == 0
    answer = ready(*AB, "--id", "MOE-000", "--max-pairs", "3", "--json", *COMMAND).data["answer"]
    assert answer["pairs"] == 3
    [left_out] = answer["left_out"]
    assert (left_out.partition(":")[0], left_out[-6:]) == ("2 pairs", "(MODE)")
    # More pairs go on with the later ones: those before them are no open question of their own.
    answers = ready("status", "--json").data["answers"]
    assert [(one["id"], "(3 pairs" in one["answer"], one["settled"]) for one in answers] == [("MOE-000", True, False)]


@pytest.mark.slow
def test_another_config_or_command_is_another_question(ready: Cli, folder: Path) -> None:
    for size in ("1", "2"):
        made = ready(*AB, "--max-pairs", "2", "--config", f"size={size}", "--json", *COMMAND)
        assert (made.data["answer"]["pairs"], made.data["answer"]["entries"]) == (2, [made.data["id"]])
    assert ready(*AB, "--max-pairs", "1", "--config", "size=1", "--json", *COMMAND).data["answer"]["pairs"] == 3
    for path in (folder / "logbooks/moe/runs/MOE-001").glob("0[34]/run.json"):
        run = json.loads(path.read_text())
        path.write_text(json.dumps(run | {"argv": [*run["argv"], "--fast"]}))
    answer = ready("show", "MOE-001", "--json").data["answer"]
    assert (answer["pairs"], [one.partition(":")[0] for one in answer["left_out"]]) == (1, ["1 pair"])
