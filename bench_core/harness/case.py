"""What a case is. No JAX: a request is refused before anything heavy is imported."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated

from bench_core.blocks.modes import IMPLS, Programs, QueueMode, RematMode, Router
from bench_core.flag import ConfigValue, Flag, choose, declared, require_ranges
from bench_core.gmm.registry import ANYWHERE, BACKENDS
from bench_core.gmm.tile import Tile
from bench_core.harness.combinations import idle_keys, refuse_case
from bench_core.harness.compiler_flags import NO_FLAGS, CompilerFlags
from bench_core.parallel.spread import ALONE, ONE_DEVICE, Parallel, Spread
from bench_core.routing.request import RUN_FLAGS, UNLIMITED, Capacity, Distribution, PackStrategy, RoutingRequest
from bench_core.shapes import TIMED_DTYPES, BenchPass, DType, MoeShape, QuantMode


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One row of a run: everything that decides what is computed and how often.

    Raises:
        UsageError: a number is out of range, or a combination is impossible or would change nothing (see
            `harness.combinations`).
    """

    shape: MoeShape
    shared_fused: Annotated[bool, Flag(help="The shared expert's w1|w3 as one matmul.")] = False
    dtype: Annotated[
        DType,
        Flag(help="Activations and weights; sums are float32.", choices=TIMED_DTYPES, unless=DType.BFLOAT16.value),
    ] = DType.BFLOAT16
    routing: RoutingRequest
    backend: Annotated[
        str,
        Flag(
            help="Grouped matmul.",
            choices=tuple(BACKENDS),
            unless="tiled on CPU and gmm on TPU, where they serve the case; else ragged_dot",
        ),
    ] = ANYWHERE
    tile: Annotated[
        Tile | None,
        Flag(
            help="gmm: rows, contracted width and columns of a tile.",
            metavar="M,K,N",
            unless=str(BACKENDS["gmm"].default_tile),
            read=Tile.parse,
        ),
    ] = None
    """None: that of the backend, if it has one."""
    impl: Annotated[
        str,
        Flag(help="How the block is computed, see --list; both: all of them.", choices=tuple(IMPLS), several=True),
    ] = "baseline"
    pack_strategy: Annotated[
        PackStrategy, Flag(name="routing_pack_strategy", help="How assignments are sorted by expert.")
    ] = PackStrategy.ARGSORT
    queue_mode: Annotated[
        QueueMode,
        Flag(
            help="prequeue: forward leaves dispatch out of the timed call; forward_backward runs as full.", several=True
        ),
    ] = QueueMode.FULL
    router: Annotated[
        Router,
        Flag(help="inside: the timed program chooses the experts, as train always does.", unsaid=True),
    ] = Router.OUTSIDE
    bench_pass: Annotated[
        BenchPass,
        Flag(
            help="What one call computes; backward: gradients to x and the experts; train: to routing and router, too."
        ),
    ] = BenchPass.FORWARD
    programs: Annotated[
        Programs,
        Flag(
            help="stages: pack, up, down and combine as programs of their own, called as one; forward only.",
            unsaid=True,
        ),
    ] = Programs.ONE
    remat_mode: Annotated[RematMode, Flag(help="What the backward pass recomputes.")] = RematMode.NONE
    capacity: Capacity = UNLIMITED
    quant_mode: Annotated[
        QuantMode,
        Flag(
            help="int8: fake quantisation of every matmul operand; int8_real: int8 matmuls.",
        ),
    ] = QuantMode.NONE
    parallel: Parallel = ALONE
    compiler_flags: Annotated[
        CompilerFlags,
        Flag(
            name="compiler_flag",
            help="An option of the compiler (XLA); may be repeated.",
            metavar="KEY=VALUE",
            read=CompilerFlags.parse,
            repeated=True,
            unsaid=True,
        ),
    ] = NO_FLAGS
    iters: Annotated[int, Flag(help="Timed calls; every sample is kept.", least=1)] = 5
    warmup: Annotated[int, Flag(help="Untimed calls before the timed ones.", least=0)] = 1
    seed: Annotated[int, Flag(help="Seed of inputs, weights and router logits.", least=0, below=2**32)] = 0

    def __post_init__(self) -> None:
        choose("--backend", self.backend, BACKENDS)
        choose("--impl", self.impl, IMPLS)
        require_ranges(self)
        refuse_case(self)

    @property
    def routes_inside(self) -> bool:
        """Whether the timed program begins with router logits."""
        return self.router is Router.INSIDE or self.has_router

    @property
    def has_router(self) -> bool:
        """Whether the router is a weight of the block."""
        return self.bench_pass is BenchPass.TRAIN

    @property
    def prequeued(self) -> bool:
        """Whether dispatch is left out of the timed call. As in the published runs, only forward leaves it out."""
        return self.queue_mode is QueueMode.PREQUEUE and self.bench_pass is BenchPass.FORWARD

    @property
    def staged(self) -> bool:
        """Whether the stages of the forward pass are programs of their own."""
        return self.programs.staged

    def over(self, available: int) -> "Case":
        """The case with the sizes of its mesh said, on so many devices.

        Raises:
            UsageError: it cannot be spread over them.
        """
        return replace(self, parallel=self.parallel.as_spread(self.parallel.over(available, self.shape.experts)))

    def require_fit(self) -> None:
        """Refuse what cannot be spread over the devices that are asked for, before any of them is made.

        Raises:
            UsageError: it cannot. Without `--devices` only a process that has devices knows.
        """
        if self.parallel.devices is not None:
            self.over(self.parallel.devices)

    def no_effect(self) -> tuple[str, ...]:
        """Config keys whose value changes nothing in this case, for the row to say so."""
        return idle_keys(self)

    def config(self) -> dict[str, ConfigValue]:
        """The case as flat words and numbers, keyed by the flags' names, in their order.

        What the case does not have (the capacity factor without a policy, run lengths of a random distribution,
        the tile of a backend without one) has no key, nor has the default of a flag
        that says so.
        """
        values = {flag.name: flag.of(self) for flag in CASE_FLAGS}
        values["tile"] = self.tile or BACKENDS[self.backend].default_tile
        if self.routing.distribution is not Distribution.RUNS:
            values |= dict.fromkeys(RUN_FLAGS)
        said = [flag.name for flag in CASE_FLAGS if flag.is_said(values[flag.name])]
        return {name: _reported(values[name]) for name in said}


