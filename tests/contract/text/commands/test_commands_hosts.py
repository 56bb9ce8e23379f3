"""Commands of several hosts, which are refused before an ID is taken."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.conftest import Cli


@pytest.mark.parametrize("words", [("--", "srun", "--nodes=2", "./b"), ("--shell", "--", "cd . && srun --nodes=2 ./b")])
def test_refused_before_an_id_is_taken(started: Cli, words: tuple[str, ...]) -> None:
    refused = started("run", "--json", *words)
    assert (refused.code, refused.error["code"]) == (2, "usage")
    assert refused.error["message"].startswith("srun --nodes 2: ")
    assert started("list", "--json").data == []


def test_slurm_options_for_several_hosts(started: Cli, folder: Path) -> None:
    file = Path(os.environ["XDG_CONFIG_HOME"]) / "logbook-agent/config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('[executors.queue]\nkind = "slurm"\noptions = ["--partition=low", "-N", "2"]\n')
    refused = started("run", "--on", "queue", "--", "./b")
    assert refused.code == 2
    assert "executor 'queue': sbatch -N 2: " in refused.err
    assert started("list", "--json").data == []
