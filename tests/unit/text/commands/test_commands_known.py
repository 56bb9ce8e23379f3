"""Launchers that are recognised as they are typed."""

from __future__ import annotations

import shlex

import pytest

from logbook_agent.text.commands.flags import flags
from logbook_agent.text.commands.known import iris, known
from logbook_agent.text.commands.launchers import recognise
from logbook_agent.text.redaction.redactor import by_shape

LINE = (
    "uv run iris --cluster=marin job run --no-wait --priority batch --cpu 2 --memory 8GB"
    " -e WANDB_API_KEY 0123456789abcdef0123456789abcdef01234567 -e XLA_FLAGS --xla_x -- python bench.py --topk 2"
)


def test_a_submission_to_iris() -> None:
    done = recognise(shlex.split(LINE))
    assert done is not None
    assert (done.launch.name, done.launch.target, done.submits) == ("iris", "marin", True)
    assert done.launch.command == ("python", "bench.py", "--topk", "2")
    assert done.remote_env["XLA_FLAGS"] == "--xla_x"
    assert flags(done.argv) == {"topk": "2"}
    line = iris(done.argv)
    assert line is not None
    assert done.argv[: line.base] == ("uv", "run", "iris", "--cluster=marin")
    assert line.name is None


def test_the_value_of_a_secret_variable_is_hidden() -> None:
    shown = by_shape().argv(shlex.split(LINE))
    at = shown.index("WANDB_API_KEY")
    assert "0123456789abcdef" not in shown[at + 1]


@pytest.mark.parametrize(
    ("line", "name", "is_waited_for"),
    [
        ("iris --cluster x job run --job-name mine --no-wait -- true", "mine", False),
        ("iris --config=c.yaml job run --job-name=mine -- true", "mine", True),
        ("uv run --package iris iris --cluster=x job run --no-wait -e A -- -e B c -- sh -c 'echo --'", None, False),
    ],
)
def test_how_a_job_is_named_and_waited_for(line: str, name: str | None, is_waited_for: bool) -> None:
    found = iris(shlex.split(line))
    assert found is not None
    assert (found.name, found.is_waited_for) == (name, is_waited_for)


@pytest.mark.parametrize(
    "line",
    [
        "iris --cluster=x job list --json",
        "iris --cluster=x job run",
        "iris --cluster=x job run --",
        "echo iris --cluster=x job run -- true",
        "python iris job run -- true",
    ],
)
def test_what_is_no_submission(line: str) -> None:
    assert known(shlex.split(line)) is None


def test_whether_a_tpu_has_the_files_of_this_folder() -> None:
    words = "uv run scripts/ray/dev_tpu.py --config c --tpu-name t execute {} -e A=b -- python x.py"
    synced, unsynced = (recognise(shlex.split(words.format(option))) for option in ("", "--no-sync"))
    assert synced is not None
    assert unsynced is not None
    assert (synced.syncs, unsynced.syncs) == (True, False)
