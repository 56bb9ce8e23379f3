"""`logbook doctor --prune` deletes logs and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli, FixedClock
from tests.contract.doctor.conftest import edit_json
from tests.contract.e2e.e2e_support import picture
from tests.seams import set_size

pytestmark = pytest.mark.slow


@pytest.fixture
def logs(three: Cli, book: Path) -> list[Path]:
    return [book / f"runs/MOE-00{n}/01/output.log" for n in range(3)]


def test_oldest_first_until_they_fit(three: Cli, logs: list[Path], folder: Path) -> None:
    before = picture(folder)
    dry = three("doctor", "--prune", "--max-bytes", "20", "--dry-run")
    assert dry.out == (
        "would delete logbooks/moe/runs/MOE-000/01/output.log\n"
        "would delete logbooks/moe/runs/MOE-001/01/output.log\n"
        "would delete 2 logs of 32 B; 1 of 16 B would be left\n"
    )
    assert picture(folder) == before
    answer = three("doctor", "--prune", "--max-bytes", "20", "--json")
    assert [d["id"] for d in answer.data["deleted"]] == ["MOE-000", "MOE-001"]
    assert (answer.data["deleted_bytes"], answer.data["kept"], answer.data["kept_bytes"]) == (32, 1, 16)
    after = picture(folder)
    assert set(before) - set(after) == {str(p.relative_to(folder)) for p in logs[:2]}
    assert {k: before[k] for k in after} == after, "no record, and not the view"
    assert three("doctor").code == 0
    shown = three("show", "MOE-000", "--log")
    assert shown.code == 0
    assert "is not here" in shown.err
    assert three("doctor", "--prune", "--max-bytes", "20").out == "deleted 0 logs of 0 B; 1 of 16 B left\n"


def test_by_age(three: Cli, logs: list[Path], clock: FixedClock) -> None:
    assert three("doctor", "--prune", "--keep-days", "1").out.startswith("deleted 0 logs")
    clock.tick(60 * 24 - 1)
    assert three("doctor", "--prune", "--keep-days", "1", "--json").data["deleted"][0]["id"] == "MOE-000"
    assert [p.exists() for p in logs] == [False, True, True]
    assert three("doctor", "--prune", "--keep-days", "1", "--max-bytes", "0").out.endswith(
        "deleted 0 logs of 0 B; 2 of 32 B left\n"
    )
    assert three("doctor", "--prune", "--keep-days", "0", "--max-bytes", "1K").out.startswith("deleted 0 logs")


def test_what_goes_on_keeps_its_log(three: Cli, logs: list[Path], book: Path) -> None:
    edit_json(book / "runs/MOE-000/01/run.json", exit=None, ended=None)
    (book / "runs/MOE-001/01/run.json").write_text("{")
    assert three("doctor", "--prune", "--max-bytes", "0").code == 0
    assert [p.exists() for p in logs] == [True, True, False]


def test_without_a_limit(three: Cli, logs: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    assert three("doctor", "--prune").out.startswith("deleted 0 logs")
    set_size(monkeypatch, "kept leftovers, bytes", 40)
    assert three("doctor", "--prune").out.endswith("deleted 1 logs of 16 B; 2 of 32 B left\n")


@pytest.mark.parametrize("words", [["--max-bytes", "much"], ["--keep-days", "-1"], ["--max-bytes", "-1"]])
def test_usage(three: Cli, words: list[str]) -> None:
    answer = three("doctor", "--prune", *words)
    assert answer.code == 2
    assert answer.err.splitlines()[2].startswith("  next:  ")
