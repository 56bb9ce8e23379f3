"""What a case is. No JAX: a request is refused before anything heavy is imported."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import TypeVar

from bench_core.blocks.impls import IMPLS
from bench_core.blocks.modes import QueueMode, RematMode
from bench_core.errors import UsageError
from bench_core.gmm.registry import BACKENDS
from bench_core.gmm.tile import Tile
from bench_core.harness.combinations import idle_keys, refuse_combinations, refuse_tile
from bench_core.harness.flags import NO_FLAGS, CompilerFlags
from bench_core.quant.mode import QuantMode
from bench_core.routing.capacity import UNLIMITED, Capacity
from bench_core.routing.distribution import Distribution, RoutingRequest
from bench_core.routing.strategy import PackStrategy
from bench_core.shapes import BenchPass, DType, MoeShape

ConfigValue = str | int | float | bool
Word = TypeVar("Word", bound=StrEnum)


class ParallelMode(StrEnum):
    """How a case is spread over devices. `none`: one device."""

    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One row of a run: everything that decides what is computed and how often.

    Raises:
        UsageError: a number is out of range, or a combination is impossible or would change nothing (see
            `harness.combinations`).
    """

    shape: MoeShape
    dtype: DType
    routing: RoutingRequest
    backend: str
    impl: str
    bench_pass: BenchPass
    quant_mode: QuantMode
    parallel_mode: ParallelMode
    iters: int
    warmup: int
    seed: int
    shared_fused: bool = False
    pack_strategy: PackStrategy = PackStrategy.ARGSORT
    queue_mode: QueueMode = QueueMode.FULL
    remat_mode: RematMode = RematMode.NONE
    capacity: Capacity = UNLIMITED
    tile: Tile | None = None
    """None: that of the backend, if it has one."""
    compiler_flags: CompilerFlags = NO_FLAGS

    def __post_init__(self) -> None:
        choose("--backend", self.backend, BACKENDS)
        choose("--impl", self.impl, IMPLS)
        refuse_tile(backend=self.backend, tile=self.tile)
        for flag, number, least in (("--iters", self.iters, 1), ("--warmup", self.warmup, 0)):
            if number < least:
                raise UsageError(
                    f"{flag} {number} is too small",
                    cause=f"{flag[2:]} must be at least {least}",
                    hint=f"give {flag} a value of {least} or more",
                )
        if not 0 <= self.seed < 2**32:
            raise UsageError(
                f"--seed {self.seed} is not a usable seed",
                cause="a seed is a whole number from 0 to 2**32 - 1",
                hint="use --seed 0",
            )
        refuse_combinations(
            shape=self.shape,
            bench_pass=self.bench_pass,
            shared_fused=self.shared_fused,
            queue_mode=self.queue_mode,
            remat_mode=self.remat_mode,
        )

    def no_effect(self) -> tuple[str, ...]:
        """Config keys whose value changes nothing in this case, for the row to say so."""
        return idle_keys(
            routing=self.routing,
            pack_strategy=self.pack_strategy,
            queue_mode=self.queue_mode,
            remat_mode=self.remat_mode,
        )

    def config(self) -> dict[str, ConfigValue]:
        """The case as flat words and numbers, keyed by the flags' names, in a fixed order.

        What the case does not have (the capacity factor without a policy, run lengths of a random distribution,
        the tile of a backend without one, flags of the compiler) has no key.
        """
        config: dict[str, ConfigValue] = {field.name: getattr(self.shape, field.name) for field in fields(self.shape)}
        config |= {"shared_fused": self.shared_fused, "dtype": self.dtype.value}
        config |= {"distribution": self.routing.distribution.value}
        if self.routing.distribution is Distribution.RUNS:
            config |= {"run_alpha": self.routing.run_alpha, "run_noise_scale": self.routing.run_noise_scale}
        config |= {
            "backend": self.backend,
            **self._tile_config(),
            "impl": self.impl,
            "routing_pack_strategy": self.pack_strategy.value,
            "queue_mode": self.queue_mode.value,
            "bench_pass": self.bench_pass.value,
            "remat_mode": self.remat_mode.value,
            "capacity_policy": self.capacity.policy.value,
        }
        if self.capacity.factor is not None:
            config |= {"capacity_factor": self.capacity.factor}
        config |= {
            "quant_mode": self.quant_mode.value,
            "null_route_frac": self.routing.null_frac,
            "null_routing_mode": self.routing.null_mode.value,
            "renormalize_real_after_null": self.routing.renormalize,
            "parallel_mode": self.parallel_mode.value,
            **({"compiler_flag": str(self.compiler_flags)} if self.compiler_flags else {}),
            "iters": self.iters,
            "warmup": self.warmup,
            "seed": self.seed,
        }
        return config

    def _tile_config(self) -> dict[str, ConfigValue]:
        tile = self.tile or BACKENDS[self.backend].default_tile
        return {} if tile is None else {"tile": str(tile)}


def choose(flag: str, word: str, choices: Iterable[str]) -> str:
    """Return `word` when it is one of `choices`.

    Raises:
        UsageError: it is not; the error lists what is.
    """
    served = list(choices)
    if word not in served:
        raise UsageError(
            f"{flag} {word} is not known",
            cause=f"this version supports: {', '.join(served)}",
            hint=f"use {flag} {served[0]}, or see bench-core hillclimb --list",
        )
    return word


def choose_word(flag: str, word: str, words: type[Word]) -> Word:
    """The member of `words` with this name; otherwise the error of `choose`."""
    return words(choose(flag, word, [member.value for member in words]))


# 2**26 multiply-adds per matmul: the oracle computes them in float64, with bounds, in well under a second.
CHECK_WORK = 2**26
_REDUCED_TOKENS, _REDUCED_HIDDEN, _REDUCED_WIDTH, _REDUCED_EXPERTS = 64, 64, 48, 16


def checked_shape(shape: MoeShape) -> MoeShape:
    """The shape at which a case is checked: its own when the oracle can afford it, else a reduced one.

    The reduced shape keeps top-k, whether there is a shared expert, whether top-k equals the number of
    experts, and whether each size is odd.
    """
    work = shape.hidden * shape.tokens * (shape.experts * shape.mlp_dim + shape.shared_expert_dim)
    if work <= CHECK_WORK:
        return shape
    return MoeShape(
        tokens=_capped(shape.tokens, _REDUCED_TOKENS),
        hidden=_capped(shape.hidden, _REDUCED_HIDDEN),
        mlp_dim=_capped(shape.mlp_dim, _REDUCED_WIDTH),
        experts=_reduced_experts(shape),
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
