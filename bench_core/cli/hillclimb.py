"""`bench-core hillclimb`: one block, one row per case."""

import os
from typing import Annotated

import typer

from bench_core.errors import UsageError
from bench_core.harness.case import Case, ParallelMode, choose_word
from bench_core.harness.record import Row, result_file, write_rows
from bench_core.quant.mode import QuantMode
from bench_core.routing.distribution import Distribution
from bench_core.shapes import BenchPass, DType, MoeShape

DEFAULT_TOPK = 2


def hillclimb(
    tokens: Annotated[int, typer.Option(help="Rows of the input.")] = 512,
    hidden: Annotated[int, typer.Option(help="Width of the model.")] = 128,
    mlp_dim: Annotated[int, typer.Option(help="Width of one expert.")] = 128,
    experts: Annotated[int, typer.Option(help="Number of experts.")] = 8,
    topk: Annotated[
        int | None, typer.Option(help=f"Experts per token. [default: {DEFAULT_TOPK}]", show_default=False)
    ] = None,
    topk_list: Annotated[
        str | None, typer.Option(metavar="K,K,...", help="One case per value, instead of --topk.")
    ] = None,
    shared_expert_dim: Annotated[
        int, typer.Option(help="Width of the dense gated expert that sees every token; 0: none.")
    ] = 0,
    dtype: Annotated[
        str, typer.Option(metavar="float32|bfloat16", help="Activations and weights; sums are float32.")
    ] = DType.BFLOAT16.value,
    distribution: Annotated[
        str, typer.Option(metavar="random", help="Router logits: independent normal.")
    ] = Distribution.RANDOM.value,
    backend: Annotated[str, typer.Option(metavar="ragged_dot", help="Grouped matmul.")] = "ragged_dot",
    impl: Annotated[
        str, typer.Option(metavar="baseline|fused_w13", help="How the block is computed; see --list.")
    ] = "baseline",
    bench_pass: Annotated[
        str,
        typer.Option(
            metavar="forward|forward_backward",
            help="What one call computes; backward: mean of squares, gradients to x and all weights.",
        ),
    ] = BenchPass.FORWARD.value,
    quant_mode: Annotated[
        str, typer.Option(metavar="none|int8", help="int8: fake quantisation of every matmul operand.")
    ] = QuantMode.NONE.value,
    parallel_mode: Annotated[
        str, typer.Option(metavar="none", help="Spread over devices; one device for now.")
    ] = ParallelMode.NONE.value,
    iters: Annotated[int, typer.Option(help="Timed calls; every sample is kept.")] = 5,
    warmup: Annotated[int, typer.Option(help="Calls before them.")] = 1,
    seed: Annotated[int, typer.Option(help="Of inputs, weights and router logits.")] = 0,
    list_: Annotated[
        bool, typer.Option("--list", help="List backends and implementations with what they serve.")
    ] = False,
) -> None:
    """Check a gated MoE block against a float64 oracle, then time it.

    Prints a RESULT line and a RESULT_JSON line per case on stdout, progress on stderr. Exit code: 0 all
    cases measured, 1 a case failed (it is recorded, the others still run), 2 the request is wrong and
    nothing was run.
    """
    if list_:
        from bench_core.cli.listing import print_listing

        print_listing()
        return
    cases = [
        Case(
            shape=MoeShape(
                tokens=tokens,
                hidden=hidden,
                mlp_dim=mlp_dim,
                experts=experts,
                topk=chosen,
                shared_expert_dim=shared_expert_dim,
            ),
            dtype=choose_word("--dtype", dtype, DType),
            distribution=choose_word("--distribution", distribution, Distribution),
            backend=backend,
            impl=impl,
            bench_pass=choose_word("--bench-pass", bench_pass, BenchPass),
            quant_mode=choose_word("--quant-mode", quant_mode, QuantMode),
            parallel_mode=choose_word("--parallel-mode", parallel_mode, ParallelMode),
            iters=iters,
            warmup=warmup,
            seed=seed,
        )
        for chosen in topk_values(topk, topk_list)
    ]
    if not run_cases(cases):
        raise typer.Exit(1)


def topk_values(topk: int | None, topk_list: str | None) -> list[int]:
    """The values of top-k that the two options ask for.

    Raises:
        UsageError: both are given, or the list is not one of distinct whole numbers.
    """
    if topk_list is None:
        return [DEFAULT_TOPK if topk is None else topk]
    if topk is not None:
        raise UsageError(
            "--topk and --topk-list cannot be given together",
            cause="they name the same axis",
            hint=f"use --topk-list {topk},... alone",
        )
    words = topk_list.split(",")
    if not all(word.strip().isascii() and word.strip().isdigit() for word in words):
        raise UsageError(
            f"--topk-list {topk_list} is not a list of whole numbers",
            cause="values are separated by commas, such as 1,2,4",
            hint="use --topk-list 1,2,4",
        )
    values = [int(word) for word in words]
    if len(set(values)) < len(values):
        raise UsageError(
            f"--topk-list {topk_list} names a value twice",
            cause="each value is one case; a repeat belongs to another run",
            hint=f"use --topk-list {','.join(str(value) for value in dict.fromkeys(values))}",
        )
    return values


def run_cases(cases: list[Case]) -> bool:
    """Run every case, print each row when it is there; True when none failed."""
    path = result_file(os.environ)
    # Late, so that help and refusals do not wait for JAX.
    from bench_core.harness.environment import describe_environment
    from bench_core.harness.run import numbered, run_case

    environment = describe_environment()
    rows: list[Row] = []
    for index, case in enumerate(cases, start=1):
        progress = numbered(_report, case, index, len(cases))
        row = run_case(case, environment, progress)
        rows.append(row)
        for line in row.lines():
            print(line, flush=True)
        if row.failed is not None:
            progress(f"failed ({row.failed.reason}): {row.failed.message}")
        if path is not None:
            write_rows(path, rows)
    return all(row.failed is None for row in rows)


def _report(text: str) -> None:
    typer.echo(text, err=True)
