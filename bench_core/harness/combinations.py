"""Combinations of flags that are impossible, or that change nothing. No JAX."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bench_core.blocks.modes import QueueMode, RematMode, Router
from bench_core.errors import UsageError
from bench_core.gmm.registry import BACKENDS
from bench_core.parallel.spread import DpImpl
from bench_core.routing.request import CapacityPolicy, PackStrategy, RoutingRequest
from bench_core.shapes import BenchPass

if TYPE_CHECKING:
    from bench_core.harness.case import Case

Refusal = tuple[bool, str, str, str]
"""Whether it is refused, what is said of it, why, and what to do."""


def refuse(rows: Iterator[Refusal]) -> None:
    """Raise the first refusal that holds.

    Raises:
        UsageError: one does.
    """
    for holds, message, cause, hint in rows:
        if holds:
            raise UsageError(message, cause=cause, hint=hint)


def combinations(case: "Case") -> Iterator[Refusal]:
    """Of the flags of one case."""
    parallel, prequeue, forward = case.parallel, "--queue-mode prequeue", case.bench_pass is BenchPass.FORWARD
    # The published harness took prequeue with forward_backward, and ran full: that is `idle_keys`.
    prequeued = case.queue_mode is QueueMode.PREQUEUE and forward
    yield (
        case.shared_fused and not case.shape.shared_expert_dim,
        "--shared-fused changes nothing without a shared expert",
        "--shared-expert-dim is 0",
        "add --shared-expert-dim N, or leave --shared-fused out",
    )
    yield (
        case.queue_mode is QueueMode.PREQUEUE and case.bench_pass is BenchPass.TRAIN,
        f"{prequeue} cannot be combined with --bench-pass train",
        "the gradient to the input goes through dispatch, so dispatch cannot be left out of the timed part",
        "use --queue-mode full, or --bench-pass forward",
    )
    yield (
        case.remat_mode is not RematMode.NONE and forward,
        f"--remat-mode {case.remat_mode} changes nothing in --bench-pass forward",
        "only a backward pass recomputes",
        "use --bench-pass train, or --remat-mode none",
    )
    yield (
        prequeued and parallel.ep_impl is not None and parallel.ep_impl.spreads_tokens,
        f"{prequeue} cannot be combined with --ep-impl {parallel.ep_impl}",
        "the dispatch that it leaves out is what devices send to each other",
        "use --queue-mode full, or --ep-impl psum",
    )
    yield (
        prequeued and parallel.dp_impl is DpImpl.AUTO,
        f"{prequeue} cannot be combined with --dp-impl auto",
        "one program sorts the rows of all devices, so a prepared queue belongs to none of them",
        "use --queue-mode full, or --dp-impl shard_map",
    )
    yield (
        case.capacity.policy is CapacityPolicy.PAD and parallel.ep_impl is not None and parallel.ep_impl.sends_rows,
        f"--capacity-policy pad cannot be combined with --ep-impl {parallel.ep_impl}",
        "there a capacity is what one device may send to another, and no expert has one",
        "use --capacity-policy drop, or --ep-impl psum or ring",
    )
    if case.routes_inside:
        yield from _routing_inside(case)
    if case.staged:
        yield from stages(case, f"--programs {case.programs}")


def _routing_inside(case: "Case") -> Iterator[Refusal]:
    """Of a routing that is made in the timed program."""
    train = case.has_router
    asked, other = (
        ("--bench-pass train", "--bench-pass forward_backward") if train else ("--router inside", "--router outside")
    )
    yield (
        train and case.router is Router.INSIDE,
        "--router inside changes nothing in --bench-pass train",
        "train has the router in the timed program in any case",
        "leave --router out",
    )
    yield (
        case.queue_mode is QueueMode.PREQUEUE,
        f"{asked} cannot be combined with --queue-mode prequeue",
        "the dispatch that prequeue prepares outside needs experts that have been chosen",
        f"use --queue-mode full, or {other}",
    )
    yield (
        case.routing.null_frac > 0,
        f"{asked} cannot be combined with --null-route-frac",
        "null slots are drawn outside the timed program, and router logits do not hold them",
        f"use {other}, or leave --null-route-frac out",
    )


def stages(case: "Case", asked: str) -> Iterator[Refusal]:
    """Of the stages of the forward pass, which the flag `asked` is about; each of them timed, for `--stage-timing`."""
    others = [
        (
            f"--bench-pass {case.bench_pass}",
            case.bench_pass is not BenchPass.FORWARD,
            "the stages pack, up, down and combine are those of the forward pass",
            "use --bench-pass forward, or ",
        ),
        (
            f"--queue-mode {case.queue_mode}",
            case.queue_mode is not QueueMode.FULL,
            "the first stage is the dispatch that prequeue leaves out",
            "use --queue-mode full, or ",
        ),
        (
            f"--dp-impl {case.parallel.dp_impl}",
            case.parallel.dp_impl is DpImpl.AUTO,
            "the stages are programs that say what each device does, and there XLA's partitioner decides it",
            "use --dp-impl shard_map, or ",
        ),
    ]
    if asked == "--stage-timing":
        others += [
            ("--router inside", case.routes_inside, "choosing the experts is none of the stages", ""),
            ("--programs", case.staged, "that times the stages together, as one call", ""),
        ]
    for other, given, cause, hint in others:
        yield given, f"{asked} cannot be combined with {other}", cause, f"{hint}leave {asked.split()[0]} out"


def tiles(*, backend: str | None, tile: object) -> Iterator[Refusal]:
    """Of a tile for a backend that takes none, or without a name: the default depends on the device."""
    taking = [name for name, entry in BACKENDS.items() if entry.default_tile is not None]
    yield (
        tile is not None and backend not in taking,
        f"--tile {tile} changes nothing {'without' if backend is None else 'with'} --backend {backend or taking[0]}",
        f"backends that take a tile: {', '.join(taking)}",
        f"use --backend {taking[0]}, or leave --tile out",
    )


def measuring(given: dict[str, bool]) -> Iterator[Refusal]:
    """Of flags that measure, by their names, where a program is only compiled."""
    for flag, is_given in given.items():
        yield (
            is_given,
            f"{flag} cannot be combined with --aot",
            "--aot only compiles, for a TPU that may not be present, so nothing runs",
            f"leave {flag} out",
        )


def idle_keys(case: "Case") -> tuple[str, ...]:
    """Config keys whose value is not the default and yet changes nothing in this case."""
    prequeue, routing = case.queue_mode is QueueMode.PREQUEUE, case.routing
    idle = {
        # A gradient goes through dispatch, so it is in the timed function.
        "queue_mode": prequeue and case.bench_pass.backward,
        # Sorting is outside of the timed function.
        "routing_pack_strategy": case.prequeued and case.pack_strategy is not PackStrategy.ARGSORT,
        # Routing weights are constants, so the weighted sum keeps nothing that could be recomputed.
        "remat_mode": case.remat_mode is RematMode.COMBINE and not case.has_router,
        "renormalize_real_after_null": routing.renormalize and routing.null_frac == 0,
        "null_routing_mode": routing.null_mode != RoutingRequest().null_mode and routing.null_frac == 0,
    }
    return tuple(name for name, changes_nothing in idle.items() if changes_nothing)
