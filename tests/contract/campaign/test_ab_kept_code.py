"""Changes of the working tree whose diff was recorded without a secret: that is not the code that ran."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.campaign.test_ab_code import COMMAND, ready  # noqa: F401

pytestmark = pytest.mark.slow
ASK = ("ab", "--code", "HEAD", "WORK", "--new", "--evaluator", "none", "--max-pairs", "2", "--json", *COMMAND)


@pytest.mark.parametrize(
    ("line", "is_kept"),
    [
        # What a parser compares a token with is no secret.
        ("token = ['[']\nif token[0] == '[' or token[0] == 'else': pass\n", True),
        ("password = 'hunter2hunter2'\n", False),
    ],
)
def test_code_that_was_kept_without_a_secret_is_not_run(
    ready: Cli,  # noqa: F811
    git: Callable[..., str],
    folder: Path,
    line: str,
    is_kept: bool,
) -> None:
    (folder / "bench.py").write_text(line + (folder / "bench.py").read_text())
    (folder / "speed.txt").write_text("80")
    assert ready(*ASK).data["id"] == "SPEED-000"
    commands = [step.get("command", "") for step in ready("next", "--json").data["steps"]]
    assert any("logbook ab --id SPEED-000" in command for command in commands) == is_kept
    git("checkout", "-q", "--", "bench.py", "speed.txt")
    more = ready("ab", "--id", "SPEED-000", "--max-pairs", "1", "--json")
    if is_kept:
        assert (more.code, more.data["pairs"]) == (0, 3)
    else:
        assert more.code == 2
        assert "cannot be brought back as it was: diff" in json.loads(more.out)["error"]["message"]
        assert "recorded without its secrets" in json.loads(more.out)["error"]["message"]
