"""`bench-core check`: a table of cases against the oracle, or against a compiler; none of them timed."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from bench_core.aot.targets import AotTarget, choose_target
from bench_core.cli.flags import typer_option
from bench_core.cli.hillclimb import AOT
from bench_core.flag import choose
from bench_core.gmm.registry import BACKENDS
from bench_core.harness.case import Case
from bench_core.harness.table import choices, table_case
from bench_core.parallel.sizes import require_devices
from bench_core.parallel.spread import Parallel

if TYPE_CHECKING:
    from bench_core.harness.run import Outcome


def check(
    backend: Annotated[str, typer.Option(metavar="all|NAME", help="One backend, or all.")] = "all",
    full: Annotated[
        bool, typer.Option("--full", help="Every combination (hours), not only every pair of values.")
    ] = False,
    devices: Annotated[
        int | None,
        typer.Option(metavar="N", help="A table for N devices: every form of dp and ep; on CPU they are virtual."),
    ] = None,
    aot: Annotated[str | None, typer_option("aot", AOT)] = None,
) -> None:
    """Check the forward pass and all gradients of a table of small cases against the float64 oracle.

    With --aot they are compiled for a TPU and not run, so nothing is compared. Exit code: 0 all passed, 1 a case
    failed. A case that a backend cannot serve is shown, and is not a failure.
    """
    choose("--backend", backend, [*BACKENDS, "all"])
    Parallel(devices=devices)  # refuses a number that no command takes
    backends = list(BACKENDS) if backend == "all" else [backend]
    target = None if aot is None else choose_target(aot)
    rows = choices(devices, full=full)
    look = _looker(target, devices)
    typer.echo(" | ".join(("backend", *rows[0], "result")))
    counts = {"passed" if target is None else "compiled": 0, "failed": 0, "unsupported": 0}
    relative: list[float] = []
    for name in backends:
        for choice in rows:
            outcome = look(table_case(name, choice, devices))
            counts[outcome.word] += 1
            relative += [] if outcome.relative is None else [outcome.relative]
            typer.echo(" | ".join((name, *choice.values(), outcome.text)))
    if relative:
        typer.echo(f"float64: differences of at most {max(relative):.1e} of the largest element of an array")
    typer.echo(", ".join(f"{count} {word}" for word, count in counts.items()))
    if counts["failed"]:
        raise typer.Exit(1)


def _looker(target: AotTarget | None, devices: int | None) -> "Callable[[Case], Outcome]":
    """What is done with a case, on so many devices. Imports are late, so that help and refusals do not wait for JAX.

    Raises:
        UsageError: there are not so many, or JAX finds none of the platform that it was told to use.
    """
    if target is None:
        from bench_core.harness.environment import describe_environment, keep_programs, make_cpu_devices
        from bench_core.harness.run import check_case

        keep_programs(os.environ)
        if devices is not None:
            make_cpu_devices(devices, os.environ)
        environment = describe_environment()
        if devices is not None:
            require_devices(devices, available=environment.available)
        return check_case
    from bench_core.aot.run import compile_outcome, start_compiler

    compiler = start_compiler(target)
    if devices is not None:
        require_devices(devices, available=len(compiler.devices))
    return lambda case: compile_outcome(case, compiler)
