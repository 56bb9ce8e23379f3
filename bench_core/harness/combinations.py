"""Combinations of flags that are impossible, or that change nothing. No JAX."""

from bench_core.blocks.modes import QueueMode, RematMode, Router
from bench_core.errors import UsageError
from bench_core.gmm.registry import BACKENDS
from bench_core.gmm.tile import RowSizes, Tile
from bench_core.parallel.spread import DpImpl, Parallel
from bench_core.routing.capacity import Capacity, CapacityPolicy
from bench_core.routing.distribution import PackStrategy, RoutingRequest
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
    # The published harness took prequeue with forward_backward, and ran full: that is `idle_keys`.
    prequeued = queue_mode is QueueMode.PREQUEUE and bench_pass is BenchPass.FORWARD
    if queue_mode is QueueMode.PREQUEUE and bench_pass is BenchPass.TRAIN:
        raise UsageError(
            f"--queue-mode prequeue cannot be combined with --bench-pass {bench_pass}",
            cause="the gradient to the input goes through dispatch, so dispatch cannot be left out of the timed part",
            hint="use --queue-mode full, or --bench-pass forward",
        )
    if remat_mode is not RematMode.NONE and bench_pass is BenchPass.FORWARD:
        raise UsageError(
            f"--remat-mode {remat_mode} changes nothing in --bench-pass forward",
            cause="only a backward pass recomputes",
            hint="use --bench-pass train, or --remat-mode none",
        )
    if prequeued and parallel.ep_impl is not None and parallel.ep_impl.spreads_tokens:
        raise UsageError(
            f"--queue-mode prequeue cannot be combined with --ep-impl {parallel.ep_impl}",
            cause="the dispatch that it leaves out is what devices send to each other",
            hint="use --queue-mode full, or --ep-impl psum",
        )
    if prequeued and parallel.dp_impl is DpImpl.AUTO:
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


def refuse_routing_inside(
    *, router: Router, bench_pass: BenchPass, queue_mode: QueueMode, routing: RoutingRequest
) -> None:
    """Refuse a routing inside the timed program that has to be known before it starts.

    Raises:
        UsageError: dispatch, or a null slot, is made of it outside; or the pass has it inside in any case.
    """
    train = bench_pass is BenchPass.TRAIN
    if train and router is Router.INSIDE:
        raise UsageError(
            "--router inside changes nothing in --bench-pass train",
            cause="train has the router in the timed program in any case",
            hint="leave --router out",
        )
    asked = "--bench-pass train" if train else "--router inside"
    other = "--bench-pass forward_backward" if train else "--router outside"
    if queue_mode is QueueMode.PREQUEUE:
        raise UsageError(
            f"{asked} cannot be combined with --queue-mode prequeue",
            cause="the dispatch that prequeue prepares outside needs experts that have been chosen",
            hint=f"use --queue-mode full, or {other}",
        )
    if routing.null_frac:
        raise UsageError(
            f"{asked} cannot be combined with --null-route-frac",
            cause="null slots are drawn outside the timed program, and router logits do not hold them",
            hint=f"use {other}, or leave --null-route-frac out",
        )


def refuse_stages(asked: str, *, bench_pass: BenchPass, queue_mode: QueueMode, parallel: Parallel) -> None:
    """Refuse the stages that `asked` is about where the case is not made of them.

    Raises:
        UsageError: the pass is not forward, dispatch is not part of it, or it has other parts.
    """
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
    *,
    routing: RoutingRequest,
    pack_strategy: PackStrategy,
    queue_mode: QueueMode,
    remat_mode: RematMode,
    bench_pass: BenchPass,
) -> tuple[str, ...]:
    """Config keys whose value is not the default and yet changes nothing in this case."""
    idle = []
    prequeue = queue_mode is QueueMode.PREQUEUE
    if prequeue and bench_pass.backward:
        # A gradient goes through dispatch, so it is in the timed function.
        idle.append("queue_mode")
    elif prequeue and pack_strategy is not PackStrategy.ARGSORT:
        # Sorting is outside of the timed function.
        idle.append("routing_pack_strategy")
    if remat_mode is RematMode.COMBINE and bench_pass is not BenchPass.TRAIN:
        # Routing weights are constants, so the weighted sum keeps nothing that could be recomputed.
        idle.append("remat_mode")
    if routing.null_frac == 0:
        if routing.renormalize:
            idle.append("renormalize_real_after_null")
        if routing.null_mode != RoutingRequest().null_mode:
            idle.append("null_routing_mode")
    return tuple(idle)
