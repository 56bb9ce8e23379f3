"""From a case to a program for a TPU, without any array."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bench_core.aot.libtpu import captured_output
from bench_core.aot.refusals import Reason, Refusal, read_refusal
from bench_core.blocks.inputs import make_routing, weight_shapes
from bench_core.blocks.moe import store_weights
from bench_core.errors import UnsupportedCase
from bench_core.harness.build import Built, build_case, plan_case
from bench_core.harness.case import Case
from bench_core.harness.compiler_flags import CompilerFlags, raise_refused_flag
from bench_core.harness.run import load_backend
from bench_core.parallel.block import padded_routing
from bench_core.parallel.plan import SpreadPlan
from bench_core.routing.capacity import CapacityPolicy
from bench_core.routing.layout import Assignments
from bench_core.routing.topk import Routing
from bench_core.timing.measure import lower_program

# JAX leaves this constructor without types.
_abstract: Callable[..., Any] = jax.ShapeDtypeStruct


@dataclass(frozen=True, slots=True, kw_only=True)
class LoweredCase:
    """A case as the compiler gets it. `ran` names the code of its matmuls and the form."""

    lowered: jax.stages.Lowered
    plan: SpreadPlan
    lower_s: float
    ran: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledCase:
    """A program for a TPU that is not there, and how long compiling took (seconds)."""

    executable: jax.stages.Compiled
    compile_s: float


def lower_case(case: Case, devices: Sequence[jax.Device]) -> LoweredCase:
    """Lower the program that would be timed on the first of `devices`, at the case's own shape.

    Values do not matter to a compiler, but for how many rows the experts have: null routing, capacities and several
    devices need the routing, which is drawn as for a run.

    Raises:
        UnsupportedCase: the backend does not serve the case on TPU, or the case is several programs.
        NotImplementedError, ValueError: a kernel cannot be written for TPU with these sizes.
    """
    if case.staged:
        raise UnsupportedCase(
            f"--programs {case.programs} cannot be combined with --aot",
            cause="it compiles one program, and the stages are programs of their own",
            hint="use --programs one",
        )
    backend = load_backend(case, platform="tpu")
    built = build_case(case, case.shape, backend, drawn_plan(case), devices)
    arguments = _arguments(case, built)
    started = time.perf_counter()
    outputs = jax.eval_shape(built.function, *arguments)
    places = built.places(arguments[1])
    if places is None:
        one = jax.sharding.SingleDeviceSharding(devices[0])
        lowered = lower_program(built.function, _on(arguments, one), _on(outputs, one))
    else:
        shardings = places.outputs(outputs)
        apart = _on(arguments, places.arguments), _on(outputs, shardings)
        lowered = lower_program(built.function, *apart, shardings)
    return LoweredCase(lowered=lowered, plan=built.plan, lower_s=time.perf_counter() - started, ran=built.ran())


def _on(tree: Any, shardings: Any) -> Any:
    """The shapes with their shardings, each of which may stand for all arrays below it."""

    def placed(sharding: jax.sharding.Sharding, below: Any) -> Any:
        return jax.tree.map(lambda leaf: _abstract(leaf.shape, leaf.dtype, sharding=sharding), below)

    return jax.tree.map(placed, shardings, tree)


def _arguments(case: Case, built: Built) -> tuple[Any, ...]:
    """Their shapes."""
    shape, spec = case.shape, built.block
    tokens = built.plan.spread.padded_tokens(shape.tokens)
    x = _abstract((tokens, shape.hidden), case.dtype.value)
    sizes = weight_shapes(shape, router=case.has_router)
    weights = {name: _abstract(size, case.dtype.value) for name, size in sizes.items()}
    slots = (tokens, shape.topk)
    routing: Any = Routing(experts=_abstract(slots, jnp.int32), weights=_abstract(slots, jnp.float32))
    if case.routes_inside:
        routing = _abstract((tokens, shape.experts), jnp.float32)
    stored = jax.eval_shape(lambda weights: store_weights(weights, spec.impl, shared_fused=spec.shared_fused), weights)
    if not built.prequeued:
        return x, stored, routing
    return x, stored, routing, jax.eval_shape(built.queue, x, routing)


def drawn_plan(case: Case) -> SpreadPlan:
    """What each device has to do, with the routing that a run draws."""
    shape, spread = case.shape, case.parallel.spread
    if spread.devices == 1 and case.routing.null_frac == 0 and case.capacity.policy is CapacityPolicy.NONE:
        every = Assignments(real=shape.assignments, null=0, dropped=0, layout=None)
        return SpreadPlan(spread=spread, assignments=every, rows=(shape.assignments,))
    routing = make_routing(case.seed, shape=shape, request=case.routing)
    chosen = padded_routing(routing, spread, shape.experts).experts
    return plan_case(case, shape, np.asarray(chosen))


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
