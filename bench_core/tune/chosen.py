"""Cases with a tile: which backends have one for a case, and the tiles that are kept for it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bench_core.errors import UnsupportedCase, UsageError
from bench_core.gmm.registry import BACKENDS
from bench_core.harness.case import Case
from bench_core.harness.chosen import Chosen
from bench_core.harness.run import load_backend
from bench_core.tune.candidates import DEFAULT
from bench_core.tune.kept import kept, key_of

_TILED = {name: entry for name, entry in BACKENDS.items() if entry.default_tile is not None or entry.takes_row_tiles}
"""Backends that take a tile."""


def require_tile(case: Case, *, platform: str) -> None:
    """Refuse a case whose backend takes no tile, or cannot serve it, and name the backends that do both.

    Raises:
        UsageError: it is refused.
    """
    refusals = {name: _refusal(case, name, platform) for name in _TILED}
    own = refusals.get(case.backend)
    if case.backend in _TILED and own is None:
        return
    whys = {name: None if why is None else why.message for name, why in refusals.items()}
    for name in _TILED:
        if platform == "cpu" and _TILED[name].kernel:
            whys[name] = whys[name] or f"backend {name} runs in interpret mode on a CPU, whose times say nothing"
    able = [name for name, why in whys.items() if why is None]
    if not able:
        raise UsageError(
            "no backend with a tile serves this case",
            cause="; ".join(why for why in whys.values() if why is not None),
            hint="bench-core hillclimb without --tile measures it",
        )
    raise UsageError(
        f"backend {case.backend} has no tile to tune for this case",
        cause=f"backends with a tile for it: {', '.join(able)}" if own is None else own.cause,
        hint=f"use --backend {able[0]}",
    )


def _refusal(case: Case, backend: str, platform: str) -> UnsupportedCase | None:
    """Why a backend cannot serve the case, with a tile of its own."""
    try:
        load_backend(replace(DEFAULT.on(case), backend=backend), platform=platform)
    except UnsupportedCase as error:
        return error
    return None


def with_tuned_tiles(cases: Sequence[Chosen], cache: Path, *, platform: str, device_kind: str) -> list[Chosen]:
    """The cases with the tiles that `bench-core tune` has kept for them.

    Raises:
        UsageError: one has none.
    """
    found = []
    for chosen in cases:
        require_tile(chosen.case, platform=platform)
        tuned = kept(cache, chosen.case, key_of(chosen.case, platform=platform, device_kind=device_kind))
        found.append(replace(chosen, case=tuned.candidate.on(chosen.case), tuned=tuned.label()))
    return found
