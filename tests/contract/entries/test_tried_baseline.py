"""Moving the baseline is an event with a reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli, FixedClock

START = ["start", "moe", "--prefix", "MOE", "--metric", "tflops:max:TF/s", "--metric", "loss:min"]


def measure(cli: Cli, mode: str, value: float, *options: str) -> None:
    assert cli("run", *options, "--", "sh", "-c", f"echo RESULT mode={mode} topk=2 tflops={value}").code == 0


@pytest.fixture
def measured(cli: Cli, clock: FixedClock) -> Cli:
    """The baseline is mode=none at 100 TF/s; MOE-000 measured 110 in that case, a minute before whatever comes."""
    assert cli(*START, "--baseline", "mode=none,tflops=100").code == 0
    clock.tick()
    measure(cli, "none", 110)
    clock.tick()
    return cli


@pytest.mark.slow
def test_the_view_and_the_issue_say_how_the_baseline_moved(measured: Cli, folder: Path, clock: FixedClock) -> None:
    answer = measured("baseline", "--entry", "MOE-000", "--config", "mode=none", "--reason", "the kernel was fixed")
    assert answer.code == 0
    assert all(word in answer.out for word in ("110.000 TF/s; MOE-000", "2026-02-10 10:45", "100.000 TF/s"))
    clock.tick()
    measure(measured, "none", 121)
    view = folder / "logbooks/moe.md"
    moved = "- Moved 2026-02-10 10:45: the kernel was fixed (until then: `mode=none; tflops 100.000 TF/s`)"
    text = view.read_text()
    assert moved in text
    assert measured("render").code == 0
    assert view.read_text() == text
    plan = measured("sync", "--create", "--repo", "acme/moe", "--dry-run").out
    assert moved in plan
    # The same case again: no gain, but how far its runs lie apart.
    assert "(2 runs, 110.000 to 121.000)" in plan
    status = measured("status", "--json").data["baseline"]
    assert (status["entry"], status["moved"][0]["reason"]) == ("MOE-000", "the kernel was fixed")
    data = measured("baseline", "--json").data
    assert data["moves"][0]["before"]["numbers"] == [{"metrics": {"tflops": 100.0}}]
    assert data["baseline"]["numbers"] == [{"metrics": {"tflops": 110.0}}]


def test_a_baseline_that_was_taken_back_is_told(measured: Cli) -> None:
    assert measured("baseline", "--entry", "MOE-000", "--config", "mode=none", "--reason", "x").code == 0
    assert json.loads(measured("baseline", "--json").out)["warnings"] == []
    [said] = json.loads(measured("edit", "MOE-000", "--state", "void", "--json").out)["warnings"]
    assert all(word in said for word in ("MOE-000", "void", "--entry", "logbook baseline --help"))
    assert json.loads(measured("baseline", "--json").out)["warnings"] == [said]
    assert json.loads(measured("status", "--json").out)["warnings"] == [said]


def test_what_is_no_move(measured: Cli, folder: Path) -> None:
    header = folder / "logbooks/moe/logbook.yaml"
    before = header.read_text()
    for words, message in [
        (["--entry", "MOE-000"], "no reason"),
        (["--reason", " "], "no reason"),
        (["--reason", "x"], "no baseline named"),
        (
            ["--entry", "MOE-000", "--number", "tflops=1", "--reason", "x"],
            "--entry and --number",
        ),
        (["--entry", "MOE-009", "--reason", "x"], "no entry MOE-009"),
        (["--entry", "MOE-000/7", "--reason", "x"], "no run MOE-000/7"),
        (["--entry", "MOE-000:None", "--reason", "x"], "no run MOE-000:None"),
        (["--entry", "MOE-000", "--config", "mode=int4", "--reason", "x"], "no row of MOE-000 has mode=int4"),
        (["--number", "tflop=1", "--reason", "x"], "no metric named 'tflop'"),
        (["--number", "tflops=fast", "--reason", "x"], "--number 'tflops=fast'"),
        (["--config", "mode", "--reason", "x"], "--config 'mode' is not KEY=VALUE"),
        (["--config", "mode=none", "--number", "tflops=100", "--reason", "x"], "this is already"),
    ]:
        answer = measured("baseline", *words, "--json")
        assert answer.code == 2, words
        assert answer.error["message"].startswith(message)
        assert answer.error["hint"]
    assert header.read_text() == before
