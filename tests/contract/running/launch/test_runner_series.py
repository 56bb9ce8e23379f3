"""What `run`, `ab` and `sweep` have in common: the view that follows, the exit code, and what is said of the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from logbook_agent.campaign import driver
from tests.conftest import Cli
from tests.contract.campaign.recipes.sweep_support import RECIPE, write_recipe

pytestmark = pytest.mark.slow

# The first run fails, and the second one asks the tool to stop.
STOPS = "[ -e tried ] || { touch tried; exit 3; }\nkill -INT $PPID; sleep 5\n"
COMMANDS = {
    "run": ("run", "--repeat", "3", "--", "sh", "bench.sh"),
    "ab": ("ab", "--axis", "env:MODE=a,b", "--repeat", "3", "--", "sh", "bench.sh"),
    "sweep": ("sweep", "demo"),
}


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.slow
def test_the_view_follows_a_long_series(started: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Not at every run, and not only at the end. What is wrong with the view is told once."""
    monkeypatch.setattr(driver, "_REFRESH_S", 0.0)
    write_recipe(
        folder,
        RECIPE,
        bench="cat logbooks/moe.md >> seen; sed -i s/1.000/2.000/ logbooks/moe.md; echo METRIC tflops=1\n",
    )
    answer = started(*COMMANDS[name])
    assert answer.code == 0, answer.err
    seen = (folder / "seen").read_text()
    assert "MOE-000" in seen
    assert "tflops" in seen
    assert answer.err.count("MOE-000 was edited by hand") == 1


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("run", "interrupted after 1 of 3 runs; to run the rest: the same command with --id MOE-000 --repeat 2"),
        ("sweep", "interrupted after 1 of 8 runs; to run the rest: logbook sweep --resume MOE-000"),
    ],
)
def test_an_interruption_has_its_exit_code_whatever_came_before(
    started: Cli, folder: Path, name: str, said: str
) -> None:
    write_recipe(folder, bench=STOPS)
    answer = started(*COMMANDS[name])
    assert answer.code == 130, "not 3, that of the run before"
    assert said in answer.out + answer.err


def test_a_teardown_that_fails_is_told_after_an_interruption(started: Cli, folder: Path) -> None:
    write_recipe(folder, RECIPE + "teardown: [[sh, -c, exit 5]]\n", bench=STOPS)
    answer = started("sweep", "demo", "--json")
    rest = "interrupted after 1 of 8 runs; to run the rest: logbook sweep --resume MOE-000"
    assert (answer.code, answer.data["problems"]) == (130, ["teardown failed: logbook show MOE-000", rest])
