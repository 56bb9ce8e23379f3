"""Compile cases for a TPU, without any array, and make a row of each. Nothing here is a timing: no program runs."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bench_core.accounting import count_bytes, count_flops
from bench_core.aot.libtpu import captured_output, compile_devices, libtpu_version
from bench_core.aot.refusals import Reason, Refusal, find_remedy, read_refusal
from bench_core.aot.targets import AotTarget, aot_config
from bench_core.blocks.inputs import make_routing, weight_shapes
from bench_core.blocks.moe import store_weights
from bench_core.errors import CaseFailed, UnsupportedCase
from bench_core.harness.backend import load_backend
from bench_core.harness.build import Built, build_case, plan_case
from bench_core.harness.case import Case
from bench_core.harness.compiler_flags import CompilerFlags, raise_refused_flag
from bench_core.harness.environment import describe_environment
from bench_core.harness.record import Environment, Failure, Measurement, Number, Row
from bench_core.harness.row import case_inflation, case_sends, computed_rows
from bench_core.harness.run import Outcome
from bench_core.parallel.block import padded_routing
from bench_core.parallel.plan import SpreadPlan
from bench_core.routing.layout import Assignments
from bench_core.routing.request import CapacityPolicy
from bench_core.routing.topk import Routing
from bench_core.timing.compiling import program_cost, program_memory
from bench_core.timing.measure import lower_program


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
        return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding), below)

    return jax.tree.map(placed, shardings, tree)


def _arguments(case: Case, built: Built) -> tuple[Any, ...]:
    """Their shapes."""
    shape, spec = case.shape, built.block
    tokens = built.plan.spread.padded_tokens(shape.tokens)
    x = jax.ShapeDtypeStruct((tokens, shape.hidden), case.dtype.value)
    sizes = weight_shapes(shape, router=case.has_router)
    weights = {name: jax.ShapeDtypeStruct(size, case.dtype.value) for name, size in sizes.items()}
    slots = (tokens, shape.topk)
    routing: Any = Routing._make(jax.ShapeDtypeStruct(slots, dtype) for dtype in (jnp.int32, jnp.float32))
    if case.routes_inside:
        routing = jax.ShapeDtypeStruct((tokens, shape.experts), jnp.float32)
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


NOT_CHECKED = "not run (compiled only)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiler:
    """The devices to compile for, and the facts of this process: no device takes part."""

    target: AotTarget
    devices: tuple[jax.Device, ...]
    environment: Environment


def start_compiler(target: AotTarget) -> Compiler:
    """Start libtpu for `target`.

    Raises:
        UsageError: libtpu is missing or does not know the target.
    """
    devices = compile_devices(target)
    environment = describe_environment()
    software = {**environment.software, "libtpu": libtpu_version()}
    return Compiler(target=target, devices=devices, environment=replace(environment, devices=(), software=software))


def aot_row(case: Case, compiler: Compiler, progress: Callable[[str], None]) -> Row:
    """The row of one case: what the compiled program holds and does, or why there is none, and which flag helps."""
    labels = {"check": NOT_CHECKED, "compiled_for": _named(compiler, case.parallel.spread.devices)}
    progress(f"compiling for {compiler.target.name}")
    try:
        lowered = lower_case(case, compiler.devices)
    except (CaseFailed, NotImplementedError, ValueError) as error:
        reason = error.reason if isinstance(error, CaseFailed) else Reason.UNSUPPORTED.value
        return _failed_row(case, compiler, Failure(reason=reason, message=str(error)), labels)
    labels["ran"] = lowered.ran
    outcome = compile_case(lowered, case.compiler_flags)
    if isinstance(outcome, CompiledCase):
        return _compiled_row(case, compiler, lowered, outcome, labels)
    progress("refused; looking for a flag that helps")
    labels |= find_remedy(case, outcome, compiler.target, lambda other: aot_outcome(other, compiler)).labels()
    row = _failed_row(case, compiler, Failure(reason=outcome.reason.value, message=outcome.message), labels)
    return replace(row, observations={"needed_bytes": outcome.needed_bytes, "limit_bytes": outcome.limit_bytes})


def _named(compiler: Compiler, devices: int) -> str:
    return f"{compiler.devices[0].device_kind}, {'one device' if devices == 1 else f'{devices} devices'}"


def compile_outcome(case: Case, compiler: Compiler) -> Outcome:
    """`compiled`, `failed` or `unsupported`, and a line about it."""
    try:
        outcome = aot_outcome(case, compiler)
    except UnsupportedCase as error:
        return Outcome(word="unsupported", text=f"unsupported: {error.cause}")
    if isinstance(outcome, CompiledCase):
        return Outcome(word="compiled", text=f"compiled for {compiler.target.name}")
    return Outcome(word="failed", text=f"failed ({outcome.reason}): {' '.join(outcome.message.split())}")


def aot_outcome(case: Case, compiler: Compiler) -> CompiledCase | Refusal:
    """Compile one case and nothing else.

    Raises:
        UnsupportedCase: the backend does not serve it on TPU.
    """
    try:
        return compile_case(lower_case(case, compiler.devices), case.compiler_flags)
    except (NotImplementedError, ValueError) as error:
        return Refusal(reason=Reason.UNSUPPORTED, message=str(error))


def _failed_row(case: Case, compiler: Compiler, failure: Failure, labels: dict[str, str]) -> Row:
    config = aot_config(case, compiler.target)
    return Row(config=config, environment=compiler.environment, failed=failure, labels=labels)


def _compiled_row(
    case: Case, compiler: Compiler, lowered: LoweredCase, compiled: CompiledCase, labels: dict[str, str]
) -> Row:
    rows = computed_rows(case, lowered.plan)
    flops = count_flops(case.shape, case.bench_pass, assignments=rows)
    cost, memory = program_cost(compiled.executable), program_memory(compiled.executable)
    inflation = case_inflation(cost, flops, lowered.plan.spread)
    sent, sent_labels = case_sends(case, lowered.plan, cost.text)
    hbm_bytes = compiler.target.chip.hbm_bytes_per_device
    metrics: dict[str, Measurement] = {}
    observations: dict[str, Number] = {"hbm_capacity_bytes": hbm_bytes}
    if memory is not None:
        metrics["hbm_bytes"] = Measurement(samples=(float(memory.total),), unit="bytes", direction="min")
        observations |= {
            "argument_bytes": memory.arguments,
            "output_bytes": memory.outputs,
            "temporary_bytes": memory.temporaries,
            "code_bytes": memory.code,
            "hbm_fraction": memory.total / hbm_bytes if hbm_bytes else None,
        }
    if inflation.ratio is not None:
        metrics["flops_inflation"] = Measurement(samples=(inflation.ratio,), unit="", direction="min")
    counted = inflation.observations() | {"flops_inflation": inflation.ratio}
    return Row(
        config=aot_config(case, compiler.target),
        environment=compiler.environment,
        metrics=metrics,
        summary={**{name: metric.samples[0] for name, metric in metrics.items()}, "check": NOT_CHECKED},
        observations={
            **observations,
            **{name: value for name, value in counted.items() if name not in metrics},
            "compiled_bytes": cost.bytes_accessed,
            "flops": flops,
            "model_bytes": count_bytes(case.shape, case.dtype, case.bench_pass, assignments=rows).total,
            "lower_s": lowered.lower_s,
            "compile_s": compiled.compile_s,
            **sent,
        },
        labels=labels | inflation.labels() | sent_labels,
    )
