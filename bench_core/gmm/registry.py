"""The table of grouped-matmul backends, one row per backend, and which of them a case gets that names none. No JAX."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from bench_core.accounting.chips import CHIPS
from bench_core.gmm.tile import Tile

if TYPE_CHECKING:
    from bench_core.gmm.base import GroupedMatmul


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendEntry:
    """Where a backend lives. It is imported when it is asked for, and not before."""

    module: str
    attribute: str
    default_tile: Tile | None = None
    """None: the backend takes no tile."""
    kernel: bool = False
    """Whether it is a kernel that a CPU runs in interpret mode."""

    def load(self, *, platform: str, tile: Tile | None = None) -> "GroupedMatmul":
        """The backend for programs that are compiled for `platform` (JAX's name: cpu, gpu, tpu).

        Raises:
            ValueError: `tile` is given and the backend takes none; `Case` refuses that before.
        """
        if self.default_tile is None and tile is not None:
            raise ValueError(f"{self.attribute} takes no tile")
        options: dict[str, object] = {"interpret": platform == "cpu"} if self.kernel else {}
        if self.default_tile is not None:
            options["tile"] = tile or self.default_tile
        return getattr(importlib.import_module(self.module), self.attribute)(**options)


BACKENDS: Mapping[str, BackendEntry] = MappingProxyType(
    {
        "ragged_dot": BackendEntry(module="bench_core.gmm.ragged_dot", attribute="RaggedDot"),
        "tiled": BackendEntry(module="bench_core.gmm.tiled", attribute="Tiled"),
        "gmm": BackendEntry(
            module="bench_core.gmm.megablox",
            attribute="Megablox",
            # The kernel's own default. In both dtypes it fits the VMEM of v4, v5e, v5p and v6e (compiled for each).
            default_tile=Tile(m=128, k=128, n=128),
            kernel=True,
        ),
        "pallas_gpu": BackendEntry(module="bench_core.gmm.pallas_gpu", attribute="PallasGpu", kernel=True),
    }
)

ANYWHERE = "ragged_dot"
"""Serves every platform and every case. A case has it until its platform is known."""

# What `benchmarks/moe_aot.py` compiled: the FLOPs of the worst program over the model's, the same on each kind.
_COMPILED_FOR = ("TPU v5 lite", "TPU v5", "TPU v6 lite")
_INFLATION = {"gmm": 1.0022, ANYWHERE: 22.0121}
_COMPILED_BY = "jax 0.10.2, jaxlib 0.10.2, libtpu 0.0.42.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Default:
    """A backend. `why`: what compiled programs say for it; None where none was asked."""

    name: str
    why: str | None = None


def default_backends(platform: str, device_kind: str) -> tuple[Default, ...]:
    """The backends, best first: a case gets the first one that serves it.

    `platform` and `device_kind` are JAX's names. On CPU `ragged_dot` multiplies by every expert, so `tiled` comes
    first. On a TPU the one comes first of which the compiler makes fewer FLOPs.
    """
    if platform == "cpu":
        return Default(name="tiled"), Default(name=ANYWHERE)
    if platform != "tpu":
        return (Default(name=ANYWHERE),)
    if not any(device_kind == kind or CHIPS[kind] is CHIPS.get(device_kind) for kind in _COMPILED_FOR):
        return (Default(name=ANYWHERE, why=f"nothing was compiled for {device_kind} to compare it with"),)
    why = (
        f"up to {_INFLATION['gmm']:.2f} times the model FLOPs on {device_kind}, {ANYWHERE} up to "
        f"{_INFLATION[ANYWHERE]:.2f} (compiled by {_COMPILED_BY})"
    )
    return Default(name="gmm", why=why), Default(name=ANYWHERE)
