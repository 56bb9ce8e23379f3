"""Under which conditions the pairs of an A/B count together, and what is said of others."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.campaign.ab_support import AB, BENCH, COMMAND, SEED, values
from tests.seams import order_of_pair
from tests.stored import at


@pytest.fixture
def ready(started: Cli, folder: Path) -> Cli:
    (folder / "bench.sh").write_text(BENCH)
    return started


def test_a_table_takes_the_base_that_the_comparison_states(ready: Cli, folder: Path) -> None:
    for seed in range(2, 20):  # one whose first run is that of the other side
        if order_of_pair(seed, 1)[0] == 1:
            break
    assert ready(*AB, "--seed", str(seed), "--max-pairs", "1", *COMMAND).code == 0
    assert values(folder)[0] == "int8"
    columns = ready("table", "--pivot", "quant_mode", "--delta", "--json").data["columns"]
    assert [column["name"] for column in columns] == ["tflops @ none", "tflops @ int8", "delta tflops"]


@pytest.mark.slow
def test_pairs_under_other_conditions_are_left_out_by_name(ready: Cli) -> None:
    assert ready(*AB, *SEED, "--max-pairs", "2", *COMMAND).code == 0
    answer = ready("ab", "--id", "MOE-000", "--max-pairs", "3", "--env", "MODE=x", "--json").data["answer"]
    # Nobody chooses the conditions that answer: they are those of the first pair.
    assert (answer["pairs"], answer["left_out"]) == (2, ["3 pairs: under other conditions (MODE)"])
    answers = ready("status", "--json").data["answers"]
    assert [(one["id"], "(2 pairs" in one["answer"], one["settled"]) for one in answers] == [("MOE-000", True, False)]


def test_other_versions_of_packages_between_pairs_are_noted(ready: Cli, folder: Path) -> None:
    assert ready(*AB, *SEED, "--max-pairs", "2", *COMMAND).code == 0
    for number, version in ((1, "2.0"), (2, "2.0"), (3, "2.1"), (4, "2.1")):
        path = at(folder / f"logbooks/moe/runs/MOE-000/{number:02d}/run.json")
        run = json.loads(path.read_text())
        path.write_text(json.dumps(run | {"software": {**run.get("software", {}), "numpy": version}}))
    found = ready("compare", "MOE-000", "--json").data["answer"]
    assert (found["pairs"], found["left_out"]) == (2, [])
    assert found["notes"] == ["between pairs, other versions of numpy"]


@pytest.mark.slow
def test_another_config_command_variable_or_effect_is_another_question(ready: Cli, folder: Path) -> None:
    ask = (*AB, "--max-pairs", "1")
    for place, (words, more) in enumerate((
        ((), ()), (("--config", "size=1"), ()), (("--config", "size=2"), ()), (("--env", "MODE=x"), ()),
        (("--min-effect", "2%"), ()), (("--cwd", ".."), ()), ((), ("--fast",)), (("--new",), ()),
    )):  # fmt: skip
        command = ("--", "sh", str(folder / "bench.sh"), *COMMAND[3:])
        made = ready(*ask, *words, "--json", *command, *more)
        assert (made.data["id"], made.data["answer"]["pairs"]) == (f"MOE-{place:03d}", 1), made.err
    assert ready(*ask, "--config", "size=1", "--json", *command).data["answer"]["pairs"] == 2
    # As `--k=v` and `--k v`, and with another limit and text.
    same = ("--", "sh", str(folder / "bench.sh"), "--quant-mode={axis}")
    assert ready(*ask, "--config", "size=1", "--timeout", "60", "--json", *same).data["id"] == "MOE-001"
    assert ready(*ask, "--json", *command).data["id"] == "MOE-007"
    for number in ("03", "04"):
        path = at(folder / f"logbooks/moe/runs/MOE-001/{number}/run.json")
        run = json.loads(path.read_text())
        path.write_text(json.dumps(run | {"argv": [*run["argv"], "--fast"]}))
    answer = ready("show", "MOE-001", "--json").data["answer"]
    assert [one.partition(":")[0] for one in answer["left_out"]] == ["1 pair"]


@pytest.mark.slow
def test_a_stated_number_of_pairs_says_nothing_before_all_are_made(ready: Cli) -> None:
    """Somebody who may stop after any ten of 100 sees a false difference in 18% of A/As."""
    made = ready(*AB, *SEED, "--pairs", "12", "--max-time", "0.001", "--json", *COMMAND)
    while made.data["pairs"] < 12:
        [found, *_] = made.data["answer"]["findings"]
        assert (found["outcome"], found["interval"], found["judged"]) == ("open", None, 0), made.data["pairs"]
        made = ready("ab", "--id", "MOE-000", "--max-time", "0.001", "--json")
    assert made.data["answer"]["findings"][0]["judged"] == 12


@pytest.mark.slow
def test_runs_that_were_cut_off_are_told_beside_the_answer(ready: Cli, folder: Path) -> None:
    """Whoever cuts off slow runs of one side makes it faster."""
    (folder / "cut.sh").write_text(f'[ -e go ] || kill -INT "$(cat tool)"; [ -e go ] || sleep 5\n. {folder}/bench.sh\n')
    command = ("--", "sh", "cut.sh", *COMMAND[3:])
    (folder / "tool").write_text(str(os.getpid()))
    assert ready(*AB, "--max-pairs", "1", *command).code == 130
    assert ready("ab", "--id", "MOE-000", "--max-pairs", "1").code == 130
    (folder / "go").touch()
    made = ready("ab", "--id", "MOE-000", "--max-pairs", "1", "--json")
    assert made.data["answer"]["notes"] == ["2 runs were cut off, and made again"], made.err


@pytest.mark.slow
def test_an_entry_that_was_taken_back_gets_no_pairs(ready: Cli, folder: Path) -> None:
    assert ready(*AB, "--max-pairs", "1", *COMMAND).code == 0
    assert ready("edit", "MOE-000", "--state", "void").code == 0
    answer = ready("ab", "--id", "MOE-000", "--json")
    assert (answer.code, answer.error["message"]) == (2, "MOE-000 is void")
    assert ready(*shlex.split(answer.error["hint"].partition(",")[0])[1:]).code == 0
    assert ready("ab", "--id", "MOE-000", "--max-pairs", "1", "--json").data["answer"]["pairs"] == 2
