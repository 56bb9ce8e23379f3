"""Run cases: check each against the oracle, then time it, and make a row of the outcome."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

from bench_core.blocks.inputs import BlockInputs, make_inputs
from bench_core.blocks.int8_matmul import INTEGER_PRODUCTS, LONGEST_SUM
from bench_core.blocks.moe import store_weights
from bench_core.errors import CaseFailed, CheckFailed, UnsupportedCase
from bench_core.gmm.base import GroupedMatmul, MatmulRequest
from bench_core.gmm.default import default_backends
from bench_core.gmm.registry import BACKENDS
from bench_core.harness.build import Built, build_case, plan_case, require_form
from bench_core.harness.case import Case, checked_shape
from bench_core.harness.check import CheckReport, check_outputs
from bench_core.harness.compiler_flags import raise_refused_flag
from bench_core.harness.environment import device_peak_bytes
from bench_core.harness.record import Environment, Failure, Row
from bench_core.harness.row import Measured, failed_row, measured_row
from bench_core.harness.stages import time_stages
from bench_core.parallel.placing import padded, padded_routing
from bench_core.quant.mode import QuantMode
from bench_core.routing.load import load_statistics, run_statistics
from bench_core.shapes import MoeShape
from bench_core.timing.cost import program_cost
from bench_core.timing.measure import Call, Program, call, compile_program, sample, trace_call
from bench_core.timing.memory import program_memory

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


_CASE_ERRORS = (CaseFailed, MemoryError, jax.errors.JaxRuntimeError)
"""What a case can do wrong. Anything else is a bug, and raises."""


def run_case(case: Case, environment: Environment, progress: Progress, extras: Extras | None = None) -> Row:
    """Check and time one case. What a case can do wrong becomes a failed row; a bug still raises."""
    try:
        return measured_row(case, environment, _measured(case, progress, extras or Extras()))
    except CheckFailed as error:
        failure = _failure(error)
        return failed_row(case, environment, failure, observations=error.observations, labels=error.labels)
    except _CASE_ERRORS as error:
        raise_refused_flag(error)
        return failed_row(case, environment, _failure(error))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One word and one line about a case that was checked and not timed."""

    word: str
    text: str


def check_case(case: Case) -> Outcome:
    """Check a case against the oracle: `passed`, `failed` or `unsupported`."""
    try:
        require_form(case, platform=jax.default_backend())
        backend = load_backend(case, platform=jax.default_backend())
        prepared = _prepare(case, case.shape, backend)
        report = _checked(case, case.shape, prepared, backend)
    except UnsupportedCase as error:
        return Outcome(word="unsupported", text=f"unsupported: {error.cause}")
    except _CASE_ERRORS as error:
        return Outcome(word="failed", text=f"failed ({_failure(error).reason}): {_failure(error).message}")
    return Outcome(word="passed", text=f"passed, {report.comparison.error_ratio:.2f} of the bound")


def _failure(error: Exception) -> Failure:
    if isinstance(error, CaseFailed):
        return Failure(reason=error.reason, message=error.message)
    if isinstance(error, MemoryError):
        return Failure(reason="out_of_memory", message=str(error))
    return Failure(reason=_runtime_reason(str(error)), message=str(error))


def _runtime_reason(message: str) -> str:
    # Accelerators say RESOURCE_EXHAUSTED; the CPU client reports INTERNAL and says it in words.
    exhausted = "RESOURCE_EXHAUSTED" in message or "Out of memory" in message
    return "out_of_memory" if exhausted else "runtime_error"


def _measured(case: Case, progress: Progress, extras: Extras) -> Measured:
    require_form(case, platform=jax.default_backend())
    backend = load_backend(case, platform=jax.default_backend())
    shape = checked_shape(case.shape, case.parallel.spread)
    if shape != case.shape:
        progress(f"checking at {shape}")
        small = _prepare(case, shape, backend)
        report = _checked(case, shape, small, backend)
        del small
    progress("compiling")
    prepared = _prepare(case, case.shape, backend)
    if shape == case.shape:
        progress("checking")
        report = _checked(case, shape, prepared, backend)
    program, first_call_s = prepared.program, prepared.first.time_s
    chosen = np.asarray(prepared.inputs.routing.experts)
    built = prepared.built
    stages: dict[str, tuple[float, ...]] = {}
    if extras.stage_timing:
        progress("timing stages")
        stages = time_stages(
            prepared.inputs, built.block, warmup=case.warmup, iters=case.iters, flags=case.compiler_flags
        )
    # The unfused weights and the first outputs are let go before anything is timed.
    del prepared
    progress(f"timing {case.warmup} + {case.iters} calls")
    samples = sample(program, warmup=case.warmup, iters=case.iters)
    if extras.profile is not None:
        progress(f"tracing one call into {extras.profile}")
        trace_call(program, extras.profile)
    return Measured(
        check=report,
        program=program,
        first_call_s=first_call_s,
        samples=samples,
        plan=built.plan,
        load=load_statistics(chosen, case.shape.experts),
        runs=run_statistics(chosen, case.shape.experts),
        stages=stages,
        memory=program_memory(program.executable),
        cost=program_cost(program.executable),
        device_peak_bytes=device_peak_bytes(built.plan.spread.devices),
        ran=built.ran(staged=bool(stages)),
    )


