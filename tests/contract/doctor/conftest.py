"""A logbook with a few entries, and what the tests of the doctor ask of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli, FixedClock
from tests.contract.built import built
from tests.stored import at

Found = list[dict[str, Any]]


@pytest.fixture
def three(cli: Cli, folder: Path, clock: FixedClock) -> Cli:
    """MOE-000 to MOE-002, each with one run and one row, a minute apart."""
    began = clock.moment

    def make() -> None:
        assert cli("start", "moe", "--prefix", "MOE", "--metric", "tflops:max:TF/s").code == 0
        for n in range(3):
            clock.tick()
            assert cli("run", "--title", f"entry {n}", "--", "echo", f"RESULT tflops={n + 1}").code == 0

    built("three", folder, make)
    clock.moment = began + timedelta(minutes=3)
    return cli


@pytest.fixture
def book(folder: Path) -> Path:
    """The folder of the logbook."""
    return folder / "logbooks/moe"


@pytest.fixture
def findings(cli: Cli) -> Callable[..., Found]:
    """What `logbook doctor` finds; the exit code fits the findings."""

    def ask(*options: str) -> Found:
        answer = cli("doctor", "--json", *options)
        data = answer.data
        left = [f for f in data["findings"] if f["severity"] != "note" and f["mended"] is None]
        assert answer.code == (1 if left else 0), answer.out
        assert data["ok"] is (not left)
        found: Found = data["findings"]
        return found

    return ask


@pytest.fixture
def healthy(cli: Cli, findings: Callable[..., Found]) -> Callable[[], None]:
    """Mend all, and find nothing more."""

    def check() -> None:
        mended = findings("--fix")
        assert [f for f in mended if f["severity"] != "note" and f["mended"] is None] == []
        again = findings()
        assert [f for f in again if f["severity"] != "note"] == []

    return check


def edit_json(path: Path, **changes: Any) -> None:
    """Change keys of a run.json as a careless hand would; None removes one."""
    path = at(path)
    data = json.loads(path.read_text()) | changes
    path.write_text(json.dumps({k: v for k, v in data.items() if v is not None}, indent=1) + "\n")
