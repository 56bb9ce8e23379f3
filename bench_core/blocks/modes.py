"""What is chosen of a block: its implementation, what of it is timed, what its backward pass recomputes. No JAX."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType


class QueueMode(StrEnum):
    """`full`: sorting and dispatch are part of the timed function. `prequeue`: forward gets the sorted rows, which are
    prepared outside of it; forward_backward is as with `full`."""

    FULL = "full"
    PREQUEUE = "prequeue"


class RematMode(StrEnum):
    """What the backward pass recomputes instead of keeping. `expert_mlp`: the routed experts' activations. `combine`:
    what the weighted sum keeps, the experts' results; only in `train` does it keep them."""

    NONE = "none"
    EXPERT_MLP = "expert_mlp"
    COMBINE = "combine"


class Router(StrEnum):
    """Where tokens choose their experts (top-k of the router's logits, and softmax over it): before the timed program
    starts, or `inside` of it."""

    OUTSIDE = "outside"
    INSIDE = "inside"


class Programs(StrEnum):
    """Of how many programs a forward pass is made.

    `one`. `stages`: pack, up, down and combine are programs of their own, and the host starts each when the one before
    has finished. `stages_async`: the host starts all of them at once, and waits for the last.
    """

    ONE = "one"
    STAGES = "stages"
    STAGES_ASYNC = "stages_async"

    @property
    def staged(self) -> bool:
        return self is not Programs.ONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Impl:
    """One way to compute the block.

    `fused_w13` stores w1 | w3 as one matrix and multiplies once.
    """

    name: str
    fused_w13: bool = False

    @property
    def summary(self) -> str:
        return "w1|w3 as one grouped matmul" if self.fused_w13 else "w1 and w3 as two grouped matmuls"


IMPLS: Mapping[str, Impl] = MappingProxyType(
    {impl.name: impl for impl in (Impl(name="baseline"), Impl(name="fused_w13", fused_w13=True))}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sends:
    """Roundings to the case's dtype that spreading a block over devices adds to those of one device, at most.

    `output`: of one term of an element, before the element itself is rounded. `input_gradient`: of one term of an
    element. `weight_parts`, `shared_parts`: in how many parts a weight's gradient is summed over tokens; every part is
    rounded, and so is every sum of parts.
    """

    output: int = 0
    input_gradient: int = 0
    weight_parts: int = 1
    shared_parts: int = 1


ALONE = Sends()


def added(parts: int, terms: int) -> int:
    """How often parts of `terms` are rounded before their whole is: each once, and again at all additions but the last.
    Parts without a term are zeros, which add nothing."""
    return max(min(parts, terms) - 1, 0)
