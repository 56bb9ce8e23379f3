"""`bench-core predict`: what it refuses, and two sides."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.contract.bench_core.cli_support import Outcome

Bench = Callable[..., Outcome]

needs_libtpu = pytest.mark.skipif(sys.platform != "linux" or os.uname().machine != "x86_64", reason="no libtpu here")


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ([], "--aot"),
        (["--aot", "v5p", "--", "--aot", "v5e"], "--aot"),
        (["--aot", "v5p", "--", "--topk-list", "1,2"], "B has 2"),
        (["--aot", "v5p", "--experts", "6", "--parallel-mode", "ep"], "6 experts"),
    ],
)
def test_bad_requests(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], named: str
) -> None:
    monkeypatch.chdir(tmp_path)
    found = bench("predict", *words)
    assert (found.code, found.out) == (2, "")
    assert named in found.err.splitlines()[-3]


@needs_libtpu
@pytest.mark.slow
@pytest.mark.wide
def test_two_sides(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The way in which assignments are sorted does not reach the program of several devices."""
    monkeypatch.setenv("LOGBOOK_RESULT_FILE", str(tmp_path / "rows.json"))
    sizes = ["--tokens", "1024", "--hidden", "256", "--mlp-dim", "256", "--experts", "8", "--backend", "gmm"]
    spread = [*sizes, "--parallel-mode", "ep", "--aot", "v5p-8"]
    found = bench("predict", *spread, "--", "--routing-pack-strategy", "tuple_sort")
    assert found.code == 0
    a, b = found.rows
    assert json.loads((tmp_path / "rows.json").read_text()) == {"rows": [a, b]}
    for row, side in ((a, "A"), (b, "B")):
        assert (row["labels"]["side"], row["config"]["aot"], row["config"]["devices"]) == (side, "v5p-8", 4)
        assert "metrics" not in row
        assert row["prediction"]["bound"] < row["prediction"]["estimate"]
    assert a["prediction"]["program"] == b["prediction"]["program"]
    assert found.out.splitlines()[-1].startswith("PREDICTED ")
