"""Values in several units have no common scale: the declared one counts, and without one nothing is ranked."""

from __future__ import annotations

import json
from pathlib import Path

from tests.conftest import Cli


def measured(cli: Cli, folder: Path, metric: str, *more: str) -> str:
    assert cli("start", "lat", "--prefix", "LAT", "--metric", metric).code == 0
    target = json.dumps({"target": {"metric": "lat", "at_most": 1}})
    assert cli("criteria", "--add", "Low", "--predicate", target).code == 0
    (folder / "b.sh").write_text("cat lines\n")
    for at, value in enumerate(("lat=500 ms", "lat=0.4 s")):
        (folder / "lines").write_text(f"METRIC {value}\n")
        assert cli("run", *(["--id", "LAT-000"] if at and not more else []), "--", "sh", "b.sh").code == 0
    assert cli("sync", "--offline", "out").code == 0
    return (folder / "out/issue.md").read_text()


def test_without_a_declared_unit_nothing_is_ranked(cli: Cli, folder: Path) -> None:
    text = measured(cli, folder, "lat:min")
    assert cli("status", "--json").data["best"] == []
    assert "Best" not in text.partition("## Results")[0]
    [criterion] = cli("criteria", "--json").data["criteria"]
    assert criterion["computed"]["state"] == "not computable"
    assert "lat is in ms and s" in criterion["computed"]["reason"]
    [entry] = cli("list", "--json").data
    assert entry["result"] == "2 rows, lat 500 ms and 0.4 s"
    assert "scatter" not in entry["confidence_text"]


def test_entries_in_two_units_are_not_ranked_against_each_other(cli: Cli, folder: Path) -> None:
    measured(cli, folder, "lat:min", "apart")
    assert cli("status", "--json").data["best"] == []


def test_a_number_beyond_what_a_float_can_count_is_short(cli: Cli) -> None:
    assert cli("start", "loss", "--prefix", "LOSS", "--metric", "loss:min").code == 0
    assert cli("run", "--", "echo", "METRIC loss=1e300").code == 0
    [entry] = cli("list", "--json").data
    assert entry["result"].endswith("1.000e+300")
