"""Recognises commands that run one program on several hosts."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence

from logbook_agent.text.commands.known import given_options
from logbook_agent.text.commands.script import Simple, simple_commands_of

# Launchers of a program's processes, with the options that say on how many hosts. An allocation that `srun` starts in
# may have said so before.
_HOSTS = {
    "srun": ("-N", "--nodes"),
    "sbatch": ("-N", "--nodes"),
    "salloc": ("-N", "--nodes"),
    "torchrun": ("--nnodes",),
}
_ALLOCATED = ("SLURM_JOB_NUM_NODES", "SLURM_NNODES")
# `2`, `1-4` of Slurm and `1:4` of torchrun: the last is the most.
_MOST = re.compile(r"(?:\d+[-:])?(?P<most>\d+)")


def several_hosts(argv: Sequence[str], environ: Mapping[str, str]) -> str | None:
    """What puts a command on several hosts, such as `srun --nodes 2`; None for a command of one host."""
    return next((said for simple in simple_commands_of(argv) if (said := _said(simple, environ)) is not None), None)


def _said(simple: Simple, environ: Mapping[str, str]) -> str | None:
    words = [word.text for word in simple]
    names = [posixpath.basename(word) for word in words]
    if names[0] not in _HOSTS:
        return None
    for option, number in given_options(words[1:], _HOSTS[names[0]]):
        most = _MOST.fullmatch(number)
        return f"{names[0]} {option} {number}" if most is not None and int(most["most"]) > 1 else None
    allocated = next((environ[key] for key in _ALLOCATED if key in environ), "1")
    return f"srun in an allocation of {allocated} nodes" if names[0] == "srun" and allocated != "1" else None
