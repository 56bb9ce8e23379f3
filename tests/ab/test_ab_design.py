"""The design of an A/B: stated before the first run, drawn by a seed, and counted on whenever pairs are added."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from logbook_agent.entries.run import RunRequest
from logbook_agent.model.entry import Design
from logbook_agent.store.book import Book
from logbook_agent.sweeps.ab_prepare import AbRequest, planned
from tests.conftest import Cli, FixedClock

pytestmark = pytest.mark.slow

# int8 is 6% faster; the noise is a few tenths of a percent.
BENCH = """\
speed=100; [ "$2" = int8 ] && speed=106
echo "METRIC tflops=$speed.$((LOGBOOK_RUN * 7 % 10))1 TF/s"
"""
# Nothing differs, and runs scatter by a third.
WILD = """\
echo "METRIC tflops=$((70 + LOGBOOK_RUN * 37 % 61)).$2" | tr -d 'a-z' | sed 's/METRIC//; s/tflops=//' > number
read value < number; echo "METRIC tflops=$((70 + LOGBOOK_RUN * 37 % 61)).$((LOGBOOK_RUN % 10))3 TF/s"
"""
# int8 is 1% faster, give or take less than that.
SLIGHT = """\
speed=1000; [ "$2" = int8 ] && speed=1010
echo "METRIC tflops=$((speed + LOGBOOK_RUN * 7 % 5)).1 TF/s"
"""
AB = ("ab", "--axis", "quant_mode=none,int8")
COMMAND = ("--", "sh", "bench.sh", "--quant-mode", "{axis}")


@pytest.fixture
def ready(started: Cli, folder: Path) -> Cli:
    (folder / "bench.sh").write_text(BENCH)
    return started


def order(folder: Path, entry_id: str = "MOE-000") -> str:
    """`AB BA`, of the runs of an entry."""
    found = [run.config["quant_mode"] for run in Book(folder / "logbooks", "moe").runs(entry_id)]
    letters = "".join("A" if value == "none" else "B" for value in found)
    return " ".join(letters[at : at + 2] for at in range(0, len(letters), 2))


def metric(cli: Cli, entry_id: str = "MOE-000") -> dict[str, Any]:
    shown = cli("show", entry_id, "--json").data["comparisons"][0]
    found: dict[str, Any] = shown["comparisons"][0]["pairs"][0]["metrics"][0]
    return found


def without_design(folder: Path, entry_id: str = "MOE-000") -> None:
    """As an older version wrote it: AB BA, and no word of a design."""
    path = folder / f"logbooks/moe/entries/{entry_id}.yaml"
    found = yaml.safe_load(path.read_text())
    del found["design"]
    path.write_text(yaml.safe_dump(found, sort_keys=False))


# -- what is planned ---------------------------------------------------------------------------------


def plan(before: Design | None = None, made: int = 0, **more: Any) -> Design:
    return planned(AbRequest(axis="x=1,2", run=RunRequest(argv=["true"]), **more), before, made)


def test_a_fixed_number_is_looked_at_once_and_an_open_end_after_8_10_12_pairs() -> None:
    assert plan(repeat=6, seed=3) == Design(seed=3, rounds=6, looks=1)
    assert plan(seed=3) == Design(seed=3, rounds=20, looks=7)
    assert plan(max_pairs=9, seed=3) == Design(seed=3, rounds=9, looks=2)
    assert plan(max_pairs=8, seed=3) == Design(seed=3, rounds=8, looks=1)


def test_what_was_planned_and_not_finished_is_finished() -> None:
    six = Design(seed=3, rounds=6)
    assert plan(six, 4, repeat=2) == six
    assert plan(six, 4) == six, "nothing else is asked for"
    twenty = Design(seed=3, rounds=20, looks=7)
    assert plan(twenty, 5) == twenty
    assert plan(twenty, 5, max_pairs=15) == twenty


def test_whatever_goes_beyond_a_plan_is_looked_at_more_often() -> None:
    six = Design(seed=3, rounds=6)
    assert plan(six, 6, repeat=2) == Design(seed=3, rounds=8, looks=2, plans=2)
    again = Design(seed=3, rounds=8, looks=2, plans=2)
    assert plan(again, 8, repeat=2) == Design(seed=3, rounds=10, looks=3, plans=3)
    assert plan(six, 4, repeat=6) == Design(seed=3, rounds=10, looks=2, plans=2)
    # Up to 26 pairs there are ten further looks.
    assert plan(six, 6) == Design(seed=3, rounds=26, looks=11, plans=2)
    twenty = Design(seed=3, rounds=20, looks=7)
    assert plan(twenty, 20, repeat=4) == Design(seed=3, rounds=24, looks=8, plans=2)
    # Before its first look a plan may be replaced, and the number that is fixed then is held to its looks.
    assert plan(twenty, 6, repeat=4) == Design(seed=3, rounds=10, looks=7)
    assert plan(twenty, 6, max_pairs=54) == Design(seed=3, rounds=60, looks=27)
    assert plan(twenty, 8, repeat=4) == Design(seed=3, rounds=12, looks=8, plans=2)
    assert plan(None, 0, pilot=True, repeat=6, seed=3) == twenty
    # The seed is that of the entry, whatever is given now.
    assert plan(six, 6, repeat=2, seed=9).seed == 3


def test_an_entry_without_a_design_gets_one_from_its_next_round_on() -> None:
    assert plan(None, 2, repeat=4, seed=3) == Design(seed=3, since=3, rounds=6, looks=1)
    assert plan(None, 6, repeat=4, seed=3) == Design(seed=3, since=7, rounds=10, looks=2, plans=2), (
        "six may have been looked at"
    )


# -- what is run -------------------------------------------------------------------------------------


def test_the_design_is_stated_in_the_entry_before_anything_is_run(ready: Cli, folder: Path) -> None:
    (folder / "bench.sh").write_text("exit 3\n")
    assert ready(*AB, "--seed", "7", *COMMAND).code == 3
    stored = yaml.safe_load((folder / "logbooks/moe/entries/MOE-000.yaml").read_text())
    assert stored["design"] == {"seed": 7, "rounds": 20, "looks": 7}


@pytest.mark.slow
def test_the_seed_draws_the_order_of_each_pair(ready: Cli, folder: Path, clock: FixedClock) -> None:
    answer = ready(*AB, "--seed", "7", "--repeat", "6", "--json", *COMMAND)
    assert answer.data["design"] == {"seed": 7, "since": 1, "shuffled": False, "rounds": 6, "looks": 1, "plans": 1}, (
        "one look, from the first pair on"
    )
    assert order(folder) == "AB AB BA AB BA BA"
    clock.tick()
    assert ready(*AB, "--seed", "9", "--repeat", "6", *COMMAND).code == 0
    assert order(folder, "MOE-001") == "BA BA AB AB BA BA"
    # Without one the seed is whatever the moment gives, and stated.
    seeds = set()
    for entry in ("MOE-002", "MOE-003"):
        clock.tick()
        seeds.add(ready(*AB, "--repeat", "1", "--json", *COMMAND).data["design"]["seed"])
        assert ready("show", entry).code == 0
    assert len(seeds) == 2


@pytest.mark.slow
def test_a_settled_ab_says_how_often_it_was_looked_at(ready: Cli, folder: Path) -> None:
    answer = ready(*AB, "--seed", "5", "--json", *COMMAND)
    assert (answer.data["pairs"], answer.data["stopped"]) == (8, {"by": "settled", "why": "every verdict is settled"})
    found = metric(ready)
    assert (found["order"], found["test"], found["verdict"]) == ("drawn", "signed-rank", "beneficial")
    assert (found["looks"], found["alpha"], found["tests"]) == (7, 0.013, 1)
    assert found["p_value"] == 2 / 2**8
    text = "8 pairs, p = 0.0078 by signed ranks, 7 looks, order effect"
    assert text in (folder / "logbooks/moe.md").read_text()
    assert text in ready("show", "MOE-000").out


def test_an_older_ab_stays_judged_and_goes_on_with_a_design(ready: Cli, folder: Path) -> None:
    """Seed 11 draws AB BA AB BA BA BA: its first four pairs are those of an older version."""
    assert ready(*AB, "--seed", "11", "--repeat", "4", *COMMAND).code == 0
    without_design(folder)
    found = metric(ready)
    assert (found["order"], found["interleaved"], found["withheld_by"]) == ("fixed-order", True, [])
    assert found["missing_runs"] == 2
    answer = ready(*AB, "--id", "MOE-000", "--repeat", "2", "--seed", "3", "--json", *COMMAND)
    assert answer.code == 0, answer.err
    assert answer.data["design"] == {"seed": 3, "since": 5, "shuffled": False, "rounds": 6, "looks": 1, "plans": 1}
    assert order(folder) == "AB BA AB BA BA AB"
    found = metric(ready)
    assert (found["order"], found["verdict"], found["looks"]) == ("fixed-order", "beneficial", 1)
    assert "6 pairs, p = 0.031 by signed ranks, fixed order, order effect" in (folder / "logbooks/moe.md").read_text()


@pytest.mark.slow
def test_every_continuation_counts_its_looks(ready: Cli, folder: Path) -> None:
    assert ready(*AB, "--seed", "5", "--repeat", "6", *COMMAND).code == 0
    assert (metric(ready)["looks"], metric(ready)["verdict"]) == (1, "beneficial")
    # The first plan spent the 5%: what is added has to be clearer.
    for pairs, looks, verdict in ((1, 2, "inconclusive"), (1, 3, "inconclusive"), (6, 4, "beneficial")):
        again = ready(*AB, "--id", "MOE-000", "--repeat", str(pairs), "--json", *COMMAND)
        assert again.data["design"]["looks"] == looks
        assert (metric(ready)["looks"], metric(ready)["verdict"]) == (looks, verdict)
    assert metric(ready)["alpha"] == pytest.approx(0.01 * 0.0182 / 0.05 / 4)


def test_a_fixed_number_that_was_cut_off_is_judged_when_it_is_whole(ready: Cli, folder: Path) -> None:
    (folder / "bench.sh").write_text('[ "$LOGBOOK_RUN" -ne 13 ] || exit 3\n' + BENCH)
    assert ready(*AB, "--seed", "5", "--repeat", "7", *COMMAND).code == 3
    found = metric(ready)
    assert found["verdict"] == "inconclusive"
    assert found["reasons"][0] == "6 of 7 planned pairs: the result is judged when all are there"
    assert found["p_value"] == 2 / 2**6, "the numbers are shown"
    answer = ready(*AB, "--id", "MOE-000", "--repeat", "1", "--json", *COMMAND)
    assert answer.data["design"] == {"seed": 5, "since": 1, "shuffled": False, "rounds": 7, "looks": 1, "plans": 1}
    assert (metric(ready)["verdict"], metric(ready)["looks"]) == ("beneficial", 1)


@pytest.mark.slow
def test_an_ab_that_ends_on_a_narrow_interval_does_not_call_its_verdict_settled(ready: Cli, folder: Path) -> None:
    (folder / "bench.sh").write_text(SLIGHT)
    answer = ready(*AB, "--seed", "5", "--json", *COMMAND)
    assert (answer.data["pairs"], answer.data["stopped"]["by"]) == (8, "settled")
    why = "every verdict is settled, or its interval is narrower than the minimum effect"
    assert answer.data["stopped"]["why"] == why
    found = metric(ready)
    assert found["verdict"] == "inconclusive"
    assert found["interval"][1] - found["interval"][0] < 0.01


@pytest.mark.slow
def test_what_the_budget_cannot_answer_is_given_up_and_only_then(ready: Cli, folder: Path) -> None:
    (folder / "bench.sh").write_text(WILD)
    answer = ready(*AB, "--seed", "5", "--max-pairs", "10", "--json", *COMMAND)
    assert (answer.data["pairs"], answer.data["stopped"]["by"]) == (8, "futile")
    why = answer.data["stopped"]["why"]
    assert why.startswith("the budget cannot answer this: pairs scatter by ")
    assert ": showing an effect of 1% takes about " in why
    assert metric(ready)["verdict"] == "inconclusive"
    stubborn = ready(*AB, "--seed", "5", "--max-pairs", "10", "--no-futility", "--json", *COMMAND)
    assert (stubborn.data["pairs"], stubborn.data["stopped"]["by"]) == (10, "pairs")
    # The forecast follows from the scatter, before the first look.
    assert "forecast after 6 pairs: tflops: pairs scatter by " in ready(*AB, "--max-pairs", "7", *COMMAND).err
