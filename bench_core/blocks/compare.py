"""Outputs against the oracle."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from bench_core.arrays import Shaped
from bench_core.blocks.bounded import FLOAT32_TINY, Bounded

FLOAT64_TOLERANCE = 1e-12
"""In a case of float64, of the largest |element| of each array. A thousand roundings in a row are off by 1e-13 in
float64; one rounding to float32 is off by up to 6e-8."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """How far the outputs are from the oracle's.

    `max_abs_error` is the largest |program - oracle| over all elements of all outputs. The bound differs from
    element to element, so the check looks at the one that comes closest to its own, or is furthest beyond it:
    in `output`, with `worst_error` there, `worst_tolerance` its bound and `error_ratio` their quotient. The
    check passes when that is at most 1, and so for every element.
    """

    max_abs_error: float
    output: str
    worst_error: float
    worst_tolerance: float
    error_ratio: float

    @property
    def passed(self) -> bool:
        return self.error_ratio <= 1.0


def compare(outputs: Mapping[str, Shaped[np.ndarray, "..."]], expected: Mapping[str, Bounded]) -> Comparison:
    """Compare every output with the oracle, element by element.

    Raises:
        ValueError: an output is missing, unexpected or of another shape.
    """
    if outputs.keys() != expected.keys():
        raise ValueError(f"outputs {sorted(outputs)} are not those of the oracle, {sorted(expected)}")
    worst = [_worst(name, outputs[name], expected[name]) for name in expected]
    largest = max(comparison.max_abs_error for comparison in worst)
    return replace(max(worst, key=lambda comparison: comparison.error_ratio), max_abs_error=largest)


def bounded_alike(expected: Mapping[str, Bounded], tolerance: float) -> dict[str, Bounded]:
    """The same values, where every element of an array may be off by `tolerance` of its largest |element|."""
    return {
        name: Bounded(value=own.value, error=np.full_like(own.value, tolerance * np.abs(own.value).max(initial=0.0)))
        for name, own in expected.items()
    }


def _worst(name: str, output: Shaped[np.ndarray, "..."], expected: Bounded) -> Comparison:
    if output.shape != expected.value.shape:
        raise ValueError(f"{name} has shape {output.shape}, the oracle's has {expected.value.shape}")
    error = np.abs(output.astype(np.float64) - expected.value)
    # NaN compares with nothing: it is infinitely wrong here.
    error = np.where(np.isnan(error), np.inf, error)
    # Hardware may flush what is smaller than the smallest normal number to zero.
    tolerance = expected.error + FLOAT32_TINY
    ratio = error / tolerance
    at = int(np.argmax(ratio))
    return Comparison(
        max_abs_error=float(error.max()),
        output=name,
        worst_error=float(error.flat[at]),
        worst_tolerance=float(tolerance.flat[at]),
        error_ratio=float(ratio.flat[at]),
    )
