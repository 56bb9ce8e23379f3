"""Leases against a stand-in for a cloud's API and for `dev_tpu.py`, and what goes wrong with both."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from logbook_agent.model.lease import Lease
from logbook_agent.store.leases import leases, write_lease
from tests.conftest import Cli, FixedClock, book_of, confirm
from tests.executors.conftest import FAKES, wait_for
from tests.recipes.sweep_support import RECIPE, write_recipe

SETTINGS = """
[allocators.slice]
kind = "command"
request = ["alloc", "create", "{id}", "--ttl", "{ttl}"]
poll = ["alloc", "show", "{id}"]
renew = ["alloc", "extend", "{id}", "--ttl", "{ttl}"]
release = ["alloc", "delete", "{id}"]
states = { PROVISIONING = "waiting", ACTIVE = "active", SUSPENDED = "suspended" }
devices = 4
ttl_s = 3600

[allocators.dev]
kind = "dev-tpu"
program = ["uv", "run", "scripts/iris/dev_tpu.py", "--config", "c.yaml", "--tpu-name", "mine"]
tpu_type = "v5p-8"

[executors.cluster]
kind = "command"
preset = "iris"
program = ["iris", "--cluster=x"]
poll_s = 0.05
lease = "slice"
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


def test_device_hours_count_what_was_active() -> None:
    one = lease().seen("waiting", None, NOON)
    hour = timedelta(hours=1)
    one = one.seen("active", None, NOON + hour)
    assert one.device_hours(NOON + 3 * hour) == 8
    one = one.seen("suspended", None, NOON + 3 * hour)
    assert one.device_hours(NOON + 7 * hour) == 8
    one = one.seen("active", None, NOON + 5 * hour)
    assert one.device_hours(NOON + 6 * hour) == 12
    one = one.seen("released", None, NOON + 6 * hour)
    assert (one.device_hours(NOON + 50 * hour), one.is_open) == (12, False)
    assert one.seen("active", None, NOON + 7 * hour) == one, "nothing comes of one that was released"


def test_a_clock_that_jumps_invents_no_device_hours() -> None:
    one = lease().seen("active", None, NOON)
    assert one.device_hours(NOON - timedelta(days=400)) == 0
    assert one.device_hours(NOON + timedelta(days=400)) == 32, "no more than its time to live"


@pytest.mark.slow
def test_a_lease_from_request_to_release(cloud: Cli, folder: Path, tmp_path: Path, clock: FixedClock) -> None:
    asked = cloud("lease", "request", "slice", "--for", "2h", "--json").data["leases"][0]
    assert (asked["state"], asked["until"]) == ("waiting", "2026-02-10T12:43:00+00:00")
    assert there(tmp_path) == [asked["id"]]
    assert cloud("lease", "list").out.split()[2] == "active"
    clock.tick(30)
    assert "slice already has an open lease" in cloud("lease", "request", "slice").err
    renewed = cloud("lease", "renew", "slice", "--for", "3h", "--json").data["leases"][0]
    assert (renewed["until"], renewed["device_hours"]) == ("2026-02-10T14:13:00+00:00", 2.0)
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
    [one] = leases(book_of(folder))
    assert there(tmp_path) == [one.id]
    assert "released" in cloud("lease", "release", "slice").out
    assert there(tmp_path) == []


