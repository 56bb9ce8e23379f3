"""The contract of all executors, kept by a real Ray; and what is only true of runs that go by HTTP."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.conftest import Cli
from tests.contract.engines.ray_engine import SECRET_NAMES, Ray, secret
from tests.contract.engines.ray_place import place_on
from tests.contract.engines.ray_relay import Relay, relayed
from tests.contract.running.executors.conftest import Place, exit_of, samples, sh, wait_for
from tests.contract.running.executors.test_executors_contract import *  # noqa: F403
from tests.contract.running.executors.test_executors_contract import WAITS, files_with

# Nobody may change what a finished job left: it is fetched by who sees its end.
del globals()["test_a_log_that_was_changed_is_named"]


@pytest.fixture
def place(ray: Ray, started: Cli, folder: Path) -> Place:
    return place_on(ray, started, folder)


@pytest.fixture
def relay(ray: Ray, started: Cli, folder: Path) -> Iterator[Relay]:
    """What loses submissions on their way to Ray."""
    with relayed(ray.address) as found:
        place_on(ray, started, folder, address=found.address)
        yield found


def test_a_secret_is_in_no_file(place: Place, ray: Ray, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name is sent; its value stands where the worker runs, and in no file of ours or of Ray's."""
    for name in SECRET_NAMES:
        monkeypatch.setenv(name, secret(name))
    script = 'echo "$HF_TOKEN $NODE_API_KEY"; echo RESULT t=$NODE_API_KEY; until [ -e go ]; do sleep 0.1; done'
    run = place.send(*sh(script), options=("--env", f"NODE_API_KEY={secret('NODE_API_KEY')}", "--env", "MODE=fast"))
    place.printed(run)
    jobs = requests.get(f"{ray.address}/api/jobs/", timeout=10).text
    (place.folder / "go").touch()
    done = place.ended(run)
    for name in SECRET_NAMES:
        needle = secret(name)
        assert needle not in jobs
        assert files_with(place.folder, needle.encode()) == []
        assert files_with(ray.folder.parent, needle.encode()) == []
    assert exit_of(done) == {}
    assert place.log(run).startswith(b"$HF_TOKEN $NODE_API_KEY\n"), "the command had them"
    assert done.env.declared == {"NODE_API_KEY": "$NODE_API_KEY", "MODE": "fast"}


def test_a_secret_word_is_not_sent(place: Place, ray: Ray) -> None:
    def jobs() -> set[str]:
        return {job["submission_id"] for job in requests.get(f"{ray.address}/api/jobs/", timeout=10).json()}

    before = jobs()
    run = place.send("sh", "-c", "true", f"--token={secret('HF_TOKEN')}")
    assert exit_of(run) == {"never_started": True}
    assert jobs() == before


def test_a_lost_reply_starts_no_second_attempt(place: Place, relay: Relay) -> None:
    """The submission arrives, its answer does not."""
    relay.loses = "answer"
    run = place.send(*sh(WAITS))
    relay.loses = ""
    assert run.exit is None
    place.until(run, "running")
    (place.folder / "go").touch()
    assert exit_of(place.ended(run)) == {}
    assert (place.folder / "started").read_text() == "x\n"


def test_a_submission_that_never_arrived_does_not_come_later(place: Place, relay: Relay) -> None:
    relay.loses = "request"
    run = place.send(*sh(WAITS))
    relay.loses = ""
    place.ended(run)
    assert place.state(run) == "never-started"
    assert relay.late() >= 400, "it comes late, and Ray refuses it"
    assert not (place.folder / "started").exists()


def test_resources_that_no_node_has(place: Place, ray: Ray, started: Cli, folder: Path) -> None:
    """A run waits for them, says so, and can be stopped."""
    place_on(ray, started, folder, resources={"TPU": 4})
    checked = started("executors", "ray", "--json")
    assert (checked.code, "TPU" in checked.data["executors"][0]["problem"]) == (1, True)
    run = place.send("touch", "came")
    assert "TPU" in wait_for(lambda: place.said(run))
    assert started("cancel", run.entry).code == 0
    assert place.state(run) == "never-started"
    assert not (folder / "came").exists()


def test_the_code_is_what_was_synced(place: Place, ray: Ray, started: Cli, folder: Path, git: object) -> None:
    """A file that git does not know yet goes along; the command has the synced files for itself."""
    place_on(ray, started, folder, sync=True)
    (folder / "new.sh").write_text("echo RESULT tflops=$(cat number); echo 9 > number; echo kept > written\n")
    (folder / "number").write_text("7\n")
    runs = [place.send("bash", "new.sh"), place.send("bash", "new.sh")]
    (folder / "number").write_text("8\n")
    done, other = (place.ended(run) for run in runs)
    assert [samples(done), samples(other)] == [[[7.0]], [[7.0]]]
    assert done.problems == other.problems
    assert done.problems[0].text.endswith("number")
    assert done.code.synced
    slot = ray.folder / "trees" / done.code.synced / "0"
    assert (slot / "new.sh").is_file()
    assert {"number", "written"} <= {path.name for path in slot.iterdir()}
    assert os.path.samefile(done.cwd or ".", folder) or done.cwd == "."  # noqa: PTH121
