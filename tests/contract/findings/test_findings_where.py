"""An answer says where it holds: also what all of its rows share, where other comparisons have other values."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli

SCRIPT = "case $0 in a) v=15;; *) v=10;; esac; echo RESULT n=$1 seed=1 tflops=$v$((LOGBOOK_RUN * 7 % 10))"


def ab(cli: Cli, size: int) -> None:
    command = ("sh", "-c", SCRIPT, "{mode}", str(size), "--n", str(size), "--seed", "1")
    assert cli("ab", "--axis", "mode=a,b", "--pairs", "8", "--", *command).code == 0


def cases(cli: Cli, entry: str) -> list[dict[str, str]]:
    return [f["case"] for f in cli("compare", entry, "--json").data["answer"]["findings"]]


@pytest.mark.slow
def test_one_size_is_named_once_another_comparison_has_another(started: Cli, folder: Path) -> None:
    ab(started, 200)
    assert cases(started, "MOE-000") == [{}]
    ab(started, 2)
    assert (cases(started, "MOE-000"), cases(started, "MOE-001")) == ([{"n": "200"}], [{"n": "2"}])
    assert " less tflops than a at n=200 (95%: " in started("compare", "MOE-000").out
    assert {i["entry"]: i["case"] for i in started("list", "--tried", "--json").data["tried"]} == {
        "MOE-000": {"n": "200"},
        "MOE-001": {"n": "2"},
    }
    # The view of the first entry names it, too.
    view = (folder / "logbooks/moe.md").read_text()
    assert "less tflops than a at n=200 (95%: " in view.partition("### ")[2]
    assert started("render").code == 0
    assert (folder / "logbooks/moe.md").read_text() == view
    # What tells cases apart is what --where chooses by.
    assert started("compare", "MOE-000", "--where", "n=200", "--json").data["answer"] is not None


@pytest.mark.slow
def test_a_size_that_the_baseline_names_is_named(cli: Cli) -> None:
    words = ("--baseline", "n=2", "--baseline", "tflops=40", "--baseline-source", "a table")
    assert cli("start", "moe", "--prefix", "MOE", "--metric", "tflops:max:TF/s", *words).code == 0
    ab(cli, 200)
    assert cases(cli, "MOE-000") == [{"n": "200"}]
