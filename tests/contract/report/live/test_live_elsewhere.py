"""The last lines of a run on another machine, while it goes on."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from logbook_agent.report.live.activity import LastLines
from logbook_agent.store.workspace import Workspace
from tests.conftest import Cli
from tests.contract.cluster.test_executors_command import SECRET, TYPED, iris, quick, run_of, sh  # noqa: F401
from tests.contract.report.live.live_support import whole
from tests.contract.running.executors.conftest import wait_for


@pytest.mark.slow
def test_lines_of_a_job(
    iris: Cli,  # noqa: F811
    folder: Path,
    tmp_path: Path,
    quick: None,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("logbook_agent.report.live.activity._PACE_S", 0.05)
    go = tmp_path / "go"
    script = "echo one; echo I have $WANDB_API_KEY; until [ -e $GO ]; do sleep 0.02; done; echo three"
    words = (*TYPED, "-e", "WANDB_API_KEY", SECRET, "-e", "GO", str(go), "--", *sh(script))
    assert iris("run", "--", *words).code == 0

    before = whole(folder / "logbooks")
    space = Workspace(cwd=folder, environ=dict(os.environ))
    book, run = space.book(), run_of(folder)
    lookers = LastLines(space, space.redactor.text)
    with contextlib.closing(lookers):

        def lines(last: str) -> Callable[[], object]:
            return lambda: (found := lookers.seen(book, run).lines) and found[-1].startswith(last) and found

        shown = wait_for(lines("I have"))
        assert shown[0] == "one"
        assert SECRET not in "".join(shown)
        go.touch()
        wait_for(lines("three"))
        assert whole(folder / "logbooks") == before
    assert iris("wait", "MOE-000").code == 0
