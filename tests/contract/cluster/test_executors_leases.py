"""Leases against a stand-in for a cloud's API and for `dev_tpu.py`, and what goes wrong with both."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from logbook_agent.cluster.leases import Lease, leases, write_lease
from tests.conftest import Cli, FixedClock
from tests.contract.running.executors.conftest import FAKES, wait_for
from tests.seams import Store

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
NOON = datetime(2026, 2, 10, 12, tzinfo=UTC)


@pytest.fixture
def cloud(started: Cli, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """The command line, where the stand-ins are the cloud."""
    monkeypatch.setenv("PATH", f"{FAKES}{os.pathsep}{os.environ['PATH']}")
    for name in ("FAKE_ALLOC", "FAKE_IRIS", "FAKE_DEV_TPU"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    settings = tmp_path / "config/logbook-agent/config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(SETTINGS)
    return started


def there(tmp_path: Path) -> list[str]:
    """What the cloud holds."""
    return sorted(path.stem for path in (tmp_path / "fake_alloc").glob("*.json"))


def lease(**values: object) -> Lease:
    plain = Lease(id="a", allocator="slice", devices=4, requested=NOON.isoformat(), until=NOON.isoformat())
    return dataclasses.replace(plain, until=(NOON + timedelta(hours=8)).isoformat(), **values)  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_lease_from_request_to_release(cloud: Cli, folder: Path, tmp_path: Path, clock: FixedClock) -> None:
    asked = cloud("lease", "request", "slice", "--for", "2h", "--json").data["leases"][0]
    assert (asked["state"], asked["until"]) == ("waiting", "2026-02-10T12:43:00+00:00")
    assert there(tmp_path) == [asked["id"]]
    assert cloud("lease", "list").out.split()[2] == "active"
    clock.tick(30)
    assert "slice already has an open lease" in cloud("lease", "request", "slice").err
    assert "released: 4 devices, 2.00 device hours" in cloud("lease", "release", "slice").out
    assert there(tmp_path) == []
    assert cloud("lease", "release", "slice").out == "slice has no open lease\n", "again, and nothing happens"
    for verb in ("release", "list"):
        typo = cloud("lease", verb, "slise")
        assert (typo.code, typo.err.splitlines()[0]) == (2, "error: no allocator 'slise'")
        assert "did you mean slice?" in typo.err
    assert cloud("lease", "list").out.endswith("total: 2.00 device hours\n")


@pytest.mark.slow
def test_a_lost_reply_holds_nothing_that_is_not_known(
    cloud: Cli, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_ALLOC_FAULTS", "reply-lost")
    assert "waiting" in cloud("lease", "request", "slice").out
    [one] = leases(Store(folder))
    assert there(tmp_path) == [one.id]
    assert "released" in cloud("lease", "release", "slice").out
    assert there(tmp_path) == []


@pytest.mark.slow
def test_an_allocator_without_an_answer(
    cloud: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch, clock: FixedClock
) -> None:
    monkeypatch.setenv("FAKE_ALLOC_FAULTS", "unreachable")
    done = cloud("lease", "request", "slice")
    assert "requested" in done.out
    assert "the request may or may not have arrived" in done.err
    monkeypatch.delenv("FAKE_ALLOC_FAULTS")
    assert "requested" in cloud("lease", "list").out, "it may still come"
    clock.tick(10)
    assert "failed" in cloud("lease", "list").out


def test_a_request_without_an_answer_in_time_is_asked_for_again(
    cloud: Cli, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: FixedClock
) -> None:
    """`poll` answers that there is no such lease: it may be created later."""
    settings = tmp_path / "config/logbook-agent/config.toml"
    settings.write_text(SETTINGS.replace("ttl_s = 3600", "ttl_s = 3600\ntimeout_s = 2.0"))
    monkeypatch.setenv("FAKE_ALLOC_FAULTS", "late")
    done = cloud("lease", "request", "slice")
    assert "requested (alloc did not answer within 2 s" in done.out
    assert "the request may or may not have arrived" in done.err
    [one] = leases(Store(folder))
    (tmp_path / f"fake_alloc/{one.id}.json").write_text(json.dumps({"until": time.time() + 3600, "asked": 1}))
    assert "active" in cloud("lease", "list").out
    assert "released" in cloud("lease", "release", "slice").out


@pytest.mark.slow
def test_a_failed_release_is_a_leak_until_it_succeeds(
    cloud: Cli, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cloud("lease", "request", "slice")
    cloud("lease", "list")
    monkeypatch.setenv("FAKE_ALLOC_FAULTS", "delete-fails")
    done = cloud("lease", "release", "slice")
    assert done.code != 0
    assert "was not released: the command of slice failed" in done.err
    found = cloud("doctor")
    assert "its release did not complete" in found.out
    assert cloud("lease", "release", "slice").code == 0
    assert there(tmp_path) == []
    assert cloud("doctor").out == "moe: nothing is wrong\n"


@pytest.mark.slow
def test_doctor_names_a_lease_whose_time_is_over(cloud: Cli, folder: Path, clock: FixedClock) -> None:
    cloud("lease", "request", "slice")
    clock.tick(61)
    assert "it expired at 2026-02-10T11:43:00+00:00" in cloud("doctor").out


@pytest.mark.slow
def test_a_budget_that_is_spent_lends_nothing_more(cloud: Cli, folder: Path, clock: FixedClock) -> None:
    book = Store(folder)
    book.change_header(lambda header: dataclasses.replace(header, device_hours=3.0))
    cloud("render")
    assert "- Budget: 3 device hours over all leases\n" in book.view_path.read_text()
    cloud("lease", "request", "slice")
    assert cloud("lease", "list").out.endswith("total: 0.00 of 3 device hours\n")
    clock.tick(45)
    cloud("lease", "release", "slice")
    assert "the budget of 3 device hours is spent" in cloud("lease", "request", "slice").err


@pytest.mark.slow
@pytest.mark.wide
def test_a_development_tpu(cloud: Cli, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its `allocate` holds the TPU as long as it runs: it is started in the background."""
    monkeypatch.setenv("TPU", f"{sys.executable} {FAKES}/dev_tpu.py --config c.yaml --tpu-name mine")
    cloud("lease", "request", "dev", "--for", "1m")
    wait_for(lambda: cloud("lease", "list").out.split()[2] == "active")
    assert cloud("lease", "release", "dev").code == 0
    assert not (tmp_path / "fake_dev_tpu/mine.json").exists()


