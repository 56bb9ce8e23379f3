"""The stages of a forward pass on several devices: one after another they are the block, and only the ends send."""

import json
from collections.abc import Callable

import pytest

from tests.seams import bench_core as main

pytestmark = pytest.mark.slow
INNER = ("pack", "up", "down", "combine")


@pytest.mark.wide
def test_a_row_says_what_the_ends_take(capsys: pytest.CaptureFixture[str]) -> None:
    main_: Callable[[list[str]], None] = main
    words = "hillclimb --parallel-mode ep --ep-impl ring --devices 4 --tokens 6 --hidden 8 --mlp-dim 6 --experts 4"
    with pytest.raises(SystemExit):
        main_([*words.split(), "--stage-timing", "--iters", "2"])
    [line] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("RESULT_JSON")]
    seen = json.loads(line.removeprefix("RESULT_JSON "))["observations"]
    stages = ("send", *INNER, "return")
    assert sum(seen[f"stage_{name}_percent"] for name in stages) == pytest.approx(100)
    assert all(seen[f"stage_{name}_s"] > 0 for name in stages)
