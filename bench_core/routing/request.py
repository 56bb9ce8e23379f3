"""What is asked of the routing, of sorting by it, and of how many rows an expert may have. No JAX."""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from bench_core.errors import UsageError
from bench_core.flag import Flag, require_ranges


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
        UsageError: the factor is missing, or not a positive number.
    """

    policy: Annotated[
        CapacityPolicy,
        Flag(name="capacity_policy", help="Assignments over an expert's capacity are zeroed; pad: all are computed."),
    ] = CapacityPolicy.NONE
    factor: Annotated[
        float | None,
        Flag(name="capacity_factor", help="capacity = ceil(factor * tokens * topk / experts).", least=0.01),
    ] = None

    def __post_init__(self) -> None:
        require_ranges(self)
        if self.policy is not CapacityPolicy.NONE and self.factor is None:
            raise UsageError(
                f"--capacity-policy {self.policy} needs --capacity-factor",
                cause="capacity = ceil(factor * tokens * topk / experts) has no default factor",
                hint="add --capacity-factor 1.25",
            )

    def per_expert(self, *, assignments: int, experts: int) -> int | None:
        """ceil(factor * assignments / experts), with assignments = tokens * topk, null slots included; None
        without a policy.
        """
        return None if self.factor is None else math.ceil(self.factor * assignments / experts)


UNLIMITED = Capacity()


class PackStrategy(StrEnum):
    """`argsort`: two argsorts. `tuple_sort`: pairs (expert, assignment) are sorted, and sorted back."""

    ARGSORT = "argsort"
    TUPLE_SORT = "tuple_sort"


class Distribution(StrEnum):
    """`random`: independent standard normal router logits. `runs`: consecutive tokens favour one expert."""

    RANDOM = "random"
    RUNS = "runs"


class NullMode(StrEnum):
    """Which slots become null. `independent`: any, with equal chance. `take_until_null`: those behind a
    token's first null too, so that a token keeps a prefix of its experts."""

    INDEPENDENT = "independent"
    TAKE_UNTIL_NULL = "take_until_null"


DEFAULT_RUN_ALPHA = 0.98
DEFAULT_RUN_NOISE_SCALE = 0.35
RUN_FLAGS = ("run_alpha", "run_noise_scale")
"""They belong to `runs` alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingRequest:
    """How tokens choose experts.

    `run_alpha` and `run_noise_scale` belong to `runs`: run lengths are geometric with mean
    1 / (1 - run_alpha), the noise below the favourite's +6 has that scale. `null_frac` is the fraction of all
    tokens * topk slots that go to no expert; with `renormalize` the weights of a token's real slots sum to
    one again.

    Raises:
        UsageError: a number is outside its range.
    """

    distribution: Annotated[
        Distribution,
        Flag(help="Router logits: independent normal, or consecutive tokens favour one expert.", several=True),
    ] = Distribution.RANDOM
    run_alpha: Annotated[
        float, Flag(help="Runs: mean length is 1 / (1 - alpha).", unless=str(DEFAULT_RUN_ALPHA), least=0, below=1)
    ] = DEFAULT_RUN_ALPHA
    run_noise_scale: Annotated[
        float, Flag(help="Runs: noise below the favourite's +6.", unless=str(DEFAULT_RUN_NOISE_SCALE), least=0)
    ] = DEFAULT_RUN_NOISE_SCALE
    null_frac: Annotated[
        float,
        Flag(name="null_route_frac", help="Fraction of slots that go to no expert.", unless="0", least=0, below=1),
    ] = 0.0
    null_mode: Annotated[
        NullMode,
        Flag(
            name="null_routing_mode",
            help="Which slots are null; take_until_null: a token keeps its experts before the first.",
        ),
    ] = NullMode.INDEPENDENT
    renormalize: Annotated[
        bool,
        Flag(name="renormalize_real_after_null", help="A token's real weights sum to one again."),
    ] = False

    def __post_init__(self) -> None:
        require_ranges(self)
