"""`bench-core hillclimb`: one block, one row per case."""

import itertools
import os
from pathlib import Path
from typing import Annotated

import typer

from bench_core.blocks.modes import QueueMode, RematMode
from bench_core.cli.axes import DEFAULT_TOPK, impls, null_fractions, run_numbers, topk_values, words_or_both
from bench_core.harness.case import Case, ParallelMode, choose_word
from bench_core.harness.combinations import refuse_stages
from bench_core.harness.record import Row, result_file, write_rows
from bench_core.quant.mode import QuantMode
from bench_core.routing.capacity import Capacity, CapacityPolicy
from bench_core.routing.distribution import (
    DEFAULT_RUN_ALPHA,
    DEFAULT_RUN_NOISE_SCALE,
    Distribution,
    NullMode,
    RoutingRequest,
)
from bench_core.routing.strategy import PackStrategy
from bench_core.shapes import BenchPass, DType, MoeShape


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
    shared_fused: Annotated[
        bool, typer.Option("--shared-fused", help="The shared expert's w1|w3 as one matmul.")
    ] = False,
    dtype: Annotated[
        str, typer.Option(metavar="float32|bfloat16", help="Activations and weights; sums are float32.")
    ] = DType.BFLOAT16.value,
    distribution: Annotated[
        str,
        typer.Option(
            metavar="random|runs|both",
            help="Router logits: independent normal, or consecutive tokens favour one expert.",
        ),
    ] = Distribution.RANDOM.value,
    run_alpha: Annotated[
        float | None,
        typer.Option(help=f"Runs: mean length is 1 / (1 - alpha). [default: {DEFAULT_RUN_ALPHA}]", show_default=False),
    ] = None,
    run_noise_scale: Annotated[
        float | None,
        typer.Option(
            help=f"Runs: noise below the favourite's +6. [default: {DEFAULT_RUN_NOISE_SCALE}]", show_default=False
        ),
    ] = None,
    backend: Annotated[str, typer.Option(metavar="ragged_dot", help="Grouped matmul.")] = "ragged_dot",
    impl: Annotated[
        str,
        typer.Option(
            metavar="baseline|fused_w13|preweight|fused_w13_preweight|scatter|fast|both",
            help="How the block is computed, see --list; both: every one.",
        ),
    ] = "baseline",
    routing_pack_strategy: Annotated[
        str, typer.Option(metavar="argsort|tuple_sort", help="How assignments are sorted by expert.")
    ] = PackStrategy.ARGSORT.value,
    queue_mode: Annotated[
        str,
        typer.Option(
            metavar="full|prequeue|both", help="prequeue: dispatch is prepared outside the timed call; forward only."
        ),
    ] = QueueMode.FULL.value,
    bench_pass: Annotated[
        str,
        typer.Option(
            metavar="forward|forward_backward",
            help="What one call computes; backward: mean of squares, gradients to x and all weights.",
        ),
    ] = BenchPass.FORWARD.value,
    remat_mode: Annotated[
        str, typer.Option(metavar="none|expert_mlp|combine", help="What the backward pass recomputes.")
    ] = RematMode.NONE.value,
    capacity_policy: Annotated[
        str,
        typer.Option(
            metavar="none|drop|pad", help="What is over an expert's capacity is zeroed; pad: all is computed."
        ),
    ] = CapacityPolicy.NONE.value,
    capacity_factor: Annotated[
        float | None, typer.Option(help="capacity = ceil(factor * tokens * topk / experts).")
    ] = None,
    null_route_frac: Annotated[
        float | None, typer.Option(help="Fraction of slots that go to no expert. [default: 0]", show_default=False)
    ] = None,
    null_route_frac_list: Annotated[str | None, typer.Option(metavar="F,F,...", help="One case per fraction.")] = None,
    null_route_sweep: Annotated[
        bool, typer.Option("--null-route-sweep", help="One case per fraction from 0.1 to 0.9.")
    ] = False,
    null_routing_mode: Annotated[
        str,
        typer.Option(
            metavar="independent|take_until_null",
            help="Which slots are null; take_until_null: a token keeps its experts before the first.",
        ),
    ] = NullMode.INDEPENDENT.value,
    renormalize_real_after_null: Annotated[
        bool,
        typer.Option("--renormalize-real-after-null", help="A token's real weights sum to one again."),
    ] = False,
    quant_mode: Annotated[
        str,
        typer.Option(
            metavar="none|int8|int8_real",
            help="int8: fake quantisation of every matmul operand; int8_real: int8 matmuls.",
        ),
    ] = QuantMode.NONE.value,
    parallel_mode: Annotated[
        str, typer.Option(metavar="none", help="Spread over devices; one device for now.")
    ] = ParallelMode.NONE.value,
    stage_timing: Annotated[
        bool, typer.Option("--stage-timing", help="Also time pack, up, down and combine apart; forward only.")
    ] = False,
    profile: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write a Perfetto trace of one further call below DIR.")
    ] = None,
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
    distributions = words_or_both("--distribution", distribution, Distribution)
    run_options = run_numbers(distributions, alpha=run_alpha, noise_scale=run_noise_scale)
    null_mode = choose_word("--null-routing-mode", null_routing_mode, NullMode)
    queue_modes = words_or_both("--queue-mode", queue_mode, QueueMode)
    axes = itertools.product(
        distributions,
        topk_values(topk, topk_list),
        null_fractions(null_route_frac, null_route_frac_list, sweep=null_route_sweep),
        impls(impl),
        queue_modes,
    )
    cases = [
        Case(
            shape=MoeShape(
                tokens=tokens,
                hidden=hidden,
                mlp_dim=mlp_dim,
                experts=experts,
                topk=chosen_topk,
                shared_expert_dim=shared_expert_dim,
            ),
            dtype=choose_word("--dtype", dtype, DType),
            routing=RoutingRequest(
                distribution=chosen_distribution,
                null_frac=null_frac,
                null_mode=null_mode,
                renormalize=renormalize_real_after_null,
                **run_options,
            ),
            backend=backend,
            impl=chosen_impl,
            bench_pass=choose_word("--bench-pass", bench_pass, BenchPass),
            quant_mode=choose_word("--quant-mode", quant_mode, QuantMode),
            parallel_mode=choose_word("--parallel-mode", parallel_mode, ParallelMode),
            iters=iters,
            warmup=warmup,
            seed=seed,
            shared_fused=shared_fused,
            pack_strategy=choose_word("--routing-pack-strategy", routing_pack_strategy, PackStrategy),
            queue_mode=chosen_queue,
            remat_mode=choose_word("--remat-mode", remat_mode, RematMode),
            capacity=Capacity(
                policy=choose_word("--capacity-policy", capacity_policy, CapacityPolicy), factor=capacity_factor
            ),
        )
        for chosen_distribution, chosen_topk, null_frac, chosen_impl, chosen_queue in axes
    ]
    if stage_timing:
        for case in cases:
            refuse_stages(bench_pass=case.bench_pass, queue_mode=case.queue_mode)
    if not run_cases(cases, stage_timing=stage_timing, profile=profile):
        raise typer.Exit(1)


def run_cases(cases: list[Case], *, stage_timing: bool, profile: Path | None) -> bool:
    """Run every case, print each row when it is there; True when none failed.

    With `profile`, the trace of case N is below its folder `case-N`.
    """
    path = result_file(os.environ)
    # Late, so that help and refusals do not wait for JAX.
    from bench_core.harness.environment import describe_environment
    from bench_core.harness.run import Extras, numbered, run_case

    environment = describe_environment()
    rows: list[Row] = []
    for index, case in enumerate(cases, start=1):
        progress = numbered(_report, case, index, len(cases))
        folder = None if profile is None else profile / f"case-{index}"
        row = run_case(case, environment, progress, Extras(stage_timing=stage_timing, profile=folder))
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
