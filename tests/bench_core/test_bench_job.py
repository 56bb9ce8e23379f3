"""Several processes, one job: what they compute, and what is left of it when one of them dies."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from cli_support import QUICK_COMPILER

SIZES = "--tokens 24 --hidden 8 --mlp-dim 6 --experts 4 --dtype float32 --backend ragged_dot --iters 2"
EP = [*SIZES.split(), "--parallel-mode", "ep", "--ep-impl", "ring"]
LONG = [*EP, "--iters", "1000000"]


def _started(words: list[str], folder: Path, name: str = "job") -> "subprocess.Popen[bytes]":
    with (folder / f"{name}.out").open("wb") as out, (folder / f"{name}.err").open("wb") as err:
        command = [sys.executable, "-m", "bench_core", "hillclimb", *words]
        return subprocess.Popen(command, stdout=out, stderr=err, env={**os.environ, "XLA_FLAGS": QUICK_COMPILER})


def _rows(folder: Path, name: str = "job") -> list[dict]:
    lines = (folder / f"{name}.out").read_text().splitlines()
    return [json.loads(line.removeprefix("RESULT_JSON ")) for line in lines if line.startswith("RESULT_JSON ")]


def _ran(words: list[str], folder: Path) -> tuple[int, list[dict], str]:
    code = _started(words, folder).wait(timeout=240)
    return code, _rows(folder), (folder / "job.err").read_text()


def _wait_for(word: str, folder: Path, name: str = "job") -> None:
    limit = time.monotonic() + 200
    while word not in (folder / f"{name}.err").read_text():
        assert time.monotonic() < limit, (folder / f"{name}.err").read_text()
        time.sleep(0.1)


def _members(starter: "subprocess.Popen[bytes]") -> list[psutil.Process]:
    """In the order in which they were started."""
    children = psutil.Process(starter.pid).children()
    return sorted((one for one in children if "bench_core.cli.member" in one.cmdline()), key=lambda one: one.pid)


@pytest.mark.slow
@pytest.mark.wide
def test_two_processes_compute_what_one_does(tmp_path: Path) -> None:
    words = [*EP, "--bench-pass", "forward_backward", "--devices", "8", "--dp-size", "2"]
    code, (one,), _ = _ran(words, tmp_path)
    assert code == 0
    code, (two,), error = _ran([*words, "--processes", "2", "--profile", str(tmp_path / "trace")], tmp_path)
    assert code == 0, error
    assert two["config"] == one["config"] | {"processes": 2}
    same = ("error_ratio", "max_abs_error", "worst_tolerance", "peak_memory_bytes", "device_rows_max", "flops")
    assert {name: two["observations"][name] for name in same} == {name: one["observations"][name] for name in same}
    assert two["labels"] == one["labels"]
    assert two["devices"] == [{"platform": "cpu", "kind": "cpu", "count": 8, "used": 8}]
    assert len(two["metrics"]["time_s"]["samples"]) == 2
    # One RESULT line for the job, and a trace of every process.
    assert (tmp_path / "job.out").read_text().count("RESULT ") == 1
    traces = {path.relative_to(tmp_path / "trace").parts[0] for path in tmp_path.glob("trace/**/*perfetto*")}
    assert traces == {"process-0", "process-1"}


@pytest.mark.slow
@pytest.mark.wide
@pytest.mark.parametrize("lost", [1, 0])
def test_a_lost_process_is_a_failed_row_and_the_next_case_runs(tmp_path: Path, lost: int) -> None:
    result_file = tmp_path / "rows.json"
    os.environ["LOGBOOK_RESULT_FILE"] = str(result_file)
    try:
        job = _started([*LONG, "--topk-list", "1,2", "--devices", "2", "--processes", "2"], tmp_path)
    finally:
        del os.environ["LOGBOOK_RESULT_FILE"]
    _wait_for("timing", tmp_path)
    # Not SIGTERM: JAX takes it for a notice of preemption, and goes on.
    _members(job)[lost].kill()
    _wait_for("[2/2]", tmp_path)
    (row,) = _rows(tmp_path)
    assert row["failed"]["reason"] == "process_lost"
    assert row["failed"]["message"].startswith(f"process {lost} of 2 was ended by SIGKILL")
    assert row["config"]["topk"] == 1
    assert row["config"]["ep_size"] == 2
    assert row["devices"][0]["used"] == 2
    assert json.loads(result_file.read_text())["rows"] == [row]
    members = _members(job)
    job.kill()
    job.wait()
    # Whoever started them is gone, so nobody would ever end them.
    assert psutil.wait_procs(members, timeout=60)[1] == []


@pytest.mark.wide
def test_a_host_that_is_gone_is_recorded_by_the_first_one(tmp_path: Path) -> None:
    port = _free_port()
    words = [*LONG, "--topk-list", "1,2", "--devices", "2", "--processes", "2", "--coordinator", f"127.0.0.1:{port}"]
    hosts = [_started([*words, "--process-id", str(index)], tmp_path, f"host{index}") for index in (0, 1)]
    _wait_for("timing", tmp_path, "host0")
    (member,) = _members(hosts[1])
    member.kill()
    assert [host.wait(timeout=120) for host in hosts] == [1, 1]
    first, second = _rows(tmp_path, "host0")
    assert first["failed"]["reason"] in ("process_lost", "runtime_error")
    assert second["failed"]["message"].startswith("not run: ")


@pytest.mark.slow
@pytest.mark.wide
def test_hosts_that_do_not_do_the_same_are_refused(tmp_path: Path) -> None:
    words = [*EP, "--devices", "2", "--processes", "2", "--coordinator", f"127.0.0.1:{_free_port()}"]
    other = [*words, "--seed", "1"]
    hosts = [_started([*own, "--process-id", str(i)], tmp_path, f"host{i}") for i, own in enumerate((words, other))]
    assert [host.wait(timeout=120) for host in hosts] == [2, 2]
    for name in ("host0", "host1"):
        assert _rows(tmp_path, name) == []
        assert "--seed is 0 in process 0 and 1 in 1" in (tmp_path / f"{name}.err").read_text()


def test_a_port_that_is_taken_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    from bench_core.cli import main

    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        words = [*EP, "--processes", "2", "--process-id", "0", "--coordinator", f"127.0.0.1:{taken.getsockname()[1]}"]
        with pytest.raises(SystemExit) as exit_:
            main(["hillclimb", *words])
    assert exit_.value.code == 2
    assert "of --coordinator cannot be listened at" in capsys.readouterr().err


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.slow
def test_a_job_has_a_limit(tmp_path: Path) -> None:
    code, (row,), error = _ran([*LONG, "--devices", "2", "--processes", "2", "--timeout", "2"], tmp_path)
    assert code == 1
    assert row["failed"] == {"reason": "timeout", "message": "the job took longer than 2 s"}
    assert row["config"]["backend"] == "ragged_dot"
    assert "failed (timeout)" in error


REFUSED = {
    "--processes 2": "changes nothing in --parallel-mode none",
    "--processes 2 --parallel-mode ep": "needs --devices",
    "--processes 3 --parallel-mode ep --devices 4": "cannot be shared out among 3",
    "--processes 2 --parallel-mode ep --devices 7": "8 experts cannot be spread over 7 devices",
    "--processes 2 --parallel-mode dp --devices 4 --dp-size 2": "leaves 2 of the job idle",
    "--processes 2 --parallel-mode dp --devices 4 --aot v5e": "--aot cannot be combined with --processes",
    "--processes 2 --parallel-mode dp --coordinator a:1": "--coordinator and --process-id need each other",
    "--processes 2 --parallel-mode dp --coordinator a --process-id 0": "is not an address",
    "--processes 2 --parallel-mode dp --coordinator a:1 --process-id 2": "is not one of 2 processes",
    "--processes 2 --parallel-mode dp --devices 4 --timeout 0": "is too short",
    "--processes 0 --parallel-mode dp": "is too small",
    "--coordinator a:1": "changes nothing without --processes",
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_cannot_be_a_job_is_refused(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    from bench_core.cli import main

    with pytest.raises(SystemExit) as exit_:
        main(["hillclimb", *words.split()])
    assert exit_.value.code == 2
    assert REFUSED[words] in capsys.readouterr().err.splitlines()[0]
