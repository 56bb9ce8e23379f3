"""Combinations of flags that are impossible, or that change nothing. No JAX."""

from bench_core.blocks.modes import QueueMode, RematMode
from bench_core.errors import UsageError
from bench_core.gmm.registry import BACKENDS
from bench_core.gmm.tile import Tile
from bench_core.parallel.spread import EpImpl, Parallel, ParallelMode
from bench_core.routing.capacity import Capacity, CapacityPolicy
from bench_core.routing.distribution import RoutingRequest
from bench_core.routing.strategy import PackStrategy
from bench_core.shapes import BenchPass, MoeShape


def refuse_combinations(
    *,
    shape: MoeShape,
    bench_pass: BenchPass,
    shared_fused: bool,
    queue_mode: QueueMode,
    remat_mode: RematMode,
    parallel: Parallel,
    capacity: Capacity,
) -> None:
    """Refuse combinations of flags that are impossible or change nothing.

    Raises:
        UsageError: one combination, with the reason.
    """
    if shared_fused and not shape.shared_expert_dim:
        raise UsageError(
            "--shared-fused changes nothing without a shared expert",
            cause="--shared-expert-dim is 0",
            hint="add --shared-expert-dim N, or leave --shared-fused out",
        )
    if queue_mode is QueueMode.PREQUEUE and bench_pass is not BenchPass.FORWARD:
        raise UsageError(
            f"--queue-mode prequeue cannot be combined with --bench-pass {bench_pass}",
            cause="the gradient to the input goes through dispatch, so dispatch cannot be left out of the timed part",
            hint="use --queue-mode full, or --bench-pass forward",
        )
    if remat_mode is not RematMode.NONE and bench_pass is BenchPass.FORWARD:
        raise UsageError(
            f"--remat-mode {remat_mode} changes nothing in --bench-pass forward",
            cause="only a backward pass recomputes",
            hint="use --bench-pass forward_backward, or --remat-mode none",
        )
    if queue_mode is QueueMode.PREQUEUE and parallel.ep_impl is not None and parallel.ep_impl.spreads_tokens:
        raise UsageError(
            f"--queue-mode prequeue cannot be combined with --ep-impl {parallel.ep_impl}",
            cause="the dispatch that it leaves out is what devices send to each other",
            hint="use --queue-mode full, or --ep-impl psum",
        )
    sends_rows = parallel.ep_impl in (EpImpl.ALL_TO_ALL, EpImpl.RAGGED_ALL_TO_ALL)
    if capacity.policy is CapacityPolicy.PAD and sends_rows:
        raise UsageError(
            f"--capacity-policy pad cannot be combined with --ep-impl {parallel.ep_impl}",
            cause="there a capacity is what one device may send to another, and no expert has one",
            hint="use --capacity-policy drop, or --ep-impl psum or ring",
        )


def refuse_tile(*, backend: str | None, tile: Tile | None) -> None:
    """Refuse a tile for a backend that takes none, or without one: no default backend takes one.

    Raises:
        UsageError: there is one.
    """
    if tile is None or (backend is not None and BACKENDS[backend].default_tile is not None):
        return
    taking = [name for name, entry in BACKENDS.items() if entry.default_tile is not None]
    where = f"without --backend {taking[0]}" if backend is None else f"with --backend {backend}"
    raise UsageError(
        f"--tile {tile} changes nothing {where}",
        cause=f"backends that take a tile: {', '.join(taking)}",
        hint=f"use --backend {taking[0]}, or leave --tile out",
    )


def refuse_stages(*, bench_pass: BenchPass, queue_mode: QueueMode, parallel: Parallel) -> None:
    """Refuse stage times of a case that has not these stages.

    Raises:
        UsageError: the pass is not forward, or dispatch is not part of it.
    """
    if bench_pass is not BenchPass.FORWARD:
        raise UsageError(
            f"--stage-timing cannot be combined with --bench-pass {bench_pass}",
            cause="the stages pack, up, down and combine are those of the forward pass",
            hint="use --bench-pass forward",
        )
    if queue_mode is not QueueMode.FULL:
        raise UsageError(
            f"--stage-timing cannot be combined with --queue-mode {queue_mode}",
            cause="its first stage is the dispatch that prequeue leaves out",
            hint="use --queue-mode full",
        )
    if parallel.mode is not ParallelMode.NONE:
        raise UsageError(
            f"--stage-timing cannot be combined with --parallel-mode {parallel.mode}",
            cause="the stages are timed as programs of one device",
            hint="use --parallel-mode none",
        )


def refuse_measuring(*, stage_timing: bool, profile: bool) -> None:
    """Refuse what measures a program that is only compiled.

    Raises:
        UsageError: a time or a trace is asked for.
    """
    for flag, given in (("--stage-timing", stage_timing), ("--profile", profile)):
        if given:
            raise UsageError(
                f"{flag} cannot be combined with --aot",
                cause="--aot only compiles, for a TPU that may not be present, so nothing runs",
                hint=f"leave {flag} out",
            )


def idle_keys(
    *, routing: RoutingRequest, pack_strategy: PackStrategy, queue_mode: QueueMode, remat_mode: RematMode
) -> tuple[str, ...]:
    """Config keys whose value is not the default and yet changes nothing in this case."""
    idle = []
    if pack_strategy is not PackStrategy.ARGSORT and queue_mode is QueueMode.PREQUEUE:
        # Sorting is outside of the timed function.
        idle.append("routing_pack_strategy")
    if remat_mode is RematMode.COMBINE:
        # Routing weights are constants, so the weighted sum keeps nothing that could be recomputed.
        idle.append("remat_mode")
    if routing.null_frac == 0:
        if routing.renormalize:
            idle.append("renormalize_real_after_null")
        if routing.null_mode != RoutingRequest().null_mode:
            idle.append("null_routing_mode")
    return tuple(idle)
