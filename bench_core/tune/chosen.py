"""Cases with the tiles that are kept for them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bench_core.harness.chosen import Chosen
from bench_core.tune.candidates import refuse_backend
from bench_core.tune.kept import kept, key_of


def with_tuned_tiles(cases: Sequence[Chosen], cache: Path, *, platform: str, device_kind: str) -> list[Chosen]:
    """The cases with the tiles that `bench-core tune` has kept for them.

    Raises:
        UsageError: one has none.
    """
    found = []
    for chosen in cases:
        refuse_backend(chosen.case.backend)
        tuned = kept(cache, chosen.case, key_of(chosen.case, platform=platform, device_kind=device_kind))
        found.append(replace(chosen, case=tuned.candidate.on(chosen.case), tuned=tuned.label()))
    return found
