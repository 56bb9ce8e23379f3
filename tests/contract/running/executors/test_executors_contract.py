"""What every executor keeps, from the double to the real ones: real commands, real ends."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

import pytest

from logbook_agent.model.record import run_state
from logbook_agent.model.run import Exit
from logbook_agent.running.executors import submission
from logbook_agent.running.worker.work import Work
from logbook_agent.store.spool import SENT, Spool
from tests.contract.running.executors.conftest import Place, sh, wait_for
from tests.seams import Store

SECRET = "hf_" + "Q7x" * 12


def files_with(folder: Path, needle: bytes) -> list[str]:
    return [str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file() and needle in p.read_bytes()]


@pytest.mark.slow
def test_success(place: Place) -> None:
    run = place.send(*sh("echo RESULT tflops=1.5 mode=a; echo oops >&2"))
    assert run.exit is None
    assert run.executor == place.name
    done = place.ended(run)
    assert done.exit is not None
    assert done.exit.code == 0
    assert done.duration_s is not None
    assert [row.metrics["tflops"].samples for row in done.rows] == [(1.5,)]
    assert done.host.name == place.host
    assert done.software["logbook-agent"]
    assert done.child is not None
    assert sorted(place.log(run).splitlines()) == [b"RESULT tflops=1.5 mode=a", b"oops"]
    assert done.problems == ()
    assert not place.spool(run).folder.exists()
    assert place.book.spools() == []


@pytest.mark.slow
def test_the_file_of_a_benchmark_tool_is_read_where_it_is(place: Place) -> None:
    written = """echo '{"results": [{"command": "x", "times": [1, 2]}]}' >"""
    done = place.ended(place.send(*sh(f"{written} {{file}}"), read="hyperfine"))
    assert [row.metrics["time_s"].samples for row in done.rows] == [(1.0, 2.0)]
    assert done.problems == ()


@pytest.mark.slow
def test_failure_with_its_code(place: Place) -> None:
    done = place.ended(place.send(*sh("echo RESULT tflops=1.5; exit 3")))
    assert done.exit is not None
    assert done.exit.code == 3
    assert len(done.rows) == 1
    assert run_state(done, place.book.life) == "failed"


@pytest.mark.slow
def test_a_signal(place: Place) -> None:
    done = place.ended(place.send(*sh("kill -SEGV $$")))
    assert done.exit is not None
    assert done.exit.signal == "SIGSEGV"


@pytest.mark.slow
def test_files_that_it_left_come_back_whole(place: Place) -> None:
    data = bytes(range(256)) * 8192
    script = (
        "dd if=/dev/zero of=model.bin bs=1000000 count=11 2>/dev/null; echo ARTIFACT model.bin; echo ARTIFACT a.txt"
    )
    script += "; echo lr=0.1 > a.txt"
    code = "open('x.bin', 'wb').write(bytes(range(256)) * 8192)"
    run = place.send(*sh(f'{script}; python3 -c "{code}"; echo ARTIFACT x.bin; echo ARTIFACT ../y; exit 3'))
    done = place.ended(run)
    assert done.exit is not None
    assert done.exit.code == 3
    large, text, binary = done.artifacts
    assert (large.name, large.kept, large.bytes) == ("model.bin", None, 11_000_000)
    assert large.place is not None
    assert large.place.startswith(f"{place.host}:")
    folder = place.book.run_folder(run.entry, run.run)
    assert [(folder / str(one.kept)).read_bytes() for one in (text, binary)] == [b"lr=0.1\n", data]
    assert done.problems == ("not kept: ../y: it is not below the working folder of the command",)
    assert place.book.spools() == []


@pytest.mark.slow
def test_timeout(place: Place) -> None:
    done = place.ended(place.send(*sh("echo RESULT tflops=2; exec sleep 60"), timeout_s=0.4))
    assert done.exit is not None
    assert done.exit.timeout
    assert len(done.rows) == 1
    assert run_state(done, place.book.life) == "timeout"


@pytest.mark.slow
def test_stop_ends_the_grandchildren_too(place: Place) -> None:
    run = place.send(*sh("sleep 60 & echo $! > grandchild; (sleep 61; true) & echo RESULT tflops=2; wait"))
    wait_for(lambda: b"RESULT" in place.follow(run, 0).output)
    grandchild = int((place.folder / "grandchild").read_text())
    assert not place.is_gone(grandchild)
    place.executor.stop(place.spool(run))
    done = place.ended(run)
    assert done.exit is not None
    assert done.exit.interrupted
    assert len(done.rows) == 1
    assert wait_for(lambda: place.is_gone(grandchild))


@pytest.mark.slow
def test_output_is_followed_by_its_place(place: Place) -> None:
    run = place.send(*sh("echo one; until [ -e go ]; do sleep 0.02; done; echo two"))
    assert wait_for(lambda: place.follow(run, 0).output) == b"one\n"
    assert place.follow(run, 4).output == b""
    assert place.follow(run).output == b""
    (place.folder / "go").touch()
    assert wait_for(lambda: place.follow(run, 4).output) == b"two\n"
    place.ended(run)


@pytest.mark.slow
@pytest.mark.wide
def test_100_megabytes_of_output(place: Place) -> None:
    run = place.send(*sh("yes 0123456789abcdef 0123456789abcdef | head -c 104857600; echo; echo RESULT tflops=3"))
    done = place.ended(run)
    assert done.output is not None
    assert done.output.log_bytes == len(place.log(run)) == 104857600 + len("\nRESULT tflops=3\n")
    assert len(done.rows) == 1
    assert done.problems == ()


@pytest.mark.slow
def test_a_secret_is_in_no_file(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", SECRET)
    other = SECRET[::-1] + "A"
    script = 'echo "$HF_TOKEN $API_KEY $1"; echo "RESULT tflops=1 token=$API_KEY"; until [ -e go ]; do sleep 0.02; done'
    words = ("sh", "-c", script, "sh", f"--token={SECRET}", "--password", other + "B")
    run = place.send(*words, env={"API_KEY": other, "MODE": "fast"})
    wait_for(lambda: place.follow(run, 0).output)
    for needle in (SECRET, other):
        assert (
            files_with(place.folder, needle.encode())
            == files_with(Store(place.folder).state_folder, needle.encode())
            == []
        )
    (place.folder / "go").touch()
    done = place.ended(run)
    for needle in (SECRET, other):
        assert (
            files_with(place.folder, needle.encode())
            == files_with(Store(place.folder).state_folder, needle.encode())
            == []
        )
    assert done.exit is not None
    assert done.exit.code == 0
    assert place.log(run).startswith(b"$HF_TOKEN $API_KEY --token=$HF_TOKEN\n"), "the command had them"
    assert done.env.declared == {"API_KEY": "$API_KEY", "MODE": "fast"}


@pytest.mark.slow
def test_a_lost_reply_starts_no_second_attempt(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The submission arrives, its answer does not; the same one is sent again."""
    kind = type(place.executor)
    start = kind.start
    sent: list[tuple[Work, Mapping[str, str]]] = []

    def unanswered(self: object, spool: Spool, claim: int, work: Work, secrets: Mapping[str, str]) -> None:
        sent.append((work, secrets))
        start(self, spool, claim, work, secrets)  # type: ignore[arg-type]
        raise ConnectionResetError

    monkeypatch.setattr(kind, "start", unanswered)
    script = "echo x >> started; until [ -e go ]; do sleep 0.02; done; echo RESULT tflops=1"
    with pytest.raises(ConnectionResetError):
        place.send(*sh(script))
    monkeypatch.setattr(kind, "start", start)
    [spool] = place.book.spools()
    run = place.book.runs("MOE-000")[0]
    place.until(run, "running")
    if not spool.has(SENT):
        assert spool.claim() is None, "the worker holds it"
    # Whoever comes with a claim of its own all the same starts nothing either.
    other = Spool(folder=place.folder / "elsewhere", within=place.folder)
    other.make()
    with other.claimed() as claim:
        assert claim is not None
        place.executor.start(spool, claim, *sent[0])
    (place.folder / "go").touch()
    done = place.ended(run)
    assert done.exit is not None
    assert done.exit.code == 0
    assert (place.folder / "started").read_text() == "x\n"


