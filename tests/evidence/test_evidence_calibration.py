"""The simulation of `make calibrate` in small: enough to see a rule that has become wrong."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "simulation.py"


@pytest.fixture(scope="module")
def simulation() -> ModuleType:
    spec = importlib.util.spec_from_file_location("simulation", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Its dataclasses look their own module up.
    sys.modules["simulation"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_noise_is_rarely_called_an_effect_and_an_effect_rarely_noise(simulation: ModuleType) -> None:
    held = [c for c in simulation.cells() if c.design.name == "pairs 10" and c.part in ("A/A", "3%") and c.target]
    assert len(held) == len(simulation.MODELS) + 1
    # 200 comparisons with a chance of 5% reach 22 in one of 1,000 cases.
    for cell in held:
        outcome = simulation.run_cell((cell, 200, 1))
        wrong = outcome.asked if cell.part == "A/A" else 200 - outcome.asked
        assert wrong < 22, cell.name


@pytest.mark.wide
@pytest.mark.slow
def test_the_best_of_a_hundred_equal_cases_is_no_winner(simulation: ModuleType) -> None:
    equal = [sweep for sweep in simulation.sweeps() if not sweep.effect]
    for sweep in equal:
        assert simulation.run_sweep((sweep, 20, 1)).named < 6, sweep.name
