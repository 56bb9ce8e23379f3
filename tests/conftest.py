"""Fixtures every test may use: an isolated folder, a fixed clock, and the command line inside it."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests import seams
from tests.breadth import WIDE, beyond_samples, in_sample

REPOSITORY = Path(__file__).resolve().parent.parent
NOWHERE = REPOSITORY / "build/nowhere"
# The root of a machine that nobody else uses.
QUIET = REPOSITORY / "tests/quiet"

# Where bytecode is not kept, every process of a test compiles the package anew, and every process of tests all tests.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_configure() -> None:
    """Started in the background, a shell has this process ignore Ctrl-C, and nohup the end of its terminal; all that it
    starts would inherit that."""
    for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Documents first: the longest take a while, for which the other processes should not have to wait."""
    items.sort(key=lambda item: "tests/contract/docs/" not in item.nodeid)
    if config.getoption("lf", False) and config.cache and config.cache.get("cache/lastfailed", {}):
        return  # they were chosen when they failed
    beyond = beyond_samples(items)
    kept, left = [], []
    for item in items:
        is_wide = item.get_closest_marker("wide") is not None or item in beyond
        (kept if is_wide == WIDE and in_sample(item.nodeid) else left).append(item)
    config.hook.pytest_deselected(items=left)
    items[:] = kept


def pytest_sessionfinish() -> None:
    """Workers and launchers that a test started in this process and left behind end with it."""
    for process in seams.own_workers():
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


class FixedClock:
    """10:43 on a day in February, and a minute later at every call of `tick`."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 2, 10, 10, 43, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.moment

    def tick(self, minutes: int = 1) -> None:
        self.moment += timedelta(minutes=minutes)


@dataclass
class Answer:
    """What a command line did: exit code, stdout, stderr."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)["data"]

    @property
    def error(self) -> dict[str, str]:
        found: dict[str, str] = json.loads(self.out)["error"]
        return found


Cli = Callable[..., Answer]


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Nothing of the developer's machine: no logbook variables, secrets, accelerator flags or git identity."""
    # A test that writes nothing needs no folder of its own.
    own = request.getfixturevalue("tmp_path") if "tmp_path" in request.fixturenames else NOWHERE
    named = [name for name in os.environ if name.startswith(("LOGBOOK", "GIT_", "GH_", "GITHUB_"))]
    for name in {*named, *seams.machine_variables(os.environ)}:
        monkeypatch.delenv(name)
    # libtpu sets it behind Python's back, in a worker in which a test has loaded JAX: only child processes see it.
    os.unsetenv("TPU_PREMAPPED_BUFFER_SIZE")
    for name, value in {
        "COLUMNS": "100",
        "NO_COLOR": "1",
        "TZ": "UTC",
        "GIT_AUTHOR_NAME": "Ada",
        "GIT_AUTHOR_EMAIL": "ada@example.org",
        "GIT_COMMITTER_NAME": "Ada",
        "GIT_COMMITTER_EMAIL": "ada@example.org",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "XDG_CONFIG_HOME": str(own / "config"),
        "XDG_STATE_HOME": str(own / "state"),
        "XDG_CACHE_HOME": str(own / "cache"),
        # On a machine with accelerators, runs that a test starts would wait for one another.
        "LOGBOOK_QUEUE": str(own / "queue"),
        "LOGBOOK_DEVICES": "none",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        # Whoever else uses this machine while the tests run.
        "LOGBOOK_HOST_ROOT": str(QUIET),
    }.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(autouse=True)
def _no_fsync(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a power cut needs what it does, and none is tested; a third of a short command is spent in it."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture(autouse=True)
def _same_orders(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """The order of a comparison's runs follows from the test's name, not from that of its file: an unlucky one is so
    each time."""
    number = itertools.count()
    seams.set_orders(monkeypatch, lambda moment: f"{request.node.name} {next(number)}")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FixedClock:
    fixed = FixedClock()
    seams.set_clock(monkeypatch, fixed)
    return fixed


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder outside any repository, and the current one."""
    place = tmp_path / "work"
    place.mkdir()
    monkeypatch.chdir(place)
    return place


@pytest.fixture
def cli(folder: Path, capfd: pytest.CaptureFixture[str]) -> Cli:
    """Runs `logbook ARGS` in this process, in `folder`; the answer has code, out and err. What may fork runs in a
    process of its own: JAX, which another test may have loaded here, warns of forks."""

    def invoke(*args: str) -> Answer:
        if "--detach" in args:
            words = [sys.executable, "-m", "logbook_agent", *args]
            done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            return Answer(done.returncode, done.stdout, done.stderr)
        capfd.readouterr()
        code = seams.logbook(args)
        sys.stdout.flush()
        sys.stderr.flush()
        out, err = capfd.readouterr()
        return Answer(code, out, err)

    return invoke


@pytest.fixture
def started(cli: Cli) -> Cli:
    """The command line in a folder with one logbook, `moe` with prefix MOE."""
    assert cli("start", "moe", "--prefix", "MOE", "--metric", "tflops:max:TF/s").code == 0
    return cli


@pytest.fixture
def git(folder: Path) -> Callable[..., str]:
    """`git ARGS` in `folder`, which becomes a repository with one commit."""

    def run(*args: str, cwd: Path | None = None) -> str:
        done = subprocess.run(["git", *args], cwd=cwd or folder, check=True, capture_output=True, text=True, timeout=30)
        return done.stdout.strip()

    run("init", "-q", "-b", "main")
    (folder / "bench.py").write_text("print('RESULT tflops=1.5')\n")
    run("add", "bench.py")
    run("commit", "-q", "-m", "A benchmark")
    return run
