"""The contract of all executors, kept by a real Ray; and what is only true of runs that go by HTTP."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import requests

from logbook_agent.cluster.ray_api import Jobs
from logbook_agent.model.errors import ToolError
from logbook_agent.model.record import run_state
from logbook_agent.model.run import Exit
from logbook_agent.running.executors.contract import NoAnswer
from logbook_agent.running.order import work_of
from tests.conftest import Cli
from tests.contract.engines.ray_engine import SECRET_NAMES, Ray, secret
from tests.contract.engines.ray_place import place_on
from tests.contract.running.executors.conftest import Place, sh, wait_for
from tests.contract.running.executors.test_executors_contract import (  # noqa: F401
    files_with,
    test_100_megabytes_of_output,
    test_a_signal,
    test_a_worker_that_cannot_start,
    test_failure_with_its_code,
    test_output_is_followed_by_its_place,
    test_stop_ends_the_grandchildren_too,
    test_success,
    test_taking_in_again_changes_nothing,
    test_the_first_end_stands,
    test_timeout,
)

WAITS = "echo x >> started; until [ -e go ]; do sleep 0.02; done; echo RESULT tflops=1"


@pytest.fixture
def place(ray: Ray, started: Cli, folder: Path) -> Place:
    return place_on(ray, folder)


def test_a_secret_is_in_no_file(place: Place, ray: Ray, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name is sent; its value stands where the worker runs, and in no file of ours or of Ray's."""
    for name in SECRET_NAMES:
        monkeypatch.setenv(name, secret(name))
    script = 'echo "$HF_TOKEN $NODE_API_KEY"; echo RESULT t=$NODE_API_KEY; until [ -e go ]; do sleep 0.1; done'
    run = place.send(*sh(script), env={"NODE_API_KEY": secret("NODE_API_KEY"), "MODE": "fast"})
    wait_for(lambda: place.follow(run, 0).output)
    jobs = requests.get(f"{ray.address}/api/jobs/", timeout=10).text
    (place.folder / "go").touch()
    done = place.ended(run)
    for name in SECRET_NAMES:
        needle = secret(name)
        assert needle not in jobs
        assert files_with(place.folder, needle.encode()) == []
        assert files_with(ray.folder.parent, needle.encode()) == []
    assert done.exit == Exit(code=0)
    assert place.log(run).startswith(b"$HF_TOKEN $NODE_API_KEY\n"), "the command had them"
    assert done.env.declared == {"NODE_API_KEY": "$NODE_API_KEY", "MODE": "fast"}


def test_a_secret_word_is_not_sent(place: Place, ray: Ray) -> None:
    before = requests.get(f"{ray.address}/api/jobs/", timeout=10).json()
    run = place.send("sh", "-c", "true", f"--token={secret('HF_TOKEN')}")
    assert run.exit == Exit(never_started=True)
    assert run.problems[0].startswith("never started: the command holds a secret")
    assert requests.get(f"{ray.address}/api/jobs/", timeout=10).json() == before


def test_a_lost_reply_starts_no_second_attempt(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The submission arrives, its answer does not."""
    submit = Jobs.submit

    def unanswered(self: Jobs, job: str, entrypoint: str) -> bool:
        submit(self, job, entrypoint)
        raise NoAnswer("Ray does not answer", cause="ReadTimeout")

    monkeypatch.setattr(Jobs, "submit", unanswered)
    run = place.send(*sh(WAITS))
    monkeypatch.setattr(Jobs, "submit", submit)
    assert run.exit is None
    place.until(run, "running")
    with place.spool(run).claimed() as claim:
        assert claim is not None
        workspace = place.workspace
        plan = place.plan(workspace, *sh(WAITS))
        place.executor.start(place.spool(run), claim, work_of(workspace, place.book, plan, run.run), {})
    (place.folder / "go").touch()
    assert place.ended(run).exit == Exit(code=0)
    assert (place.folder / "started").read_text() == "x\n"


def test_a_submission_that_never_arrived_does_not_come_later(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    submit, kept = Jobs.submit, []

    def swallowed(self: Jobs, job: str, entrypoint: str) -> bool:
        kept.append((self, job, entrypoint))
        raise NoAnswer("Ray does not answer", cause="ReadTimeout")

    monkeypatch.setattr(Jobs, "submit", swallowed)
    run = place.send(*sh(WAITS))
    monkeypatch.setattr(Jobs, "submit", submit)
    done = place.ended(run)
    assert run_state(done, place.book.life) == "never-started"
    assert submit(*kept[0]) is False, "it comes late, and Ray refuses it"
    assert not (place.folder / "started").exists()


def test_resources_that_no_node_has(place: Place, ray: Ray, folder: Path) -> None:
    """A run waits for them, says so, and can be stopped."""
    place_on(ray, folder, resources={"TPU": 4})
    with pytest.raises(ToolError, match=r"no node of .* offers TPU"):
        place.executor.hello()
    run = place.send("touch", "came")
    assert "TPU" in wait_for(lambda: place.follow(run).said)
    place.executor.stop(place.spool(run))
    assert run_state(place.ended(run), place.book.life) == "never-started"
    assert not (folder / "came").exists()


def test_the_code_is_what_was_synced(place: Place, ray: Ray, folder: Path, git: object) -> None:
    """A file that git does not know yet goes along; the command runs in a copy of the synced files that is its own."""
    place_on(ray, folder, sync=True)
    (folder / "new.sh").write_text("echo RESULT tflops=$(cat number); echo 9 > number; echo kept > written\n")
    (folder / "number").write_text("7\n")
    runs = [place.send("bash", "new.sh"), place.send("bash", "new.sh")]
    (folder / "number").write_text("8\n")
    done, other = (place.ended(run) for run in runs)
    assert [row.metrics["tflops"].samples for row in (*done.rows, *other.rows)] == [(7.0,), (7.0,)]
    assert done.problems == other.problems == ("the command changed 1 synced file, in its own copy: number",)
    assert done.code is not None
    assert done.code.synced
    assert (ray.folder / "trees" / done.code.synced / "new.sh").is_file()
    left = [path.name for path in (ray.folder / "spools").glob("*/tree/*")]
    assert {"number", "written"} <= {*left}
    assert os.path.samefile(done.cwd or ".", folder) or done.cwd == "."  # noqa: PTH121