def test_a_damaged_lease_is_told(started: Cli, folder: Path) -> None:
    book = Store(folder)
    one = write_lease(book, lease(id="moe-a-1"))
    assert leases(book) == [one]
    (book.folder / "leases/moe-a-1.json").write_text("{}")
    assert "leases" in started("lease", "list").err
    assert started("doctor").code == 1


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("until", "garbage", "isoformat string: 'garbage'"),
        ("until", "2026-12-23T10:00:00", "'2026-12-23T10:00:00' is not a time of a lease"),
        ("active_since", "9999-12-31T23:59:59-23:59", "is not a time of a lease"),
        ("devices", -100, "-100 devices"),
        ("active_s", -1e9, "active for -1000000000.0 s"),
        ("active_s", 1e308, "active for 1e+308 s"),
    ],
)
@pytest.mark.sample(2)
def test_a_lease_that_somebody_changed_takes_nothing_off_the_budget(
    key: str, value: object, said: str, cloud: Cli, folder: Path
) -> None:
    book = Store(folder)
    write_lease(book, lease())
    file = book.folder / "leases/a.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {key: value}))
    for command in (["lease", "list"], ["lease", "request", "slice"]):
        done = cloud(*command)
        assert (done.code, done.err.count(said)) == (3, 1), done.err
    assert said in cloud("doctor").out
