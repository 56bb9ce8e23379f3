"""The real `bench-core predict`: what it prints is read and recorded."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.conftest import Cli

SHAPE = ("--tokens", "512", "--hidden", "256", "--mlp-dim", "256", "--experts", "8", "--topk", "2")
EP = ("--parallel-mode", "ep", "--devices", "4", "--backend", "gmm", "--bench-pass", "forward_backward")


def recorded(cli: Cli, entry_id: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cli("show", entry_id, "--json", "--full").data["runs"][0]["predictions"]
    return found


@pytest.fixture
def book(started: Cli) -> Cli:
    """A logbook of the tool with the benchmark that is installed beside it."""
    return started


@pytest.mark.slow
@pytest.mark.wide
def test_two_sides(book: Cli) -> None:
    done = book("predict", "--", "--aot", "v5p-8", *SHAPE, *EP, "--ep-impl", "psum", "--", "--ep-impl", "ring")
    assert done.code == 0, done.err
    sides = recorded(book, "MOE-000")
    assert [p["labels"]["side"] for p in sides] == ["A", "B"]
    assert all(p["prediction"]["bound"] <= p["prediction"]["estimate"] for p in sides)
    assert book("show", "MOE-000", "--json").data["runs"][0]["problems"] == []
    [pair] = [line for line in done.err.splitlines() if "B against A: " in line]
    said = json.loads(next(line for line in done.out.splitlines() if line.startswith("PREDICTED "))[10:])
    assert f"B against A: {said['word']}" in pair


@pytest.mark.slow
@pytest.mark.wide
def test_the_config_of_a_prediction_is_that_of_the_measurement(book: Cli) -> None:
    """Of a case that runs here: but for the target and the numbers of calls, both say the same."""
    forward = ("--parallel-mode", "ep", "--devices", "4", "--backend", "ragged_dot")
    flags = (*SHAPE, *forward, "--ep-impl", "psum", "--iters", "1")
    assert book("predict", "--", "--aot", "v5p-8", *flags).code == 0
    assert book("bench", "--", "hillclimb", *flags).code == 0
    [predicted] = recorded(book, "MOE-000")
    [measured] = book("show", "MOE-001", "--json", "--full").data["runs"][0]["rows"]
    beside = {"iters", "warmup"}
    assert {k: v for k, v in measured["config"].items() if k not in beside} == {
        k: v for k, v in predicted["config"].items() if k != "aot"
    }


@pytest.mark.slow
def test_the_program_that_is_asked_is_there() -> None:
    found = subprocess.run(
        [sys.executable, "-m", "bench_core", "predict", "--help"],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert "--published" in found.stdout
