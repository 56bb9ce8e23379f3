"""From a case to the function that is timed, on one device or several, as one program or in stages."""

import statistics
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import numpy as np

from bench_core.arrays import Array, Float, Int32
from bench_core.blocks.modes import IMPLS, Programs, QueueMode, RematMode
from bench_core.blocks.moe import BlockSpec, Queue
from bench_core.blocks.program import Block, one_device, pass_function, prepare_queue, routing_inside
from bench_core.errors import UnsupportedCase
from bench_core.gmm.base import GroupedMatmul
from bench_core.harness.case import Case
from bench_core.parallel.block import SpreadSpec, mesh_of, places, spread_block, spread_queue, spread_spec
from bench_core.parallel.plan import SpreadPlan, plan_spread
from bench_core.parallel.stages import block_stages, device_stages, spread_stage, whole_device_stages, whole_stages
from bench_core.routing.layout import Assignments
from bench_core.routing.topk import Routing
from bench_core.shapes import MoeShape
from bench_core.timing.measure import Places, Program, call, compile_program, reused, sample
from bench_core.timing.staged import Stage, compile_staged

StageFunction = Callable[..., dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A function of (x, stored weights, routing or its logits), and what it does; of a prequeued case it takes a queue,
    too.

    `block` is the code of each device. On one device `mesh` and `spread` are None; where XLA's partitioner cuts the
    block of one device, `spread` alone is."""

    function: Callable[..., dict[str, Array]]
    block: BlockSpec
    spread: SpreadSpec | None
    mesh: jax.sharding.Mesh | None
    plan: SpreadPlan
    case: Case
    shape: MoeShape

    def stages(self, *, apart: bool) -> tuple[Stage, ...]:
        """The forward pass in stages.

        Args:
            apart: of x, weights and routing; what is sent has stages of its own, and the shared expert none. Otherwise
                of x, weights and router, and the four stages are all of the block.
        """
        if self.spread is None:
            one = self.block, self.shape.experts
            return block_stages(*one) if apart else whole_stages(*one, self.shape.topk)
        return device_stages(self.spread) if apart else whole_device_stages(self.spread)

    def stage_program(self, stage: Stage, weights: Collection[str]) -> tuple[StageFunction, Places | None]:
        """What is compiled of a stage, with the weights of these names, and where its arrays lie on several devices."""
        if self.spread is None or self.mesh is None:
            return stage.function, None
        return spread_stage(stage, self.spread, self.mesh, weights)

    def places(self, weights: Collection[str]) -> Places | None:
        """Where its arrays lie, with the weights of these names; None on one device."""
        if self.mesh is None:
            return None
        return places(self.mesh, self.plan.spread, weights, queued=self.prequeued)

    @property
    def prequeued(self) -> bool:
        return self.case.prequeued

    def queue(self, x: Float[Array, "tokens hidden"], routing: Routing) -> Queue:
        """The dispatch that a prequeued case leaves out, of all experts."""
        if self.mesh is None or self.spread is None:
            return prepare_queue(x, routing, self.shape.experts, self.block)
        spec, mesh = self.spread, self.mesh
        return jax.jit(lambda x, routing: spread_queue(x, routing, spec, mesh))(x, routing)

    def ran(self, *, staged: bool = False) -> str:
        """The code that was timed; the stages have other code where that is one operation."""
        more = "; experts chosen inside the program" if self.case.routes_inside else ""
        if self.case.queue_mode is QueueMode.PREQUEUE and not self.prequeued:
            more += "; prequeue as full, because a gradient goes through dispatch"
        products = self.prequeued or self.case.staged
        if self.case.programs in _SAID:
            more += f"; pack, up, down and combine as programs of their own, {_SAID[self.case.programs]}"
        block = self.block.ran(prequeued=products)
        if self.spread is None and self.mesh is not None:
            cut = "the program of one device cut by XLA's partitioner"
            return f"{block}; dp over {self.plan.spread.dp} devices, {cut}{more}"
        whole = block if self.spread is None else self.spread.ran(prequeued=products)
        apart = staged and block != self.block.backend.ran()
        return whole + more + ("; stages as grouped products" if apart else "")


_SAID = {
    Programs.STAGES: "each started when the one before has finished",
    Programs.STAGES_ASYNC: "all started at once",
}


def plan_case(case: Case, shape: MoeShape, chosen: Int32[np.ndarray, "padded topk"]) -> SpreadPlan:
    """What each device has to do; `chosen` has as many tokens as the devices hold."""
    return plan_spread(
        chosen, tokens=shape.tokens, experts=shape.experts, capacity=case.capacity, spread=case.parallel.spread
    )


def build_case(
    case: Case, shape: MoeShape, backend: GroupedMatmul, plan: SpreadPlan, devices: Sequence[jax.Device]
) -> Built:
    """The function of `case` at `shape`, on the first of `devices`."""
    block = block_spec(case, backend, plan.assignments)
    mesh = mesh_of(devices, plan.spread) if plan.spread.devices > 1 else None
    spec: SpreadSpec | None = None
    whole: Block
    if mesh is None or plan.spread.auto:
        whole = routing_inside(block, shape.topk, padded=mesh is not None) if case.routes_inside else one_device(block)
    else:
        spec = spread_spec(block, plan, experts=shape.experts, topk=shape.topk)
        whole = partial(spread_block, spec=spec, mesh=mesh)
    return Built(
        function=pass_function(whole, case.bench_pass, shape.tokens),
        block=block,
        spread=spec,
        mesh=mesh,
        plan=plan,
        case=case,
        shape=shape,
    )


def block_spec(case: Case, backend: GroupedMatmul, assignments: Assignments) -> BlockSpec:
    """The static part of the block of one device."""
    return BlockSpec(
        backend=backend,
        impl=IMPLS[case.impl],
        quant_mode=case.quant_mode,
        shared_fused=case.shared_fused,
        pack_strategy=case.pack_strategy,
        remat_mode=RematMode.NONE if "remat_mode" in case.no_effect() else case.remat_mode,
        layout=assignments.layout,
    )


_COMPILED: dict[Any, Program] = {}
"""The latest programs of this process, without arguments, by all that decides what is compiled: cases of a sweep may
share one."""
_MOST_COMPILED = 8


def compile_built(built: Built, arguments: tuple[Any, ...], places: Places | None) -> Program:
    """One program, or a staged one, with its arguments where `places` says.

    Raises:
        UnsupportedCase: a stage would have no rows.
    """
    case, options = built.case, built.case.compiler_flags.options()
    if not case.staged:
        shapes = tuple((leaf.shape, leaf.dtype.name) for leaf in jax.tree.leaves(arguments))
        own = built.block, built.spread, built.mesh, built.shape
        key = (*own, case.bench_pass, case.routes_inside, case.compiler_flags, shapes)
        if key in _COMPILED:
            return reused(_COMPILED[key], arguments, places)
        program = compile_program(built.function, arguments, options=options, places=places)
        if len(_COMPILED) == _MOST_COMPILED:
            del _COMPILED[next(iter(_COMPILED))]
        _COMPILED[key] = replace(program, arguments=())
        return program
    if built.plan.most_rows == 0:
        raise UnsupportedCase(
            f"--programs {case.programs} has no rows to compute",
            cause="no slot has an expert, and some backends have no program for zero rows",
            hint="use --programs one, or more tokens",
        )
    named = dict(zip(("x", "weights", "router"), arguments, strict=True))
    waits = case.programs is Programs.STAGES
    weights = arguments[1]
    stages = [replace(stage, function=built.stage_program(stage, weights)[0]) for stage in built.stages(apart=False)]
    return compile_staged(stages, named, waits=waits, options=options, places=places)


def time_stages(built: Built, arguments: Sequence[Any]) -> dict[str, tuple[float, ...]]:
    """Seconds of every timed call of a case that is not prequeued, by stage; nothing when no slot has an expert.

    What the stages are: `parallel.stages`. Results pass through memory between two stages, which one program may avoid:
    the stages of a block need not add up to its time.

    Args:
        built: the case.
        arguments: those of its program: x, stored weights, routing.
    """
    case = built.case
    if built.block.layout is not None and built.block.layout.rows == 0:
        return {}
    state = dict(zip(("x", "weights", "routing"), arguments, strict=True))
    times: dict[str, tuple[float, ...]] = {}
    for stage in built.stages(apart=True):
        function, places = built.stage_program(stage, state["weights"])
        taken = tuple(state[name] for name in stage.takes)
        program = compile_program(function, taken, options=case.compiler_flags.options(), places=places)
        state |= call(program).outputs
        times[stage.name] = sample(program, warmup=case.warmup, iters=case.iters).time_s
    return times


def stage_observations(times: dict[str, tuple[float, ...]]) -> dict[str, float]:
    """The median of each stage in seconds, and its share of all of them in percent."""
    medians = {name: statistics.median(samples) for name, samples in times.items()}
    total = sum(medians.values())
    seconds = {f"stage_{name}_s": time_s for name, time_s in medians.items()}
    return seconds | {f"stage_{name}_percent": 100 * time_s / total for name, time_s in medians.items()}
