"""The tables of programs that are compiled ahead of time, and the script that makes them."""

import importlib.util
import json
from argparse import Namespace
from pathlib import Path
from types import ModuleType

import pytest

from bench_core.aot.targets import TARGETS
from bench_core.harness.case import Case
from tests.seams import bench_core as main

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
ALL = Namespace(targets="v5p-8,v5e-8,v6e-8,v5p-128")


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("moe_aot", BENCHMARKS / "moe_aot.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_form_spreads_over_its_whole_slice(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Case] = []
    monkeypatch.setattr("bench_core.cli.hillclimb.compile_cases", lambda request, _: made.extend(request.cases) or True)
    seen = set()
    for _, words in script.form_cases(ALL):
        with pytest.raises(SystemExit):
            main(["hillclimb", *words])
        target = words[words.index("--aot") + 1]
        case = made.pop()
        spread = case.parallel.over(TARGETS[target].chips, case.shape.experts)
        assert spread.devices == TARGETS[target].chips
        seen.add((target, case.shape.experts, spread.dp, spread.ep, spread.impl))
    # Five forms at two shapes on four slices, and one expert on each device of one of them.
    assert len(seen) == 5 * 2 * 4 + 1
    assert {(dp, ep) for target, experts, dp, ep, impl in seen if (target, experts) == ("v5p-128", 60) and impl} == {
        (16, 4)
    }


def test_saved_rows_are_those_of_the_cases(script: ModuleType) -> None:
    rows = json.loads((BENCHMARKS / "moe_aot_forms.json").read_text())["rows"]
    cases = [(*words, "--topk", "2") for _, words in script.form_cases(ALL)]
    assert {tuple(row["argv"]) for row in rows} <= set(cases)
    assert len({tuple(row["argv"]) for row in rows}) == len(rows)
    for row in rows:
        assert ("failed" in row) != ("hbm_bytes" in row["metrics"])
        assert script.form_line(row).count(" | ") == script.FORMS_HEAD.splitlines()[0].count(" | ")