@pytest.mark.slow
def test_a_worker_that_cannot_start(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that the work goes by is not set where the worker runs."""
    sealed = submission.sealed
    monkeypatch.setattr(submission, "sealed", lambda work, redactor: (sealed(work, redactor)[0], {}))
    run = place.send(*sh("touch ran"), env={"API_KEY": SECRET})
    done = place.ended(run)
    assert run_state(done, place.book.life) == "never-started"
    assert done.duration_s is None
    assert done.exit is not None
    assert not (place.folder / "ran").exists()


@pytest.mark.slow
def test_taking_in_again_changes_nothing(place: Place) -> None:
    run = place.send(*sh("echo RESULT tflops=1"))
    done = place.ended(run)
    assert place.collected(run) == done


@pytest.mark.slow
def test_a_changed_log_is_told(place: Place) -> None:
    run = place.send(*sh("echo RESULT tflops=1"))
    place.until(run, "ended")
    with (place.left(run) / "output.log").open("ab") as log:
        log.write(b"more\n")
    assert place.collected(run).problems == ("the log was changed after the run: its digest differs",)


@pytest.mark.slow
def test_the_first_end_stands(place: Place) -> None:
    """Somebody gave the run up; its worker comes back."""
    run = place.send(*sh("until [ -e go ]; do sleep 0.02; done; echo RESULT tflops=1"))
    place.until(run, "running")
    given_up = place.book.write_run(dataclasses.replace(place.read(run), exit=Exit(lost=True)))
    (place.folder / "go").touch()
    place.until(run, "ended")
    found = place.collected(run)
    assert found.exit == given_up.exit
    assert found.rows == ()
    assert found.problems[-1].startswith(
        "late: a second result, with 1 row, arrived after the first; it is kept in backups/late-MOE-000.01-"
    )
    assert place.collected(run) == found
