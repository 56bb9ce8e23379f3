"""The simulations of benchmarks/calibration.py in small: enough to see a rule that has become wrong."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).resolve().parents[4] / "benchmarks"
# Of 100 trials with a chance of 5%, 15 come up in one of 7,000 cells.
TRIALS, TOO_MANY = 100, 0.15


@pytest.fixture(scope="module")
def calibration() -> Any:
    """The modules of the benchmark, by name."""
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(BENCHMARKS)
        names = ("machines", "simulation", "cells", "calibration_tables")
        for name in names:
            sys.modules.pop(name, None)
        yield {name: importlib.import_module(name) for name in names}
        for name in names:
            sys.modules.pop(name, None)


def part(calibration: Any, experiment: Any, model: str, *what: str) -> list[float]:
    """The part of 100 trials for each of what is counted."""
    cell = calibration["simulation"].Cell(experiment=experiment, model=model, trials=TRIALS, seed=1)
    tally = calibration["simulation"].run_cell(cell)
    return [tally.part(one) for one in what]


@pytest.mark.wide
@pytest.mark.slow
def test_noise_is_rarely_called_a_difference_whatever_the_machine_does(calibration: Any) -> None:
    cells = calibration["cells"]
    models = calibration["machines"].MODELS
    assert len(models) >= 28
    for model in models:
        assert part(calibration, cells.NONE, model, "claimed 100")[0] < TOO_MANY, model
    for experiment in cells.FAMILIES:
        assert part(calibration, experiment, "normal 5%", "claimed 100")[0] < TOO_MANY, experiment.name


@pytest.mark.slow
@pytest.mark.wide
def test_an_effect_is_found_and_coarse_values_never_say_no_difference(calibration: Any) -> None:
    experiment = calibration["simulation"].Experiment
    assert part(calibration, experiment(name="3%", effect=0.03), "normal 1%", "right 20")[0] > 1 - TOO_MANY
    assert part(calibration, experiment(name="none"), "normal 1%", "same 20")[0] > 0.5
    coarse = experiment(name="digits", effect=0.03, clock="two digits")
    same, covered = part(calibration, coarse, "normal 1%", "same 20", "covered 20")
    assert same < TOO_MANY
    assert covered > 1 - TOO_MANY


@pytest.mark.slow
def test_the_tables_say_what_is_beyond_a_limit(calibration: Any) -> None:
    """Figures made by hand: one model with too many false differences, and the same again with new trials."""
    cells, tally = calibration["cells"], calibration["simulation"].Tally
    found = [
        (cell, tally(cell=cell.name, trials=cell.trials, seed=cell.seed, counts={}, wall_s=0.0))
        for cell in cells.cells()
        if cell.experiment in (cells.NONE, cells.FIVE)
    ]
    covered = {f"covered {b}": found[0][1].trials for b in (20, 100)}
    found = [(cell, tally(cell=t.cell, trials=t.trials, seed=t.seed, counts=covered, wall_s=0.0)) for cell, t in found]
    bad = found[3][0]
    found[3] = (bad, tally(cell=bad.name, trials=4000, seed=1, counts=covered | {"claimed 20": 240}, wall_s=0.0))
    again = cells.again(found)
    assert again[0].name == bad.name
    assert len(again) == 5
    assert {cell.trials for cell in again} == {20_000}
    second = [
        (c, tally(cell=c.name, trials=20_000, seed=2, counts={"covered 20": 20_000, "covered 100": 20_000}, wall_s=0.0))
        for c in again
    ]
    assert cells.missed(found, second) == []
    worse = tally(cell=bad.name, trials=20_000, seed=2, counts=second[0][1].counts | {"claimed 100": 1_200}, wall_s=0.0)
    assert cells.missed(found, [(again[0], worse)]) == [f"{bad.name}: not covered 0.0%, claimed 6.0% of 20,000"]
    text = calibration["calibration_tables"].document(found, [(again[0], worse)])
    assert f"| {bad.model} | 6.0% |" in text
    assert f"| {bad.name} | 6.0% |" in text