CASE_FLAGS = declared(Case)
"""All flags of a case, in the order in which a row reports them."""


def _reported(value: object) -> ConfigValue:
    if isinstance(value, int | float):
        return value
    return value.value if isinstance(value, StrEnum) else str(value)


# 2**26 multiply-adds per matmul: the oracle computes them in float64, with bounds, in well under a second.
CHECK_WORK = 2**26
_REDUCED_TOKENS, _REDUCED_HIDDEN, _REDUCED_WIDTH, _REDUCED_EXPERTS = 64, 64, 48, 16


def checked_shape(shape: MoeShape, spread: Spread = ONE_DEVICE) -> MoeShape:
    """The shape at which a case is checked: its own when the oracle can afford it, else a reduced one.

    The reduced shape keeps top-k, whether there is a shared expert, whether top-k equals the number of experts, whether
    each size is odd, and that as many experts can lie on every device.
    """
    work = shape.hidden * shape.tokens * (shape.experts * shape.mlp_dim + shape.shared_expert_dim)
    if work <= CHECK_WORK:
        return shape
    return MoeShape(
        tokens=_capped(shape.tokens, _REDUCED_TOKENS),
        hidden=_capped(shape.hidden, _REDUCED_HIDDEN),
        mlp_dim=_capped(shape.mlp_dim, _REDUCED_WIDTH),
        experts=-(-_reduced_experts(shape) // spread.ep) * spread.ep,
        topk=shape.topk,
        shared_expert_dim=_capped(shape.shared_expert_dim, _REDUCED_WIDTH),
    )


def _capped(size: int, limit: int) -> int:
    """At most `limit`, and odd where `size` is odd."""
    return size if size <= limit else limit - (limit - size) % 2


def _reduced_experts(shape: MoeShape) -> int:
    if shape.topk == shape.experts:
        return shape.experts
    # Twice top-k leaves experts that a token does not choose.
    return min(shape.experts, max(_capped(shape.experts, _REDUCED_EXPERTS), 2 * shape.topk))
