"""Files of tools as rows, where a file of a run does not show it: what is refused, thinned, left out or nameless."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

from logbook_agent.formats.case_rows import MOST_SAMPLES, NotThisFormat, Occasion
from logbook_agent.formats.known_formats import FORMATS, written_by

FILES = Path(__file__).parents[2] / "contract/formats/files"


def data_of(name: str) -> Any:
    return json.loads((FILES / f"{name}.json").read_text())


def rows_of(format_name: str, data: Any, **occasion: Any) -> tuple[list[dict[str, Any]], list[str]]:
    problems: list[str] = []
    module = importlib.import_module(f"logbook_agent.formats.{FORMATS[format_name].module}")
    found = module.rows(data, Occasion(began=occasion.pop("began", 0.0), problem=problems.append, **occasion))
    return [*found], problems


def test_a_summary_is_no_measurement() -> None:
    """Of each tool: a file without samples has observations, and no metric that a verdict would take."""
    saved, _ = rows_of("pytest-benchmark", data_of("pytest-benchmark-5.3.1-saved"))
    aggregates, _ = rows_of("google-benchmark", data_of("google-benchmark-1.7.1-aggregates"))
    summary, _ = rows_of("asv", data_of("asv-0.6.6-summary"))
    times = data_of("hyperfine-1.15.0-names")
    for one in times["results"]:
        del one["times"]
    without_times, _ = rows_of("hyperfine", times)
    for rows in (saved, aggregates[:3], summary, without_times):
        assert rows
        assert [row for row in rows if row.get("metrics") or "median_s" not in row["observations"]] == []
    reported = data_of("google-benchmark-1.7.1-aggregates")["benchmarks"][0]
    assert aggregates[0]["observations"]["mean_s"] == pytest.approx(reported["real_time"] * 1e-9)


def test_what_google_benchmark_fits_to_all_sizes_is_no_case() -> None:
    """As `->Complexity()` reports it."""
    data = data_of("google-benchmark-1.7.1")
    fitted = {"run_name": "BM_copy", "run_type": "aggregate", "cpu_coefficient": 1.2, "big_o": "N", "time_unit": "ns"}
    more = [{**fitted, "aggregate_name": "BigO"}, {"run_name": "BM_copy", "aggregate_name": "RMS", "rms": 0.1}]
    plain, _ = rows_of("google-benchmark", data)
    assert rows_of("google-benchmark", {**data, "benchmarks": [*data["benchmarks"], *more]})[0] == plain


def test_asv() -> None:
    data, beside = data_of("asv-0.6.6"), data_of("asv-0.6.6-benchmarks")
    rows, problems = rows_of("asv", data, beside=beside, commit=data["commit_hash"])
    of = {tuple(row["config"].values()): row for row in rows}
    sort = "sorting.Suite.time_sort"
    # The fourth combination was skipped.
    assert [key for key in of if key[0] == sort] == [(sort, 100, "up"), (sort, 100, "down"), (sort, 1000, "up")]
    assert list(of[sort, 100, "up"]["config"]) == ["benchmark", "n", "kind"]
    assert len(of[sort, 100, "up"]["metrics"]["time_s"]["samples"]) == 10
    assert of[("sorting.time_fails",)]["failed"]["reason"] == "no result"
    assert of[("sorting.peakmem_list",)]["metrics"]["peak_memory_bytes"]["unit"] == "bytes"
    assert of[("sorting.track_size",)]["metrics"]["value"] == {"samples": [42], "unit": "rows", "direction": None}
    assert problems == []


def test_asv_names_what_the_file_does_not() -> None:
    """Without `benchmarks.json` the parameters have numbers; of another commit, and of an earlier run, it tells."""
    data = data_of("asv-0.6.6")
    rows, problems = rows_of("asv", data, commit="0" * 40)
    assert list(rows[0]["config"]) == ["benchmark", "param1", "param2"]
    assert problems == [f"asv measured commit {data['commit_hash'][:9]}, but the code of this run is 000000000"]
    began = max(values[3] for values in data["results"].values()) / 1000
    rows, problems = rows_of("asv", data, began=began)
    assert [row["config"]["benchmark"] for row in rows] == ["sorting.track_size"]
    assert problems == ["4 benchmarks of the file began before this run: left out"]


def test_very_many_samples_are_thinned_evenly() -> None:
    data = data_of("pytest-benchmark-5.3.1")
    data["benchmarks"] = data["benchmarks"][:1]
    data["benchmarks"][0]["stats"]["data"] = [*range(2 * MOST_SAMPLES + 1)]
    rows, problems = rows_of("pytest-benchmark", data)
    assert rows[0]["metrics"]["time_s"]["samples"][:3] == [0, 3, 6]
    assert problems == ["over 20,000 samples of a benchmark: one of 3 is kept, evenly over its time"]


@pytest.mark.parametrize("name", FORMATS)
def test_files_of_other_tools_are_refused(name: str) -> None:
    others = {path.name: json.loads(path.read_text()) for path in FILES.glob("*.json") if "benchmarks" not in path.name}
    assert len(others) > 8
    for file, data in others.items():
        assert file.startswith(written_by(data) or "none")
        if not file.startswith(name):
            with pytest.raises(NotThisFormat):
                rows_of(name, data)
    for data in ([], "text", {}, None):
        with pytest.raises(NotThisFormat):
            rows_of(name, data)
