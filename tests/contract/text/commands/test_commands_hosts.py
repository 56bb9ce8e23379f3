"""Commands of several hosts, which are refused before an ID is taken."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.conftest import Cli


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--", "srun", "--nodes=2", "./b"), "srun --nodes 2: "),
        (("--shell", "--", "cd . && timeout 30 srun -N 1-4 ./b"), "srun -N 1-4: "),
        (("--", "torchrun", "--nnodes=1:2", "b.py"), "torchrun --nnodes 1:2: "),
    ],
)
def test_refused_before_an_id_is_taken(started: Cli, words: tuple[str, ...], named: str) -> None:
    refused = started("run", "--json", *words)
    assert (refused.code, refused.error["code"]) == (2, "usage")
    assert refused.error["message"].startswith(named)
    assert started("list", "--json").data == []


def test_slurm_options_for_several_hosts(started: Cli, folder: Path) -> None:
    file = Path(os.environ["XDG_CONFIG_HOME"]) / "logbook-agent/config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('[executors.queue]\nkind = "slurm"\noptions = ["--partition=low", "-N", "2"]\n')
    refused = started("run", "--on", "queue", "--", "./b")
    assert refused.code == 2
    assert "executor 'queue': sbatch -N 2: " in refused.err
    assert started("list", "--json").data == []
