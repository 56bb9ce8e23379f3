"""Sizes and the two words (dtype, pass) that every layer shares. No JAX."""

from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Annotated

from bench_core.errors import UsageError
from bench_core.flag import Flag, choose

DEFAULT_TOPK = 2


class DType(StrEnum):
    """Element type of activations and weights. Matmuls accumulate in float32; those of float64, which is for the check
    alone, in float64."""

    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"
    FLOAT64 = "float64"


TIMED_DTYPES = (DType.FLOAT32, DType.BFLOAT16)


def timed_dtype(word: str) -> DType:
    """The element type of a case that is timed, or compiled for a TPU.

    Raises:
        UsageError: it is float64, or unknown.
    """
    if word == DType.FLOAT64:
        raise UsageError(
            "--dtype float64 is not timed",
            cause="nothing trains in float64; it shows, more sharply than a bound on roundings, that a form is right",
            hint="run bench-core check for float64, or use --dtype float32",
        )
    return DType(choose("--dtype", word, TIMED_DTYPES))


class BenchPass(StrEnum):
    """What one timed call computes."""

    FORWARD = "forward"
    FORWARD_BACKWARD = "forward_backward"


@dataclass(frozen=True, slots=True, kw_only=True)
class MoeShape:
    """Sizes of one gated Mixture-of-Experts block.

    `tokens` rows of width `hidden` are routed to `topk` of `experts` gated experts of width `mlp_dim`;
    `shared_expert_dim` is the width of the dense expert that sees every token (0: there is none).

    Raises:
        UsageError: a size is not positive (`shared_expert_dim`: negative), or topk > experts.
    """

    tokens: Annotated[int, Flag(help="Rows of the input.")] = 512
    hidden: Annotated[int, Flag(help="Width of the model.")] = 128
    mlp_dim: Annotated[int, Flag(help="Width of one expert.")] = 128
    experts: Annotated[int, Flag(help="Number of experts.")] = 8
    topk: Annotated[int, Flag(help="Experts per token.", unless=str(DEFAULT_TOPK))] = DEFAULT_TOPK
    shared_expert_dim: Annotated[int, Flag(help="Width of the dense gated expert that sees every token; 0: none.")] = 0

    def __post_init__(self) -> None:
        for field in fields(self):
            least = 0 if field.name == "shared_expert_dim" else 1
            size = getattr(self, field.name)
            if size < least:
                flag = f"--{field.name.replace('_', '-')}"
                raise UsageError(
                    f"{flag} {size} is not a usable size",
                    cause=f"{field.name} must be at least {least}",
                    hint=f"give {flag} a value of {least} or more",
                )
        if self.topk > self.experts:
            raise UsageError(
                f"--topk {self.topk} is larger than --experts {self.experts}",
                cause="a token cannot choose more experts than there are",
                hint=f"use --topk {self.experts} or less, or --experts {self.topk} or more",
            )

    @property
    def assignments(self) -> int:
        """Number of (token, expert) pairs."""
        return self.tokens * self.topk

    def __str__(self) -> str:
        return " ".join(f"{field.name}={getattr(self, field.name)}" for field in fields(self))
