"""A logbook whose runs an executor makes: where they go, and what a user sees and types of them."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.conftest import REPOSITORY, Cli
from tests.seams import Facts, Store

LONG_S = 60.0
FAKES = REPOSITORY / "tests/contract/cluster/fakes"
# What a shell starts in the background ignores Ctrl-C; this does not, so that nobody waits until it is insisted.
SLEEPS = f"{sys.executable} -SEc 'import signal, time; signal.signal(signal.SIGINT, signal.SIG_DFL); time.sleep(60)'"
# The last word is what would be run there; it is run here.
SSH = '#!/bin/sh\nfor word; do :; done\nexec sh -c "$word"\n'


@dataclass
class Place:
    """A logbook in a folder, and an executor by its name, `local` without one. `host` is what the machine calls itself
    where the commands run; `far` is where it keeps their files, if that is not this user's state."""

    name: str
    folder: Path
    cli: Cli
    host: str = os.uname().nodename
    far: Path | None = None

    @property
    def on(self) -> tuple[str, ...]:
        return () if self.name == "local" else ("--on", self.name)

    @property
    def store(self) -> Store:
        return Store(self.folder)

    def send(self, *argv: str, options: Sequence[str] = ()) -> Facts:
        """The record of a new run in an entry of its own, which goes on."""
        self.cli("run", "--detach", *self.on, *options, "--", *argv)
        return self.store.runs(self.store.entry_ids()[-1])[-1]

    def read(self, run: Facts) -> Facts:
        return self.store.run(run.entry, run.run)

    def state(self, run: Facts) -> str:
        found: str = self.cli("show", run.entry, "--json").data["state"]
        return found

    def said(self, run: Facts) -> str | None:
        """What `status` says of a run that waits."""
        told = self.cli("status", "--json").data["running"]
        return next((one.get("said") for one in told if one["id"] == run.entry), None)

    def until(self, run: Facts, *states: str, within_s: float = LONG_S) -> str:
        """Wait for one of these."""
        found: str = wait_for(lambda: now if (now := self.state(run)) in states else None, within_s=within_s)
        return found

    def output(self, run: Facts) -> str:
        return self.cli("show", run.entry, "--log").out

    def printed(self, run: Facts, text: str = "RESULT") -> None:
        """Wait until this came from where the command runs."""
        wait_for(lambda: text in self.output(run))

    def ended(self, run: Facts, within_s: float = LONG_S) -> Facts:
        """The record when the run is over."""
        self.cli("wait", run.entry, "--timeout", f"{within_s:g}s")
        done = self.read(run)
        assert done.exit is not None
        return done

    def log(self, run: Facts) -> bytes:
        return self.store.log_path(run.entry, run.run).read_bytes()

    def number(self, file: str) -> int:
        """What a command wrote into this file: the number of a process."""
        path = self.folder / file
        return int(wait_for(lambda: path.exists() and path.read_text().strip()))

    def left(self) -> Path:
        """The folder of the one run that was not taken in yet, where its worker writes to."""
        if self.far is None:
            return wait_for(self.store.working)[0]
        found: Path = wait_for(lambda: next(self.far.rglob("output.log"), None))
        return found.parent

    def is_gone(self, pid: int) -> bool:
        """Whether no process of this number is there."""
        return is_gone(pid)


def exit_of(run: Facts) -> dict[str, Any]:
    """How a run ended, without the code of a success."""
    return {name: value for name, value in (run.exit or {"open": True}).items() if value}


def samples(run: Facts, metric: str = "tflops") -> list[list[float]]:
    return [row.metrics[metric].samples for row in run.rows or ()]


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


def settings() -> Path:
    """The file of this user's settings."""
    file = Path(os.environ["XDG_CONFIG_HOME"]) / "logbook-agent/config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    return file


def far_place(cli: Cli, folder: Path, far: Path, monkeypatch: pytest.MonkeyPatch, *more: str, ssh: str = SSH) -> Place:
    """Asked as another machine is, by a stand-in for ssh; `more` are lines of its settings."""
    programs = far.with_name("programs")
    programs.mkdir()
    (programs / "ssh").write_text(ssh)
    (programs / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)
    table = ('kind = "ssh"', 'host = "far.example"', f'folder = "{far}"', f'python = "{sys.executable}"')
    settings().write_text("\n".join(("[executors.far]", "sync = false", *table, *more, "")))
    return Place("far", folder, cli, far=far)


@pytest.fixture(params=["local", "far"])
def place(
    request: pytest.FixtureRequest, started: Cli, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Place:
    if request.param == "local":
        return Place("local", folder, started)
    return far_place(started, folder, tmp_path / "far", monkeypatch)


@pytest.fixture
def local(started: Cli, folder: Path) -> Place:
    return Place("local", folder, started)


def is_cut_off(run: Facts) -> bool:
    return run.exit is None or any(run.exit.get(how) for how in ("lost", "never_started", "interrupted"))


def processes_in(folder: Path) -> list[tuple[psutil.Process, list[str]]]:
    """Those whose current folder this is, with their words."""
    found = []
    for process in psutil.process_iter(["cmdline", "cwd", "status"]):
        if process.info["cwd"] == str(folder) and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append((process, process.info["cmdline"] or []))
    return found


def commands(folder: Path) -> list[psutil.Process]:
    """The commands of a sweep that run."""
    return [process for process, words in processes_in(folder) if words[1:2] == ["bench.sh"]]


def series(folder: Path) -> list[psutil.Process]:
    """The process that makes the runs of a detached series, if there is one."""
    return [process for process, words in processes_in(folder) if "--detach" in words]


def at_once(folder: Path) -> int:
    """How many runs went on at the same time, at most."""
    going, most = 0, 0
    for line in (folder / "order").read_text().splitlines():
        going += 1 if line.startswith("start") else -1
        most = max(most, going)
    return most


def assert_each_once(runs: Sequence[Facts], cases: int) -> list[Facts]:
    """One good run for each case of a sweep, and none twice; what was cut off is named. Those that count."""
    counted = [run for run in runs if not is_cut_off(run)]
    made = [(run.config["size"], run.config["mode"]) for run in counted]
    assert len(made) == len(set(made)) == cases
    assert all(len(run.rows) == 1 and exit_of(run) == {} for run in counted)
    cut_off = [run for run in runs if is_cut_off(run)]
    assert all(run.exit is not None and (run.problems or run.exit.interrupted) for run in cut_off)
    return counted
