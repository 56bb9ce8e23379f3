"""The real Ray that tests share: two nodes, and a way to end one of them at once."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.contract.engines import namespace

REPOSITORY = Path(__file__).resolve().parents[3]
PYTHON = REPOSITORY / ".venv-ray/bin/python"
# Variables that hold secrets on its nodes.
SECRET_NAMES = ("HF_TOKEN", "NODE_API_KEY")


def secret(name: str) -> str:
    return f"hf_{name.lower()}" + "Q7x" * 10


@dataclass
class Ray:
    """`address` of the dashboard, and `folder` for files of the tests on its nodes. A part is `head` or `node`; they
    offer the resources `left` and `right`."""

    address: str
    folder: Path
    _process: subprocess.Popen[str]
    is_whole: bool = True

    def kill(self, part: str) -> None:
        """End a part as a machine ends that is switched off."""
        self.is_whole = False
        self._ask(f"kill {part}")

    def start(self, part: str) -> None:
        self._ask(f"start {part}")

    def mend(self) -> None:
        """Start what was killed."""
        if not self.is_whole:
            self._ask("mend")
            self.is_whole = True

    def _ask(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        assert answer(self._process) == {"done": line}


def answer(process: subprocess.Popen[str]) -> dict[str, str]:
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, f"Ray's keeper ended with {process.wait(10)}"
    found: dict[str, str] = json.loads(line)
    return found


def why_not() -> str | None:
    """Why Ray cannot be had here; None when it can. This process then sees nothing but its own network."""
    if not PYTHON.exists():
        return "make test-cluster installs it"
    try:
        namespace.enter()
    except OSError as error:
        return str(error)
    return None


@contextmanager
def started(environ: Mapping[str, str]) -> Iterator[Ray]:
    """Both nodes, started with these variables."""
    with subprocess.Popen(
        [PYTHON, "-m", "tests.contract.engines.ray_cluster"],
        cwd=REPOSITORY,
        env=dict(environ)
        | {name: secret(name) for name in SECRET_NAMES}
        | {"PATH": f"{PYTHON.parent}{os.pathsep}{environ['PATH']}"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        ready = answer(process)
        folder = Path(ready["folder"]) / "far"
        folder.mkdir()
        yield Ray(ready["address"], folder, process)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(60) == 0
