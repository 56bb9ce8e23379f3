"""Sizes and the two words (dtype, pass) that every layer shares. No JAX."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated

from bench_core.errors import UsageError
from bench_core.flag import Flag, require_ranges

DEFAULT_TOPK = 2

TOO_MANY = 2**31
"""Such a size, or so many (token, expert) pairs, are refused: XLA's programs index them with int32."""
MOST_ELEMENTS = 2**58
"""An array of more elements, two of which may stand side by side in float64, has more bytes than an int64 counts."""


class DType(StrEnum):
    """Element type of activations and weights. Matmuls accumulate in float32; those of float64, which is for the check
    alone, in float64."""

    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"
    FLOAT64 = "float64"


TIMED_DTYPES = (DType.FLOAT32, DType.BFLOAT16)


class BenchPass(StrEnum):
    """What one timed call computes.

    `forward_backward` adds the gradients to x and the experts' weights; the routing is fixed. `train` also has a router
    (x @ router, top-k, softmax) in the program, and the gradients of the routing weights and of the router.
    """

    FORWARD = "forward"
    FORWARD_BACKWARD = "forward_backward"
    TRAIN = "train"

    @property
    def backward(self) -> bool:
        """Whether gradients are computed."""
        return self is not BenchPass.FORWARD


class QuantMode(StrEnum):
    """How matmul operands are quantised.

    `int8` is fake quantisation: operands are rounded to 255 levels and multiplied in the case's dtype. It
    applies to every matmul of the block, routed and shared alike. `int8_real` multiplies the int8 codes
    themselves in the forward pass, with int32 accumulation; its backward pass is that of `int8`.
    """

    NONE = "none"
    INT8 = "int8"
    INT8_REAL = "int8_real"


@dataclass(frozen=True, slots=True, kw_only=True)
class MoeShape:
    """Sizes of one gated Mixture-of-Experts block.

    `tokens` rows of width `hidden` are routed to `topk` of `experts` gated experts of width `mlp_dim`;
    `shared_expert_dim` is the width of the dense expert that sees every token (0: there is none).

    Raises:
        UsageError: a size is not positive (`shared_expert_dim`: negative) or too large, or topk > experts.
    """

    tokens: Annotated[int, Flag(help="Rows of the input.", least=1, below=TOO_MANY)] = 512
    hidden: Annotated[int, Flag(help="Width of the model.", least=1, below=TOO_MANY)] = 128
    mlp_dim: Annotated[int, Flag(help="Width of one expert.", least=1, below=TOO_MANY)] = 128
    experts: Annotated[int, Flag(help="Number of experts.", least=1, below=TOO_MANY)] = 8
    topk: Annotated[int, Flag(help="Experts per token.", unless=str(DEFAULT_TOPK), least=1)] = DEFAULT_TOPK
    shared_expert_dim: Annotated[
        int,
        Flag(help="Width of the dense gated expert that sees every token; 0: none.", least=0, below=TOO_MANY),
    ] = 0

    def __post_init__(self) -> None:
        require_ranges(self)
        if self.topk > self.experts:
            raise UsageError(
                f"--topk {self.topk} is larger than --experts {self.experts}",
                cause="a token cannot choose more experts than there are",
                hint=f"use --topk {self.experts} or less, or --experts {self.topk} or more",
            )
        if self.assignments >= TOO_MANY:
            raise UsageError(
                f"--tokens {self.tokens} x --topk {self.topk} are too many rows",
                cause=f"programs index rows with int32, so there are less than {TOO_MANY}",
                hint=f"use --tokens {(TOO_MANY - 1) // self.topk} or less",
            )
        for name, elements in self._arrays().items():
            if elements > MOST_ELEMENTS:
                raise UsageError(
                    f"{name} would have {elements} elements",
                    cause=f"the bytes of an array are counted in int64, so it has at most {MOST_ELEMENTS} elements",
                    hint="use smaller sizes",
                )

    def _arrays(self) -> dict[str, int]:
        """Elements of the arrays that no other one exceeds."""
        widest = max(self.hidden, self.mlp_dim)
        return {
            "rows x width": self.assignments * widest,
            "tokens x shared expert": self.tokens * self.shared_expert_dim,
            "tokens x experts": self.tokens * self.experts,
            "experts x hidden x mlp_dim": self.experts * self.hidden * self.mlp_dim,
            "hidden x shared expert": self.hidden * self.shared_expert_dim,
        }

    @property
    def assignments(self) -> int:
        """Number of (token, expert) pairs."""
        return self.tokens * self.topk

    def __str__(self) -> str:
        return " ".join(f"{field.name}={getattr(self, field.name)}" for field in fields(self))


CHECKED_SHAPES: Mapping[str, MoeShape] = MappingProxyType(
    {
        "odd": MoeShape(tokens=37, hidden=19, mlp_dim=13, experts=5, topk=2, shared_expert_dim=3),
        "one token": MoeShape(tokens=1, hidden=8, mlp_dim=6, experts=4, topk=2, shared_expert_dim=2),
        "topk = experts": MoeShape(tokens=24, hidden=16, mlp_dim=8, experts=3, topk=3),
        "one expert": MoeShape(tokens=33, hidden=8, mlp_dim=9, experts=1, topk=1),
        "empty experts": MoeShape(tokens=3, hidden=16, mlp_dim=8, experts=17, topk=1, shared_expert_dim=4),
    }
)
"""Those of `bench-core check`, by what they are about."""


def spread_shapes(devices: int) -> dict[str, MoeShape]:
    """Those of `check --devices N`: their experts can be shared out among so many devices."""
    odd, two = 4 * devices + 5, 2 * devices
    return {
        "odd": MoeShape(tokens=odd, hidden=19, mlp_dim=13, experts=two, topk=2, shared_expert_dim=3),
        "one token": MoeShape(tokens=1, hidden=8, mlp_dim=6, experts=devices, topk=2, shared_expert_dim=2),
        "one slot": MoeShape(tokens=3 * devices + 1, hidden=8, mlp_dim=9, experts=devices, topk=1),
        "topk = experts": MoeShape(tokens=two, hidden=16, mlp_dim=8, experts=devices, topk=devices),
        "topk > devices": MoeShape(
            tokens=devices, hidden=8, mlp_dim=8, experts=two, topk=devices + 1, shared_expert_dim=4
        ),
    }


TIMED_SHAPES: Mapping[str, MoeShape] = MappingProxyType(
    {
        "S": MoeShape(tokens=32768, hidden=2048, mlp_dim=1408, experts=60),
        "M": MoeShape(tokens=32768, hidden=2048, mlp_dim=2048, experts=64),
        "L": MoeShape(tokens=65536, hidden=3072, mlp_dim=3072, experts=128),
        "CPU": MoeShape(tokens=4096, hidden=512, mlp_dim=352),
    }
)
"""Those of `benchmarks/`: S, M and L are the null-routing logbook's, and CPU stands beside torch."""
