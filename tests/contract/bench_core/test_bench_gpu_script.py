"""benchmarks/moe_gpu.py on a machine without a GPU: what it says, and a tiny run of the same script."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.bench_core.cli_support import QUICK_COMPILER

REPOSITORY = Path(__file__).resolve().parents[3]


def _script(*words: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"JAX_PLATFORMS": "cpu", "PYTHONPATH": str(REPOSITORY), "XLA_FLAGS": QUICK_COMPILER}
    command = [sys.executable, "benchmarks/moe_gpu.py", *words]
    return subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_without_a_gpu_it_says_so() -> None:
    done = _script()
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.splitlines()[:3] == [
        "error: JAX has no GPU here; its devices are of the kind cpu",
        "  cause: the machine has none, or JAX has no plug-in for it (scripts/bench_gpu installs one)",
        "  next: run it on a machine with a GPU, or try it with --scale tiny",
    ]


WHAT = [
    *("up", "down", "block forward"),
    *("up grad_lhs", "up grad_rhs", "down grad_lhs", "down grad_rhs", "block forward_backward"),
]


@pytest.mark.slow
@pytest.mark.wide
def test_a_tiny_run(tmp_path: Path) -> None:
    path, blocks = tmp_path / "samples.json", "32,16,16,4,2"
    which = ["--passes", "forward,forward_backward", "--levels", "product,block", "--blocks", blocks]
    done = _script("--scale", "tiny", *which, "--save", str(path))
    assert done.returncode == 0, done.stderr
    document = json.loads(path.read_text())
    assert [result["what"] for result in document["results"]] == WHAT
    for result in document["results"]:
        again, dense = {"pallas_gpu again"}, {"dense", "dense bfloat16"}
        measured = {"pallas_gpu", "ragged_dot", f"pallas_gpu {blocks}"} | again | dense
        assert measured <= result["seconds"].keys()
        assert {len(samples) for samples in result["seconds"].values()} == {2}
        assert {*result["difference"]} >= measured - again - dense - {"pallas_gpu"}
        assert max(result["difference"].values()) <= result["allowed_difference"]
        assert result["missing"] == {}
    for peer in document["missing"]:
        assert f"{peer} is missing: " in done.stdout
    rows = [line for line in done.stdout.splitlines() if line.startswith("| tiny ")]
    assert len(rows) == len(WHAT)
