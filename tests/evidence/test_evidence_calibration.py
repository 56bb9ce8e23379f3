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
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(SCRIPT.parent)  # it imports its neighbours
        spec.loader.exec_module(module)
    return module


# Of 100 trials with a chance of 5%, 15 come up in one of 7,000 cells.
TRIALS, TOO_MANY = 100, 15


@pytest.mark.wide
@pytest.mark.slow
def test_noise_is_rarely_called_an_effect_whatever_the_machine_does(simulation: ModuleType) -> None:
    experiments = (simulation.PAIRS_6, simulation.LOOKS_20, simulation.BLOCKED)
    held = [cell for cell in simulation.false_claims() if cell.experiment in experiments]
    assert len(held) == 3 * len(simulation.MODELS)
    for cell in held:
        assert simulation.run_cell((cell, TRIALS, 1)).hits < TOO_MANY, cell.name


@pytest.mark.slow
def test_an_effect_is_rarely_missed_and_coarse_values_are_rarely_called_neutral(simulation: ModuleType) -> None:
    [clear] = [c for c in simulation.power() if c.model == "normal 1%" and c.experiment.name == "3%, 20 pairs"]
    assert simulation.run_cell((clear, TRIALS, 1)).hits > TRIALS - TOO_MANY
    for cell in simulation.coarse():
        assert simulation.run_cell((cell, TRIALS, 1)).hits < TOO_MANY, cell.name


@pytest.mark.wide
@pytest.mark.slow
def test_the_best_of_equal_cases_is_no_winner(simulation: ModuleType) -> None:
    equal = [cell for cell in simulation.winners() if cell.experiment.values == 10]
    assert equal
    for cell in equal:
        # Of 20 trials with a chance of 5%, 6 come up in one of 3,000 cells.
        assert simulation.run_cell((cell, 20, 1)).hits < 6, cell.name
