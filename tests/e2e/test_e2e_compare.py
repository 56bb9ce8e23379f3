"""`logbook compare` from the command line, and comparisons that entries keep."""

from __future__ import annotations

from pathlib import Path

import pytest

from logbook_agent.doctor.renumber import related
from logbook_agent.model.entry import Comparison, Entry
from tests.conftest import Cli, FixedClock

HEADER = """\
topic: moe
prefix: MOE
metrics: [{name: tflops, direction: max, unit: TF/s}]
baseline:
  config: {mode: none}
"""


def measure(cli: Cli, mode: str, value: int, *options: str, runs: int = 4) -> None:
    """Four runs of one mode, each a little faster than the one before."""
    script = f"echo RESULT mode={mode} topk=2 tflops={value}.$LOGBOOK_RUN"
    repeat = ("--repeat", str(runs)) if runs > 1 else ()
    assert cli("run", *repeat, *options, "--", "sh", "-c", script).code == 0


@pytest.fixture
def pair(started: Cli) -> Cli:
    """MOE-000 has mode none at 100 TF/s, MOE-001 int8 at 110."""
    measure(started, "none", 100)
    measure(started, "int8", 110)
    return started


@pytest.mark.slow
def test_numbers_are_shown_and_the_verdict_withheld_until_the_axis_is_named(pair: Cli) -> None:
    answer = pair("compare", "MOE-000", "MOE-001")
    assert answer.code == 0
    assert "+9.98%" in answer.out
    assert "| withheld |" in answer.out
    assert "the sides also differ in mode (none | int8)" in answer.out
    assert "to judge it all the same: --allow mode --allow order" in answer.out
    blocked = "all runs of one side were made before those of the other"
    for words in (("--allow", "mode"), ("--axis", "mode")):
        said = pair("compare", "MOE-000", "MOE-001", *words).out
        assert "| not settled |" in said
        assert (
            f"not settled: {blocked}, so a drift of the machine would look like an effect; to settle it: logbook ab"
            in said
        )
        said = pair("compare", "MOE-000", "MOE-001", "--allow", "order", *words).out
        assert "| beneficial (order allowed) |" in said
        assert f"allowed: order ({blocked})" in said
    # The other way round it is a regression, and fewer runs leave it open.
    judged = ("--axis", "mode", "--allow", "order")
    assert "| regressive (order allowed) |" in pair("compare", "MOE-000", "MOE-001", *judged, "--base", "int8").out
    assert "| inconclusive (order allowed) |" in pair("compare", "MOE-000/1", "MOE-001", *judged).out


@pytest.mark.slow
def test_pairs_made_by_hand_in_turns_are_judged(started: Cli, folder: Path, clock: FixedClock) -> None:
    """AB BA, each with its own entry."""
    measure(started, "none", 100, runs=1)
    clock.tick()
    measure(started, "int8", 110, runs=1)
    clock.tick()
    for first, last in [(1, 0), (0, 1), (1, 0), (0, 1), (1, 0)]:
        for entry in (first, last):
            mode, value = (("none", 100), ("int8", 110))[entry]
            measure(started, mode, value, "--id", f"MOE-00{entry}", runs=1)
            clock.tick()
    assert started("compare", "MOE-000", "MOE-001", "--axis", "mode", "--save", "MOE-001").code == 0
    assert "6 pairs, p = 0.031 by signed ranks, fixed order" in (folder / "logbooks/moe.md").read_text()
    shown = started("show", "MOE-001", "--json").data["comparisons"][0]["comparisons"][0]["pairs"][0]["metrics"][0]
    assert (shown["order"], shown["test"], shown["verdict"]) == ("fixed-order", "signed-rank", "beneficial")
    assert (shown["interleaved"], shown["looks"], shown["alpha"], shown["tests"]) == (True, 1, 0.05, 1)


@pytest.mark.slow
def test_a_kept_question_follows_the_records_of_both_entries(pair: Cli, folder: Path) -> None:
    allowed = ("--allow", "env:SEED", "--allow", "order")
    answer = pair("compare", "MOE-000", "MOE-001", "--axis", "mode", *allowed, "--save", "MOE-001", "--json")
    assert answer.data["saved"] == "MOE-001"
    view = folder / "logbooks/moe.md"
    line = "none → int8, `tflops`: 100.25 [100.10, 100.40]"
    assert "4 and 4 runs, p = 0.029 by Mann-Whitney, order allowed): **beneficial**" in view.read_text()
    assert line in view.read_text()
    # Another run of the other entry, under another variable that is allowed by name.
    script = "echo RESULT mode=none topk=2 tflops=100.$LOGBOOK_RUN"
    assert pair("run", "--id", "MOE-000", "--env", "SEED=2", "--", "sh", "-c", script).code == 0
    text = view.read_text()
    assert "100.30 [100.10, 100.50] → 110.25" in text
    assert "5 and 4 runs, p = 0.016 by Mann-Whitney, order allowed): **beneficial**" in text
    assert "- allowed: env:SEED (not set, 2 | not set)" in text
    assert "- allowed: order (" in text
    assert pair("render").code == 0
    assert view.read_text() == text
    kept = pair("show", "MOE-001", "--json").data["comparisons"]
    assert kept[0]["comparisons"][0]["pairs"][0]["metrics"][0]["verdict"] == "beneficial"
    # The question is stored, no number.
    stored = (folder / "logbooks/moe/entries/MOE-001.yaml").read_text().partition("comparisons:\n")[2]
    assert stored == "- references:\n  - MOE-000\n  - MOE-001\n  axis: mode\n  allowed:\n  - env:SEED\n  - order\n"


