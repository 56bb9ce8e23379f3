"""`logbook ab --code`: two versions of the code, each in a checkout of its own, from real repositories."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from logbook_agent.running.provenance.worktrees import clean


@pytest.fixture(autouse=True)
def _own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No checkout is left by the end of a test."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    yield
    assert list((tmp_path / "temporary").glob("logbook-checkouts-*")) == []


def checkouts() -> list[Path]:
    """The folders of checkouts that are there."""
    return [*Path(os.environ["TMPDIR"]).glob("logbook-checkouts-*/*/*/*/bench.py")]


def test_checkouts_that_another_process_removes_meanwhile_are_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    above = tmp_path / "checkouts"
    clean(above, os.environ)
    (above / "moe-1/1").mkdir(parents=True)
    above.chmod(0o700)

    def in_between(slot: Path) -> bool:
        shutil.rmtree(above)
        return bool(slot.lstat())

    monkeypatch.setattr("logbook_agent.running.provenance.worktrees._is_left", in_between)
    clean(above, os.environ)
    assert not above.exists()
