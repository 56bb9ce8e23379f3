"""`logbook bench`: the in-house benchmark, run with this Python."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path

from logbook_agent.model.errors import UsageError

PROGRAM = "bench-core"


def bench_argv(words: Sequence[str], *, adds_run: bool) -> list[str]:
    """The command that runs `words` with bench_core; none when a planned entry names its own.

    The record says `bench-core ...`, which anybody can copy, not where this machine keeps it.

    Raises UsageError when the benchmark's packages are not installed.
    """
    if not words:
        if adds_run:
            return []
        raise UsageError(
            "no benchmark named",
            cause="nothing follows --",
            hint="logbook bench -- hillclimb --tokens 128 --hidden 64 --mlp-dim 32 --experts 4 --topk 2",
        )
    if importlib.util.find_spec("jax") is None:
        raise UsageError(
            "the benchmark needs jax, which this Python does not have",
            cause=f"{sys.executable} was installed without the extra `bench`",
            hint="pip install 'logbook-agent[bench]'",
        )
    return [PROGRAM, *words]


def own_benchmark(argv: Sequence[str], on: str | None) -> Path | None:
    """The folder to look in first for a command that means this Python's benchmark; None for any other command, and on
    another machine. Raises UsageError as `bench_argv`."""
    if list(argv[:1]) != [PROGRAM] or on is not None:
        return None
    bench_argv(argv[1:], adds_run=False)
    return bench_folder()


def bench_folder() -> Path:
    """Where this Python's own `bench-core` lies."""
    return Path(sys.executable).parent
