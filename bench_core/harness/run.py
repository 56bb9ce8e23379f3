"""Run cases: check each against the oracle, then time it, and make a row of the outcome."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from bench_core.blocks.inputs import BlockInputs, make_inputs
from bench_core.blocks.moe import store_weights
from bench_core.errors import CaseFailed, UnsupportedCase
from bench_core.gmm.base import GroupedMatmul
from bench_core.harness.backend import load_backend, require_form
from bench_core.harness.build import Built, build_case, compile_built, plan_case, time_stages
from bench_core.harness.case import Case, checked_shape
from bench_core.harness.check import FLOAT64_TOLERANCE, CheckReport, check_outputs
from bench_core.harness.compiler_flags import raise_refused_flag
from bench_core.harness.environment import device_peak_bytes
from bench_core.harness.record import Environment, Failure, Row
from bench_core.harness.row import Measured, measured_row
from bench_core.parallel.block import padded, padded_logits, padded_routing
from bench_core.quant import types_for
from bench_core.shapes import DType, MoeShape
from bench_core.timing.measure import Call, Program, call, sample, trace_call

Progress = Callable[[str], None]
"""Takes a line about what is being done now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prepared:
    """A compiled case at one shape, after its first call."""

    inputs: BlockInputs
    built: Built
    program: Program
    first: Call


@dataclass(frozen=True, slots=True, kw_only=True)
class Extras:
    """What is measured besides the case: the stages of the forward pass, and a trace of one call, which is
    not a timed one, in the folder `profile`."""

    stage_timing: bool = False
    profile: Path | None = None


CASE_ERRORS = (CaseFailed, MemoryError, jax.errors.JaxRuntimeError)
"""What a case can do wrong. Anything else is a bug, and raises."""


def run_case(case: Case, environment: Environment, progress: Progress, extras: Extras | None = None) -> Row:
    """Check and time one case. What a case can do wrong becomes a failed row; a bug still raises."""
    try:
        return measured_row(case, environment, _measured(case, progress, extras or Extras()))
    except CASE_ERRORS as error:
        return row_of_error(case, environment, error)


def row_of_error(case: Case, environment: Environment, error: Exception) -> Row:
    """The failed row of one of `CASE_ERRORS`.

    Raises:
        UsageError: the compiler does not take one of the case's flags.
    """
    raise_refused_flag(error)
    own = error if isinstance(error, CaseFailed) else None
    return Row(
        config=case.config(),
        environment=environment.using(case.parallel.spread.devices),
        failed=_failure(error),
        observations={} if own is None else own.observations,
        labels={} if own is None else own.labels,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One word and one line about a case that was checked and not timed. `relative`: in float64 the largest difference
    to the oracle, as a fraction of the largest element of its array."""

    word: str
    text: str
    relative: float | None = None


def check_case(case: Case) -> Outcome:
    """Check a case against the oracle: `passed`, `failed` or `unsupported`."""
    try:
        require_form(case, platform=jax.default_backend())
        backend = load_backend(case, platform=jax.default_backend())
        with types_for(case.dtype):
            prepared = _prepare(case, case.shape, backend)
            report = _checked(case, case.shape, prepared, backend)
    except UnsupportedCase as error:
        return Outcome(word="unsupported", text=f"unsupported: {error.cause}")
    except CASE_ERRORS as error:
        return Outcome(word="failed", text=f"failed ({_failure(error).reason}): {_failure(error).message}")
    ratio = report.comparison.error_ratio
    if case.dtype is not DType.FLOAT64:
        return Outcome(word="passed", text=f"passed, {ratio:.2f} of the bound")
    relative = ratio * FLOAT64_TOLERANCE
    return Outcome(word="passed", text=f"passed, {relative:.1e} of the largest element", relative=relative)


def _failure(error: Exception) -> Failure:
    message = str(error)
    if isinstance(error, CaseFailed):
        return Failure(reason=error.reason, message=message)
    # Accelerators say RESOURCE_EXHAUSTED; the CPU client reports INTERNAL and says it in words.
    exhausted = "RESOURCE_EXHAUSTED" in message or "Out of memory" in message or isinstance(error, MemoryError)
    return Failure(reason="out_of_memory" if exhausted else "runtime_error", message=message)


def _measured(case: Case, progress: Progress, extras: Extras) -> Measured:
    """Compile, check and time a case."""
    require_form(case, platform=jax.default_backend())
    backend = load_backend(case, platform=jax.default_backend())
    shape = checked_shape(case.shape, case.parallel.spread)
    if shape != case.shape:
        progress(f"checking at {shape}")
        report = _checked(case, shape, _prepare(case, shape, backend), backend)
    progress("compiling")
    prepared = _prepare(case, case.shape, backend)
    if shape == case.shape:
        progress("checking")
        report = _checked(case, shape, prepared, backend)
    built, program, first_call_s = prepared.built, prepared.program, prepared.first.time_s
    chosen = np.asarray(prepared.inputs.routing.experts)
    # The unfused weights and the first outputs are not kept: timing needs their memory.
    del prepared
    stages: dict[str, tuple[float, ...]] = {}
    if extras.stage_timing:
        progress("timing stages")
        stages = time_stages(built, program.arguments)
    progress(f"timing {case.warmup} + {case.iters} calls")
    samples = sample(program, warmup=case.warmup, iters=case.iters)
    if extras.profile is not None:
        progress(f"tracing one call into {extras.profile}")
        trace_call(program, extras.profile)
    return Measured(
        check=report,
        built=built,
        program=program,
        first_call_s=first_call_s,
        samples=samples,
        chosen=chosen,
        stages=stages,
        device_peak_bytes=device_peak_bytes(built.plan.spread.devices),
    )


def _prepare(case: Case, shape: MoeShape, backend: GroupedMatmul) -> _Prepared:
    # Waited for: NumPy ends the process where it reads an array for which there was no memory.
    drawn = make_inputs(
        case.seed,
        shape=shape,
        dtype=case.dtype,
        request=case.routing,
        router=case.has_router,
        inside=case.routes_inside,
    )
    inputs = jax.block_until_ready(drawn)
    spread = case.parallel.spread
    x, routing = padded(inputs.x, spread), padded_routing(inputs.routing, spread, shape.experts)
    plan = plan_case(case, shape, np.asarray(routing.experts))
    built = build_case(case, shape, backend, plan, jax.devices())
    stored = store_weights(inputs.weights, built.block.impl, shared_fused=built.block.shared_fused)
    chosen = routing if inputs.logits is None else padded_logits(inputs.logits, spread)
    arguments: tuple[Any, ...] = (x, stored, chosen)
    if built.prequeued:
        arguments += (built.queue(x, routing),)
    program = compile_built(built, arguments, built.places(stored))
    return _Prepared(inputs=inputs, built=built, program=program, first=call(program))


def _checked(case: Case, shape: MoeShape, prepared: _Prepared, backend: GroupedMatmul) -> CheckReport:
    return check_outputs(case, shape, prepared.inputs, prepared.first.outputs, backend, prepared.built.plan.buckets)