@pytest.mark.slow
def test_prose_beside_a_kept_comparison_is_absorbed_and_the_issue_tells_it(pair: Cli, folder: Path) -> None:
    judged = ("--axis", "mode", "--allow", "order", "--save", "MOE-001")
    assert pair("compare", "MOE-000", "MOE-001", *judged).code == 0
    view = folder / "logbooks/moe.md"
    text = view.read_text()
    view.write_text(text.replace("<!-- logbook:end MOE-001", "- Interpretation: it holds\n\n<!-- logbook:end MOE-001"))
    answer = pair("absorb")
    assert "MOE-001" in answer.out, answer.err
    assert "- Interpretation: it holds" in view.read_text()
    plan = pair("sync", "--create", "--repo", "acme/moe", "--dry-run", "--full")
    assert "**beneficial**" in plan.out + plan.err


@pytest.mark.slow
def test_what_an_entry_cannot_keep(pair: Cli) -> None:
    later = pair("compare", "MOE-000", "MOE-001", "--axis", "mode", "--save", "MOE-000", "--json")
    assert (later.code, later.error["hint"]) == (2, "--save MOE-001")
    assert pair("plan", "--title", "x", "--command", "true").code == 0
    other = pair("compare", "MOE-000", "MOE-001", "--axis", "mode", "--save", "MOE-002", "--json")
    assert (other.code, other.error["hint"]) == (2, "--save MOE-001")
    assert pair("show", "MOE-001", "--json").data["comparisons"] == []


@pytest.mark.slow
def test_what_is_no_comparison(pair: Cli) -> None:
    """Every misuse is told, with what to type instead, and nothing is written."""
    for words, message in [
        (["MOE-000"], "1 reference"),
        (["MOE-000", "MOE-000/1"], "MOE-000 and MOE-000/1 hold the same rows"),
        (["MOE-000", "MOE-001", "--base", "x"], "--base x without --axis"),
        (["MOE-000", "MOE-001", "--min-effect", "200%"], "a minimum effect of 2 "),
        (["MOE-000", "MOE-001", "--min-effect", "much"], "--min-effect 'much'"),
        (["MOE-000/9", "MOE-001"], "no rows in MOE-000/9"),
        (["MOE-000:Int8", "MOE-001"], "no rows in MOE-000:Int8"),
        (["MOE-000", "MOE-007"], "no entry MOE-007"),
        (["MOE-000", "--baseline"], "moe has no baseline"),
        (["MOE-000", "MOE-001", "--metric", "tflop"], "no metric named 'tflop'"),
        (["MOE-000", "MOE-001", "--where", "topk=3"], "no row has topk=3"),
    ]:
        answer = pair("compare", *words, "--json")
        assert answer.code == 2, words
        assert message in answer.error["message"]
        assert answer.error["hint"]


@pytest.mark.slow
def test_against_the_baseline(cli: Cli, folder: Path) -> None:
    (folder / "h.yaml").write_text(HEADER + "  entry: MOE-000\n")
    assert cli("start", "--from", "h.yaml").code == 0
    measure(cli, "none", 100)
    measure(cli, "int8", 110)
    assert "MOE-000 → MOE-001" in cli("compare", "MOE-001", "--baseline").out
    assert cli("compare", "MOE-001", "--baseline", "--axis", "mode", "--save", "MOE-001").code == 0
    blocked = "not settled, all runs of one side were made before those of the other"
    assert blocked in (folder / "logbooks/moe.md").read_text()
    judged = ("--baseline", "--axis", "mode", "--allow", "order", "--save", "MOE-001")
    assert cli("compare", "MOE-001", *judged).code == 0
    assert "**beneficial**" in (folder / "logbooks/moe.md").read_text()


def test_numbers_that_a_baseline_states_give_no_verdict(cli: Cli, folder: Path) -> None:
    (folder / "h.yaml").write_text(HEADER + "  numbers: [{config: {topk: 2}, metrics: {tflops: 80}}]\n")
    assert cli("start", "--from", "h.yaml").code == 0
    measure(cli, "none", 100)
    answer = cli("compare", "MOE-000", "--baseline")
    assert (
        "| baseline → MOE-000 | tflops (TF/s) | 80.000 | 100.25 [100.10, 100.40] | +25.31% |  |  | 0, 4 | none |"
        in answer.out
    )
    assert "the baseline's number is stated, not measured here: it has no runs" in answer.out
    assert cli("compare", "MOE-000", "--baseline", "--save", "MOE-000").code == 2


@pytest.mark.slow
def test_a_long_answer_is_cut_and_says_so(started: Cli) -> None:
    rows = "for k in $(seq 200); do for m in a b; do echo RESULT mode=$m topk=$k tflops=$k; done; done"
    assert started("run", "--config", "topk=0", "--config", "mode=x", "--", "sh", "-c", rows).code == 0
    answer = started("compare", "MOE-000", "--axis", "mode")
    assert len(answer.out.encode()) <= 8000
    assert "more rows: --json shows all" in answer.out
    assert len(started("compare", "MOE-000", "--axis", "mode", "--json").data["comparisons"][0]["pairs"]) == 200


def test_references_follow_when_entries_are_renumbered() -> None:
    kept = Comparison(references=("MOE-001", "MOE-002/3", "MOE-003:a/b:c"), axis="mode")
    entry = Entry(id="MOE-003", title="x", opened="2026-02-10T10:43:00+00:00", comparisons=(kept,))
    [found] = related(entry, {"MOE-002": "MOE-007", "MOE-003": "MOE-008"}).comparisons
    assert found.references == ("MOE-001", "MOE-007/3", "MOE-008:a/b:c")
