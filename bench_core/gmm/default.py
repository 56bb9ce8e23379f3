"""Which backends a case is given that names none. No JAX."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from bench_core.gmm.inflation_table import inflation_table

ANYWHERE = "ragged_dot"
"""Serves every platform and every case. A case has it until its platform is known."""
CLEARLY_LESS = 1.5
"""A backend comes before `ANYWHERE` on a TPU where that computes more than so many times its FLOPs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Default:
    """A backend. `why`: what the table of compiled programs says for it; None where none was asked."""

    name: str
    why: str | None = None


_BY_PLATFORM: Mapping[str, tuple[Default, ...]] = MappingProxyType(
    {"cpu": (Default(name="tiled"), Default(name=ANYWHERE))}
)


def default_backends(platform: str, device_kind: str) -> tuple[Default, ...]:
    """The backends, best first: a case gets the first one that serves it.

    `platform` and `device_kind` are JAX's names. On CPU `ragged_dot` multiplies by every expert, so `tiled` comes
    first. On a TPU the compiler's count of FLOPs decides, in the worst of the programs that were compiled for it.
    """
    if platform == "tpu":
        return _by_inflation(device_kind)
    return _BY_PLATFORM.get(platform, (Default(name=ANYWHERE),))


def _by_inflation(device_kind: str) -> tuple[Default, ...]:
    table = inflation_table()
    worst = table.worst(device_kind)
    if ANYWHERE not in worst:
        return (Default(name=ANYWHERE, why=f"nothing was compiled for {device_kind} to compare it with"),)
    most = worst.pop(ANYWHERE)
    better = sorted((name for name in worst if most > CLEARLY_LESS * worst[name]), key=worst.__getitem__)
    found = [
        Default(
            name=name,
            why=f"up to {worst[name]:.2f} times the model FLOPs on {device_kind}, {ANYWHERE} up to {most:.2f} "
            f"(compiled by {table.compiled_by})",
        )
        for name in better
    ]
    return (*found, Default(name=ANYWHERE))
