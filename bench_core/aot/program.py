"""From a case to a program for a TPU, without any array."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bench_core.aot.quiet import captured_output
from bench_core.aot.refusals import Reason, Refusal, read_refusal
from bench_core.blocks.inputs import make_routing, weight_shapes
from bench_core.blocks.modes import QueueMode
from bench_core.blocks.moe import pack, store_weights
from bench_core.blocks.program import pass_function
from bench_core.harness.case import Case
from bench_core.harness.compiler_flags import CompilerFlags, raise_refused_flag
from bench_core.harness.run import block_spec, load_backend
from bench_core.routing.capacity import CapacityPolicy
from bench_core.routing.layout import Assignments, plan_assignments
from bench_core.routing.topk import Routing
from bench_core.timing.measure import lower_program

# JAX leaves this constructor without types.
_abstract: Callable[..., Any] = jax.ShapeDtypeStruct


@dataclass(frozen=True, slots=True, kw_only=True)
class LoweredCase:
    """A case as the compiler gets it. `ran` names the code of its matmuls, in the words of its backend."""

    lowered: jax.stages.Lowered
    assignments: Assignments
    lower_s: float
    ran: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledCase:
    """A program for a TPU that is not there, and how long compiling took (seconds)."""

    executable: jax.stages.Compiled
    compile_s: float


def lower_case(case: Case, device: jax.Device) -> LoweredCase:
    """Lower the program that would be timed on `device`, at the case's own shape.

    Values do not matter to a compiler, but for how many rows the experts have: null routing and capacities need
    the routing, which is drawn as for a run.

    Raises:
        UnsupportedCase: the backend does not serve the case on TPU.
        NotImplementedError, ValueError: a kernel cannot be written for TPU with these sizes.
    """
    backend = load_backend(case, platform="tpu")
    assignments = _assignments(case)
    spec = block_spec(case, backend, assignments)
    shape, sharding = case.shape, jax.sharding.SingleDeviceSharding(device)

    def placed(tree: Any) -> Any:
        return jax.tree.map(lambda leaf: _abstract(leaf.shape, leaf.dtype, sharding=sharding), tree)

    x = _abstract((shape.tokens, shape.hidden), case.dtype.value)
    weights = {name: _abstract(size, case.dtype.value) for name, size in weight_shapes(shape).items()}
    slots = (shape.tokens, shape.topk)
    routing = Routing(experts=_abstract(slots, jnp.int32), weights=_abstract(slots, jnp.float32))
    stored = jax.eval_shape(lambda weights: store_weights(weights, spec.impl, shared_fused=spec.shared_fused), weights)
    arguments: tuple[Any, ...] = (x, stored, routing)
    if case.queue_mode is QueueMode.PREQUEUE:
        arguments += (jax.eval_shape(lambda x, routing: pack(x, routing, shape.experts, spec), x, routing),)
    function = pass_function(spec, case.bench_pass)
    started = time.perf_counter()
    outputs = jax.eval_shape(function, *arguments)
    lowered = lower_program(function, placed(arguments), placed(outputs))
    return LoweredCase(
        lowered=lowered, assignments=assignments, lower_s=time.perf_counter() - started, ran=backend.ran()
    )


def _assignments(case: Case) -> Assignments:
    shape = case.shape
    if case.routing.null_frac == 0 and case.capacity.policy is CapacityPolicy.NONE:
        return Assignments(real=shape.assignments, null=0, dropped=0, layout=None)
    routing = make_routing(case.seed, shape=shape, request=case.routing)
    return plan_assignments(np.asarray(routing.experts), experts=shape.experts, capacity=case.capacity)


def compile_case(lowered: LoweredCase, flags: CompilerFlags) -> CompiledCase | Refusal:
    """Compile, or say why not. What libtpu writes meanwhile is shown only with an error that it does not explain.

    Raises:
        UsageError: the compiler does not take one of the flags.
    """
    options = flags.options()
    started = time.perf_counter()
    try:
        with captured_output() as noise:
            executable = lowered.lowered.compile(compiler_options=options or None)
    except jax.errors.JaxRuntimeError as error:
        raise_refused_flag(error)
        refusal = read_refusal(str(error))
        if refusal.reason is not Reason.COMPILE_ERROR or not noise.text.strip():
            return refusal
        return Refusal(reason=refusal.reason, message=f"{refusal.message}\n{noise.text.strip()}")
    return CompiledCase(executable=executable, compile_s=time.perf_counter() - started)
