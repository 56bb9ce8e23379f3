"""The disk of the other machine fills up while a run goes on there."""

from __future__ import annotations

import os

import pytest

from logbook_agent.cli.output import LineDisplay
from logbook_agent.model.run import Exit
from logbook_agent.running.execution import make_runs
from logbook_agent.running.launch.signals import StopRequests
from logbook_agent.store.workspace import Workspace
from tests.contract.running.executors.conftest import Place, sh

pytestmark = pytest.mark.slow


def test_a_command_that_has_printed_is_not_started_again(local: Place, capfd: pytest.CaptureFixture[str]) -> None:
    workspace = Workspace(cwd=local.folder, environ=dict(os.environ), executor="local")
    for output, times in (("echo RESULT tflops=2; ", 1), ("", 3)):
        script = f"echo >> made{times}; {output}sleep 0.2; kill -9 $PPID; kill -9 $$"
        with StopRequests() as stops:
            plan = local.plan(workspace, *sh(script))
            runs = [made for _, made in make_runs(workspace, workspace.book(), [plan], LineDisplay(), stops)]
        assert [run.exit for run in runs] == [Exit(lost=True)] * times
        assert (local.folder / f"made{times}").read_text() == "\n" * times
    assert (
        "MOE-000 run 1 was lost; not retried, because its command had already printed something"
        in capfd.readouterr().err
    )
