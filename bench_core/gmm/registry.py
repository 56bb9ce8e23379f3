"""The table of grouped-matmul backends: one row per backend. Reading the table imports no JAX."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench_core.gmm.base import GroupedMatmul


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendEntry:
    """Where a backend lives. It is imported when it is asked for, and not before."""

    module: str
    attribute: str

    def load(self) -> "GroupedMatmul":
        backend: GroupedMatmul = getattr(importlib.import_module(self.module), self.attribute)()
        return backend


BACKENDS: Mapping[str, BackendEntry] = MappingProxyType(
    {
        "ragged_dot": BackendEntry(module="bench_core.gmm.ragged_dot", attribute="RaggedDot"),
        "tiled": BackendEntry(module="bench_core.gmm.tiled", attribute="Tiled"),
    }
)
