"""What somebody types is taken where there is one thing that it can mean."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.conftest import Cli
from tests.seams import Store


def header(folder: Path, topic: str) -> dict[str, object]:
    found: dict[str, object] = yaml.safe_load((folder / f"logbooks/{topic}/logbook.yaml").read_text())
    return found


@pytest.mark.parametrize(
    ("metric", "direction", "unit"),
    [
        ("time_s:s:lower", "min", "s"),
        ("time_s:min:lower", "min", "s"),
        ("tflops:TF/s:max", "max", "TF/s"),
        ("tflops:higher:TF/s", "max", "TF/s"),
        ("acc: % : Maximize", "max", "%"),
        ("steps:widgets:max", "max", "widgets"),
        ("loss:watched:minimize", "min", None),
    ],
)
def test_unit_and_direction_in_any_order(cli: Cli, folder: Path, metric: str, direction: str, unit: str | None) -> None:
    assert cli("start", "moe", "--prefix", "MOE", "--metric", metric).code == 0
    [found] = header(folder, "moe")["metrics"]  # type: ignore[misc]
    assert (found["name"], found["direction"]) == (metric.partition(":")[0], direction)
    assert found.get("unit") == unit
    assert found.get("primary", True) is ("watched" not in metric)


@pytest.mark.parametrize("metric", ["time_s:min:max", "steps:widgets", "steps:mx"])
def test_what_may_mean_two_things_is_refused(cli: Cli, metric: str) -> None:
    answer = cli("start", "moe", "--prefix", "MOE", "--metric", metric)
    assert answer.code == 2
    assert f"metric {metric!r}" in answer.err
    assert ":min or --metric" in answer.err


@pytest.mark.parametrize(
    ("typed", "gate"),
    [("ok=1", "ok == 1"), ("ok = 1", "ok == 1"), ("err =< 1e-3", "err <= 1e-3"), ("acc => 0.9", "acc >= 0.9")],
)
def test_gates(cli: Cli, folder: Path, typed: str, gate: str) -> None:
    assert cli("start", "moe", "--prefix", "MOE", "--gate", typed).code == 0
    assert header(folder, "moe")["gates"] == [gate]


def test_names_of_a_logbook(cli: Cli, folder: Path) -> None:
    assert cli("start", "My Topic", "--prefix", "my_t", "--zone", "europe/berlin").code == 0
    found = header(folder, "my_topic")
    assert (found["title"], found["prefix"], found["zone"]) == ("My Topic", "MY-T", "Europe/Berlin")
    for topic in ("../up", "a/b", "größe", ".hidden", ""):
        assert cli("start", topic).code == 2
    assert [path.name for path in (folder / "logbooks").glob("*.md")] == ["my_topic.md"]


def test_pairs_with_a_colon(cli: Cli, folder: Path) -> None:
    words = ["--baseline", "topk: 2", "--link", "Paper: https://example.org/?a=b", "--budget", "runs=40,hours=3"]
    assert cli("start", "moe", "--prefix", "MOE", "--metric", "tflops", *words).code == 0
    found = header(folder, "moe")
    assert found["links"] == [{"label": "Paper", "url": "https://example.org/?a=b"}]
    assert found["budget"] == {"runs": 40, "hours": 3.0}
    assert found["baseline"]["config"] == {"topk": 2}  # type: ignore[index]
    assert cli("run", "--config", "topk = 2", "--", "echo", "RESULT tflops=1").code == 0
    assert Store(folder).runs("MOE-000")[0].config == {"topk": 2}
    assert cli("edit", "MOE-000", "--field", "Seen: a=b", "--field", "Why=a: b").code == 0
    fields = {f.label: f.text for f in Store(folder).entry("MOE-000").fields}
    assert (fields["Seen"], fields["Why"]) == ("a=b", "a: b")


def test_a_budget_that_is_none_says_how_to_write_one(cli: Cli) -> None:
    answer = cli("start", "moe", "--budget", "40")
    assert answer.code == 2
    assert "next:  --budget runs=40 --budget hours=3" in answer.err


def test_ids(started: Cli) -> None:
    assert started("note", "--title", "first").code == 0
    for typed in ("MOE-0", "moe_0", "moe-000", " MOE-000 "):
        assert "MOE-000 first" in started("show", typed).out
    assert started("criteria", "--add", "It is known.").code == 0
    assert started("criteria", "--met", "1", "--evidence", "moe_0", "--by", "ada").code == 0
    assert started("note", "--title", "second", "--continues", "moe_0").code == 0
    assert "- Continues: MOE-000" in started("show", "moe_1").out


@pytest.mark.parametrize("time", ["90", "90s", "90 S", "90sec", "1.5min", "1m30s", "1m 30s", "0.025h"])
def test_lengths_of_time(started: Cli, folder: Path, time: str) -> None:
    assert started("run", "--timeout", time, "--", "true").code == 0
    assert Store(folder).runs("MOE-000")[0].timeout_s == 90


@pytest.mark.parametrize("time", ["1:30", "inf", "1h30", "-1s", "s", "", "90 x"])
def test_what_is_no_length_of_time(started: Cli, time: str) -> None:
    assert started("run", f"--timeout={time}", "--", "true").code == 2


def test_words_in_capitals(started: Cli, folder: Path) -> None:
    assert started("note", "--title", "x", "--kind", "Decision").code == 0
    assert started("edit", "MOE-000", "--state", "Blocked", "--confidence", "Exploratory").code == 0
    entry = Store(folder).entry("MOE-000")
    assert (entry.kind, entry.state, entry.confidence) == ("decision", "blocked", "exploratory")
    assert started("edit", "MOE-000", "--state", "Computed", "--confidence", "COMPUTED").code == 0
    entry = Store(folder).entry("MOE-000")
    assert (entry.state, entry.confidence) == (None, None)
