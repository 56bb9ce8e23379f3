"""The header changes by commands, each with a reason, and each change is a decision in the log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli

# What is typed, and the part of the header that it changes.
CHANGES: dict[str, tuple[list[str], dict[str, Any]]] = {
    "title": (["--title", "Int8 or not"], {"title": "Int8 or not"}),
    "goal": (["--goal", "is int8 faster?"], {"goal": "is int8 faster?"}),
    "a metric": (["--metric", "mem:min:MB:watched"], {"metrics": ["tflops", "mem"]}),
    "a gate": (["--gate", "ok==1"], {"gates": ["ok == 1"]}),
    "a label": (["--free", "checksum"], {"free": ["checksum"]}),
    "a constraint": (["--constraint", "one host"], {"constraints": ["one host"]}),
    "a link": (["--link", "Paper=https://x.org/1"], {"links": ["Paper"]}),
    "an axis": (["--matrix", "topk=1,2"], {"matrix": ["topk"]}),
    "a template": (["--template", "Sweep: python bench.py"], {"command_templates": ["Sweep"]}),
}
# What each list drops.
NAMES = ("mem", "ok == 1", "checksum", "one host", "Paper", "topk", "Sweep")


def named(data: dict[str, Any]) -> dict[str, Any]:
    """The parts of a header, and of its lists the names."""

    def name(item: Any) -> Any:
        return next((item[k] for k in ("name", "label", "axis") if k in item), item) if isinstance(item, dict) else item

    return {key: [*map(name, value)] if isinstance(value, list) else value for key, value in data.items()}


def test_every_part_is_added_and_dropped_with_a_reason(started: Cli, folder: Path) -> None:
    before = (folder / "logbooks/moe/logbook.yaml").read_text()
    view = folder / "logbooks/moe.md"
    for what, (words, wanted) in CHANGES.items():
        refused = started("edit", *words)
        assert (refused.code, "needs a reason" in refused.err) == (2, True), what
        data = started("edit", *words, "--reason", f"because of {what}", "--json").data
        assert wanted.items() <= named(data).items(), what
        decision = started("show", data["id"], "--json").data
        assert decision["kind"] == "decision"
        assert decision["title"].startswith("Change the logbook: ")
        assert f": because of {what}\n" in view.read_text().partition("## Decision Log")[2]
        assert started("edit", *words, "--reason", "again").code == 2, "nothing changes"
    for name in NAMES:
        assert started("edit", "--drop", name, "--reason", "no more").code == 0, name
    started("edit", "--goal", "", "--title", "moe", "--reason", "as before")
    assert (folder / "logbooks/moe/logbook.yaml").read_text() == before
    assert started("status", "--json").code == 0


def test_a_metric_is_redeclared_in_its_place(started: Cli) -> None:
    started("edit", "--metric", "mem:min:MB:watched", "--reason", "memory matters")
    data = started("edit", "--metric", "tflops:min:s", "--reason", "it is a time", "--json").data
    assert data["metrics"] == [
        {"name": "tflops", "direction": "min", "unit": "s"},
        {"name": "mem", "direction": "min", "unit": "MB", "primary": False},
    ]


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["--goal", "x", "--reason", " "], "needs a reason"),
        (["--drop", "nothing", "--reason", "x"], "'nothing'"),
        (["--metric", "a", "--metric", "a:max", "--reason", "x"], "metric a is given twice"),
        (["--gate", "ok", "--reason", "x"], "--gate"),
        (["--link", "x", "--reason", "x"], "--link"),
        (["--template", "x", "--reason", "x"], "--template"),
        (["--hypothesis", "x", "--goal", "y", "--reason", "x"], "--hypothesis needs the ID"),
        (["--accept", "x", "--reason", "x"], "--accept needs the ID"),
        (["MOE-000", "--goal", "x"], "--goal is of the whole logbook"),
        (["MOE-000", "--metric", "x"], "--metric is of the whole logbook"),
        ([], "no entry given"),
    ],
)
def test_what_does_not_fit_changes_nothing(started: Cli, folder: Path, words: list[str], names: str) -> None:
    started("note", "one")
    before = (folder / "logbooks/moe/logbook.yaml").read_bytes()
    answer = started("edit", *words)
    assert (answer.code, len(answer.err.splitlines())) == (2, 3)
    assert names in answer.err.splitlines()[0]
    assert (folder / "logbooks/moe/logbook.yaml").read_bytes() == before
    assert [entry["id"] for entry in started("list", "--json").data] == ["MOE-000"]


def test_a_criterion_is_replaced_or_dropped_with_a_reason(started: Cli, folder: Path) -> None:
    assert started("criteria", "--add", "spent", "--predicate", "date: 2020-01-01").code == 0
    assert started("criteria", "--add", "known").code == 0
    assert started("list", "--json").data == [], "what is new changes no answer"
    for words in (["--predicate", "1=date: 2030-01-01"], ["--predicate", "1="], ["--drop", "2"]):
        assert "needs a reason" in started("criteria", *words).err
        assert started("criteria", *words, "--reason", "it was wrong").code == 0
    assert [c["text"] for c in started("criteria", "--json").data["criteria"]] == ["spent"]
    assert "no stop criterion 2" in started("criteria", "--drop", "2", "--reason", "x").err
    assert "Change the logbook: without stop criterion known: it was wrong" in (folder / "logbooks/moe.md").read_text()


def test_a_move_of_the_baseline_is_a_decision(started: Cli, folder: Path) -> None:
    assert started("run", "--config", "mode=none", "--", "echo", "METRIC tflops=2").code == 0
    assert started("baseline", "--entry", "MOE-000", "--reason", "measured here").code == 0
    assert started("show", "MOE-001", "--json").data["kind"] == "decision"
    assert "Change the logbook: baseline " in (folder / "logbooks/moe.md").read_text()
    assert started("baseline", "--entry", "MOE-000", "--reason", "again").code == 2
    assert len(started("list", "--json").data) == 2


def test_a_metric_without_a_direction_names_the_command_that_states_it(cli: Cli) -> None:
    for topic in ("one", "two"):
        [line] = [t for t in cli("start", topic, "--metric", "foo").err.splitlines() if "logbook edit" in t]
    command = line[line.index("edit ") :].replace("'...'", "because").split()
    assert cli(*command).code == 0
    assert cli("status", "-L", "two", "--json").data["metrics"] == ["foo:min"]


def test_a_file_whose_gate_is_none_starts_nothing(cli: Cli, folder: Path) -> None:
    (folder / "header.yaml").write_text('topic: moe\ngates: ["ok = = 1"]\n')
    answer = cli("start", "--from", "header.yaml")
    assert answer.code == 2
    assert "'ok = = 1' is not a gate" in answer.err
    assert "--gate 'ok == 1'" in answer.err
    assert not (folder / "logbooks").exists()
    (folder / "header.yaml").write_text('topic: moe\ngates: ["ok==1"]\n')
    assert cli("start", "--from", "header.yaml").code == 0
    assert "gates:\n- ok == 1\n" in (folder / "logbooks/moe/logbook.yaml").read_text()
