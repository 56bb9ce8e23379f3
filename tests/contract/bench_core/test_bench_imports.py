"""What must not be imported, and what is said where JAX or a platform is missing: asked of fresh processes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.breadth import wide

HEAVY = {"jax", "jaxlib", "jaxtyping", "numpy", "rich", "logbook_agent"}


def bench_core(*words: str, python: tuple[str, ...] = (), **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *python, "-m", "bench_core", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | env)


@pytest.mark.parametrize("words", ["hillclimb --help", "hillclimb --topk 9"])
@pytest.mark.slow
def test_no_heavy_import(words: str) -> None:
    lines = bench_core(*words.split(), python=("-X", "importtime")).stderr.splitlines()
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in lines if line.startswith("import time:")}
    assert "bench_core" in imported
    assert HEAVY & imported == set()


def test_missing_jax_names_the_extra(tmp_path: Path) -> None:
    (tmp_path / "jax.py").write_text("raise ModuleNotFoundError('no jax', name='jax')\n")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = bench_core("hillclimb", PYTHONPATH=path)
    assert (done.returncode, done.stdout) == (2, "")
    error, _, hint = done.stderr.splitlines()
    assert "jax" in error
    assert "pip install 'logbook-agent[bench]'" in hint


COMMANDS = (
    "hillclimb",
    "hillclimb --list",
    "hillclimb --parallel-mode dp --devices 2",
    "overlap --devices 2",
    "compare --devices 2",
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("platform", "command"),
    [("nonsense", "hillclimb"), ("cuda", "check"), *(wide("cuda", command) for command in COMMANDS)],
)
def test_a_platform_that_is_not_there_is_one_clear_error(platform: str, command: str) -> None:
    done = bench_core(*command.split(), JAX_PLATFORMS=platform)
    assert (done.returncode, done.stdout) == (2, "")
    error, cause, _ = done.stderr.splitlines()[-3:]
    assert error.startswith("error: JAX ")
    assert platform in cause
