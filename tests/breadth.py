"""What `make test` runs of a wide set, and what it leaves to `make test-wide`, which CI runs, too."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

import pytest

WIDE = "LOGBOOK_WIDE" in os.environ

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
    """Parameters that belong to `make test-wide`."""
    return pytest.param(*values, marks=pytest.mark.wide, id=id)
