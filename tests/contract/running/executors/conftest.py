"""A logbook whose runs an executor makes, and the executors themselves."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from logbook_agent.cluster.remote import Places
from logbook_agent.cluster.shell import Here
from logbook_agent.cluster.ssh import Detached
from logbook_agent.model.run import Run
from logbook_agent.running.executors import submission
from logbook_agent.running.executors.collection import collected
from logbook_agent.running.executors.contract import OVER, Executor, Followed, Stage
from logbook_agent.running.executors.table import EXECUTORS, executor_named
from logbook_agent.running.order import RunPlan
from logbook_agent.running.prepare import prepare
from logbook_agent.store import records
from logbook_agent.store.book import Book
from logbook_agent.store.spool import Spool
from logbook_agent.store.workspace import Workspace
from tests.breadth import wide
from tests.conftest import REPOSITORY, Cli
from tests.contract.running.executors.double import Threads

LONG_S = 60.0
FAKES = REPOSITORY / "tests/contract/cluster/fakes"


@dataclass
class Place:
    """A logbook in an empty folder, and an executor by its name. `host` is where its commands run."""

    name: str
    folder: Path
    host: str = os.uname().nodename

    @property
    def workspace(self) -> Workspace:
        """As the next command would have it."""
        return Workspace(cwd=self.folder, environ=dict(os.environ))

    @property
    def book(self) -> Book:
        return self.workspace.book()

    @property
    def executor(self) -> Executor:
        return executor_named(self.workspace, self.name)

    def plan(self, workspace: Workspace, *argv: str, timeout_s: float | None = None, **options: Any) -> RunPlan:
        command = prepare(workspace, argv, **options)
        return RunPlan(command=command, entry_id="MOE-000", timeout_s=timeout_s, config={})

    def send(self, *argv: str, **options: Any) -> Run:
        workspace = self.workspace
        return submission.send(workspace, workspace.book(), self.plan(workspace, *argv, **options), self.name)

    def spool(self, run: Run) -> Spool:
        return self.book.spool(run)

    def follow(self, run: Run, offset: int | None = None) -> Followed:
        return self.executor.follow(self.spool(run), offset)

    def until(self, run: Run, *stages: Stage) -> Stage:
        """Wait for one of these."""
        return wait_for(lambda: found if (found := self.follow(run).stage) in stages else None)

    def ended(self, run: Run) -> Run:
        """The record, collected when the run was over."""
        self.until(run, *OVER)
        return self.collected(run)

    def collected(self, run: Run) -> Run:
        workspace = self.workspace
        collect(workspace, workspace.book())
        assert workspace.warnings == []
        return self.read(run)

    def read(self, run: Run) -> Run:
        return records.read_run(self.book.run_folder(run.entry, run.run) / "run.json")

    def log(self, run: Run) -> bytes:
        return self.book.log_path(run.entry, run.run).read_bytes()

    def left(self, run: Run) -> Path:
        """The folder that its worker writes to, on a disk of this machine."""
        sent = self.spool(run).sent()
        return self.spool(run).folder if sent is None else Path(sent.folder)

    def is_gone(self, pid: int) -> bool:
        """Whether no process of this number is there."""
        return is_gone(pid)


def collect(workspace: Workspace, book: Book) -> list[Run]:
    """Take in what there is, without a view."""
    with collected(workspace, book) as runs:
        return runs


def is_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def wait_for(ask: Callable[[], Any], *, within_s: float = LONG_S) -> Any:
    """The first answer that is true."""
    deadline = time.monotonic() + within_s
    while not (found := ask()):
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.01)
    return found


def sh(script: str) -> Sequence[str]:
    return ("sh", "-c", script)


@pytest.fixture(params=[wide("threads"), "local", "far"])
def place(request: pytest.FixtureRequest, started: Cli, folder: Path, tmp_path: Path) -> Iterator[Place]:
    """`far` is asked as another machine is, without a network between."""
    places = Places(folder=str(tmp_path / "far"), python=sys.executable, sync=False)
    EXECUTORS["threads"] = lambda workspace: Threads(workspace.environ)
    EXECUTORS["far"] = lambda workspace: Detached(
        shell=Here(environ=workspace.environ), places=places, environ=workspace.environ, secrets={}
    )
    yield Place(request.param, folder)
    del EXECUTORS["threads"], EXECUTORS["far"]


@pytest.fixture
def local(started: Cli, folder: Path) -> Place:
    return Place("local", folder)
