"""Words for what of the block is timed, and what its backward pass recomputes. No JAX."""

from enum import StrEnum


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
