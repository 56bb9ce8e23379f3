"""`logbook ab` from the command line: order, the rule that ends it, its entry, and going on with it."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.conftest import Cli, FixedClock
from tests.contract.campaign.ab_support import AB, BENCH, COMMAND, SEED, finding, values
from tests.contract.e2e.e2e_support import LOGBOOK
from tests.contract.findings.kept import once
from tests.seams import Logbook, Store, in_a_cell
from tests.stored import at


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


@pytest.mark.slow
def test_the_comparison_is_stated_first_and_settled_after_a_block(ready: Cli, folder: Path) -> None:
    answer = ready(*AB, *SEED, "--title", "Both modes", "--json", *COMMAND)
    assert answer.code == 0, answer.err
    assert (answer.data["pairs"], answer.data["stopped"]["by"]) == (10, "settled")
    assert answer.err.splitlines()[0].startswith("MOE-000, pair 1 of at most 20: int8: tflops +")
    assert answer.err.splitlines()[9].endswith(", better")
    found = finding(answer)
    assert (found["outcome"], found["pairs"], found["level"]) == ("better", 10, 0.95)
    assert 0.04 < found["interval"][0] < found["change"] < found["interval"][1] < 0.08
    assert found["sentence"].startswith("int8 has ")
    assert " more tflops than none (95%: " in found["sentence"]
    assert found["sentence"].endswith("%; 10 pairs)")
    assert values(folder)[:6] == ["none", "int8", "int8", "none", "int8", "none"]
    stated = at(folder / "logbooks/moe/entries/MOE-000.yaml").read_text()
    assert "comparison:\n  question:\n    axis: quant_mode\n    base: none\n    sides:\n    - int8\n" in stated
    assert "seed: 3" in stated
    parts = [r.part for r in Store(folder).runs("MOE-000") if r.part is not None]
    assert [(p.pair, p.side) for p in parts][:3] == [(1, "none"), (1, "int8"), (2, "int8")]


@pytest.mark.slow
def test_a_number_that_repeats_to_its_last_digit_is_exact(cli: Cli, folder: Path) -> None:
    declared = [word for name in ("size:min:kB", "rss:min:kB") for word in ("--metric", f"{name}:watched")]
    assert cli("start", "moe", "--prefix", "MOE", "--metric", "tflops:max:TF/s", *declared).code == 0
    sizes = (
        'case $2 in int8) size=365.16;; *) size=394.408;; esac; echo "METRIC size=$size kB"; echo "METRIC rss=7.5 kB"'
    )
    (folder / "bench.sh").write_text(f"{BENCH}\n{sizes}\n")
    answer = cli(*AB, *SEED, "--json", *COMMAND)
    found = {f["metric"]: f for f in answer.data["answer"]["findings"]}
    assert found["size"]["outcome"] == "better"
    assert found["size"]["interval"] == pytest.approx([-0.0742, -0.0742], abs=1e-4)
    # Two digits, which hide 1.3%.
    assert found["rss"]["outcome"] == "open"


@pytest.mark.slow
def test_every_reader_says_the_same(settled: Cli, folder: Path) -> None:
    ready = settled
    [found] = ready("compare", "MOE-000", "--json").data["answer"]["findings"]
    said = found["sentence"]
    whole = f"{said.removesuffix(')')} in 1 sitting)"
    assert said in ready("show", "MOE-000").out
    assert f"- {whole} [MOE-000 " in ready("status").out
    assert ready("list", "--json").data[0]["result"] == whole
    assert said in (folder / "logbooks/moe.md").read_text()
    shown = ready("show", "MOE-000", "--json").data
    assert (shown["answer"]["findings"][0]["sentence"], shown["result"]) == (said, whole)
    assert ready("list", "quant_mode", "--json").data[0]["result"] == whole
    record = Logbook.open().record("MOE-000")
    assert whole in repr(record)
    assert said in in_a_cell(record)


@pytest.mark.slow
def test_a_detached_comparison_goes_on_in_the_foreground(ready: Cli) -> None:
    begun = ready(*AB, *SEED, "--max-pairs", "2", "--detach", "--json", *COMMAND)
    assert begun.code == 0, begun.err
    assert ready("wait", "MOE-000").code == 0
    more = ready("ab", "--id", "MOE-000", "--max-pairs", "2", "--json")
    assert (more.data["pairs"], more.data["answer"]["left_out"]) == (4, [])
    # `wait` ends with the answer, as `ab` does.
    [answer] = ready("wait", "MOE-000", "--json").data["answers"]
    assert (answer, answer["pairs"]) == (more.data["answer"], 4)
    first, *last = ready("wait", "MOE-000").out.splitlines()
    assert first.endswith(f", {answer['pairs']} pairs")
    assert last == [f["sentence"] for f in answer["findings"]]


@pytest.mark.slow
def test_wait_says_why_a_detached_comparison_ended_early(ready: Cli, folder: Path) -> None:
    edit = "[ $LOGBOOK_RUN != 3 ] || echo '# edited' >> bench.sh\n"
    (folder / "bench.sh").write_text(f"{edit}{BENCH}")
    assert ready(*AB, *SEED, "--detach", *COMMAND).code == 0
    ended = ready("wait", "MOE-000")
    assert ended.code == 1
    assert "; stopped: the code changed: bench.sh" in ended.out.splitlines()[0]
    [one] = ready("wait", "MOE-000", "--json").data["ended"]
    assert one["why"].startswith("stopped: the code changed: bench.sh")


@pytest.mark.slow
def test_wait_sees_a_comparison_in_another_terminal_to_its_end(ready: Cli, folder: Path) -> None:
    (folder / "bench.sh").write_text(f": > runs\n{BENCH}")
    with subprocess.Popen(
        [*LOGBOOK, *AB, *SEED, "--max-pairs", "4", *COMMAND], cwd=folder, stdout=subprocess.PIPE
    ) as process:
        until = time.monotonic() + 20
        while not (folder / "runs").exists() and time.monotonic() < until:
            time.sleep(0.01)
        assert ready("wait", "MOE-000").out.splitlines()[0] == "MOE-000: finished, 4 pairs"
    assert process.returncode == 0


@pytest.mark.slow
def test_a_detached_comparison_that_was_killed_goes_on_in_the_foreground(ready: Cli, folder: Path) -> None:
    begun = ready(*AB, *SEED, "--max-pairs", "9", "--detach", "--json", *COMMAND)
    assert begun.code == 0, begun.err
    [lock] = folder.glob("logbooks/moe/open/*.series/*.lock")
    os.kill(json.loads(lock.read_text())["pid"], signal.SIGKILL)
    assert ready("wait", "MOE-000", "--timeout", "60s").code != 124  # its locks end with it, a moment later
    assert "was cut off" in ready("doctor").out
    assert ready("ab", "--id", "MOE-000").code == 0
    assert "was cut off" not in ready("doctor").out


@pytest.mark.slow
def test_no_page_changes_by_itself(settled: Cli, clock: FixedClock) -> None:
    assert settled("render", "--check").code == 0
    clock.tick(11)  # a second sitting would replicate it now
    assert [step["kind"] for step in settled("next", "--json").data["steps"]] == ["replication"]
    assert settled("render", "--check").code == 0


@pytest.mark.slow
def test_typed_again_it_adds_pairs_to_its_entry_and_a_second_sitting_replicates_it(
    settled: Cli, folder: Path, clock: FixedClock
) -> None:
    clock.tick(3600)
    answer = settled(*AB, "--title", "Once more", "--json", *COMMAND)
    assert (answer.data["id"], answer.data["pairs"], answer.data["stopped"]["by"]) == ("MOE-000", 20, "settled")
    [warning] = json.loads(answer.out)["warnings"]
    assert ("MOE-000" in warning, "logbook edit" in warning) == (True, True)
    found = answer.data["answer"]
    assert (found["pairs"], found["sittings"], found["earlier"]) == (20, 2, [])
    assert (found["confidence"], len(found["reasons"])) == ("replicated", 1)
    assert [e["id"] for e in settled("list", "--json").data] == ["MOE-000"]
    assert "Once more" not in (folder / "logbooks/moe.md").read_text()
    # What is taken back counts for nothing, and is not added to.
    assert settled("edit", "MOE-000", "--state", "void").code == 0
    void = settled("show", "MOE-000", "--json").data["answer"]
    assert (void["pairs"], void["void"], void["findings"]) == (0, True, [])
    again = settled(*AB, "--max-pairs", "1", "--json", *COMMAND)
    assert (again.data["id"], again.data["pairs"]) == ("MOE-001", 1)


@pytest.mark.slow
def test_other_code_is_a_new_entry_which_names_the_earlier_one(ready: Cli, folder: Path) -> None:
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b")
    for words in (("init", "-q"), ("add", "bench.sh"), ("commit", "-qm", "one")):
        subprocess.run([*git, *words], cwd=folder, check=True)
    assert ready(*AB, *SEED, *COMMAND).code == 0
    (folder / "bench.sh").write_text(BENCH.replace("106", "107"))
    made = ready(*AB, *SEED, "--json", *COMMAND).data
    assert (made["id"], made["answer"]["earlier"], made["answer"]["pairs"]) == ("MOE-001", ["MOE-000"], 10)
    shown = ready("compare", "MOE-001").out
    assert ("The same was asked of other code in MOE-000.\n" in shown, "The same was asked in" in shown) == (
        True,
        False,
    )


def test_few_pairs_are_open_and_say_what_would_settle_it(ready: Cli) -> None:
    answer = ready(*AB, *SEED, "--max-pairs", "2", "--json", *COMMAND)
    found = finding(answer)
    assert (answer.data["pairs"], answer.data["ran"], answer.data["stopped"]["by"]) == (2, 4, "pairs")
    assert (found["outcome"], found["interval"]) == ("open", None)
    assert found["to_settle"] == "at least 8 more pairs"
    assert answer.data["stopped"]["why"] == "2 pairs made; to continue: logbook ab --like MOE-000 --max-pairs 8"
    timed = ready("ab", "--id", "MOE-000", "--max-time", "1ms")
    first = timed.out.splitlines()[0]
    assert first.startswith("MOE-000: 3 pairs; stopped: ")
    assert "--max-time" in first
    assert first.endswith("; to continue: logbook ab --like MOE-000")


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
    assert onward.endswith(": logbook ab --like MOE-000")
    assert ready("list", "--json").data[0]["state"] == "failed"
    assert len(values(folder)) == 2


def test_a_first_pair_that_does_not_count_is_no_end(ready: Cli, folder: Path) -> None:
    """A zero far from the rest withholds the only pair: asked again by its entry, another pair is made."""
    script = "echo x >> n; [ $(wc -l < n) = 1 ] && echo METRIC tflops=0 || echo METRIC tflops=9{axis}"
    ask = ("--max-pairs", "3", "--axis", "k=1,2", "--", "sh", "-c", script)
    (folder / ".gitignore").write_text("n\n")
    first = ready("ab", *ask)
    assert first.code == 1
    assert "nothing can be compared" in first.err
    again = ready("ab", "--id", "MOE-000", "--max-pairs", "2", "--json")
    assert (again.code, again.data["answer"]["pairs"]) == (0, 2)


@pytest.mark.slow
def test_a_first_pair_that_was_cut_off_is_completed(ready: Cli, folder: Path) -> None:
    """The second run of all fails: nothing can be compared yet, and --id goes on."""
    (folder / "bench.sh").write_text('[ "$LOGBOOK_RUN" -ne 2 ] || exit 3\n' + BENCH)
    assert ready(*AB, *SEED, "--pairs", "8", *COMMAND).code == 3
    answer = ready("ab", "--id", "MOE-000", "--json")
    assert (answer.code, answer.data["pairs"], answer.data["stopped"]["by"]) == (0, 8, "pairs"), answer.err
    assert values(folder)[:4] == ["none", "int8", "int8", "none"]
    assert finding(answer)["outcome"] == "better"


def test_a_command_that_ignores_the_axis_is_met_after_one_pair(ready: Cli) -> None:
    script = "echo RESULT quant_mode=none tflops=1.$LOGBOOK_RUN # {axis}"
    answer = ready(*AB, "--json", "--", "sh", "-c", script)
    assert answer.code == 1
    assert (answer.data["stopped"]["by"], answer.data["ran"]) == ("not-comparable", 2)
    assert "a run of quant_mode=int8 reported quant_mode=none" in answer.data["stopped"]["why"]


def test_a_metric_that_no_run_reports_is_named_after_one_pair(ready: Cli) -> None:
    answer = ready(*AB, "--metric", "tflop", "--json", *COMMAND)
    assert (answer.data["stopped"]["by"], answer.data["ran"]) == ("not-comparable", 2)
    assert "no run reports tflop, but tflops" in answer.data["stopped"]["why"]


def test_a_direction_is_stated_in_the_header(ready: Cli) -> None:
    answer = ready(*AB, "--metric", "tflops:max", "--json", *COMMAND)
    assert (answer.code, "--metric tflops:max" in answer.error["message"]) == (2, True)
    assert "logbook edit --metric tflops:max --reason" in answer.error["hint"]


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
    closing = ready("close", "--conclusion", "It is so", "--dry-run", "--json")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert json.loads(closing.out)["warnings"] == ["1 entry is still running: MOE-000"]
    assert (closing.data["running"], closing.data["not_finished"]) == (["MOE-000"], [])
    assert (process.returncode, "Traceback" in err) == (130, False)
    first = out.splitlines()[0]
    assert first.startswith("MOE-000: 1 pair; stopped: interrupted ")
    assert first.endswith(": logbook ab --like MOE-000")
    assert ready("list", "--json").data[0]["state"] == "interrupted"
    answer = ready("ab", "--id", "MOE-000", "--max-pairs", "9", "--json")
    assert answer.code == 0, answer.err
    said = (answer.data["pairs"], answer.data["stopped"]["by"], finding(answer)["outcome"])
    assert said == (10, "settled", "better"), answer.data
    assert values(folder)[:6] == ["none", "int8", "int8", "none", "none", "int8"]
    assert ready("list", "--json").data[0]["state"] == "finished"


@pytest.mark.slow
def test_what_the_entry_states_is_not_typed_beside_its_id(ready: Cli, folder: Path) -> None:
    assert ready(*AB, *SEED, "--max-pairs", "1", *COMMAND).code == 0
    for words in (
        COMMAND, AB[1:], ("--code", "main", "WORK"), ("--metric", "tflops"), ("--min-effect", "2%"), ("--seed", "3"),
        ("--title", "x"), ("--config", "a=1"), ("--shell",), ("--new",),
        ("--on", "local"), ("--cwd", "."), ("--keep", "x"), ("--input", "bench.sh"), ("--read", "bench.sh"),
        ("--pairs", "10"), ("--plan",),
    ):  # fmt: skip
        # What is missing of a question may be refused first.
        answer = ready("ab", "--id", "MOE-000", *words)
        assert (answer.code, "MOE-000" in answer.err or "--id" in answer.err) == (2, True), (words, answer.err)
        assert "next:" in answer.err
    assert len(Store(folder).runs("MOE-000")) == 2
    how = ("--max-pairs", "1", "--max-time", "1h", "--discard", "1", "--env", "X=1", "--timeout", "60", "--stall", "60")
    answer = ready("ab", "--id", "MOE-000", *how, "--free", "digest", "--json")
    assert (answer.code, answer.data["ran"]) == (0, 4), answer.err
    stated = at(folder / "logbooks/moe/entries/MOE-000.yaml").read_text()
    assert "free:\n- digest\n" in stated


def test_a_stated_number_of_pairs_is_made_and_takes_no_more(ready: Cli) -> None:
    made = ready(*AB, *SEED, "--pairs", "2", "--json", *COMMAND)
    assert (made.data["pairs"], made.data["design"]["fixed"]) == (2, True)
    assert (made.data["stopped"]["by"], made.data["stopped"]["why"]) == ("pairs", "2 pairs made")
    for more in (("--id", "MOE-000", "--max-pairs", "8"), (*AB[1:], *COMMAND), (*AB[1:], "--pairs", "2", *COMMAND)):
        answer = ready("ab", "--json", *more)
        assert (answer.code, "2 pairs, which are judged once" in answer.error["message"]) == (2, True), answer.out
        new = answer.error["hint"]
    again = ready("ab", "--id", "MOE-000", "--json")
    assert (again.code, again.data["pairs"], again.data["ran"]) == (0, 2, 0)
    assert new.startswith("logbook ab --new ")
    typed = ready("ab", "--max-pairs", "1", "--json", *shlex.split(new)[2:])
    assert (typed.data["id"], typed.data["answer"]["earlier"]) == ("MOE-001", ["MOE-000"]), typed.err


def test_an_entry_that_is_judged_after_each_block_takes_no_stated_number(ready: Cli, folder: Path) -> None:
    assert ready(*AB, *SEED, "--max-pairs", "1", *COMMAND).code == 0
    for words in ((*AB[1:], *COMMAND), ("--id", "MOE-000")):
        answer = ready("ab", "--json", "--pairs", "2", *words)
        assert (answer.code, "judged after each 10" in answer.error["message"]) == (2, True), answer.err
        hint = answer.error["hint"].partition(": ")[2]
        assert hint == "logbook ab --id MOE-000 --max-pairs 2"
    assert ready("ab", "--json", *hint.split()[2:]).data["pairs"] == 3
    made = ready(*AB, "--new", "--pairs", "2", "--json", *COMMAND).data
    assert (made["id"], made["design"]["fixed"]) == ("MOE-001", True)


@pytest.mark.slow
def test_what_the_budget_cannot_settle_says_what_it_needs_and_how_to_go_on(ready: Cli, folder: Path) -> None:
    # The noise is a quarter of the value; the effect is nil.
    (folder / "bench.sh").write_text('echo "METRIC tflops=$((100 + LOGBOOK_RUN * 29 % 90)) TF/s"; : "$2"\n')
    answer = ready(*AB, *SEED, "--max-pairs", "10", "--json", *COMMAND)
    assert (answer.data["pairs"], answer.data["stopped"]["by"]) == (10, "pairs")
    # One block is no ground for a forecast.
    assert answer.data["stopped"]["why"].endswith("to continue: logbook ab --like MOE-000 --max-pairs 10")
    lines = answer.err.splitlines()
    assert ["needs" in line for line in lines[:10]] == [False] * 9 + [True]
    assert lines[9].endswith(f"; needs {finding(answer)['to_settle']}")
    on = ready("ab", "--id", "MOE-000", "--max-pairs", "10", "--json")
    assert (on.data["pairs"], on.data["stopped"]["by"]) == (20, "pairs")
    why = on.data["stopped"]["why"]
    assert "it needs more pairs than is practical" in why
    ready("criteria", "--add", "A", "--predicate", "compared: {axis: quant_mode, values: [none, int8], settled: true}")
    larger = ready("ab", "--like", "MOE-000", "--min-effect", "50%", "--json").data
    assert (larger["id"], larger["stopped"]["by"]) == ("MOE-001", "settled"), why
    assert [one["id"] for one in ready("status", "--json").data["answers"]] == ["MOE-001"], "it was asked"
    # It does not meet a criterion that asks for smaller effects, and more pairs of the first are no way.
    [asked] = ready("criteria", "--json").data["criteria"]
    assert (asked["computed"]["state"], "command" in asked["computed"]) == ("unmet", False), asked
    assert ready("criteria", "--drop", "1", "--reason", "a try").code == 0
    assert ready("discard", "MOE-001", "--why", "a try").code == 0
    assert "command" not in ready("status", "--json").data["answers"][0]
    # Beside an answer, what no practical number of pairs settles is counted alone.
    assert ready("ab", "--axis", "env:X=1,2", "--min-effect", "50%", *SEED, "--", "sh", "bench.sh").code == 0
    left = ready("status", "--json").data
    assert ([one["id"] for one in left["answers"]], left["left_out"]["answers"]) == (["MOE-004"], 1)
    assert "  and 1 more answer: logbook -L moe list\n" in ready("status").out
    # Nothing can be typed for it: closing the thread keeps it as a limitation.
    for _ in range(2):
        closed = ready("close", "--conclusion", "Nothing gained.", "--limitation", "one CPU", "--json")
        assert closed.data["open_comparisons"] == []
        limitations = Store(folder).header.closing.limitations
        assert limitations[0] == "one CPU"
        assert limitations[1].startswith("MOE-000: ")
        assert len(limitations) == 2


@pytest.mark.slow
def test_a_settled_question_that_is_typed_again_says_so_first(ready: Cli, folder: Path) -> None:
    typed = (*AB, *SEED, "--title", "Int8", "--hypothesis", "It is faster")
    assert ready(*typed, *COMMAND).code == 0
    again = ready(*typed, *COMMAND)
    lines = [line for line in again.err.splitlines() if not line.startswith("warning: this machine")]
    assert lines[0].startswith("MOE-000 asks the same")
    assert lines[1].startswith("MOE-000 is settled: int8 has ")
    assert "a second sitting" in lines[1]
    assert "to continue" not in again.out
    assert "stays as it is" not in again.err, "the texts are the same"
    other = ready(*typed, "--next", "int4", "--max-pairs", "1", *COMMAND)
    assert "the text of MOE-000 stays as it is" in other.err
    # Nothing is built for pairs that nobody makes.
    built = ready(*typed, "--new", "--setup", "touch built", "--json", *COMMAND).data
    (folder / "built").unlink()
    for words in (("--id", built["id"]), (*AB[1:], "--setup", "touch built", *COMMAND)):
        assert "no pair was made" in ready("ab", *words).out
    assert not (folder / "built").exists()


@pytest.mark.slow
def test_a_second_sitting_says_what_it_is_and_what_it_showed(settled: Cli) -> None:
    second = settled("ab", "--id", "MOE-000", "--max-pairs", "10")
    assert "; pairs made now are of a second sitting, which can replicate the answer" in second.err
    assert "ten minutes after" not in second.err + second.out
    assert second.out.splitlines()[0] == ("MOE-000: 20 pairs; stopped: settled; replicated (settled in two sittings)")


@pytest.mark.slow
def test_a_second_sitting_that_settles_nothing_says_so(settled: Cli) -> None:
    second = settled("ab", "--id", "MOE-000", "--max-pairs", "2")
    said, command = second.out.splitlines()[0].rsplit(": ", 1)
    assert said == (
        "MOE-000: 12 pairs; stopped: 2 pairs made; not replicated: no later sitting settles it alone; more pairs may"
    )
    # Pairs that were made within a second count each.
    assert "10 pairs in 1 sitting of 2)" in settled("status").out
    assert settled("next", "--json").data["steps"][0]["why"] == "settled in one sitting of 2"
    more = settled(*command.split()[1:])
    assert more.out.splitlines()[0].endswith("; stopped: settled; replicated (settled in two sittings)")


def test_a_comparison_without_a_pair_says_how_its_run_failed(ready: Cli, folder: Path) -> None:
    (folder / "bench.sh").write_text("echo 'no such kernel' >&2; exit 3\n")
    assert ready(*AB, *COMMAND).code != 0
    said = ready("compare", "MOE-000").out
    assert "no pair has a number yet: " in said
    assert "failed: exit code 3: no such kernel" in said
