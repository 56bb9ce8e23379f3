"""`logbook export` in the environment .venv-exports, in a namespace that counts what wants to leave it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REPOSITORY
from tests.contract.exports.full_store import ROWS, full
from tests.contract.typing_in import in_folder

PYTHON = REPOSITORY / ".venv-exports/bin/python"
# Nothing leads out of it, and the kernel counts what wanted to go, the questions to name servers included.
ALONE = """
ip link set lo up
counts='/^Ip: [0-9]/ { n += $13 } /^Ip6OutNoRoutes/ { n += $2 } END { print n }'
tried() { awk "$counts" /proc/net/snmp /proc/net/snmp6; }
before=$(tried)
"$@"
code=$?
sleep 1
echo "TRIED $(($(tried) - before))" >&2
exit $code
"""


def pytest_configure() -> None:
    if not PYTHON.exists():
        pytest.exit("scripts/environment exports makes the environment of these tests", returncode=2)


def in_namespace(*argv: str, cwd: Path) -> tuple[int, str, str]:
    """Exit code, output and messages of a command in a network namespace; the last line counts what wanted out."""
    ip = ["unshare", "--net", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    # Logged in with both, as their users are: nothing of that may be used.
    env = {**os.environ, "PYTHONPATH": str(REPOSITORY), "HOME": str(cwd), "HF_TOKEN": "hf_" + "a" * 34}
    env |= {"WANDB_API_KEY": "e" * 40, "WANDB_MODE": "online", "TRACKIO_SPACE_ID": "acme/moe"}
    env |= {"MLFLOW_TRACKING_URI": "http://192.0.2.9:5000", "WANDB_BASE_URL": "http://192.0.2.9"}
    done = subprocess.run(
        [*ip, "bash", "-c", ALONE, "bash", *argv], cwd=cwd, env=env, capture_output=True, text=True, timeout=300
    )
    return done.returncode, done.stdout, done.stderr


Exporting = Callable[[str], Path]
Reading = Callable[[str, Path], Any]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a logbook of every kind of row, whose code was committed."""
    folder = tmp_path_factory.mktemp("exports") / "work"
    folder.mkdir()
    for words in (("init", "-q", "-b", "main"), ("commit", "-q", "--allow-empty", "-m", "Code")):
        who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        subprocess.run(["git", *who, *words], cwd=folder, check=True)
    full(in_folder(folder))
    return folder


@pytest.fixture
def export(place: Path) -> Exporting:
    """Export in a form; the folder. Nothing may want to leave the machine, and no file lie anywhere else."""

    def run(form: str) -> Path:
        before = {*place.rglob("*")}
        code, out, err = in_namespace(
            str(PYTHON), "-m", "logbook_agent", "export", "--as", form, "--out", form, cwd=place
        )
        assert code == 0, err
        assert err.splitlines()[-1] == "TRIED 0", err
        assert str(place / form) in out
        assert f"{ROWS} rows" in out
        others = {path for path in place.rglob("*") if path not in before}
        assert [path for path in others if not path.is_relative_to(place / form)] == []
        return place / form

    return run


@pytest.fixture
def read(tmp_path: Path) -> Reading:
    """What a script says in that environment, as JSON; its argument is the folder."""

    def run(script: str, folder: Path) -> Any:
        env = {**os.environ, "HOME": str(tmp_path), "PYTHONPATH": str(REPOSITORY)}
        done = subprocess.run(
            [str(PYTHON), "-c", script, str(folder)], capture_output=True, text=True, timeout=300, env=env, check=False
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return run
