"""Runs that warm up: they are made, kept and shown, and no reader counts them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.stored import at

pytestmark = pytest.mark.slow

# Prints a value for each run: the first is far better than the others, which scatter by 1%.
COUNTING = """
n=$(($(cat n 2>/dev/null || echo 0) + 1)); echo $n > n
echo "RESULT tflops=$(echo 900 100 101 99 100 102 98 100 | cut -d' ' -f$n)"
"""


@pytest.fixture
def warm(started: Cli, folder: Path) -> Cli:
    """A logbook with one warm-up at 900 TF/s and three runs at 100, 101 and 99."""
    (folder / "bench.sh").write_text(COUNTING)
    done = started("run", "--repeat", "3", "--discard", "1", "--", "sh", "bench.sh")
    assert done.code == 0
    assert "\nMOE-000 run 1: finished, warm-up in " in f"\n{done.err}"
    return started


def test_the_record_says_so(warm: Cli) -> None:
    runs = warm("show", "MOE-000", "--json", "--full").data["runs"]
    assert [(r["run"], r.get("discarded", False), r.get("repeat"), r["state"]) for r in runs] == [
        (1, True, None, "finished"),
        (2, False, 1, "finished"),
        (3, False, 2, "finished"),
        (4, False, 3, "finished"),
    ]
    brief = warm("show", "MOE-000", "--json").data["runs"]
    assert [r.get("discarded", False) for r in brief] == [True, False, False, False]


def test_table_and_show(warm: Cli) -> None:
    table = warm("table", "MOE-000").out
    assert table.startswith(
        "| state | tflops |\n| --- | ---: |\n| warm-up | 900.000 |\n| finished | 100.0 [99.0, 101.0] |\n\n"
    )
    assert "--discard" in table
    assert "| warm-up | 900.000 |" in warm("show", "MOE-000").out
    # What is held against each other is without them.
    shaped = warm("table", "MOE-000", "--delta").out
    assert "900" not in shaped


def test_alone_they_are_nothing(warm: Cli, folder: Path) -> None:
    for number in (2, 3, 4):
        shutil.rmtree(at(folder / f"logbooks/moe/runs/MOE-000/{number:02d}"))
    [line] = warm("list", "--json").data
    assert (line["state"], line["result"], line["runs"]) == ("finished", "only warm-ups", 1)
    assert line["confidence_text"] == "exploratory"
    assert warm("status", "--json").data["best"] == []
    assert warm("table", "MOE-000", "--csv").out.count("\n") <= 1
    assert "- tflops: 900.000" in warm("show", "MOE-000").out
    refused = warm("compare", "MOE-000", "--axis", "commit", "--json")
    assert (refused.error["code"], refused.error["hint"]) == ("usage", "logbook run --id MOE-000 -- sh bench.sh")


def test_criteria(warm: Cli, folder: Path) -> None:
    path = folder / "logbooks/moe/logbook.yaml"
    asked = ("target: {metric: tflops, at_least: 500}",)
    criteria = "".join(f"- text: t{n}\n  predicate:\n    {one}\n" for n, one in enumerate(asked))
    path.write_text(f"{path.read_text()}stop_criteria:\n{criteria}")
    computed = [one["computed"] for one in warm("criteria", "--json").data["criteria"]]
    assert [one["state"] for one in computed] == ["unmet"]


def test_compare(warm: Cli, folder: Path) -> None:
    warm("run", "--repeat", "3", "--discard", "1", "--", "sh", "bench.sh")
    numbers = warm("compare", "MOE-000", "MOE-001", "--json").data["numbers"]
    assert numbers["rows"] == [["100.0 [99.0, 101.0]", "100.0 [98.0, 102.0]", "+0.00%"]]
    refused = warm("compare", "MOE-000/1", "MOE-001", "--json")
    assert "MOE-000/1" in refused.error["message"]


def test_ab_discards_pairs_before_the_first(started: Cli, folder: Path) -> None:
    words = ("--axis", "mode=a,b", "--seed", "1", "--", "sh", "-c", "echo RESULT mode={axis} tflops=1.5")
    data = started("ab", "--max-pairs", "2", "--discard", "1", "--json", *words).data
    assert (data["pairs"], data["ran"]) == (2, 6)
    runs = started("show", "MOE-000", "--json", "--full").data["runs"]
    assert [(r.get("discarded", False), r.get("repeat")) for r in runs] == [
        (True, None), (True, None), (False, 1), (False, 1), (False, 2), (False, 2)
    ]  # fmt: skip
    # Further pairs, warmed up once more.
    more = started("ab", "--id", "MOE-000", "--max-pairs", "1", "--discard", "1", "--json").data
    assert (more["pairs"], more["ran"]) == (3, 4)
    [found] = more["answer"]["findings"]
    assert (found["pairs"], found["base"]["runs"]) == (3, 3)


def test_runs_of_a_pair_whose_code_changed_are_no_warm_ups(cli: Cli, git: Callable[..., str], folder: Path) -> None:
    (folder / "lib.sh").write_text("x=1\n")
    (folder / "bench.sh").write_text(
        "[ $LOGBOOK_RUN = 4 ] && echo x=2 > lib.sh && sleep 1.1; echo RESULT tflops=1$LOGBOOK_RUN"
    )
    git("add", "-A")
    git("commit", "-q", "-m", "Code")
    assert cli("start", "moe", "--prefix", "MOE", "--metric", "tflops:max").code == 0
    cli("ab", "--axis", "mode=a,b", "--discard", "1", "--", "sh", "bench.sh", "{mode}")
    assert [run["discarded"] for run in cli("show", "MOE-000", "--full", "--json").data["runs"]] == [True] * 4
    text = cli("show", "MOE-000").out
    assert "2 rows of warm-ups (--discard), not counted" in text
    assert "2 rows left out: the code changed: lib.sh" in text
    assert [text.count(f"| {state} | ") for state in ("warm-up", "left out")] == [2, 2]
    assert cli("list", "--json").data[0]["result"] == "no run counts"
