"""Commands of several hosts, which are refused before an ID is taken."""

from __future__ import annotations

import shlex

import pytest

from logbook_agent.text.commands.hosts import several_hosts

SEVERAL = {
    "srun --nodes=2 python b.py": "srun --nodes 2",
    "srun -p gpu -N2 python b.py": "srun -N 2",
    "timeout 30 /usr/bin/srun -N 1-4 python b.py": "srun -N 1-4",
    "bash -lc 'cd x && srun --nodes 3 ./b'": "srun --nodes 3",
    "torchrun --nnodes=1:2 b.py": "torchrun --nnodes 1:2",
}
ONE = (
    "python b.py --nodes 2",
    "srun --nodes=1 python b.py -N 4",
    "srun -N1 ./b",
    "srun ./b",
    "torchrun --nproc-per-node 8 b.py",
)


@pytest.mark.parametrize("line", SEVERAL)
def test_several(line: str) -> None:
    assert several_hosts(shlex.split(line), {}) == SEVERAL[line]


@pytest.mark.parametrize("line", ONE)
def test_one(line: str) -> None:
    assert several_hosts(shlex.split(line), {"SLURM_JOB_NUM_NODES": "1"}) is None