@pytest.mark.slow
@pytest.mark.wide
def test_a_stockout_is_told(cloud: Cli, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_ALLOC_FAULTS", "stockout")
    done = cloud("lease", "request", "slice")
    assert "failed (the command of slice failed (Error: no capacity for this type in the zone))" in done.out
    assert there(tmp_path) == []
    monkeypatch.delenv("FAKE_ALLOC_FAULTS")
    assert "waiting" in cloud("lease", "request", "slice").out, "the next request is another lease"


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
def test_a_run_needs_its_lease(cloud: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("run", "--on", "cluster", "--", "sh", "-c", "echo RESULT tflops=1")
    assert "no lease from 'slice'" in cloud(*words).err
    cloud("lease", "request", "slice")
    assert cloud(*words).code == 0
    monkeypatch.setenv("FAKE_ALLOC_FAULTS", "suspended")
    assert "is suspended" in cloud(*words).err
    assert book_of(folder).entry_ids() == ["MOE-000"], "no ID is taken for a run that cannot begin"


@pytest.mark.slow
def test_the_budget_is_checked_before_each_run(cloud: Cli, folder: Path, clock: FixedClock) -> None:
    book = book_of(folder)
    book.change_header(lambda header: dataclasses.replace(header, device_hours=3.0))
    cloud("render")
    assert "- Budget: 3 device hours over all leases\n" in book.view_path.read_text()
    asked = cloud("lease", "request", "slice")
    assert "leases will have used 4.00 of 3 device hours" in asked.err
    words = ("run", "--on", "cluster", "--", "sh", "-c", "echo RESULT tflops=1")
    assert cloud(*words).code == 0
    clock.tick(45)
    done = cloud(*words)
    assert "the budget of 3 device hours is spent" in done.err
    cloud("lease", "release", "slice")
    assert "is spent" in cloud("lease", "request", "slice").err


@pytest.mark.slow
@pytest.mark.parametrize("hold", [False, pytest.param(True, marks=pytest.mark.wide)])
def test_a_sweep_releases_its_lease(hold: bool, cloud: Cli, folder: Path, tmp_path: Path) -> None:
    write_recipe(folder, RECIPE.replace("size: [1, 2, 3, 4]", "size: [1]"))
    cloud("lease", "request", "slice")
    assert cloud("sweep", "demo", "--on", "cluster", *(["--hold"] if hold else [])).code == 0
    assert len(there(tmp_path)) == (1 if hold else 0)


@pytest.mark.slow
@pytest.mark.wide
def test_a_development_tpu(cloud: Cli, folder: Path, tmp_path: Path) -> None:
    (folder / "scripts/iris").mkdir(parents=True)
    shutil.copy(FAKES / "dev_tpu.py", folder / "scripts/iris")
    confirm(cloud)
    cloud("lease", "request", "dev", "--for", "1m")
    wait_for(lambda: cloud("lease", "list").out.split()[2] == "active")
    assert "cannot be renewed" in cloud("lease", "renew", "dev").err
    assert "released" in cloud("lease", "release", "dev").out
    assert not (tmp_path / "fake_dev_tpu/mine.json").exists()
    assert list((folder / "logbooks/moe/open").iterdir()) == []
    cloud("lease", "request", "dev", "--for", "2s")
    assert wait_for(lambda: "released" in cloud("lease", "list").out.splitlines()[1]), "its time to live is over"
    assert not (tmp_path / "fake_dev_tpu/mine.json").exists()


def test_a_damaged_lease_is_told(started: Cli, folder: Path) -> None:
    book = book_of(folder)
    one = write_lease(book, lease(id="moe-a-1"))
    assert leases(book) == [one]
    (book.folder / "leases/moe-a-1.json").write_text("{}")
    assert "leases" in started("lease", "list").err
    assert started("doctor").code == 1


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("until", "garbage", "is not a time in ISO 8601"),
        ("until", "2026-12-23T10:00:00", "has no time zone"),
        ("active_since", "9999-12-31T23:59:59-23:59", "is no time of a lease"),
        ("devices", -100, "devices: expected a number from 1"),
        ("devices", 10**400, "devices: expected a number from 1"),
        ("active_s", -1e9, "active_s: expected seconds from 0"),
        ("active_s", 1e308, "active_s: expected seconds from 0"),
    ],
)
def test_a_lease_that_somebody_changed_takes_nothing_off_the_budget(
    key: str, value: object, said: str, cloud: Cli, folder: Path
) -> None:
    book = book_of(folder)
    write_lease(book, lease())
    file = book.folder / "leases/a.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {key: value}))
    for command in (["lease", "list"], ["lease", "request", "slice"], ["run", "--on", "cluster", "--", "true"]):
        done = cloud(*command)
        assert (done.code, done.err.count(said)) == (3, 1), done.err
    assert said in cloud("doctor").out


def test_lengths_and_numbers_that_no_lease_has(cloud: Cli, folder: Path, tmp_path: Path) -> None:
    assert "longer than 3650 days" in cloud("lease", "request", "slice", "--for", "99999999999d").err
    settings = tmp_path / "config/logbook-agent/config.toml"
    for line in ("devices = -4", "devices = 0", "ttl_s = -1.0"):
        settings.write_text(SETTINGS.replace("devices = 4" if "dev" in line else "ttl_s = 3600", line))
        done = cloud("lease", "request", "slice")
        assert done.code == 2
        assert "expected a number from 1 to" in done.err
    assert there(tmp_path) == []
