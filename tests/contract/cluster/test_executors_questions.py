"""What a client asks of another machine is answered by a program for each question, which may end at any time."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import psutil
import pytest

from tests.conftest import Cli
from tests.contract.e2e.e2e_support import LOGBOOK
from tests.contract.running.executors.conftest import Place, exit_of, far_place, samples, sh, wait_for

# Each program that is started there leaves a line.
SSH = '#!/bin/sh\nfor word; do :; done\necho "$word" | head -n 1 >> {calls}\nexec sh -c "$word"\n'
LINES = 12


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    return tmp_path / "calls"


@pytest.fixture
def far(started: Cli, folder: Path, tmp_path: Path, calls: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    place = far_place(started, folder, tmp_path / "far", monkeypatch, ssh=SSH.format(calls=calls))
    # Now the code of workers is there.
    assert place.cli("run", *place.on, "--", "true").code == 0
    calls.unlink()
    return place


def answering(client: int) -> list[psutil.Process]:
    """The programs that answer the questions of a client."""
    below = psutil.Process(client).children(recursive=True)
    return [one for one in below if "-IS" in one.cmdline() and "far import answer" in " ".join(one.cmdline())]


def test_a_run_that_is_followed_costs_a_question_a_second(far: Place, calls: Path) -> None:
    script = f"for i in $(seq {LINES}); do echo $i; sleep 0.2; done; echo RESULT tflops=1"
    began = time.monotonic()
    answer = far.cli("run", *far.on, "--", *sh(script))
    assert answer.code == 0
    assert "RESULT tflops=1" in answer.out
    its_states_and_removal = 6
    assert len(calls.read_text().splitlines()) <= its_states_and_removal + time.monotonic() - began


def test_runs_that_are_waited_for_cost_one_question_together(far: Place, calls: Path) -> None:
    runs = [far.send(*sh("until [ -e go ]; do sleep 0.1; done; echo RESULT tflops=2")) for _ in range(3)]
    calls.unlink()
    words = [*LOGBOOK, "wait", *(run.entry for run in runs), "--timeout", "60s"]
    began = time.monotonic()
    client = subprocess.Popen(words, cwd=far.folder, stdout=subprocess.DEVNULL)
    try:
        wait_for(lambda: calls.exists() and len(calls.read_text().splitlines()) > 1)
        assert len(calls.read_text().splitlines()) <= 2 + (time.monotonic() - began) / 2, "one each two seconds"
    finally:
        (far.folder / "go").touch()
        assert client.wait(60) == 0
    assert [samples(far.read(run)) for run in runs] == [[[2.0]]] * 3


def test_a_program_that_ends_is_started_again(far: Place, calls: Path) -> None:
    """Whatever it was asked: the output comes whole, and the run is made once."""
    words = [*LOGBOOK, "run", *far.on, "--", *sh("echo x >> came; until [ -e go ]; do echo y; sleep 0.2; done; exit 3")]
    client = subprocess.Popen(words, cwd=far.folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        wait_for((far.folder / "came").exists)
        for program in wait_for(lambda: answering(client.pid)):
            program.kill()
        asked = len(calls.read_text().splitlines())
        wait_for(lambda: len(calls.read_text().splitlines()) > asked)
    finally:
        (far.folder / "go").touch()
        out, _ = client.communicate(timeout=60)
    [run] = far.store.runs(far.store.entry_ids()[-1])
    assert exit_of(run) == {"code": 3}
    assert out == far.log(run)
    assert (far.folder / "came").read_text().split() == ["x"]
