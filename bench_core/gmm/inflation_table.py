"""How much work each backend makes of a case on each TPU, as its compiler has it. No JAX.

benchmarks/moe_aot.py writes the table `inflation_table.json`: it compiles published shapes for TPUs that need not be
there.
"""

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench_core.accounting.chips import CHIPS

TABLE = Path(__file__).with_name("inflation_table.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """One program that was compiled. `inflation`: its FLOPs over the model FLOPs; None where the compiler has no count.
    `refused`: why there is no program, in one word; None where there is one."""

    device_kind: str
    backend: str
    inflation: float | None
    refused: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class InflationTable:
    """All programs, and the versions of the packages that compiled them."""

    rows: tuple[Compiled, ...]
    software: Mapping[str, str]

    def worst(self, device_kind: str) -> dict[str, float]:
        """By backend, the largest inflation of any of its programs for such a device.

        A backend with a program that was refused, or has no count, is left out, as is all of a device that the table
        does not have. Two names of one chip are one device.
        """
        own = [row for row in self.rows if _same_chip(row.device_kind, device_kind)]
        unknown = {row.backend for row in own if row.refused is not None or row.inflation is None}
        worst: dict[str, float] = {}
        for row in own:
            if row.backend not in unknown and row.inflation is not None:
                worst[row.backend] = max(row.inflation, worst.get(row.backend, 0.0))
        return worst

    @property
    def compiled_by(self) -> str:
        return ", ".join(f"{package} {version}" for package, version in self.software.items())


def _same_chip(one: str, other: str) -> bool:
    return one == other or (one in CHIPS and CHIPS[one] is CHIPS.get(other))


@functools.cache
def inflation_table() -> InflationTable:
    """The table of this version."""
    document: Any = json.loads(TABLE.read_text(encoding="utf-8"))
    rows = (
        Compiled(
            device_kind=row["device_kind"],
            backend=row["backend"],
            inflation=row["flops_inflation"],
            refused=row["refused"],
        )
        for row in document["rows"]
    )
    return InflationTable(rows=tuple(rows), software=document["software"])
