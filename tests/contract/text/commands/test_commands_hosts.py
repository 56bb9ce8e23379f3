"""Commands of several hosts, which are noted, and options of executors for several, which are refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.conftest import Cli


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--", "srun", "--nodes=2", "./b"), "srun --nodes 2: "),
        (("--shell", "--", "cd . && timeout 30 srun --label -n 8 -N 1-4 ./b"), "srun -N 1-4: "),
        (("--", "torchrun", "--nnodes=1:2", "b.py"), "torchrun --nnodes 1:2: "),
        (("--", "srun", "./b", "-N", "4"), None),
        (("--", "srun", "-n", "8", "-N1", "--label", "./b", "--nodes=4"), None),
        (("--", "torchrun", "--standalone", "-m", "b", "--nnodes=2"), None),
    ],
)
def test_several_hosts_are_noted(
    started: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], named: str | None
) -> None:
    for program in ("srun", "torchrun"):
        path = folder / "bin" / program
        path.parent.mkdir(exist_ok=True)
        path.write_text("#!/bin/sh\necho METRIC tflops=1\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder / "bin"), prepend=":")
    [run] = started("run", "--json", *words).data["runs"]
    texts = [problem["text"] for problem in run["problems"] if "one host" in problem["text"]]
    assert [text.startswith(named or "-") for text in texts] == ([True] if named else [])


def test_slurm_options_for_several_hosts(started: Cli, folder: Path) -> None:
    file = Path(os.environ["XDG_CONFIG_HOME"]) / "logbook-agent/config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('[executors.queue]\nkind = "slurm"\noptions = ["--partition=low", "-N", "2"]\n')
    refused = started("run", "--on", "queue", "--", "./b")
    assert refused.code == 2
    assert "executor 'queue': sbatch -N 2: " in refused.err
    assert started("list", "--json").data == []
