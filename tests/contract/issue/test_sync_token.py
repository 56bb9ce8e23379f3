"""A `gh` that does not answer is not waited for."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from tests.contract.issue.sync_support import Bench
from tests.seams import set_size


def test_a_gh_that_hangs_is_ended_with_all_it_started(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_size(monkeypatch, "wait for gh, s", 0.2)
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "gh").write_text("#!/bin/sh\nsleep 30; echo late\n")
    (folder / "gh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{Path(sys.executable).parent}:/usr/bin:/bin")
    monkeypatch.delenv("GH_ENTERPRISE_TOKEN")
    bench.note()
    began = time.monotonic()
    bench.fails("no_token", "--create")
    assert time.monotonic() - began < 20
    assert bench.github.requests == []
