"""Compile cases for a TPU, and make a row of each. Nothing here is a timing: no program runs."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import jax

from bench_core.accounting import count_bytes, count_flops
from bench_core.aot.libtpu import compile_devices, libtpu_version
from bench_core.aot.program import CompiledCase, LoweredCase, compile_case, lower_case
from bench_core.aot.refusals import Reason, Refusal
from bench_core.aot.remedy import find_remedy
from bench_core.aot.targets import AotTarget, aot_config
from bench_core.errors import CaseFailed, UnsupportedCase
from bench_core.harness.case import Case
from bench_core.harness.environment import describe_environment
from bench_core.harness.record import Environment, Failure, Measurement, Number, Row
from bench_core.harness.row import case_inflation, case_sends, computed_rows
from bench_core.harness.run import Outcome
from bench_core.timing.cost import program_cost, program_memory

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
    failed = _FailedRow(case=case, compiler=compiler, labels=labels)
    progress(f"compiling for {compiler.target.name}")
    try:
        lowered = lower_case(case, compiler.devices)
    except CaseFailed as error:
        return failed.row(Failure(reason=error.reason, message=error.message))
    except (NotImplementedError, ValueError) as error:
        return failed.row(Failure(reason=Reason.UNSUPPORTED.value, message=str(error)))
    labels["ran"] = lowered.ran
    outcome = compile_case(lowered, case.compiler_flags)
    if isinstance(outcome, CompiledCase):
        return _compiled_row(case, compiler, lowered, outcome, labels)
    progress("refused; looking for a flag that helps")
    return failed.refused(outcome)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _FailedRow:
    case: Case
    compiler: Compiler
    labels: dict[str, str]

    def row(self, failure: Failure, observations: dict[str, Number] | None = None) -> Row:
        return Row(
            config=aot_config(self.case, self.compiler.target),
            environment=self.compiler.environment,
            failed=failure,
            observations=observations or {},
            labels=self.labels,
        )

    def refused(self, refusal: Refusal) -> Row:
        def attempt(case: Case) -> CompiledCase | Refusal:
            return aot_outcome(case, self.compiler)

        self.labels.update(find_remedy(self.case, refusal, self.compiler.target, attempt).labels())
        return self.row(
            Failure(reason=refusal.reason.value, message=refusal.message),
            {"needed_bytes": refusal.needed_bytes, "limit_bytes": refusal.limit_bytes},
        )


def _compiled_row(
    case: Case, compiler: Compiler, lowered: LoweredCase, compiled: CompiledCase, labels: dict[str, str]
) -> Row:
    rows = computed_rows(case, lowered.plan)
    flops = count_flops(case.shape, case.bench_pass, assignments=rows).total
    cost, memory = program_cost(compiled.executable), program_memory(compiled.executable)
    inflation = case_inflation(case, cost, flops, lowered.plan.spread)
    sent = case_sends(case, lowered.plan, cost.text)
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
            **sent.observations(),
        },
        labels=labels | inflation.labels() | sent.labels(),
    )
