"""The stages of a forward pass on several devices: one after another they are the block, and only the ends send."""

from collections.abc import Callable

import pytest

from tests.contract.bench_core.cli_support import Outcome

pytestmark = pytest.mark.slow
INNER = ("pack", "up", "down", "combine")


@pytest.mark.wide
def test_a_row_says_what_the_ends_take(bench: Callable[..., Outcome]) -> None:
    words = "hillclimb --parallel-mode ep --ep-impl ring --devices 4 --tokens 6 --hidden 8 --mlp-dim 6 --experts 4"
    (row,) = bench(*words.split(), "--stage-timing", "--iters", "2").rows
    seen = row["observations"]
    stages = ("send", *INNER, "return")
    assert sum(seen[f"stage_{name}_percent"] for name in stages) == pytest.approx(100)
    assert all(seen[f"stage_{name}_s"] > 0 for name in stages)
