from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.not_fooled.two_sides import SCRIPT


@pytest.fixture
def sides(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Cli]:
    """A logbook, and a command of two sides that report these words beside their time."""

    def make(base: str, other: str, *more: str, metrics: tuple[str, ...] = ("time_s:min:s", "ok:max")) -> Cli:
        (folder / "b.sh").write_text(SCRIPT)
        monkeypatch.setenv("BASE", base)
        monkeypatch.setenv("OTHER", other)
        named = [word for metric in metrics for word in ("--metric", metric)]
        assert cli("start", "t", "--prefix", "T", *named, "--goal", "g", "--stop", "s", *more).code == 0
        return cli

    return make
