"""What every executor keeps, from this machine to the engines, as who types sees it: real commands, real ends."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.contract.e2e.e2e_support import LOGBOOK
from tests.contract.running.executors.conftest import SLEEPS, Place, exit_of, samples, sh, wait_for

pytestmark = pytest.mark.slow

SECRET = "hf_" + "Q7x" * 12
# Writes the number of its worker, and goes on when it may.
WAITS = "echo $PPID > worker; echo x >> started; until [ -e go ]; do sleep 0.02; done; echo RESULT tflops=1"


def files_with(folder: Path, needle: bytes) -> list[str]:
    return [str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file() and needle in p.read_bytes()]


def test_success(place: Place) -> None:
    run = place.send(*sh("echo RESULT tflops=1.5 mode=a; echo oops >&2"))
    assert run.exit is None
    assert run.executor == place.name
    done = place.ended(run)
    assert exit_of(done) == {}
    assert done.duration_s is not None
    assert samples(done) == [[1.5]]
    assert done.host.name == place.host
    assert done.software["logbook-agent"]
    assert sorted(place.log(run).splitlines()) == [b"RESULT tflops=1.5 mode=a", b"oops"]
    assert not done.problems
    before = place.store.run_path(run.entry, 1).read_bytes()
    assert place.cli("status").code == place.cli("doctor").code == 0
    assert place.store.run_path(run.entry, 1).read_bytes() == before, "it is taken in once"
    assert not place.store.working(), "nothing is left of it but its record"


def test_the_file_of_a_benchmark_tool_is_read_where_it_is(place: Place) -> None:
    written = """echo '{"results": [{"command": "x", "times": [1, 2]}]}' >"""
    done = place.ended(place.send(*sh(f"{written} {{file}}"), options=("--read", "hyperfine")))
    assert samples(done, "time_s") == [[1.0, 2.0]]
    assert not done.problems


ENDS = {
    "exit 3": ({"code": 3}, 3, "failed"),
    "kill -SEGV $$": ({"signal": "SIGSEGV"}, 139, "failed"),
    "exec sleep 60": ({"timeout": True}, 124, "timeout"),
}


def test_other_ends(place: Place) -> None:
    """All at once, with the exit codes of the foreground."""
    runs = [place.send(*sh(f"echo RESULT tflops=2; {script}"), options=("--timeout", "3s")) for script in ENDS]
    for run, (exits, code, state) in zip(runs, ENDS.values(), strict=True):
        done = place.ended(run)
        assert exits.items() <= exit_of(done).items()
        assert samples(done) == [[2.0]]
        assert (place.state(run), place.cli("wait", run.entry).code) == (state, code)


def test_files_that_it_left_come_back_whole(place: Place) -> None:
    data = bytes(range(256)) * 8192
    script = (
        "dd if=/dev/zero of=model.bin bs=1000000 count=11 2>/dev/null; echo ARTIFACT model.bin; echo ARTIFACT a.txt"
    )
    script += "; echo lr=0.1 > a.txt"
    code = "open('x.bin', 'wb').write(bytes(range(256)) * 8192)"
    run = place.send(*sh(f'{script}; python3 -c "{code}"; echo ARTIFACT x.bin; echo ARTIFACT ../y; exit 3'))
    done = place.ended(run)
    assert exit_of(done) == {"code": 3}
    large, text, binary = done.artifacts
    assert (large.name, large.kept, large.bytes) == ("model.bin", None, 11_000_000)
    assert large.place.startswith(f"{place.host}:")
    kept = place.store.run_folder(run.entry, run.run)
    assert [(kept / one.kept).read_bytes() for one in (text, binary)] == [b"lr=0.1\n", data]
    [problem] = [p.text for p in done.problems]
    assert "../y" in problem


def test_its_curves_come_back(place: Place) -> None:
    done = place.ended(place.send(*sh("for i in 1 2 3; do echo RESULT step=$i tflops=$i; done")))
    assert [(curve.name, curve.count) for curve in done.curves] == [("tflops", 3)]
    points = json.loads(place.cli("export", "--curves", "--as", "json", "--out", "-").out)["points"]
    assert (points["step"], points["value"]) == ([1, 2, 3], [1, 2, 3])


def test_its_result_file_comes_back(place: Place) -> None:
    row = '{"metrics": {"tflops": 4}}'
    done = place.ended(place.send(*sh(f"echo '{row}' > $LOGBOOK_RESULT_FILE")))
    assert samples(done) == [[4.0]]


def test_what_only_a_pattern_finds_goes_when_the_run_is_taken_in(place: Place) -> None:
    key = "gh" + "p_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    (place.folder / "out.txt").write_text(f"using {key}\nRESULT tflops=1 hub={key}\n")
    done = place.ended(place.send(*sh("cp out.txt left.txt; cat out.txt"), options=("--keep", "left.txt")))
    assert place.log(done).startswith(b"using [redacted:")
    [left] = done.artifacts
    copy = (place.store.run_folder(done.entry, done.run) / left.kept).read_bytes()
    assert copy.startswith(b"using [redacted:")
    assert (left.sha256, left.bytes) == (hashlib.sha256(copy).hexdigest(), len(copy))
    for name in ("out.txt", "left.txt"):
        (place.folder / name).unlink(missing_ok=True)
    assert files_with(place.folder, key.encode()) == []
    assert place.cli("doctor").code == 0


def test_stop_ends_the_grandchildren_too(place: Place) -> None:
    run = place.send(*sh(f"{SLEEPS} & echo $! > grandchild; ({SLEEPS}; true) & echo RESULT tflops=2; wait"))
    place.printed(run)
    grandchild = place.number("grandchild")
    assert not place.is_gone(grandchild)
    assert place.cli("cancel", run.entry).code == 0
    done = place.ended(run)
    assert done.exit.interrupted
    assert samples(done) == [[2.0]]
    assert wait_for(lambda: place.is_gone(grandchild))


def test_output_is_followed(place: Place) -> None:
    run = place.send(*sh("echo one; until [ -e go ]; do sleep 0.02; done; echo two"))
    place.printed(run, "one")
    assert place.output(run) == "one\n"
    (place.folder / "go").touch()
    followed = place.cli("wait", run.entry, "--follow").out.splitlines()
    assert followed[:-1] in (["one", "two"], ["two"])
    assert place.log(run) == b"one\ntwo\n"


@pytest.mark.wide
def test_100_megabytes_of_output(place: Place) -> None:
    run = place.send(*sh("yes 0123456789abcdef 0123456789abcdef | head -c 104857600; echo; echo RESULT tflops=3"))
    done = place.ended(run, within_s=900.0)  # on a busy machine
    assert done.output.log_bytes == len(place.log(run)) == 104857600 + len("\nRESULT tflops=3\n")
    assert samples(done) == [[3.0]]
    assert [problem for problem in done.problems if "a pipe" not in problem["text"]] == []


def test_a_secret_is_in_no_file(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", SECRET)
    other = SECRET[::-1] + "A"
    script = 'echo "$HF_TOKEN $API_KEY $1"; echo "RESULT tflops=1 token=$API_KEY"; until [ -e go ]; do sleep 0.02; done'
    words = ("sh", "-c", script, "sh", f"--token={SECRET}", "--password", other + "B")
    run = place.send(*words, options=("--env", f"API_KEY={other}", "--env", "MODE=fast"))
    place.printed(run)
    places = [folder for folder in (place.folder, place.far) if folder is not None]
    for is_over in (False, True):
        if is_over:
            (place.folder / "go").touch()
            done = place.ended(run)
        for needle in (SECRET, other):
            assert [files_with(folder, needle.encode()) for folder in places] == [[] for _ in places]
    assert exit_of(done) == {}
    assert place.log(run).startswith(b"$HF_TOKEN $API_KEY --token=$HF_TOKEN\n"), "the command had them"
    assert done.env.declared == {"API_KEY": "$API_KEY", "MODE": "fast"}


def test_a_client_that_is_killed_loses_nothing_and_starts_nothing_twice(place: Place) -> None:
    words = [*LOGBOOK, "run", *(place.on or ("--detach",)), "--", *sh(WAITS)]
    client = subprocess.Popen(words, cwd=place.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    place.number("worker")
    client.send_signal(signal.SIGKILL)
    client.wait()
    [run] = place.store.runs("MOE-000")
    assert place.until(run, "running")
    (place.folder / "go").touch()
    done = place.ended(run)
    assert exit_of(done) == {}
    assert samples(done) == [[1.0]]
    assert (place.folder / "started").read_text() == "x\n"


def test_who_follows_a_run_that_another_command_takes_in_sees_it_all(place: Place) -> None:
    words = ["run", "--detach", *place.on, "--", *sh(f"echo first; {WAITS}")]
    assert place.cli(*words).code == 0
    follower = subprocess.Popen([*LOGBOOK, "wait", "MOE-000", "--follow"], cwd=place.folder, stdout=subprocess.PIPE)
    assert follower.stdout is not None
    os.set_blocking(follower.stdout.fileno(), True)
    assert follower.stdout.readline() == b"first\n"
    (place.folder / "go").touch()
    [run] = place.store.runs("MOE-000")
    place.until(run, "finished")
    out, _ = follower.communicate(timeout=60)
    assert follower.returncode == 0
    assert out.startswith(b"RESULT tflops=1\nMOE-000: ")


def test_a_log_that_was_changed_is_named(place: Place) -> None:
    run = place.send(*sh(f"{WAITS}"))
    worker = place.number("worker")
    left = place.left()
    (place.folder / "go").touch()
    wait_for(lambda: place.is_gone(worker))
    with (left / "output.log").open("ab") as log:
        log.write(b"more\n")
    [problem] = [p.text for p in place.ended(run).problems]
    assert "digest" in problem


def test_an_end_that_comes_late_takes_the_place_of_one_that_nobody_saw(place: Place) -> None:
    """Somebody gave the run up; its worker comes back."""
    run = place.send(*sh(WAITS))
    place.until(run, "running")
    worker, path = place.number("worker"), place.store.run_path(run.entry, run.run)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"exit": {"lost": True}}))
    (place.folder / "go").touch()
    wait_for(lambda: place.is_gone(worker))
    deadline = time.monotonic() + 20
    while exit_of(found := place.read(run)) and time.monotonic() < deadline:
        place.cli("status")
    assert (exit_of(found), len(found.rows)) == ({}, 1)
    assert place.cli("status").code == 0
    assert place.read(run) == found
