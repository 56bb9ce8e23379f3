"""Check a program's outputs against the oracle."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from bench_core.arrays import Array, Shaped
from bench_core.blocks.bounded import FLOAT32_TINY, Bounded, BoundedMath
from bench_core.blocks.inputs import BlockInputs
from bench_core.blocks.oracle import Oracle, OracleInputs
from bench_core.blocks.program import canonical_outputs
from bench_core.errors import CheckFailed
from bench_core.gmm.base import GroupedMatmul
from bench_core.harness.case import Case
from bench_core.parallel.plan import Buckets
from bench_core.shapes import DType, MoeShape

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


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """A comparison, and the shape at which it was made."""

    comparison: Comparison
    shape: MoeShape
    reduced: bool

    def observations(self) -> dict[str, float]:
        """JSON has no infinity: a NaN or infinite output counts as the largest finite error."""
        largest = float(np.finfo(np.float64).max)
        return {
            "max_abs_error": min(self.comparison.max_abs_error, largest),
            "error_ratio": min(self.comparison.error_ratio, largest),
            "worst_error": min(self.comparison.worst_error, largest),
            "worst_tolerance": self.comparison.worst_tolerance,
        }

    def labels(self) -> dict[str, str]:
        return {
            "check": "passed" if self.comparison.passed else "failed",
            "checked_shape": str(self.shape),
            "checked_at": "reduced shape" if self.reduced else "own shape",
            "check_worst_output": self.comparison.output,
        }


def check_outputs(
    case: Case,
    shape: MoeShape,
    inputs: BlockInputs,
    outputs: Mapping[str, Array],
    backend: GroupedMatmul,
    buckets: Buckets | None,
) -> CheckReport:
    """Compare the outputs of `case`'s program at `shape` with the oracle. `buckets`: what a capacity is counted by.

    Raises:
        CheckFailed: an element of an output differs by more than its bound: that of its roundings, or in float64 a
            fraction of the array's largest element.
    """
    oracle = Oracle(
        math=BoundedMath(arithmetic=backend.arithmetic, dtype=case.dtype),
        quant_mode=case.quant_mode,
        sends=case.parallel.spread.sends(topk=shape.topk, shared=shape.shared_expert_dim > 0),
    )
    expected = oracle.expected(host_inputs(inputs, buckets), case.bench_pass)
    if case.dtype is DType.FLOAT64:
        expected = bounded_alike(expected, FLOAT64_TOLERANCE)
    arrays = {name: np.asarray(array) for name, array in canonical_outputs(outputs).items()}
    for name in {"output", "grad_x"} & arrays.keys():
        # Of tokens that were added so that every device has as many nothing is expected.
        arrays[name] = arrays[name][: shape.tokens]
    comparison = compare(arrays, expected)
    report = CheckReport(comparison=comparison, shape=shape, reduced=shape != case.shape)
    if not comparison.passed:
        raise CheckFailed(
            f"{comparison.output} differs from the float64 oracle by {comparison.worst_error:.3g}, "
            f"the bound there is {comparison.worst_tolerance:.3g}",
            cause=f"backend {case.backend} or impl {case.impl} computes a different result at {shape}",
            hint="nothing was timed; try another backend or impl, and report this one",
            observations=report.observations(),
            labels=report.labels(),
        )
    return report


def host_inputs(inputs: BlockInputs, buckets: Buckets | None = None) -> OracleInputs:
    """The same numbers as NumPy arrays; `buckets` may be of more tokens."""
    return OracleInputs(
        x=np.asarray(inputs.x),
        weights={name: np.asarray(array) for name, array in inputs.weights.items()},
        experts=np.asarray(inputs.routing.experts),
        routing_weights=np.asarray(inputs.routing.weights),
        capacity=None if buckets is None else buckets.capacity,
        buckets=None if buckets is None else buckets.of[: inputs.x.shape[0]],
        logits=None if inputs.logits is None else np.asarray(inputs.logits),
    )
