"""From a case to the function that is timed, on one device or several."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import jax
import numpy as np
from jaxtyping import Array, Float, Int32

from bench_core.blocks.impls import IMPLS
from bench_core.blocks.modes import QueueMode
from bench_core.blocks.moe import BlockSpec, Queue, Weights
from bench_core.blocks.program import one_device, pass_function, prepare_queue
from bench_core.errors import UnsupportedCase
from bench_core.gmm.base import GroupedMatmul
from bench_core.harness.case import Case
from bench_core.parallel.block import SpreadSpec, spread_block, spread_queue, spread_spec
from bench_core.parallel.placing import mesh_of, places
from bench_core.parallel.plan import SpreadPlan, plan_spread
from bench_core.parallel.spread import EpImpl
from bench_core.routing.layout import Assignments
from bench_core.routing.topk import Routing
from bench_core.shapes import MoeShape
from bench_core.timing.measure import Places


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A function of (x, stored weights, routing), and what it does. `block` is the code of each device; `mesh` is None
    on one. Of a prequeued case the function takes a queue, too."""

    function: Callable[..., dict[str, Array]]
    block: BlockSpec
    spread: SpreadSpec | None
    mesh: jax.sharding.Mesh | None
    plan: SpreadPlan
    case: Case
    experts: int

    def places(self, weights: Collection[str]) -> Places | None:
        """Where its arrays lie, with the weights of these names; None on one device."""
        return None if self.mesh is None else places(self.mesh, self.plan.spread, weights, queued=self.prequeued)

    @property
    def prequeued(self) -> bool:
        return self.case.queue_mode is QueueMode.PREQUEUE

    def queue(self, x: Float[Array, "tokens hidden"], routing: Routing) -> Queue:
        """The dispatch that a prequeued case leaves out, of all experts."""
        if self.mesh is None or self.spread is None:
            return prepare_queue(x, routing, self.experts, self.block)
        spec, mesh = self.spread, self.mesh
        prepare: Callable[[Array, Routing], Queue] = jax.jit(lambda x, routing: spread_queue(x, routing, spec, mesh))
        return prepare(x, routing)

    def ran(self, *, staged: bool = False) -> str:
        """The code that was timed; the stages have other code where that is one operation."""
        if self.spread is not None:
            return self.spread.ran(prequeued=self.prequeued)
        whole = self.block.ran(prequeued=self.prequeued)
        return f"{whole}; stages as grouped products" if staged and whole != self.block.backend.ran() else whole


def plan_case(case: Case, shape: MoeShape, chosen: Int32[np.ndarray, "padded topk"]) -> SpreadPlan:
    """What each device has to do; `chosen` has as many tokens as the devices hold."""
    return plan_spread(
        chosen, tokens=shape.tokens, experts=shape.experts, capacity=case.capacity, spread=case.parallel.spread
    )


def require_form(case: Case, *, platform: str) -> None:
    """The platform has what the case's form sends with. No other form takes its place.

    Raises:
        UnsupportedCase: it has not.
    """
    if case.parallel.spread.impl is EpImpl.RAGGED_ALL_TO_ALL and platform == "cpu":
        raise UnsupportedCase(
            "--ep-impl ragged_all_to_all cannot run on CPU",
            cause="XLA for CPU has no ragged all-to-all",
            hint="use --ep-impl all_to_all, which sends the same rows in padded buffers, or compile it by --aot",
        )


def build_case(
    case: Case, shape: MoeShape, backend: GroupedMatmul, plan: SpreadPlan, devices: Sequence[jax.Device]
) -> Built:
    """The function of `case` at `shape`, on the first of `devices`."""
    block = block_spec(case, backend, plan.assignments)
    if plan.spread.devices == 1:
        function = pass_function(one_device(block), case.bench_pass)
        return Built(
            function=function, block=block, spread=None, mesh=None, plan=plan, case=case, experts=shape.experts
        )
    spec = spread_spec(block, plan, experts=shape.experts, topk=shape.topk)
    mesh = mesh_of(devices, plan.spread)

    def spread(x: Array, weights: Weights, routing: Routing, queue: Queue | None = None) -> Array:
        return spread_block(x, weights, routing, spec, mesh, queue)

    function = pass_function(spread, case.bench_pass, shape.tokens)
    return Built(function=function, block=block, spread=spec, mesh=mesh, plan=plan, case=case, experts=shape.experts)


def block_spec(case: Case, backend: GroupedMatmul, assignments: Assignments) -> BlockSpec:
    """The static part of the block of one device."""
    return BlockSpec(
        backend=backend,
        impl=IMPLS[case.impl],
        quant_mode=case.quant_mode,
        shared_fused=case.shared_fused,
        pack_strategy=case.pack_strategy,
        remat_mode=case.remat_mode,
        layout=assignments.layout,
    )
