"""Combinations of flags that are impossible, or that change nothing. No JAX."""

from bench_core.blocks.modes import QueueMode, RematMode
from bench_core.errors import UsageError
from bench_core.gmm.registry import BACKENDS
from bench_core.gmm.tile import RowSizes, Tile
from bench_core.parallel.spread import DpImpl, Parallel
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
    if queue_mode is QueueMode.PREQUEUE and parallel.dp_impl is DpImpl.AUTO:
        raise UsageError(
            "--queue-mode prequeue cannot be combined with --dp-impl auto",
            cause="one program sorts the rows of all devices, so a prepared queue belongs to none of them",
            hint="use --queue-mode full, or --dp-impl shard_map",
        )
    if capacity.policy is CapacityPolicy.PAD and parallel.ep_impl is not None and parallel.ep_impl.sends_rows:
        raise UsageError(
            f"--capacity-policy pad cannot be combined with --ep-impl {parallel.ep_impl}",
            cause="there a capacity is what one device may send to another, and no expert has one",
            hint="use --capacity-policy drop, or --ep-impl psum or ring",
        )


def refuse_routing_inside(*, queue_mode: QueueMode, routing: RoutingRequest) -> None:
    """Refuse a routing inside the timed program that has to be known before it starts.

    Raises:
        UsageError: dispatch, or a null slot, is made of it outside.
    """
    if queue_mode is QueueMode.PREQUEUE:
        raise UsageError(
            "--router inside cannot be combined with --queue-mode prequeue",
            cause="the dispatch that prequeue prepares outside needs experts that have been chosen",
            hint="use --queue-mode full, or --router outside",
        )
    if routing.null_frac:
        raise UsageError(
            "--router inside cannot be combined with --null-route-frac",
            cause="null slots are drawn outside the timed program, and router logits do not hold them",
            hint="use --router outside, or leave --null-route-frac out",
        )


def refuse_stages(asked: str, *, bench_pass: BenchPass, queue_mode: QueueMode, parallel: Parallel) -> None:
    """Refuse the stages that `asked` is about where the case is not made of them.

    Raises:
        UsageError: the pass is not forward, dispatch is not part of it, or it has other parts.
    """
    chunks = parallel.chunks or 1
    others = {
        f"--bench-pass {bench_pass}": (
            bench_pass is not BenchPass.FORWARD,
            "the stages pack, up, down and combine are those of the forward pass",
            "use --bench-pass forward",
        ),
        f"--queue-mode {queue_mode}": (
            queue_mode is not QueueMode.FULL,
            "the first stage is the dispatch that prequeue leaves out",
            "use --queue-mode full",
        ),
        f"--dp-impl {parallel.dp_impl}": (
            parallel.dp_impl is DpImpl.AUTO,
            "the stages are programs that say what each device does, and there XLA's partitioner decides it",
            "use --dp-impl shard_map",
        ),
        f"--chunks {chunks}": (
            chunks > 1,
            "the stages of one chunk may overlap with those of another",
            "leave --chunks out",
        ),
    }
    for other, (given, cause, hint) in others.items():
        if given:
            raise UsageError(
                f"{asked} cannot be combined with {other}", cause=cause, hint=f"{hint}, or leave {asked.split()[0]} out"
            )


def refuse_stage_times(*, inside: bool, staged: bool) -> None:
    """Refuse to time each stage where they begin before the experts are chosen, or are timed as one.

    Raises:
        UsageError: they do, or are.
    """
    others = {
        "--router inside": (inside, "choosing the experts is none of the stages"),
        "--programs": (staged, "that times the stages together, as one call"),
    }
    for flag, (given, cause) in others.items():
        if given:
            raise UsageError(
                f"--stage-timing cannot be combined with {flag}", cause=cause, hint=f"leave {flag.split()[0]} out"
            )


def refuse_tile(*, backend: str | None, tile: Tile | None) -> None:
    """Refuse a tile for a backend that takes none, or without a name: the default depends on the device.

    Raises:
        UsageError: there is one.
    """
    taking = [name for name, entry in BACKENDS.items() if entry.default_tile is not None]
    _refuse_idle("--tile", tile, what="a tile", backend=backend, taking=taking)


def refuse_row_tiles(*, backend: str | None, row_tiles: RowSizes | None) -> None:
    """The same of row tiles.

    Raises:
        UsageError: there are some.
    """
    taking = [name for name, entry in BACKENDS.items() if entry.takes_row_tiles]
    _refuse_idle("--row-tiles", row_tiles, what="row tiles", backend=backend, taking=taking)


def _refuse_idle(flag: str, value: object, *, what: str, backend: str | None, taking: list[str]) -> None:
    if value is None or backend in taking:
        return
    where = f"without --backend {taking[0]}" if backend is None else f"with --backend {backend}"
    raise UsageError(
        f"{flag} {value} changes nothing {where}",
        cause=f"backends that take {what}: {', '.join(taking)}",
        hint=f"use --backend {taking[0]}, or leave {flag} out",
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
