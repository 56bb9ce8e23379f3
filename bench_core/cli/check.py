"""`bench-core check`: a table of cases against the oracle, or against a compiler; none of them timed."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from bench_core.aot.targets import AotTarget, choose_target
from bench_core.cli.flags import typer_option
from bench_core.cli.hillclimb import AOT
from bench_core.flag import choose
from bench_core.gmm.registry import BACKENDS
from bench_core.harness.case import Case
from bench_core.harness.table import AXES, choices, table_case

if TYPE_CHECKING:
    from bench_core.harness.run import Outcome


def check(
    backend: Annotated[str, typer.Option(metavar="all|NAME", help="One backend, or all.")] = "all",
    full: Annotated[
        bool, typer.Option("--full", help="Every combination (hours), not only every pair of values.")
    ] = False,
    aot: Annotated[str | None, typer_option("aot", AOT)] = None,
) -> None:
    """Check the forward pass and all gradients of a table of small cases against the float64 oracle.

    With --aot they are compiled for a TPU and not run, so nothing is compared. Exit code: 0 all passed, 1 a case
    failed. A case that a backend cannot serve is shown, and is not a failure.
    """
    choose("--backend", backend, [*BACKENDS, "all"])
    backends = list(BACKENDS) if backend == "all" else [backend]
    target = None if aot is None else choose_target(aot)
    look = _looker(target)
    typer.echo(" | ".join(("backend", *AXES, "result")))
    counts = {"passed" if target is None else "compiled": 0, "failed": 0, "unsupported": 0}
    for name in backends:
        for choice in choices(full=full):
            outcome = look(table_case(name, choice))
            counts[outcome.word] += 1
            typer.echo(" | ".join((name, *choice.values(), outcome.text)))
    typer.echo(", ".join(f"{count} {word}" for word, count in counts.items()))
    if counts["failed"]:
        raise typer.Exit(1)


def _looker(target: AotTarget | None) -> "Callable[[Case], Outcome]":
    """What is done with a case. Imports are late, so that help and refusals do not wait for JAX."""
    if target is None:
        from bench_core.harness.run import check_case

        return check_case
    from bench_core.aot.run import compile_outcome, start_compiler

    compiler = start_compiler(target)
    return lambda case: compile_outcome(case, compiler)
