"""What a case is. No JAX: a request is refused before anything heavy is imported."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import TypeVar

from bench_core.blocks.impls import IMPLS
from bench_core.errors import UsageError
from bench_core.gmm.registry import BACKENDS
from bench_core.quant.mode import QuantMode
from bench_core.routing.distribution import Distribution
from bench_core.shapes import BenchPass, DType, MoeShape

ConfigValue = str | int | float
Word = TypeVar("Word", bound=StrEnum)


class ParallelMode(StrEnum):
    """How a case is spread over devices. `none`: one device."""

    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One row of a run: everything that decides what is computed and how often."""

    shape: MoeShape
    dtype: DType
    distribution: Distribution
    backend: str
    impl: str
    bench_pass: BenchPass
    quant_mode: QuantMode
    parallel_mode: ParallelMode
    iters: int
    warmup: int
    seed: int

    def __post_init__(self) -> None:
        choose("--backend", self.backend, BACKENDS)
        choose("--impl", self.impl, IMPLS)
        for flag, number, least in (("--iters", self.iters, 1), ("--warmup", self.warmup, 0)):
            if number < least:
                raise UsageError(
                    f"{flag} {number} is too few",
                    cause=f"{flag[2:]} must be at least {least}",
                    hint=f"give {flag} a value of {least} or more",
                )
        if not 0 <= self.seed < 2**32:
            raise UsageError(
                f"--seed {self.seed} is not a usable seed",
                cause="a seed is a whole number from 0 to 2**32 - 1",
                hint="use --seed 0",
            )

    def config(self) -> dict[str, ConfigValue]:
        """The case as flat words and numbers, keyed by the flags' names, in a fixed order."""
        config: dict[str, ConfigValue] = {field.name: getattr(self.shape, field.name) for field in fields(self.shape)}
        config |= {
            "dtype": self.dtype.value,
            "distribution": self.distribution.value,
            "backend": self.backend,
            "impl": self.impl,
            "bench_pass": self.bench_pass.value,
            "quant_mode": self.quant_mode.value,
            "parallel_mode": self.parallel_mode.value,
            "iters": self.iters,
            "warmup": self.warmup,
            "seed": self.seed,
        }
        return config


def choose(flag: str, word: str, choices: Iterable[str]) -> str:
    """Return `word` when it is one of `choices`.

    Raises:
        UsageError: it is not; the error lists what is.
    """
    served = list(choices)
    if word not in served:
        raise UsageError(
            f"{flag} {word} is not known",
            cause=f"this version serves: {', '.join(served)}",
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
