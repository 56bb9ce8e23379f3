"""What `run`, `ab` and `sweep` have in common: the view that follows, the exit code, and what is said of the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import seams
from tests.conftest import Cli
from tests.contract.campaign.recipes.sweep_support import RECIPE, write_recipe

pytestmark = pytest.mark.slow

# The first run fails, and the second one asks the tool to stop.
STOPS = "[ -e tried ] || { touch tried; exit 3; }\nkill -INT $PPID; sleep 5\n"
COMMANDS = {
    "run": ("run", "--repeat", "3", "--", "sh", "bench.sh"),
    "ab": ("ab", "--axis", "env:MODE=a,b", "--pairs", "3", "--", "sh", "bench.sh"),
    "sweep": ("sweep", "demo"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_view_follows_a_long_series(started: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Not at every run, and not only at the end. Each text that the view was changed to is kept, and told once."""
    seams.set_size(monkeypatch, "pause between views of a series, s", 0.0)
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
    kept = [line.rpartition(" is in ")[2] for line in answer.err.splitlines() if "was changed by hand" in line]
    assert 1 <= len(set(kept)) == len(kept)
    assert all("2.000" in Path(place).read_text() for place in kept)


@pytest.mark.parametrize(
    ("name", "named"),
    [("run", ("1 of 3", "--id MOE-000 --repeat 2")), ("sweep", ("1 of 8", "logbook sweep --id MOE-000"))],
)
def test_an_interruption_has_its_exit_code_whatever_came_before(
    started: Cli, folder: Path, name: str, named: tuple[str, str]
) -> None:
    write_recipe(folder, bench=STOPS)
    answer = started(*COMMANDS[name])
    assert answer.code == 130, "not 3, that of the run before"
    assert all(word in answer.out + answer.err for word in named)


def test_a_teardown_that_fails_is_told_after_an_interruption(started: Cli, folder: Path) -> None:
    write_recipe(folder, RECIPE + "teardown: [[sh, -c, exit 5]]\n", bench=STOPS)
    answer = started("sweep", "demo", "--json")
    teardown, rest = answer.data["problems"]
    assert (answer.code, "logbook show MOE-000" in teardown) == (130, True)
    assert "logbook sweep --id MOE-000" in rest
