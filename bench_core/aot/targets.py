"""The TPUs that cases can be compiled for. No JAX."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from bench_core.accounting.chips import CHIPS, Chip
from bench_core.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class AotTarget:
    """A slice of a TPU kind; the first of a kind is one host with four chips.

    `name` is Cloud TPU's name of that slice (it counts TensorCores for v4, v5p and tpu7x, chips for the lite
    kinds), `topology` and `chip_config` are libtpu's words for it. `device_kind` is JAX's.
    """

    name: str
    topology: str
    device_kind: str
    chips: int = 4
    chip_config: str = "default"

    @property
    def kind(self) -> str:
        return self.name.partition("-")[0]

    @property
    def chip(self) -> Chip:
        return CHIPS[self.device_kind]


_TARGETS = (
    # The default of v4 is one device per TensorCore; JAX on a v4 shows one per chip, which is megacore.
    AotTarget(name="v4-8", topology="v4:2x2x1", device_kind="TPU v4", chip_config="megacore"),
    AotTarget(name="v5e-4", topology="v5e:2x2", device_kind="TPU v5 lite"),
    AotTarget(name="v5e-8", topology="v5e:2x4", device_kind="TPU v5 lite", chips=8),
    AotTarget(name="v5p-8", topology="v5p:2x2x1", device_kind="TPU v5"),
    AotTarget(name="v5p-128", topology="v5p:4x4x4", device_kind="TPU v5", chips=64),
    AotTarget(name="v6e-4", topology="v6e:2x2", device_kind="TPU v6 lite"),
    AotTarget(name="v6e-8", topology="v6e:2x4", device_kind="TPU v6 lite", chips=8),
    AotTarget(name="tpu7x-8", topology="tpu7x:2x2x1", device_kind="TPU7x"),
)
TARGETS: Mapping[str, AotTarget] = MappingProxyType({target.name: target for target in _TARGETS})
"""By name. A case that is not spread uses one device of it."""


def choose_target(word: str) -> AotTarget:
    """The target with this name, or the first of this kind.

    Raises:
        UsageError: there is none; the error lists what there is.
    """
    for target in _TARGETS:
        if word in (target.name, target.kind):
            return target
    raise UsageError(
        f"--aot {word} is not known",
        cause=f"this version compiles for: {', '.join(TARGETS)}",
        hint="use --aot v5p-8, or the kind alone, such as v5p",
    )
