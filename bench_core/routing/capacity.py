"""How many rows an expert may have. No JAX."""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from bench_core.errors import UsageError
from bench_core.flag import Flag


class CapacityPolicy(StrEnum):
    """`none`: experts take what they get. `drop`: what is over the capacity is zeroed. `pad`: likewise, and
    every expert computes its full capacity."""

    NONE = "none"
    DROP = "drop"
    PAD = "pad"


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """A policy and its factor, which only `none` is without.

    Raises:
        UsageError: the factor is missing, not needed, or not a positive number.
    """

    policy: Annotated[
        CapacityPolicy,
        Flag(name="capacity_policy", help="Assignments over an expert's capacity are zeroed; pad: all are computed."),
    ] = CapacityPolicy.NONE
    factor: Annotated[
        float | None, Flag(name="capacity_factor", help="capacity = ceil(factor * tokens * topk / experts).")
    ] = None

    def __post_init__(self) -> None:
        if self.policy is CapacityPolicy.NONE:
            if self.factor is not None:
                raise UsageError(
                    f"--capacity-factor {self.factor} changes nothing without a capacity",
                    cause="--capacity-policy is none",
                    hint="add --capacity-policy drop, or leave the factor out",
                )
        elif self.factor is None:
            raise UsageError(
                f"--capacity-policy {self.policy} needs --capacity-factor",
                cause="capacity = ceil(factor * tokens * topk / experts) has no default factor",
                hint="add --capacity-factor 1.25",
            )
        elif not 0 < self.factor < float("inf"):
            raise UsageError(
                f"--capacity-factor {self.factor} is not a usable factor",
                cause="it must be a positive, finite number",
                hint="use --capacity-factor 1.25",
            )

    def per_expert(self, *, assignments: int, experts: int) -> int | None:
        """ceil(factor * assignments / experts), with assignments = tokens * topk, null slots included; None
        without a policy.
        """
        return None if self.factor is None else math.ceil(self.factor * assignments / experts)


UNLIMITED = Capacity()
