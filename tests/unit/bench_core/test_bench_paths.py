"""`bench-core overlap` and `compare`: the published command lines, and what a path is."""

import csv
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from bench_core.blocks.modes import Programs, Router
from bench_core.cli.paths import COMPARE, OVERLAP
from bench_core.cli.rows import Request
from bench_core.harness.case import Case
from bench_core.parallel.spread import EpImpl, Spread
from bench_core.shapes import BenchPass
from tests.contract.bench_core.cli_support import Outcome

DATA = Path(__file__).parents[2] / "contract/bench_core/data"
Taken = list[tuple[dict[str, object], Case]]


def _table(name: str, column: str) -> list[list[str]]:
    with (DATA / name).open(encoding="utf-8", newline="") as stream:
        return [shlex.split(row[column]) for row in csv.DictReader(stream, delimiter="\t")]


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> Taken:
    """The cases that a command would run, with what their rows begin with."""
    found: Taken = []

    def take(request: Request) -> bool:
        found.extend(zip(map(dict, request.keys), request.cases, strict=True))
        return True

    monkeypatch.setattr("bench_core.cli.paths.run_cases", take)
    return found


def test_the_published_overlap_lines_are_three_paths_each(bench: Callable[..., Outcome], taken: Taken) -> None:
    lines = _table("seed_overlap_commands.tsv", "options")
    for words in lines:
        assert bench("overlap", *words).code == 0
    assert [keys["path"] for keys, _ in taken] == [*OVERLAP] * len(lines)
    every = [(hidden, topk) for hidden in (2048, 3072) for topk in (1, 2, 4, 6, 8)]
    sizes = sorted((case.shape.hidden, case.shape.topk) for _, case in taken[::3])
    assert sizes == sorted([*every, (2048, 2), (3072, 2)])
    cases = [case.over(4) for _, case in taken[:3]]
    assert [case.parallel.spread for case in cases] == [
        Spread(dp=4),
        Spread(dp=4),
        Spread(ep=4, impl=EpImpl.ALL_TO_ALL),
    ]
    assert [case.programs for case in cases] == [Programs.ONE, Programs.STAGES_ASYNC, Programs.ONE]
    assert {(case.router, case.bench_pass) for case in cases} == {(Router.INSIDE, BenchPass.FORWARD)}


def test_the_published_compare_lines_are_variables_alone(
    bench: Callable[..., Outcome], taken: Taken, monkeypatch: pytest.MonkeyPatch
) -> None:
    meshes = []
    for line in _table("seed_compare.tsv", "variables"):
        taken.clear()
        with monkeypatch.context() as patched:
            for word in line:
                patched.setenv(*word.split("=", 1))
            assert bench("compare", "--devices", "4").code == 0
        assert [(keys["path"], case.shape.topk) for keys, case in taken] == [(p, k) for p in COMPARE for k in (2, 8)]
        assert {keys["batch"] * 128 for keys, _ in taken} == {case.shape.tokens for _, case in taken}
        baseline, dp, dp_ep = (case.over(4) for _, case in taken[::2])
        assert (baseline.parallel.spread, dp.parallel.spread) == (Spread(dp=4, auto=True), Spread(dp=4))
        assert [case.impl for case in (baseline, dp, dp_ep)] == ["baseline", "fused_w13", "fused_w13"]
        meshes.append((dp_ep.shape.tokens, dp_ep.parallel.dp_size, dp_ep.parallel.ep_size))
    assert meshes == [(24576, 2, 2), (245760, 2, 2), (245760, 1, 4)]
