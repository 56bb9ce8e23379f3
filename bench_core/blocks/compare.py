"""Outputs against the oracle."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Shaped

from bench_core.blocks.bounded import FLOAT32_TINY, Bounded


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The element that comes closest to its bound, or is furthest beyond it, over all outputs.

    `max_abs_error` and `tolerance` are |program - oracle| and the bound at that one element of `output`,
    `error_ratio` is their quotient: the check passes when it is at most 1, for every element therefore.
    """

    output: str
    max_abs_error: float
    tolerance: float
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
    return max(worst, key=lambda comparison: comparison.error_ratio)


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
        output=name,
        max_abs_error=float(error.flat[at]),
        tolerance=float(tolerance.flat[at]),
        error_ratio=float(ratio.flat[at]),
    )
