"""How often sums are rounded when several devices make them. No JAX."""

from dataclasses import dataclass


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
