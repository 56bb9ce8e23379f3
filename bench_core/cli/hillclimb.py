"""`bench-core hillclimb`: one block, one row per case."""

import itertools

import typer

from bench_core.aot.targets import choose_target
from bench_core.blocks.modes import QueueMode, RematMode
from bench_core.cli import options
from bench_core.cli.axes import impls, null_fractions, run_numbers, topk_values, words_or_both
from bench_core.cli.rows import compile_cases, run_cases
from bench_core.gmm.default import ANYWHERE
from bench_core.gmm.tile import Tile
from bench_core.harness.case import Case, ParallelMode, choose_word
from bench_core.harness.combinations import refuse_measuring, refuse_stages, refuse_tile
from bench_core.harness.flags import CompilerFlags
from bench_core.quant.mode import QuantMode
from bench_core.routing.capacity import Capacity, CapacityPolicy
from bench_core.routing.distribution import Distribution, NullMode, RoutingRequest
from bench_core.routing.strategy import PackStrategy
from bench_core.shapes import BenchPass, DType, MoeShape


def hillclimb(
    tokens: options.Tokens = 512,
    hidden: options.Hidden = 128,
    mlp_dim: options.MlpDim = 128,
    experts: options.Experts = 8,
    topk: options.Topk = None,
    topk_list: options.TopkList = None,
    shared_expert_dim: options.SharedExpertDim = 0,
    shared_fused: options.SharedFused = False,
    dtype: options.Dtype = DType.BFLOAT16.value,
    distribution: options.Distribution = Distribution.RANDOM.value,
    run_alpha: options.RunAlpha = None,
    run_noise_scale: options.RunNoiseScale = None,
    backend: options.Backend = None,
    tile: options.Tile = None,
    impl: options.Impl = "baseline",
    routing_pack_strategy: options.RoutingPackStrategy = PackStrategy.ARGSORT.value,
    queue_mode: options.QueueMode = QueueMode.FULL.value,
    bench_pass: options.BenchPass = BenchPass.FORWARD.value,
    remat_mode: options.RematMode = RematMode.NONE.value,
    capacity_policy: options.CapacityPolicy = CapacityPolicy.NONE.value,
    capacity_factor: options.CapacityFactor = None,
    null_route_frac: options.NullRouteFrac = None,
    null_route_frac_list: options.NullRouteFracList = None,
    null_route_sweep: options.NullRouteSweep = False,
    null_routing_mode: options.NullRoutingMode = NullMode.INDEPENDENT.value,
    renormalize_real_after_null: options.RenormalizeRealAfterNull = False,
    quant_mode: options.QuantMode = QuantMode.NONE.value,
    parallel_mode: options.ParallelMode = ParallelMode.NONE.value,
    stage_timing: options.StageTiming = False,
    profile: options.Profile = None,
    aot: options.Aot = None,
    compiler_flag: options.CompilerFlag = None,
    iters: options.Iters = 5,
    warmup: options.Warmup = 1,
    seed: options.Seed = 0,
    list_: options.List = False,
) -> None:
    """Check a gated MoE block against a float64 oracle, then time it; --aot: only compile it.

    Prints a RESULT line and a RESULT_JSON line per case on stdout, progress on stderr. Exit code: 0 all
    cases measured, 1 a case failed (it is recorded, the others still run), 2 the request is wrong and
    nothing was run.
    """
    if list_:
        from bench_core.cli.listing import print_listing

        print_listing()
        return
    target = None if aot is None else choose_target(aot)
    flags = CompilerFlags.parse(compiler_flag or [])
    distributions = words_or_both("--distribution", distribution, Distribution)
    chosen_tile = None if tile is None else Tile.parse(tile)
    if backend is None:
        refuse_tile(backend=None, tile=chosen_tile)
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
            backend=ANYWHERE if backend is None else backend,
            tile=chosen_tile,
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
            compiler_flags=flags,
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
    if target is None:
        good = run_cases(cases, choose_backend=backend is None, stage_timing=stage_timing, profile=profile)
    else:
        refuse_measuring(stage_timing=stage_timing, profile=profile is not None)
        good = compile_cases(cases, target, choose_backend=backend is None)
    if not good:
        raise typer.Exit(1)
