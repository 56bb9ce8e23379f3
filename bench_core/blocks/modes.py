"""Words for what of the block is timed, and what its backward pass recomputes. No JAX."""

from enum import StrEnum


class QueueMode(StrEnum):
    """`full`: sorting and dispatch are part of the timed function. `prequeue`: the sorted rows are prepared
    outside of it; forward only."""

    FULL = "full"
    PREQUEUE = "prequeue"


class RematMode(StrEnum):
    """What the backward pass recomputes instead of keeping. `expert_mlp`: the routed experts' activations.
    `combine`: those of the weighted sum."""

    NONE = "none"
    EXPERT_MLP = "expert_mlp"
    COMBINE = "combine"
