"""Files of benchmark tools: failed samples, other machines, other times, two results of one name, settings."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli
from tests.stored import at

HERE = Path(__file__).parent
REAL = HERE.parent / "formats/files"
HOST = os.uname().nodename
Run = Callable[..., Any]


@pytest.fixture
def run_of(cli: Cli, folder: Path) -> Run:
    """The record of a run that writes this data as a file of a tool."""
    assert cli("start", "t", "--prefix", "T", "--metric", "time_s:min:s", "--goal", "g", "--stop", "s").code == 0

    def run(tool: str, data: Any, *before: str) -> Any:
        (folder / "in.json").write_text(data if isinstance(data, str) else json.dumps(data))
        done = cli("run", "--json", "--read", f"{tool}:out.json", "--", *before, "cp", "in.json", "out.json")
        [entry] = json.loads(cli("list", "--json").out)["data"][-1:]
        assert done.code == 0, done.err
        (folder / "out.json").unlink()
        return json.loads(at(folder / f"logbooks/t/runs/{entry['id']}/01/run.json").read_text())

    return run


def said(run: Any, grade: str) -> str:
    return "\n".join(problem["text"] for problem in run.get("problems", []) if problem["grade"] == grade)


def hyperfine(*results: dict[str, Any]) -> dict[str, Any]:
    return {"results": [{"command": "sh b.sh", "user": 0.1, "system": 0.1, **one} for one in results]}


def pytest_benchmark(**changes: Any) -> dict[str, Any]:
    """A file as pytest-benchmark writes it here and now."""
    data: dict[str, Any] = json.loads((HERE / "pytest-benchmark-other-host.json").read_text())
    data["machine_info"]["node"] = HOST
    data["datetime"] = (datetime.now(UTC) + timedelta(seconds=1)).isoformat()
    return data | changes


def google(*benchmarks: dict[str, Any], **context: Any) -> dict[str, Any]:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    usual = {"run_type": "iteration", "real_time": 5.0, "cpu_time": 5.0, "time_unit": "ns", "iterations": 9}
    named = [{"name": "BM_a", "run_name": "BM_a", **usual, **one} for one in benchmarks or ({},)]
    return {"context": {"date": now, "host_name": HOST, **context}, "benchmarks": named}


def asv(machine: str, results: dict[str, Any], ended: float = 4e12) -> dict[str, Any]:
    columns = ["result", "params", "version", "started_at", "duration", "samples"]
    rows = {name: [result, params, "v", ended, 1.0, samples] for name, (result, params, samples) in results.items()}
    params = {"machine": machine, "cpu": "x", "os": "Linux"}
    return {"commit_hash": "a" * 40, "env_name": "e", "params": params, "result_columns": columns, "results": rows}


# -- failed samples ------------------------------------------------------------------------------------


def test_a_benchmark_whose_samples_all_failed_is_a_failed_row(run_of: Run) -> None:
    for data in (
        (HERE / "hyperfine-failed.json").read_text(),
        hyperfine({"times": [0.001], "exit_codes": [None]}),
        hyperfine({"mean": 0.001, "median": 0.001, "exit_codes": [1, 0]}),
    ):
        run = run_of("hyperfine", data)
        [row] = run["rows"]
        assert ("metrics" in row, row["failed"]["reason"]) == (False, "error")
        assert "ended with an error" in row["failed"]["message"]
        assert "ended with an error" in said(run, "noted")
        assert not {"mean_s", "median_s", "user_s"} & row["observations"].keys()
    [row] = run_of("hyperfine", (HERE / "hyperfine-good.json").read_text())["rows"]
    assert row["metrics"]["time_s"]["samples"] == [1.01, 1.02]


def test_failed_samples_are_left_out_and_counted(run_of: Run) -> None:
    times = {"times": [1.0, 0.001, 1.2], "exit_codes": [0, 1, 0], "memory_usage_byte": [500, 3, 600]}
    run = run_of("hyperfine", hyperfine(times))
    [row] = run["rows"]
    assert {name: m["samples"] for name, m in row["metrics"].items()} == {
        "time_s": [1.0, 1.2],
        "peak_memory_bytes": [500, 600],
    }
    assert (row["observations"], "1 of 3 runs ended with an error" in said(run, "noted")) == ({"failures": 1}, True)


def test_errors_and_skips_of_google_benchmark(run_of: Run) -> None:
    error = {"real_time": 0.1, "error_occurred": True, "error_message": "no device"}
    [row] = run_of("google-benchmark", google(error))["rows"]
    assert (row["failed"], "metrics" in row) == ({"reason": "error", "message": "no device"}, False)
    [row] = run_of("google-benchmark", google({"skipped": True, "skip_message": "needs AVX"}))["rows"]
    assert row["failed"] == {"reason": "skipped", "message": "needs AVX"}
    run = run_of("google-benchmark", google({"repetition_index": 0}, {"repetition_index": 1, **error}))
    assert [row["metrics"]["time_s"]["samples"] for row in run["rows"]] == [[pytest.approx(5e-9)]]
    assert "BM_a: 1 of 2 runs ended with an error" in said(run, "noted")


@pytest.mark.parametrize(
    "change", [{"has_error": True}, {"stats": None}, {"stats": {}}, {"has_error": True, "stats": None}]
)
def test_errors_of_pytest_benchmark(run_of: Run, change: dict[str, Any]) -> None:
    data = pytest_benchmark()
    data["benchmarks"][0] |= change
    [row] = run_of("pytest-benchmark", data)["rows"]
    assert (row["failed"]["reason"], "metrics" in row) == ("error", False)


def test_errors_and_skips_of_asv(run_of: Run) -> None:
    nan = float("nan")
    results = {
        "a.time_fails": (None, [], None),
        "a.time_sizes": ([1.0, None, nan], [["1", "2", "3"]], [[1.0, 1.1], None, [0.001]]),
    }
    rows = run_of("asv", asv(HOST, results))["rows"]
    assert [("failed" in row, row.get("metrics", {}).get("time_s", {}).get("samples")) for row in rows] == [
        (True, None),
        (False, [1.0, 1.1]),
        (True, None),
    ]


# -- another machine, another time -----------------------------------------------------------------------


def test_the_file_of_another_machine_and_year_is_withheld(run_of: Run) -> None:
    run = run_of("pytest-benchmark", (HERE / "pytest-benchmark-other-host.json").read_text())
    assert "hostA" in said(run, "withheld")
    assert "2020-03-01" in said(run, "withheld")
    assert run["rows"][0]["host"] == "hostA"


def test_what_was_measured_here_and_now_is_not_withheld(run_of: Run, folder: Path) -> None:
    for node in (
        HOST,
        f"{HOST}.example.org",
        HOST.upper(),
        "localhost",
        "localhost.localdomain",
        "",
        "0123456789ab",
        None,
    ):
        run = run_of("pytest-benchmark", pytest_benchmark(machine_info={"node": node}))
        assert (said(run, "withheld"), "host" in run["rows"][0]) == ("", False), node
        assert said(run_of("google-benchmark", google(host_name=node)), "withheld") == "", node
    moments = [datetime.now(UTC).replace(tzinfo=None), datetime.now(UTC).replace(tzinfo=None) - timedelta(hours=14)]
    for moment in moments:  # without a zone: of which place, nobody knows
        assert said(run_of("google-benchmark", google(date=f"{moment:%Y/%m/%d-%H:%M:%S}")), "withheld") == ""
        assert said(run_of("pytest-benchmark", pytest_benchmark(datetime=moment.isoformat())), "withheld") == ""
    for wrong in ("yesterday", None, 3):
        assert said(run_of("pytest-benchmark", pytest_benchmark(datetime=wrong)), "withheld") == ""


def test_each_tool_that_names_its_machine_or_time(run_of: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = run_of("pytest-benchmark", pytest_benchmark(machine_info={"node": "hostA.example.org"}))
    assert "hostA.example.org" in said(other, "withheld")
    old = (datetime.now(UTC) - timedelta(minutes=5)).isoformat()
    assert old in said(run_of("pytest-benchmark", pytest_benchmark(datetime=old)), "withheld")
    assert "hostA" in said(run_of("google-benchmark", google(host_name="hostA")), "withheld")
    assert "2015/04/03" in said(run_of("google-benchmark", google(date="2015/04/03-13:15:20")), "withheld")
    result = {"a.time_it": (1.0, [], [1.0])}
    monkeypatch.setenv("HOME", str(folder))
    assert "desk" in said(run_of("asv", asv("desk", result)), "withheld")
    # The name that its user gave this machine.
    (folder / ".asv-machine.json").write_text(json.dumps({"desk": {"machine": "desk"}, "version": 1}))
    assert said(run_of("asv", asv("desk", result)), "withheld") == ""


def test_where_a_command_leads_to_another_machine_its_host_is_recorded(run_of: Run, folder: Path) -> None:
    (folder / "ssh").write_text('#!/bin/sh\nshift\nexec "$@"\n')
    (folder / "ssh").chmod(0o755)
    run = run_of("google-benchmark", google(host_name="box"), "./ssh", "box")
    assert (said(run, "withheld"), run["rows"][0]["host"]) == ("", "box")


# -- what is not the same ----------------------------------------------------------------------------------


def test_two_results_of_one_name_are_no_repeats(run_of: Run) -> None:
    run = run_of("hyperfine", hyperfine({"times": [1.0, 1.0]}, {"times": [3.0, 3.0]}))
    assert [row["metrics"]["time_s"]["samples"] for row in run["rows"]] == [[1.0, 1.0], [3.0, 3.0]]
    assert len({json.dumps(row["config"]) for row in run["rows"]}) == 2
    twins = google({"family_index": 0, "per_family_instance_index": 0}, {"family_index": 1, "real_time": 50.0})
    assert len({json.dumps(row["config"]) for row in run_of("google-benchmark", twins)["rows"]}) == 2


def test_rounds_of_a_tool_may_lie_far_apart(run_of: Run) -> None:
    assert "lines of one case" not in json.dumps(run_of("hyperfine", hyperfine({"times": [1.0, 9.0]})))


def test_settings_that_change_what_is_measured_tell_runs_apart(run_of: Run, cli: Cli) -> None:
    data = pytest_benchmark()
    run_of("pytest-benchmark", data)
    data["benchmarks"][0]["options"] |= {"disable_gc": True, "timer": "process_time", "min_rounds": 9}
    [row] = run_of("pytest-benchmark", data)["rows"]
    assert {"disable_gc": True, "timer": "process_time"}.items() <= row["config"].items()
    compared = cli("compare", "T-000", "T-001").out
    assert ("disable_gc" in compared, "timer" in compared) == (True, True)
    [debug] = run_of("google-benchmark", google(library_build_type="debug", library_version="v1.9.0"))["rows"]
    [release] = run_of("google-benchmark", google(library_build_type="release", library_version="v1.9.0"))["rows"]
    assert debug["software"] != release["software"]
    assert "google-benchmark" in cli("compare", "T-002", "T-003").out


def test_a_file_may_begin_with_a_mark(run_of: Run) -> None:
    [row] = run_of("hyperfine", "\ufeff" + (HERE / "hyperfine-good.json").read_text())["rows"]
    assert len(row["metrics"]["time_s"]["samples"]) == 2
