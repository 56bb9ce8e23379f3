"""The table of grouped-matmul backends: one row per backend. Reading the table imports no JAX."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from bench_core.gmm.tile import RowSizes, Tile

if TYPE_CHECKING:
    from bench_core.gmm.base import GroupedMatmul


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendEntry:
    """Where a backend lives. It is imported when it is asked for, and not before."""

    module: str
    attribute: str
    default_tile: Tile | None = None
    """None: the backend takes no tile."""
    takes_row_tiles: bool = False
    kernel: bool = False
    """Whether it is a kernel that a CPU runs in interpret mode."""

    def load(self, *, platform: str, tile: Tile | None = None, row_tiles: RowSizes | None = None) -> "GroupedMatmul":
        """The backend for programs that are compiled for `platform` (JAX's name: cpu, gpu, tpu).

        Raises:
            ValueError: `tile` or `row_tiles` is given and the backend takes none; `Case` refuses that before.
        """
        if row_tiles is not None and not self.takes_row_tiles:
            raise ValueError(f"{self.attribute} takes no row tiles")
        make = getattr(importlib.import_module(self.module), self.attribute)
        if self.default_tile is None and tile is not None:
            raise ValueError(f"{self.attribute} takes no tile")
        options: dict[str, object] = {"interpret": platform == "cpu"} if self.kernel else {}
        if self.default_tile is not None:
            options["tile"] = tile or self.default_tile
        if self.takes_row_tiles:
            options["row_tiles"] = row_tiles
        backend: GroupedMatmul = make(**options)
        return backend


BACKENDS: Mapping[str, BackendEntry] = MappingProxyType(
    {
        "ragged_dot": BackendEntry(module="bench_core.gmm.ragged_dot", attribute="RaggedDot"),
        "tiled": BackendEntry(module="bench_core.gmm.tiled", attribute="Tiled", takes_row_tiles=True),
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
