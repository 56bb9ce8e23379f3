"""`logbook doctor --prune` deletes logs and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli, FixedClock
from tests.contract.doctor.conftest import edit_json
from tests.contract.e2e.e2e_support import picture
from tests.stored import at

pytestmark = pytest.mark.slow


@pytest.fixture
def logs(three: Cli, book: Path) -> list[Path]:
    return [at(book / f"runs/MOE-00{n}/01/output.log") for n in range(3)]


def test_by_age(three: Cli, logs: list[Path], folder: Path, clock: FixedClock) -> None:
    assert three("doctor", "--prune", "--keep-days", "1").out == "deleted 0 logs of 0 B; 3 of 48 B left\n"
    clock.tick(60 * 24 - 1)
    before = picture(folder)
    dry = three("doctor", "--prune", "--keep-days", "1", "--dry-run")
    assert dry.out == (
        f"would delete {logs[0].relative_to(folder)}\nwould delete 1 logs of 16 B; 2 of 32 B would be left\n"
    )
    assert picture(folder) == before
    clock.tick(1)
    answer = three("doctor", "--prune", "--keep-days", "1", "--json")
    assert [d["id"] for d in answer.data["deleted"]] == ["MOE-000", "MOE-001"]
    assert (answer.data["deleted_bytes"], answer.data["kept"], answer.data["kept_bytes"]) == (32, 1, 16)
    after = picture(folder)
    assert set(before) - set(after) == {str(p.relative_to(folder)) for p in logs[:2]}
    assert {k: before[k] for k in after} == after, "no record, and not the view"
    assert three("doctor").code == 0
    shown = three("show", "MOE-000", "--log")
    assert shown.code == 0
    assert "is not here" in shown.err


def test_what_goes_on_keeps_its_log(three: Cli, logs: list[Path], book: Path, clock: FixedClock) -> None:
    edit_json(book / "runs/MOE-000/01/run.json", exit=None, ended=None)
    at(book / "runs/MOE-001/01/run.json").write_text("{")
    clock.tick(60 * 24)
    assert three("doctor", "--prune", "--keep-days", "0").code == 0
    assert [p.exists() for p in logs] == [True, True, False]


def test_a_month_is_kept_unless_told(three: Cli, logs: list[Path], clock: FixedClock) -> None:
    clock.tick(60 * 24 * 29)
    assert three("doctor", "--prune").out.startswith("deleted 0 logs")
    clock.tick(60 * 24 * 2)
    assert three("doctor", "--prune").out.endswith("deleted 3 logs of 48 B; 0 of 0 B left\n")


def test_usage(three: Cli) -> None:
    for words in (["--prune", "--keep-days", "-1"], ["--keep-days", "1"]):
        answer = three("doctor", *words)
        assert answer.code == 2
        assert answer.err.splitlines()[2].startswith("  next:  ")
