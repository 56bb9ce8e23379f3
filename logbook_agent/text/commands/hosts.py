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
# Options of launchers without a value. All others have one; the first word beyond them is the program.
_SWITCHES = frozenset(
    (
        *("-l", "--label", "-u", "--unbuffered", "-v", "--verbose", "-q", "--quiet", "-O", "--overcommit", "-s"),
        *(
            "--oversubscribe",
            "-K",
            "--kill-on-bad-exit",
            "-X",
            "--disable-status",
            "-Z",
            "--no-allocate",
            "-H",
            "--hold",
        ),
        *("--exclusive", "--overlap", "--exact", "--whole", "--pty", "--contiguous", "-k", "--no-kill", "-E", "-I"),
        *("--preserve-env", "--spread-job", "--use-min-nodes", "--multi-prog", "--immediate", "--requeue"),
        *("--standalone", "--no-python", "--no_python", "-m", "--module", "--run-path", "--run_path"),
    )
)
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
    for option, number in given_options(_own(words[1:]), _HOSTS[names[0]]):
        most = _MOST.fullmatch(number)
        return f"{names[0]} {option} {number}" if most is not None and int(most["most"]) > 1 else None
    allocated = next((environ[key] for key in _ALLOCATED if key in environ), "1")
    return f"srun in an allocation of {allocated} nodes" if names[0] == "srun" and allocated != "1" else None


def _own(words: Sequence[str]) -> Sequence[str]:
    """The words of a launcher, up to the program that it starts."""
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "--":
        word = words[at]
        is_whole = "=" in word or word in _SWITCHES or (len(word) > 2 and not word.startswith("--"))
        at += 1 if is_whole else 2
    return words[:at]
