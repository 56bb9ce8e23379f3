"""Words that a newcomer types: a topic without a prefix, a note's text, `void`."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import Cli


def test_a_note_is_a_text(started: Cli, folder: Path) -> None:
    assert started("note", "Host unreachable").code == 0
    assert started("note", "Two lines\nof text").code == 0
    assert started("note", "what was seen", "--title", "A title").code == 0
    assert started("note", "word " * 40).code == 0
    (folder / "seen.txt").write_text("From a file\nmore\n")
    assert started("note", "@seen.txt").code == 0
    titles = [entry["title"] for entry in started("list", "--json").data]
    assert titles[:3] == ["Host unreachable", "Two lines", "A title"]
    assert titles[3].endswith("word…")
    assert titles[4] == "From a file"
    view = (folder / "logbooks/moe.md").read_text()
    assert view.count("Note:") == 4, view
    assert started("note").code == 2


def test_void_withdraws_an_entry_with_or_without_a_reason(started: Cli) -> None:
    for title in ("one", "other"):
        assert started("run", "--title", title, "--", "echo", "METRIC tflops=1").code == 0
    assert started("edit", "MOE-000", "--state", "void", "--reason", "wrong branch").code == 0
    assert started("edit", "MOE-001", "--state", "void").code == 0
    assert [entry["state"] for entry in started("list", "--json").data] == ["void", "void"]
    assert "wrong branch" in started("show", "MOE-000").out
    assert started("edit", "MOE-000", "--state", "computed").code == 0
    assert started("list", "--json").data[0]["state"] == "finished"


def test_a_prefix_is_derived_from_the_topic(cli: Cli) -> None:
    for topic, prefix in (
        ("moe_ep_int8", "MOE-EP-INT8"),
        ("moe_ep_int8_overlap_on_v5p", "MOE-EP-INT8-2"),
        ("2d_conv", "EXP-2D-CONV"),
        ("a", "A"),
    ):
        assert cli("start", topic).code == 0
        assert cli("-L", topic, "note", "x", "--json").data["id"] == f"{prefix}-000"
