"""The TPUs that cases can be compiled for: slices of one chip kind, of up to 64 chips. No JAX."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from bench_core.accounting.chips import CHIPS, Chip
from bench_core.accounting.roofline import Slice
from bench_core.errors import UsageError
from bench_core.flag import ConfigValue
from bench_core.harness.case import Case


@dataclass(frozen=True, slots=True, kw_only=True)
class AotTarget:
    """A slice of a TPU kind.

    `name` is Cloud TPU's name of that slice (it counts TensorCores for v4, v5p and tpu7x, chips for the lite
    kinds), `topology` and `chip_config` are libtpu's words for it. `device_kind` is JAX's.
    """

    name: str
    topology: str
    device_kind: str
    chip_config: str = "default"

    @property
    def kind(self) -> str:
        return self.name.partition("-")[0]

    @property
    def chip(self) -> Chip:
        return CHIPS[self.device_kind]

    @property
    def sides(self) -> tuple[int, ...]:
        """Chips in each direction."""
        return tuple(int(side) for side in self.topology.partition(":")[2].split("x"))

    @property
    def chips(self) -> int:
        return math.prod(self.sides)

    @property
    def devices(self) -> int:
        """JAX devices of the slice."""
        return self.chips * self.chip.devices

    @property
    def links(self) -> int:
        """The most links that a chip has to others. Where sides are no rings, chips in a corner have fewer."""
        return sum(2 if side > 2 else side - 1 for side in self.sides)

    @property
    def slice(self) -> Slice:
        """How its chips are linked."""
        return Slice(name=self.name, links=self.links)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    """`per_chip`: what its slices' names count."""

    device_kind: str
    per_chip: int
    topologies: tuple[str, ...]
    chip_config: str = "default"

    def targets(self, kind: str) -> Iterator[AotTarget]:
        for topology in self.topologies:
            chips = math.prod(int(side) for side in topology.split("x"))
            yield AotTarget(
                name=f"{kind}-{chips * self.per_chip}",
                topology=f"{kind}:{topology}",
                device_kind=self.device_kind,
                chip_config=self.chip_config,
            )


_CUBES = ("2x2x1", "2x2x2", "2x2x4", "2x4x4", "4x4x4")
_FLAT = ("2x2", "2x4", "4x4", "4x8", "8x8")
_KINDS = {
    # The default of v4 is one device per TensorCore; JAX on a v4 shows one per chip, which is megacore.
    "v4": _Kind(device_kind="TPU v4", per_chip=2, topologies=_CUBES, chip_config="megacore"),
    "v5e": _Kind(device_kind="TPU v5 lite", per_chip=1, topologies=_FLAT),
    "v5p": _Kind(device_kind="TPU v5", per_chip=2, topologies=_CUBES),
    "v6e": _Kind(device_kind="TPU v6 lite", per_chip=1, topologies=_FLAT),
    "tpu7x": _Kind(device_kind="TPU7x", per_chip=2, topologies=_CUBES),
}
TARGETS: Mapping[str, AotTarget] = MappingProxyType(
    {target.name: target for kind, slices in _KINDS.items() for target in slices.targets(kind)}
)
"""By name; the first of a kind is one host with four chips. A case that is not spread uses one device of it."""

KINDS = "|".join(_KINDS)
"""As a command's help lists them."""


def aot_config(case: Case, target: AotTarget) -> dict[str, ConfigValue]:
    """The case's configuration with the target in it, and without the numbers of calls: there are none."""
    config = {key: value for key, value in case.config().items() if key not in ("iters", "warmup")}
    return {"aot": target.name, **config}


def choose_target(word: str) -> AotTarget:
    """The target with this name, or the first of this kind.

    Raises:
        UsageError: there is none; the error lists what there is.
    """
    for target in TARGETS.values():
        if word in (target.name, target.kind):
            return target
    raise UsageError(
        f"--aot {word} is not known",
        cause=f"this version compiles for: {', '.join(TARGETS)}",
        hint="use --aot v5p-8, or the kind alone, such as v5p",
    )
