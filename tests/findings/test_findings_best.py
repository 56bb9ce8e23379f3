"""The best is of a case, over all its runs that count, and every reader names the same one."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from logbook_agent.findings.best import bests, course
from logbook_agent.findings.thread import Thread
from logbook_agent.model.entry import RELATIONS
from logbook_agent.model.header import Header, Metric
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
    measure(started, 50, topk=4)
    found = best(started)
    assert (found["value"], found["low"], found["high"]) == (52.5, 36, 75)
    # No single entry and no single run has this value.
    entries = ["MOE-000", "MOE-001", "MOE-002", "MOE-003"]
    assert (found["runs"], found["entries"], found["among_cases"]) == (4, entries, 2)
    assert not {"entry", "run"} & found.keys()
    [criterion] = started("criteria", "--json").data["criteria"]
    settle = "4 of 4 runs (the best of 2 cases) reached it; 3 more would settle it"
    assert criterion["computed"]["reason"] == f"best tflops 52.5, wanted at least 1: {settle}"
    assert "computed: unmet" in started("status").out
    text = issue(started, folder)
    assert "52.5 TF/s" in text
    assert "median of 4 runs in 4 entries [36.0, 75.0]" in text
    assert "in MOE-000, MOE-001, MOE-002, MOE-003 (" in text
    # What changes with a further run changes for every reader.
    measure(started, 10)
    assert best(started)["value"] == 50
    assert "best tflops 50," in started("criteria", "--json").data["criteria"][0]["computed"]["reason"]
    assert "50.000 TF/s" in issue(started, folder).partition("## Status")[0]


def test_another_shape_is_not_the_best_of_the_thread(cli: Cli, folder: Path) -> None:
    words = ("--baseline", "topk=2", "--baseline", "tflops=40", "--baseline-source", "a table")
    assert cli("start", "moe", "--prefix", "MOE", "--metric", "tflops:max:TF/s", *words).code == 0
    measure(cli, 42)
    measure(cli, 900, "--title", "smoke", topk=1)
    first, second = cli("status", "--json").data["best"]
    assert (first["value"], first.get("another_case")) == (42, None)
    assert (second["value"], second["another_case"]) == (900, True)
    text = issue(cli, folder).partition("## Status")[0]
    assert "Best `tflops` at the baseline's case: 42.000 TF/s" in text
    assert "900.000" not in text


def test_that_the_baseline_was_measured_again_is_no_gain(started: Cli, folder: Path) -> None:
    measure(started, 35.15)
    assert started("baseline", "--entry", "MOE-000", "--config", "topk=2", "--reason", "the start").code == 0
    for value in (29.3, 28.1):
        measure(started, value)
    text = issue(started, folder)
    assert "%" not in text.partition("## Status")[0]
    assert "the baseline itself, measured again; its number is 35.150 TF/s" in text
    assert best(started)["is_baseline"] is True


@pytest.mark.slow
def test_the_issue_and_status_lead_with_what_is_settled(started: Cli, folder: Path) -> None:
    script = "case $0 in a) echo RESULT tflops=$((100 + $$ % 2));; b) echo RESULT tflops=$((150 + $$ % 2));; esac"
    words = ["ab", "--axis", "mode=a,b", "--repeat", "6", "--", "sh", "-c", script, "{mode}"]
    assert started(*words).code == 0
    [claim] = started("status", "--json").data["settled"]
    assert claim["entry"] == "MOE-000"
    assert re.match(r"a → b: tflops \+\d+\.\d+% \(.*\), beneficial", claim["claim"])
    start = issue(started, folder).partition("## TL;DR")[2].lstrip()
    assert start.startswith("Settled: a → b: tflops +")
    # Taken back, it settles nothing.
    assert started("edit", "MOE-000", "--state", "void").code == 0
    assert started("status", "--json").data["settled"] == []
    assert "Settled" not in issue(started, folder)


@pytest.mark.slow
def test_decisions_outlive_many_runs(started: Cli) -> None:
    assert (
        started("note", "--kind", "decision", "--title", "Never use -O3", "--field", "Decision=It miscompiles.").code
        == 0
    )
    assert started("note", "--title", "x", "--field", "Negative result=Fusing did not help.").code == 0
    for value in range(25):
        measure(started, value)
    data = started("status", "--json").data
    assert data["decisions"] == [{"id": "MOE-000", "title": "Never use -O3", "text": "It miscompiles."}]
    assert data["negative_results"][0]["text"] == "Fusing did not help."
    assert len(started("status", "--json").out.encode()) <= 8000


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["edit", "MOE-000", "--state", "void"], "void"),
        (["edit", "MOE-000", "--state", "abandoned"], "abandoned"),
        (["note", "--title", "Again", "--supersedes", "MOE-000"], "superseded by MOE-002"),
    ],
)
@pytest.mark.slow
def test_kept_numbers_name_an_entry_that_does_not_count(started: Cli, folder: Path, words: list[str], why: str) -> None:
    for value in (120, 100):
        measured = ["--repeat", "4", "--config", "size=1", "--", "sh", "-c", f"echo RESULT tflops={value}.$$"]
        assert started("run", *measured).code == 0
    assert started("compare", "MOE-000", "MOE-001", "--save", "MOE-001").code == 0
    assert started("show", "MOE-001", "--json").data["contrasts"][0]["uncounted"] == []
    assert started(*words).code == 0
    assert started("show", "MOE-001", "--json").data["contrasts"][0]["uncounted"] == [f"MOE-000 is {why}"]
    assert f"- MOE-000 is {why}" in (folder / "logbooks/moe.md").read_text()


def test_a_row_that_failed_is_no_result(started: Cli) -> None:
    line = json.dumps({"metrics": {"tflops": {"samples": [500]}}, "failed": {"reason": "check", "message": "wrong"}})
    assert started("run", "--", "echo", f"RESULT_JSON {line}").code == 0
    assert started("run", "--id", "MOE-000", "--", "echo", "RESULT tflops=101").code == 0
    [entry] = started("list", "--json").data
    assert entry["result"] == "2 rows, tflops 101.000 TF/s"
    assert started("status", "--json").data["last"][0]["result"] == entry["result"]


def test_what_the_entry_of_the_baseline_measured_beside_it_is_a_gain(started: Cli, folder: Path) -> None:
    measure(started, 100)
    measure(started, 110, "--id", "MOE-000", "--env", "XLA_FLAGS=--fast")
    words = ("--config", "topk=2", "--reason", "why")
    assert started("baseline", "--entry", "MOE-000/1", *words).code == 0
    assert (best(started)["value"], best(started).get("is_baseline")) == (110, None)
    assert "+10.00%" in issue(started, folder).partition("## Status")[0]
    # What the baseline itself measured again is none.
    measure(started, 130, "--id", "MOE-000")
    assert (best(started)["value"], best(started)["is_baseline"]) == (115, True)


def test_the_course_of_the_best_is_what_all_runs_up_to_each_entry_say() -> None:
    """Entry by entry against the best of a thread that ends there."""
    metric = Metric(name="t", direction="max")
    entries = []
    for number in range(60):
        draw = random.Random(number)
        trials = [
            {"key": key, "unit": None, "values": [float(draw.randint(0, 4)) for _ in range(draw.randint(1, 3))],
             "config": draw.choice([{}, {"k": key}]), "label": draw.choice([None, "a"]), "run": 1, "in_sweep": None,
             "config_left_out": 0, "apart": {}, "fresh": False, "of": [], "runs": [1]}
            for key in draw.sample("abcde", draw.randint(1, 3))
        ]  # fmt: skip
        entries.append(
            {
                **dict.fromkeys(RELATIONS),
                "state": "finished",
                "settled": True,
                "aliases": [],
                "id": f"B-{number:03d}",
                "measured": {"t": {"trials": trials}},
            }
        )
    header = Header(topic="b", title="B", prefix="B", opened="2026-02-10T10:00:00+00:00", metrics=(metric,))
    for number, step in enumerate(course(Thread(header, entries), metric), 1):
        [best] = bests(Thread(header, entries[:number]))
        assert best.other is not None
        assert step.so_far == {name: best.other[name] for name in step.so_far}
