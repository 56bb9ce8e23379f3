from __future__ import annotations

import time
from pathlib import Path

import pytest

from logbook_agent.issue.token import token_for
from logbook_agent.model.errors import NoToken


@pytest.fixture
def gh(tmp_path: Path) -> Path:
    """A folder for PATH with a `gh` that writes down how it was called and says a token."""
    return fake_gh(tmp_path, 'printf "%s\\n" "$*" > "$0.args"; env > "$0.env"; echo " from-gh "')


def fake_gh(tmp_path: Path, script: str) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "gh").write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")
    (folder / "gh").chmod(0o755)
    return folder


def test_a_gh_that_hangs_is_ended_with_all_it_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("logbook_agent.issue.token._GH_TIMEOUT_S", 0.2)
    folder = fake_gh(tmp_path, "sleep 30; echo late")
    started = time.monotonic()
    with pytest.raises(NoToken):
        token_for("github.com", {"PATH": str(folder)})
    assert time.monotonic() - started < 5
