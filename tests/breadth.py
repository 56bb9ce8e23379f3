"""What `make test` runs of a wide set, what it leaves to `make test-long`, and the sample of the long targets that CI
runs."""

from __future__ import annotations

import os
import subprocess
import zlib
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings

WIDE = "LOGBOOK_WIDE" in os.environ
STRESS = "LOGBOOK_STRESS" in os.environ
# One test of so many, others at each commit.
SAMPLE = int(os.environ.get("LOGBOOK_SAMPLE", "1"))
_COMMIT = subprocess.check_output(["git", "rev-parse", "HEAD"]) if SAMPLE > 1 else b""

# A machine with other work is no defect of a test: no deadline.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=15)
settings.register_profile("stress", settings.get_profile("suite"), max_examples=500)
settings.load_profile("stress" if STRESS else "suite")


def examples(number: int, **more: Any) -> settings:
    """So many examples of a property in `scripts/stress`, an eighth of them elsewhere."""
    return settings(max_examples=number if STRESS else -(-number // 8), **more)


T = TypeVar("T")


def covering(sets: Sequence[T], facets: Callable[[T], Iterable[Hashable]]) -> list[Any]:
    """The sets as parameters of a test. A few that show every facet stay in `make test`; the others are `wide`."""
    left = {facet for one in sets for facet in facets(one)}
    kept: set[int] = set()
    while left:
        best = max(range(len(sets)), key=lambda i: (len(left & {*facets(sets[i])}), -i))
        kept.add(best)
        left -= {*facets(sets[best])}
    return [
        pytest.param(*(one if isinstance(one, tuple) else (one,)), marks=[] if i in kept else [pytest.mark.wide])
        for i, one in enumerate(sets)
    ]


def wide(*values: Any, id: str | None = None) -> Any:
    """Parameters that belong to `make test-long`."""
    return pytest.param(*values, marks=pytest.mark.wide, id=id)


def in_sample(name: str) -> bool:
    """Whether this test is among the one of `SAMPLE` that run at this commit."""
    return zlib.crc32(_COMMIT + name.encode()) % SAMPLE == 0


def beyond_samples(items: Iterable[pytest.Item]) -> set[pytest.Item]:
    """Of a test with the mark `sample(N)`, all parameters but N of them, which lie evenly among them and are the same
    in every run."""
    found: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sample") is not None and item.get_closest_marker("wide") is None:
            found.setdefault(item.nodeid.partition("[")[0], []).append(item)
    beyond: set[pytest.Item] = set()
    for group in found.values():
        mark = group[0].get_closest_marker("sample")
        assert mark is not None
        [number] = mark.args
        beyond.update(
            item for i, item in enumerate(group) if i * number // len(group) == (i - 1) * number // len(group)
        )
    return beyond