def with_default_backend(case: Case, *, platform: str) -> Case:
    """The case with the first of the platform's default backends that serves it.

    Where none does it has the last one, whose refusal becomes its row.
    """
    *preferred, last = default_backends(platform)
    for name in preferred:
        candidate = replace(case, backend=name)
        try:
            load_backend(candidate, platform=platform)
        except UnsupportedCase:
            continue
        return candidate
    return replace(case, backend=last)


def load_backend(case: Case, *, platform: str) -> GroupedMatmul:
    """The backend of `case` for programs that are compiled for `platform`.

    Raises:
        UnsupportedCase: it cannot serve the case there.
    """
    backend = BACKENDS[case.backend].load(platform=platform, tile=case.tile)
    request = MatmulRequest(platform=platform, dtype=case.dtype, bench_pass=case.bench_pass)
    refusal = backend.refusal(request)
    if refusal is not None:
        raise UnsupportedCase(
            f"backend {case.backend} cannot serve this case: {refusal}",
            cause=refusal,
            hint="bench-core hillclimb --list shows what each backend can serve",
        )
    if case.quant_mode is not QuantMode.INT8_REAL:
        return backend
    longest = max(case.shape.hidden, case.shape.mlp_dim, case.shape.shared_expert_dim)
    if longest > LONGEST_SUM:
        raise UnsupportedCase(
            f"--quant-mode int8_real cannot sum {longest} products",
            cause=f"an int32 is certain to hold the sum of at most {LONGEST_SUM} products of int8 codes",
            hint="use --quant-mode int8, or smaller widths",
        )
    if backend.name not in INTEGER_PRODUCTS:
        able = ", ".join(name for name in BACKENDS if name in INTEGER_PRODUCTS) or "no backend"
        raise UnsupportedCase(
            f"backend {case.backend} cannot serve --quant-mode int8_real, {able} can",
            cause="it has no int8 x int8 matmul with int32 accumulation",
            hint="bench-core hillclimb --list shows what each backend can serve",
        )
    return backend


def _prepare(case: Case, shape: MoeShape, backend: GroupedMatmul) -> _Prepared:
    inputs = make_inputs(case.seed, shape=shape, dtype=case.dtype, request=case.routing)
    spread = case.parallel.spread
    x, routing = padded(inputs.x, spread), padded_routing(inputs.routing, spread, shape.experts)
    plan = plan_case(case, shape, np.asarray(routing.experts))
    built = build_case(case, shape, backend, plan, jax.devices())
    stored = store_weights(inputs.weights, built.block.impl, shared_fused=built.block.shared_fused)
    arguments: tuple[Any, ...] = (x, stored, routing)
    if built.prequeued:
        arguments += (built.queue(x, routing),)
    program = compile_program(
        built.function, arguments, options=case.compiler_flags.options(), places=built.places(stored)
    )
    return _Prepared(inputs=inputs, built=built, program=program, first=call(program))


def _checked(case: Case, shape: MoeShape, prepared: _Prepared, backend: GroupedMatmul) -> CheckReport:
    return check_outputs(case, shape, prepared.inputs, prepared.first.outputs, backend, prepared.built.plan.buckets)


def with_spread(case: Case, available: int) -> Case:
    """The case with the sizes of its mesh said, on so many devices.

    Raises:
        UsageError: it cannot be spread over them.
    """
    return replace(case, parallel=case.parallel.as_spread(case.parallel.over(available, case.shape.experts)))


def numbered(progress: Progress, case: Case, index: int, count: int) -> Progress:
    """Progress that says which of how many cases it is about."""
    prefix = f"[{index}/{count}] {case.shape} {case.bench_pass} {case.quant_mode}"
    return lambda text: progress(f"{prefix}: {text}")
