"""The best is of a case, over all its runs that count, and every reader names the same one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli

TARGET = json.dumps({"target": {"metric": "tflops", "at_least": 1}})


def measure(cli: Cli, value: float, *words: str, topk: int = 2) -> None:
    assert cli("run", "--config", f"topk={topk}", *words, "--", "echo", f"RESULT tflops={value}").code == 0


def best(cli: Cli) -> dict[str, Any]:
    found: dict[str, Any] = cli("status", "--json").data["best"][0]
    return found


def issue(cli: Cli, folder: Path) -> str:
    assert cli("sync", "--offline", "out").code == 0
    return (folder / "out/issue.md").read_text()


@pytest.mark.slow
def test_a_lucky_entry_is_pooled_with_the_others_of_its_case(started: Cli, folder: Path) -> None:
    assert started("criteria", "--add", "Fast", "--predicate", TARGET).code == 0
    for value in (75, 62, 36, 43):
        measure(started, value)
    # Another problem is no other case of this one.
    measure(started, 90, topk=4)
    other, found = started("status", "--json").data["best"]
    assert (other["problem"], other["value"], other["cases"]) == ("topk=4", 90, 1)
    assert (found["problem"], found["value"], found["low"], found["high"]) == ("topk=2", 52.5, 36, 75)
    # Several entries and runs have it, and none is named alone.
    entries = ["MOE-001", "MOE-002", "MOE-003"]
    assert (found["runs"], found["entries"], found["more_entries"], found["cases"]) == (4, entries, 1, 1)
    assert not {"entry", "run", "flags"} & found.keys()
    [criterion] = started("criteria", "--json").data["criteria"]
    assert criterion["computed"]["state"] == "unmet"
    for said in ("4 of 4 runs", "median 52.5", "; 3 more"):
        assert said in criterion["computed"]["reason"]
    text = issue(started, folder).partition("## Best so far")[2]
    assert ": 52.500 TF/s (4 runs, 36.000 to 75.000) in MOE-000, MOE-001, MOE-002 and 1 more, topk=2: " in text
    # What changes with a further run changes for every reader.
    measure(started, 10)
    assert {one["value"] for one in started("status", "--json").data["best"]} == {43, 90}
    assert "5 of 5 runs" in started("criteria", "--json").data["criteria"][0]["computed"]["reason"]


@pytest.mark.slow
@pytest.mark.parametrize("end", ["exit 1", "kill -KILL $$", "exec sleep 9"])
def test_what_did_not_finish_is_not_the_best(started: Cli, end: str) -> None:
    started("run", "--timeout", "1s", "--", "sh", "-c", f"echo RESULT tflops=999; {end}")
    assert started("show", "MOE-000", "--full", "--json").data["runs"][0]["rows"], "it was measured"
    assert not started("status", "--json").data.get("best")
    measure(started, 1)
    assert best(started)["value"] == 1


def test_the_axes_of_the_matrix_make_the_problem(cli: Cli, folder: Path) -> None:
    """Flags that it does not name are ranked against each other, and those in which cases differ are shown."""
    head = "topic: moe\nprefix: MOE\nmetrics: ['tflops:max:TF/s']\nmatrix: [{axis: topk, values: [2, 4]}]\n"
    (folder / "moe.yaml").write_text(head)
    assert cli("start", "--from", "moe.yaml").code == 0
    for unroll in (1, 2, 4):
        measure(cli, 40 + unroll, "--config", f"unroll={unroll}", "--config", "seed=0")
    [found] = cli("status", "--json").data["best"]
    assert (found["value"], found["flags"], found["cases"]) == (44, "unroll=4", 3)
    assert ": 44.000 TF/s (1 run) in MOE-002, unroll=4: " in issue(cli, folder).partition("## Best so far")[2]


def test_that_the_baseline_was_measured_again_is_no_gain(started: Cli, folder: Path) -> None:
    measure(started, 35.15)
    assert started("baseline", "--entry", "MOE-000", "--config", "topk=2", "--reason", "the start").code == 0
    for value in (29.3, 28.1):
        measure(started, value)
    text = issue(started, folder)
    assert "%" not in text.partition("## Status")[0]
    assert "(3 runs, 28.100 to 35.150) in MOE-000, MOE-002, MOE-003: it is the baseline" in text
    assert best(started)["is_baseline"] is True


def test_what_the_entry_of_the_baseline_measured_beside_it_is_another_case(started: Cli, folder: Path) -> None:
    measure(started, 100)
    measure(started, 110, "--id", "MOE-000", "--env", "XLA_FLAGS=--fast")
    words = ("--config", "topk=2", "--reason", "why")
    assert started("baseline", "--entry", "MOE-000/1", *words).code == 0
    top = best(started)
    assert (top["value"], "is_baseline" in top) == (110, False)
    # What the baseline itself measured again is the baseline.
    measure(started, 130, "--id", "MOE-000")
    measure(started, 131, "--id", "MOE-000")
    assert (best(started)["value"], best(started)["is_baseline"]) == (130, True)


BENCH = (
    "case $1 in a) v=100;; b) v=130;; bad) v=200;; esac; [ $1 = bad ] && c=2 || c=1; "
    "echo RESULT tflops=$((v * 1000 + LOGBOOK_RUN * 7919 % 1009)) checksum=$c"
)


def settle(cli: Cli, other: str, *words: str) -> None:
    axis = ("--axis", f"mode=a,{other}", "--pairs", "10")
    assert cli("ab", *axis, *words, "--", "sh", "bench.sh", "{mode}").code == (other == "bad")


@pytest.mark.slow
def test_the_best_names_what_settled_it_and_has_passed_the_gates(cli: Cli, folder: Path) -> None:
    (folder / "bench.sh").write_text(BENCH)
    assert cli("start", "moe", "--prefix", "MOE", "--metric", "tflops:max", "--gate", "same checksum").code == 0
    settle(cli, "b")
    assert best(cli)["against"] == "better than a (MOE-000)"
    settle(cli, "b", "--new")
    assert best(cli)["against"] == "better than a (MOE-001, MOE-000)"
    # A case that failed a gate beside its base is never the best, here and where it is measured alone.
    settle(cli, "bad")
    assert cli("run", "--config", "mode=bad", "--", "sh", "bench.sh", "bad").code == 0
    assert (best(cli)["flags"], best(cli)["against"]) == ("mode=b", "better than a (MOE-001, MOE-000)")
    text = cli("status").out
    assert ": better than a (MOE-001, MOE-000)" in text
    assert f", mode=b: {best(cli)['against']}\n" in issue(cli, folder)


def test_other_words_of_a_command_are_another_problem(started: Cli, folder: Path) -> None:
    """Nothing says that a small case, which is faster, is a gain."""
    (folder / "bench.sh").write_text("echo RESULT tflops=$1")
    for size in (100, 900):
        assert started("run", "--", "sh", "bench.sh", str(size), "--size", str(size)).code == 0
    found = started("status", "--json").data["best"]
    assert [(one["value"], one["cases"]) for one in found] == [(900, 1), (100, 1)]


def test_a_flag_is_one_however_it_is_written(started: Cli, folder: Path) -> None:
    (folder / "bench.sh").write_text("echo METRIC tflops=$((LOGBOOK_RUN + 1))\n")
    for words in (("block=256", "--fast"), ("--fast", "--block", "256"), ("--block=256", "--fast"), ("--block", "512")):
        more = ("--id", "MOE-000") if "512" not in words and started("list", "--json").data else ()
        assert started("run", *more, "--", "sh", "bench.sh", *words).code == 0
    assert [(one["runs"], one["problem"]) for one in started("status", "--json").data["best"]] == [
        (1, "command=sh bench.sh --block 512"),
        (3, "command=sh bench.sh --fast block=256"),
    ]
    rows = started("table", "--json").data
    assert len(rows["values"]) == 2


def test_what_the_baseline_is_compared_with_comes_first(started: Cli, folder: Path) -> None:
    """Not an ad hoc run of another size, nor runs of a benchmark that reports more since."""
    bench = 'echo "RESULT tflops=$((100 * $1 + $$ % 9))"\n'
    (folder / "bench.sh").write_text(bench)
    assert started("run", "--", "sh", "bench.sh", "1").code == 0
    assert started("baseline", "--entry", "MOE-000", "--reason", "it is").code == 0
    assert started("ab", "--axis", "env:MODE=a,b", "--max-pairs", "1", "--", "sh", "bench.sh", "1").code == 0
    assert started("run", "--", "sh", "bench.sh", "9").code == 0
    (folder / "bench.sh").write_text(bench.replace("RESULT", "RESULT size=1"))
    assert started("run", "--repeat", "2", "--", "sh", "bench.sh", "1").code == 0
    (folder / "bench.sh").write_text(bench.replace("RESULT", "RESULT size=2"))
    assert started("run", "--", "sh", "bench.sh", "7").code == 0
    found = started("status", "--json").data["best"]
    assert found[0]["value"] < 110, found
    assert len(found) == 3, "the others are there, too"
