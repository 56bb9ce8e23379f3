"""`logbook run --noise`: what runs say of experiments that are still to come."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.seams import Store
from tests.stored import at

pytestmark = pytest.mark.slow

# Runs scatter by some percent, in a fixed way; `int8` is 6% faster.
BENCH = """\
speed=1000; [ "$1" = int8 ] && speed=1060
echo "RESULT tflops=$((speed + (LOGBOOK_RUN * 37) % ${2:-23})).5 size=3"
"""
COMMAND = ("--", "sh", "bench.sh", "none")


@pytest.fixture
def ready(started: Cli, folder: Path) -> Cli:
    (folder / "bench.sh").write_text(BENCH)
    return started


def test_noise_says_what_an_ab_would_settle(ready: Cli, folder: Path) -> None:
    answer = ready("run", "--noise", *COMMAND)
    assert answer.code == 0, answer.err
    first, said = answer.out.splitlines()
    assert first == "MOE-000: 12 runs"
    entry_says, would = said.split("; ")
    assert re.fullmatch(r"tflops: median 1,01\d\.\d+ TF/s of 12 runs, which scatter by 0\.\d+%", entry_says)
    assert re.fullmatch(r"logbook ab \(20 pairs, .* 3% in 10 of 10, 10% in 10 of 10, .* in \d+ of 10", would)
    entry = Store(folder).entry("MOE-000")
    assert (entry.title, entry.noise, entry.kind) == ("Noise of sh bench.sh none", True, None)
    # The entry says what was measured.
    assert entry_says in ready("show", "MOE-000").out
    assert entry_says in (folder / "logbooks/moe.md").read_text()
    assert said not in at(folder / "logbooks/moe/entries/MOE-000.yaml").read_text()
    # And what it says is what an A/B finds.
    answer = ready("ab", "--axis", "mode=none,int8", "--json", "--", "sh", "bench.sh", "{axis}").data["answer"]
    assert [f["outcome"] for f in answer["findings"]] == ["better"]


def test_further_runs_change_what_the_entry_says(ready: Cli) -> None:
    assert ready("run", "--noise", "--repeat", "6", "--title", "Quiet?", *COMMAND).code == 0
    data = ready("run", "--noise", "--id", "MOE-000", "--repeat", "3", "--json", *COMMAND).data
    [found] = data["noise"]
    assert (data["title"], len(data["runs"]), found["runs"]) == ("Quiet?", 3, 9)
    assert ready("show", "MOE-000", "--json").data["noise"] == [found], "every reader says the same"
    assert [one["effect"] for one in found["settles"]] == [0.0, 0.01, 0.03, 0.1]


def test_what_no_scatter_follows_from(ready: Cli) -> None:
    few = ready(
        "run", "--noise", "--repeat", "6", "--", "sh", "-c", "[ $LOGBOOK_RUN -lt 5 ] && echo METRIC tflops=$LOGBOOK_RUN"
    )
    assert few.code == 1
    assert "of 4 runs, which scatter by 60%" in few.out
    nothing = ready("run", "--noise", "--repeat", "6", "--", "true")
    assert nothing.out.splitlines()[1].endswith(f"logbook show {nothing.out.partition(':')[0]}")
    below = ready("run", "--noise", "--repeat", "6", "--json", "--", "echo", "METRIC", "tflops=-1").data
    assert [one["settles"] for one in below["noise"]] == [[]]
    # A zero is withheld, until somebody accepts it.
    zero = ready("run", "--noise", "--repeat", "6", "--json", "--", "echo", "METRIC", "tflops=0").data
    assert zero["noise"] == []


def test_requests_that_do_not_fit_write_nothing(ready: Cli) -> None:
    error = ready("run", "--noise", "--repeat", "4", "--json", *COMMAND).error
    assert ("--repeat 4" in error["message"], error["hint"]) == (True, "--repeat 12")
    assert ready("list", "--json").data == []
    assert ready("run", *COMMAND).code == 0
    error = ready("run", "--noise", "--id", "MOE-000", "--json", *COMMAND).error
    assert ("MOE-000" in error["message"], "--id" in error["hint"]) == (True, True)
    assert "noise" not in ready("show", "MOE-000").out
