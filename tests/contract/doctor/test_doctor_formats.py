"""The stores that are kept for good can be read."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.conftest import REPOSITORY, Cli


def test_format_2_can_be_read(folder: Path, cli: Cli) -> None:
    shutil.copytree(REPOSITORY / "tests/stores/format-2", folder / "logbooks")
    listed = cli("list", "--json")
    assert '"warnings": []' in listed.out
    assert [(line["id"], line["kind"], line["state"], line["title"]) for line in listed.data] == [
        ("MOE-000", "note", "noted", "Kickoff"),
        ("MOE-001", "experiment", "planned", "topk=8"),
        ("MOE-002", "experiment", "finished", "none against int8"),
        ("MOE-003", "experiment", "failed", "too large"),
        ("MOE-004", "decision", "noted", "Go on with int8"),
    ]
    shown = {line["id"]: cli("show", line["id"], "--json", "--full").data for line in listed.data}
    scope = 'one shape, "two" modes: none & int8\nand a second line'
    assert scope in [field["text"] for field in shown["MOE-000"]["fields"]]
    planned = cli("show", "MOE-001").out
    assert planned.index("Baseline") < planned.index("Int8")
    assert (shown["MOE-001"]["continues"], shown["MOE-004"]["supersedes"]) == ("MOE-000", "MOE-000")
    runs = shown["MOE-002"]["runs"]
    samples = [m["samples"] for run in runs for row in run["rows"] for m in row["metrics"].values()]
    assert samples == [[120.5], [126.5], [126.5]]
    assert (runs[0]["label"], runs[0]["rows"][0]["config"]) == ("Baseline", {"quant_mode": "none", "hidden": 2048})
    assert shown["MOE-003"]["runs"][0]["exit"] is not None
    view = (folder / "logbooks/moe.md").read_text()
    assert "Is int8 faster?" in view
    found = cli("doctor", "--json").data["findings"]
    assert [f["check"] for f in found if f["check"] != "view"] == ["missing-logs"]
