"""What a project brings is started only as its user confirmed it: tables of settings, and files that they name."""

from __future__ import annotations

from pathlib import Path

import pytest

from logbook_agent.running.confirmation import open_claims
from logbook_agent.store.workspace import Workspace

JOBS = """
[executors.jobs]
kind = "command"
submit = ["sh", "-c", "echo 7", "{env}", "{command}"]
state = ["./poll.sh", "{id}"]
logs = ["true"]
poll_s = 0.01
"""


def script(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.mark.parametrize("words", ["-Ftools/poll.sh", "-xFpoll.sh", "-K@poll.sh", "@tools/poll.sh"])
def test_a_file_behind_the_sign_of_an_option_is_covered(folder: Path, words: str) -> None:
    (folder / "logbook.toml").write_text(JOBS.replace('["./poll.sh", "{id}"]', f'["tools/a", "{words}", "{{id}}"]'))
    script(folder / "tools/poll.sh", "true")
    (claim,) = open_claims(Workspace(cwd=folder, environ={}))
    assert "tools/poll.sh" in claim.files
