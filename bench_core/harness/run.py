"""Run cases: check each against the oracle, then time it, and make a row of the outcome."""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from bench_core.blocks.impls import IMPLS
from bench_core.blocks.inputs import BlockInputs, make_inputs
from bench_core.blocks.moe import BlockSpec, store_weights
from bench_core.blocks.program import pass_function
from bench_core.errors import CaseFailed, CheckFailed, NonFiniteOutput, UnsupportedCase
from bench_core.gmm.base import GroupedMatmul, MatmulRequest
from bench_core.gmm.registry import BACKENDS
from bench_core.harness.case import Case, checked_shape
from bench_core.harness.check import check_outputs
from bench_core.harness.environment import peak_memory_bytes
from bench_core.harness.record import Environment, Failure, Row
from bench_core.harness.row import Measured, failed_row, measured_row
from bench_core.routing.load import load_statistics
from bench_core.shapes import MoeShape
from bench_core.timing.measure import Call, Program, Samples, call, compile_program, sample

Progress = Callable[[str], None]
"""Takes a line about what is being done now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prepared:
    """A compiled case at one shape, after its first call."""

    inputs: BlockInputs
    program: Program
    first: Call


def run_case(case: Case, environment: Environment, progress: Progress) -> Row:
    """Check and time one case. What a case can do wrong becomes a failed row; a bug still raises."""
    try:
        return measured_row(case, environment, _measured(case, progress))
    except CheckFailed as error:
        failure = Failure(reason=error.reason, message=error.message)
        return failed_row(case, environment, failure, observations=error.observations, labels=error.labels)
    except CaseFailed as error:
        failure = Failure(reason=error.reason, message=error.message)
    except MemoryError as error:
        failure = Failure(reason="out_of_memory", message=str(error))
    except jax.errors.JaxRuntimeError as error:
        failure = Failure(reason=_runtime_reason(str(error)), message=str(error))
    return failed_row(case, environment, failure)


def _runtime_reason(message: str) -> str:
    # Accelerators say RESOURCE_EXHAUSTED; the CPU client reports INTERNAL and says it in words.
    exhausted = "RESOURCE_EXHAUSTED" in message or "Out of memory" in message
    return "out_of_memory" if exhausted else "runtime_error"


def _measured(case: Case, progress: Progress) -> Measured:
    backend = _backend(case)
    shape = checked_shape(case.shape)
    if shape != case.shape:
        progress(f"checking at {shape}")
        small = _prepare(case, shape, backend)
        report = check_outputs(case, shape, small.inputs, small.first.outputs, backend)
        del small
    progress("compiling")
    prepared = _prepare(case, case.shape, backend)
    if shape == case.shape:
        progress("checking")
        report = check_outputs(case, shape, prepared.inputs, prepared.first.outputs, backend)
    program, first_call_s = prepared.program, prepared.first.time_s
    load = load_statistics(np.asarray(prepared.inputs.routing.experts), case.shape.experts)
    # The unfused weights and the first outputs are let go before anything is timed.
    del prepared
    progress(f"timing {case.warmup} + {case.iters} calls")
    samples = sample(program, warmup=case.warmup, iters=case.iters)
    _require_finite(samples)
    return Measured(
        check=report,
        program=program,
        first_call_s=first_call_s,
        samples=samples,
        load=load,
        peak_memory_bytes=peak_memory_bytes(),
        ran=backend.summary,
    )


def _backend(case: Case) -> GroupedMatmul:
    backend = BACKENDS[case.backend].load()
    request = MatmulRequest(platform=jax.default_backend(), dtype=case.dtype, bench_pass=case.bench_pass)
    refusal = backend.refusal(request)
    if refusal is not None:
        raise UnsupportedCase(
            f"backend {case.backend} cannot serve this case: {refusal}",
            cause=refusal,
            hint="bench-core hillclimb --list shows what each backend can serve",
        )
    return backend


def _prepare(case: Case, shape: MoeShape, backend: GroupedMatmul) -> _Prepared:
    impl = IMPLS[case.impl]
    inputs = make_inputs(case.seed, shape=shape, dtype=case.dtype, distribution=case.distribution)
    spec = BlockSpec(backend=backend, impl=impl, quant_mode=case.quant_mode)
    program = compile_program(
        pass_function(spec, case.bench_pass),
        (inputs.x, store_weights(inputs.weights, impl), inputs.routing),
    )
    return _Prepared(inputs=inputs, program=program, first=call(program))


def _require_finite(samples: Samples) -> None:
    """Look at the last timed outputs: a program that went wrong after its check must not pass."""
    for name, array in samples.outputs.items():
        if not bool(jnp.isfinite(array).all()):
            raise NonFiniteOutput(
                f"{name} holds NaN or infinity after the timed calls",
                cause="the program passed its check and then computed something else",
                hint="run the case again; if it repeats, report the backend",
            )


def numbered(progress: Progress, case: Case, index: int, count: int) -> Progress:
    """Progress that says which of how many cases it is about."""
    prefix = f"[{index}/{count}] {case.shape} {case.bench_pass} {case.quant_mode}"
    return lambda text: progress(f"{prefix}: {text}")
