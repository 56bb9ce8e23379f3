"""`logbook noise`: what runs say of experiments that are still to come."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from logbook_agent.store.book import Book
from tests.conftest import Cli

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


def test_noise_says_how_many_pairs_it_takes(ready: Cli, folder: Path) -> None:
    answer = ready("noise", *COMMAND)
    assert answer.code == 0, answer.err
    first, said, *rest = answer.out.splitlines()
    assert first == "MOE-000: 12 runs"
    assert said.startswith("tflops: 12 runs scatter by 0.")
    assert ", 6 pairs by " in said
    assert [line.split(" takes ")[0] for line in rest[:3]] == [
        f"  showing an effect of {e}" for e in ("1%", "3%", "10%")
    ]
    assert "with looks on the way" in rest[0]
    assert re.search(r"\), \d+\.\d+ s$", rest[0])
    assert "device hours" not in answer.out
    assert rest[3].startswith("  smallest effect that can be shown: 6 pairs ")
    assert len(answer.out.encode()) < 8000
    [entry] = [Book(folder / "logbooks", "moe").entry("MOE-000")]
    assert (entry.title, entry.noise, entry.kind) == ("Noise of sh bench.sh none", True, "experiment")
    # The same stands in the entry, made of its records.
    view, shown = (folder / "logbooks/moe.md").read_text(), ready("show", "MOE-000").out
    for line in (said, *(line.strip() for line in rest)):
        assert line in shown
        assert line in view
    assert said not in (folder / "logbooks/moe/entries/MOE-000.yaml").read_text()


def test_further_runs_change_what_the_entry_says(ready: Cli) -> None:
    assert ready("noise", "--repeat", "6", "--title", "Quiet?", *COMMAND).code == 0
    data = ready("noise", "--id", "MOE-000", "--repeat", "3", "--json", *COMMAND).data
    [found] = data["noise"]
    assert (data["title"], len(data["runs"]), found["runs"], found["pairs"]) == ("Quiet?", 3, 9, 4)
    assert ready("show", "MOE-000", "--json").data["noise"] == [found]
    assert set(found["needed"][0]) == {"effect", "pairs", "pairs_with_looks", "minutes", "device_hours"}
    assert [n["effect"] for n in found["needed"]] == [0.01, 0.03, 0.1]
    assert [s["pairs"] for s in found["shown"]] == [6, 10, 20]
    for needed in found["needed"]:
        assert needed["pairs_with_looks"] >= needed["pairs"] >= 6
        assert needed["minutes"] == pytest.approx(needed["pairs"] * 2 * found["run_s"] / 60)


def test_device_hours_count_accelerators(ready: Cli) -> None:
    devices = '{"platform": "tpu", "kind": "v5e", "count": 8, "used": 4}'
    row = f'{{"config": {{}}, "metrics": {{"tflops": [\'$LOGBOOK_RUN\'.5]}}, "devices": [{devices}]}}'
    found = ready("noise", "--repeat", "6", "--json", "--shell", "--", f"echo RESULT_JSON '{row}'").data["noise"][0]
    assert found["devices"] == 4, found
    for needed in found["needed"]:
        assert needed["device_hours"] == pytest.approx(needed["minutes"] * 4 / 60)


@pytest.mark.slow
def test_every_case_is_told_and_the_answer_stays_short(ready: Cli) -> None:
    script = "for n in $(seq 60); do echo RESULT mode=m$n tflops=$((100 + LOGBOOK_RUN % 5)); done"
    answer = ready("noise", "--repeat", "6", "--shell", "--", script)
    assert "tflops mode=m1: 6 runs scatter by " in answer.out
    assert len(answer.out.encode()) < 8000
    assert answer.out.rstrip().endswith(" more: logbook show MOE-000 --json")
    assert len(ready("show", "MOE-000", "--json").data["noise"]) == 60


def test_what_no_scatter_follows_from(ready: Cli) -> None:
    few = ready("noise", "--repeat", "6", "--", "sh", "-c", "[ $LOGBOOK_RUN -lt 5 ] && echo METRIC tflops=$LOGBOOK_RUN")
    assert few.code == 1
    assert "tflops: 4 runs scatter by " in few.out
    assert "2 pairs: 3 are needed before it is known how far pairs scatter" in few.out
    nothing = ready("noise", "--repeat", "6", "--", "true")
    assert nothing.out.splitlines()[1] == "nothing was measured: no finished run has a row with a metric"
    zero = ready("noise", "--repeat", "6", "--", "echo", "METRIC", "tflops=0")
    assert "tflops: values that are not above zero have no ratio" in zero.out


def test_requests_that_do_not_fit_write_nothing(ready: Cli) -> None:
    assert ready("noise", "--repeat", "4", *COMMAND).err == (
        "error: --repeat 4 is too few to tell how far pairs scatter\n"
        "  cause: two runs are a pair, and 3 pairs are the fewest that say something\n"
        "  next:  --repeat 12\n"
    )
    assert ready("list", "--json").data == []
    assert ready("run", *COMMAND).code == 0
    assert ready("noise", "--id", "MOE-000", *COMMAND).err == (
        "error: MOE-000 is not a measurement of noise\n"
        "  cause: its runs are not repeats of one command, and runs that are added would change what it says\n"
        "  next:  to start a new entry, leave --id out\n"
    )
    assert "noise" not in ready("show", "MOE-000").out
