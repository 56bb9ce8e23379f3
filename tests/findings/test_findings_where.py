"""A verdict says where it holds: also in what all of its rows share, where the thread has other values."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli

SCRIPT = "case $0 in a) v=15;; *) v=10;; esac; echo RESULT n=200 seed=1 tflops=$v$(($$ % 2))"


def ab(cli: Cli) -> None:
    words = [
        "ab",
        "--axis",
        "mode=a,b",
        "--repeat",
        "6",
        "--",
        "sh",
        "-c",
        SCRIPT,
        "{mode}",
        "--n",
        "200",
        "--seed",
        "1",
    ]
    assert cli(*words).code == 0


def claims(cli: Cli) -> list[str]:
    return [c["claim"].partition(":")[0] for c in cli("status", "--json").data["settled"]]


def footer(folder: Path) -> str:
    return (folder / "logbooks/moe.md").read_text().partition("## Negative Results Index")[2]


@pytest.mark.slow
def test_one_size_is_named_once_the_thread_has_another(started: Cli, folder: Path) -> None:
    ab(started)
    assert claims(started) == ["a → b"]
    assert "n=200" not in footer(folder)
    assert started("run", "--", "echo", "RESULT n=2 seed=1 tflops=3", "--n", "2", "--seed", "1").code == 0
    assert claims(started) == ["a → b at n=200"]
    assert "`mode` a → b, `n=200`: regressive" in footer(folder)
    assert [i["case"] for i in started("tried", "--json").data["tried"]] == [{"n": "200"}]
    assert "\n    n=200; sh -c" in started("tried").out
    assert started("sync", "--offline", "out").code == 0
    issue = (folder / "out/issue.md").read_text()
    assert "Settled: a → b at n=200: tflops" in issue
    assert "`mode` a → b, `n=200`: regressive" in issue
    # Rendered as a whole, the view says the same.
    before = footer(folder)
    assert started("render").code == 0
    assert footer(folder) == before


def test_a_size_that_the_baseline_names_is_told(cli: Cli) -> None:
    words = ("--baseline", "n=2", "--baseline", "tflops=40", "--baseline-source", "a table")
    assert cli("start", "moe", "--prefix", "MOE", "--metric", "tflops:max:TF/s", *words).code == 0
    ab(cli)
    assert claims(cli) == ["a → b at n=200"]
