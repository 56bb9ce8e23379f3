"""`bench-core check`: a table of cases against the oracle, none of them timed."""

from typing import Annotated

import typer

from bench_core.gmm.registry import BACKENDS
from bench_core.harness.case import choose
from bench_core.harness.table import AXES, choices, table_case


def check(
    backend: Annotated[str, typer.Option(metavar="all|NAME", help="One backend, or all.")] = "all",
    full: Annotated[
        bool, typer.Option("--full", help="Every combination (hours), not only every pair of values.")
    ] = False,
) -> None:
    """Hold forward and all gradients of a table of small cases against the float64 oracle.

    Exit code: 0 all passed, 1 a case failed. What a backend cannot serve is shown and is no failure.
    """
    choose("--backend", backend, [*BACKENDS, "all"])
    backends = list(BACKENDS) if backend == "all" else [backend]
    # Late, so that help and refusals do not wait for JAX.
    from bench_core.harness.run import check_case

    typer.echo(" | ".join(("backend", *AXES, "result")))
    counts = {"passed": 0, "failed": 0, "unsupported": 0}
    for name in backends:
        for choice in choices(full=full):
            outcome = check_case(table_case(name, choice))
            counts[outcome.word] += 1
            typer.echo(" | ".join((name, *choice.values(), outcome.text)))
    typer.echo(", ".join(f"{count} {word}" for word, count in counts.items()))
    if counts["failed"]:
        raise typer.Exit(1)
