"""Leases against a stand-in for a cloud's API and for `dev_tpu.py`, and what goes wrong with both."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import Cli, FixedClock
from tests.contract.running.executors.conftest import FAKES, settings, wait_for
from tests.seams import Store

pytestmark = pytest.mark.slow

SETTINGS = """
[allocators.slice]
kind = "command"
request = ["alloc", "create", "{id}", "--ttl", "{ttl}"]
poll = ["alloc", "show", "{id}"]
release = ["alloc", "delete", "{id}"]
states = { PROVISIONING = "waiting", ACTIVE = "active", SUSPENDED = "suspended" }
devices = 4
ttl_s = 3600

[allocators.dev]
kind = "command"
request = ["sh", "-c", "setsid timeout -s INT {ttl} $TPU allocate --tpu-type v5p-8 > /dev/null 2>&1 &"]
poll = ["sh", "-c", "$TPU status > /dev/null && echo active || echo waiting"]
release = ["sh", "-c", "$TPU release"]
"""


@pytest.fixture
def cloud(started: Cli, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """The command line, where the stand-ins are the cloud."""
    monkeypatch.setenv("PATH", f"{FAKES}{os.pathsep}{os.environ['PATH']}")
    for name in ("FAKE_ALLOC", "FAKE_IRIS", "FAKE_DEV_TPU"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    settings().write_text(SETTINGS)
    return started


def there(tmp_path: Path) -> list[str]:
    """What the cloud holds."""
    return sorted(path.stem for path in (tmp_path / "fake_alloc").glob("*.json"))


def open_lease(cloud: Cli) -> str:
    """The ID of the one lease."""
    [one] = cloud("lease", "list", "--json").data["leases"]
    found: str = one["id"]
    return found


def test_a_lease_from_request_to_release(cloud: Cli, folder: Path, tmp_path: Path, clock: FixedClock) -> None:
    asked = cloud("lease", "request", "slice", "--for", "2h", "--json").data["leases"][0]
    assert (asked["state"], asked["until"]) == ("waiting", "2026-02-10T12:43:00+00:00")
    assert there(tmp_path) == [asked["id"]]
    assert cloud("lease", "list").out.split()[2] == "active"
    clock.tick(30)
    assert cloud("lease", "request", "slice").code == 2
    assert "2.00 device hours" in cloud("lease", "release", "slice").out
    assert there(tmp_path) == []
    assert cloud("lease", "release", "slice").code == 0, "again, and nothing happens"
    for verb in ("release", "list"):
        typo = cloud("lease", verb, "slise")
        assert (typo.code, "'slise'" in typo.err, "slice" in typo.err) == (2, True, True)
    assert cloud("lease", "list").out.endswith("total: 2.00 device hours\n")


def test_a_lost_reply_holds_nothing_that_is_not_known(
    cloud: Cli, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_ALLOC_FAULTS", "reply-lost")
    assert "waiting" in cloud("lease", "request", "slice").out
    assert there(tmp_path) == [open_lease(cloud)]
    assert "released" in cloud("lease", "release", "slice").out
    assert there(tmp_path) == []


def test_an_allocator_without_an_answer(
    cloud: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch, clock: FixedClock
) -> None:
    monkeypatch.setenv("FAKE_ALLOC_FAULTS", "unreachable")
    done = cloud("lease", "request", "slice")
    assert "requested" in done.out
    assert done.err
    monkeypatch.delenv("FAKE_ALLOC_FAULTS")
    assert "requested" in cloud("lease", "list").out, "it may still come"
    clock.tick(10)
    assert "failed" in cloud("lease", "list").out


def test_a_request_without_an_answer_in_time_is_asked_for_again(
    cloud: Cli, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: FixedClock
) -> None:
    """`poll` answers that there is no such lease: it may be created later."""
    settings().write_text(SETTINGS.replace("ttl_s = 3600", "ttl_s = 3600\ntimeout_s = 0.7"))
    monkeypatch.setenv("FAKE_ALLOC_FAULTS", "late")
    done = cloud("lease", "request", "slice")
    assert "requested" in done.out
    assert done.err
    (tmp_path / f"fake_alloc/{open_lease(cloud)}.json").write_text(
        json.dumps({"until": time.time() + 3600, "asked": 1})
    )
    assert "active" in cloud("lease", "list").out
    assert "released" in cloud("lease", "release", "slice").out


def test_a_failed_release_is_a_leak_until_it_succeeds(
    cloud: Cli, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cloud("lease", "request", "slice")
    cloud("lease", "list")
    monkeypatch.setenv("FAKE_ALLOC_FAULTS", "delete-fails")
    done = cloud("lease", "release", "slice")
    assert done.code != 0
    assert "slice" in done.err
    assert cloud("doctor").code == 1
    assert cloud("lease", "release", "slice").code == 0
    assert there(tmp_path) == []
    assert cloud("doctor").code == 0


def test_doctor_names_a_lease_whose_time_is_over(cloud: Cli, folder: Path, clock: FixedClock) -> None:
    cloud("lease", "request", "slice")
    clock.tick(61)
    assert "2026-02-10T11:43:00+00:00" in cloud("doctor").out


def test_a_budget_that_is_spent_lends_nothing_more(cloud: Cli, folder: Path, clock: FixedClock) -> None:
    book = Store(folder)
    book.header_path.write_text(f"{book.header_path.read_text()}device_hours: 3.0\n")
    cloud("render")
    assert "3 device hours" in book.view_path.read_text()
    cloud("lease", "request", "slice")
    assert cloud("lease", "list").out.endswith("total: 0.00 of 3 device hours\n")
    clock.tick(45)
    cloud("lease", "release", "slice")
    refused = cloud("lease", "request", "slice")
    assert (refused.code != 0, "3 device hours" in refused.err) == (True, True)


@pytest.mark.wide
def test_a_development_tpu(cloud: Cli, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its `allocate` holds the TPU as long as it runs: it is started in the background."""
    monkeypatch.setenv("TPU", f"{sys.executable} {FAKES}/dev_tpu.py --config c.yaml --tpu-name mine")
    cloud("lease", "request", "dev", "--for", "1m")
    wait_for(lambda: cloud("lease", "list").out.split()[2] == "active")
    assert cloud("lease", "release", "dev").code == 0
    assert not (tmp_path / "fake_dev_tpu/mine.json").exists()


@pytest.mark.parametrize(
    "changed", [{"until": "garbage"}, {"active_since": "9999-12-31T23:59:59-23:59"}, {"devices": -100}, {"format": "x"}]
)
@pytest.mark.sample(2)
def test_a_lease_that_somebody_changed_takes_nothing_off_the_budget(
    changed: dict[str, object], cloud: Cli, folder: Path
) -> None:
    cloud("lease", "request", "slice")
    [file] = Store(folder).folder.glob("leases/*.json")
    file.write_text(json.dumps(json.loads(file.read_text()) | changed))
    for command in (["lease", "list"], ["lease", "request", "slice"]):
        done = cloud(*command)
        assert (done.code, file.name in done.err) == (3, True)
    assert cloud("doctor").code == 1
