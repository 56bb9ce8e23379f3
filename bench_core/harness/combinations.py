"""Flags that exclude each other, and flags that change nothing. No JAX."""

from typing import TYPE_CHECKING

from bench_core.blocks.modes import QueueMode, RematMode, Router
from bench_core.errors import UsageError, clash, idle
from bench_core.gmm.registry import BACKENDS
from bench_core.parallel.spread import DpImpl, ParallelMode
from bench_core.routing.request import CapacityPolicy, PackStrategy, RoutingRequest
from bench_core.shapes import BenchPass

if TYPE_CHECKING:
    from bench_core.harness.case import Case

TILED = [name for name, entry in BACKENDS.items() if entry.default_tile is not None]
"""Backends that take a tile."""


def refuse(*refusals: tuple[bool, UsageError]) -> None:
    """Raise the first refusal that holds.

    Raises:
        UsageError: one does.
    """
    for holds, refusal in refusals:
        if holds:
            raise refusal


def refuse_case(case: "Case", *, stage_timing: bool = False) -> None:
    """Refuse what one case cannot be, or what `stage_timing` cannot be had of.

    Raises:
        UsageError: it cannot.
    """
    ep_impl, train, router = case.parallel.ep_impl, case.has_router, f"--router {case.router}"
    asked, queue = "--bench-pass train" if train else router, f"--queue-mode {case.queue_mode}"
    prequeue, forward = case.queue_mode is QueueMode.PREQUEUE, case.bench_pass is BenchPass.FORWARD
    # The published harness took prequeue with forward_backward, and ran full: that is `idle_keys`.
    prequeued, auto = prequeue and forward, case.parallel.dp_impl is DpImpl.AUTO
    inside, staged = case.routes_inside, case.staged or stage_timing
    stages = "--stage-timing" if stage_timing else f"--programs {case.programs}"
    sends = f"--ep-impl {ep_impl}"
    refuse(
        *_idle_flags(case),
        (train and case.router is Router.INSIDE, clash(router, asked, "train has it inside in any case")),
        (
            prequeued and ep_impl is not None and ep_impl.spreads_tokens,
            clash(queue, sends, "devices send the tokens in it"),
        ),
        (prequeued and auto, clash(queue, "--dp-impl auto", "one program sorts the rows of all devices")),
        (prequeue and inside, clash(asked, queue, "the queue is of experts that are chosen before")),
        (case.routing.null_frac > 0 and inside, clash(asked, "--null-route-frac", "these slots are drawn outside")),
        (
            case.capacity.policy is CapacityPolicy.PAD and ep_impl is not None and ep_impl.sends_rows,
            clash("--capacity-policy pad", sends, "no expert has a capacity there, only a pair of devices"),
        ),
        (staged and not forward, clash(stages, f"--bench-pass {case.bench_pass}", "the stages are a forward pass")),
        (staged and prequeue, clash(stages, queue, "the first stage is the dispatch")),
        (staged and auto, clash(stages, "--dp-impl auto", "XLA decides there what each device does")),
        (stage_timing and inside, clash(stages, router, "choosing the experts is none of the stages")),
        (stage_timing and case.staged, clash(stages, "--programs", "that times the stages together")),
    )


def _idle_flags(case: "Case") -> list[tuple[bool, UsageError]]:
    """Flags that belong to others, which the case has not."""
    parallel, capacity, forward = case.parallel, case.capacity, case.bench_pass is BenchPass.FORWARD
    mode, dp, ep = parallel.mode, f"--parallel-mode {ParallelMode.DP}", f"--parallel-mode {ParallelMode.EP}"
    return [
        (case.shared_fused and not case.shape.shared_expert_dim, idle("--shared-fused", "--shared-expert-dim")),
        (
            case.remat_mode is not RematMode.NONE and forward,
            idle(f"--remat-mode {case.remat_mode}", "--bench-pass forward_backward", "a backward pass recomputes"),
        ),
        (case.tile is not None and case.backend not in TILED, idle(f"--tile {case.tile}", f"--backend {TILED[0]}")),
        (parallel.dp_impl is not None and mode is not ParallelMode.DP, idle("--dp-impl", dp)),
        (parallel.ep_impl is not None and mode is not ParallelMode.EP, idle("--ep-impl", ep)),
        (parallel.ep_size is not None and mode is not ParallelMode.EP, idle("--ep-size", ep)),
        (parallel.dp_size is not None and mode is ParallelMode.NONE, idle("--dp-size", dp)),
        (
            capacity.policy is CapacityPolicy.NONE and capacity.factor is not None,
            idle(f"--capacity-factor {capacity.factor}", "--capacity-policy drop"),
        ),
    ]


def idle_keys(case: "Case") -> tuple[str, ...]:
    """Config keys whose value is not the default and yet changes nothing in this case."""
    prequeue, routing = case.queue_mode is QueueMode.PREQUEUE, case.routing
    changes_nothing = {
        # A gradient goes through dispatch, so it is in the timed function.
        "queue_mode": prequeue and case.bench_pass.backward,
        # Sorting is outside of the timed function.
        "routing_pack_strategy": case.prequeued and case.pack_strategy is not PackStrategy.ARGSORT,
        # Routing weights are constants, so the weighted sum keeps nothing that could be recomputed.
        "remat_mode": case.remat_mode is RematMode.COMBINE and not case.has_router,
        "renormalize_real_after_null": routing.renormalize and routing.null_frac == 0,
        "null_routing_mode": routing.null_mode != RoutingRequest().null_mode and routing.null_frac == 0,
    }
    return tuple(name for name, idle in changes_nothing.items() if idle)
