"""Stands in for msgspec where the standard library is all there is, which is a worker's machine: structs as
dataclasses."""

from __future__ import annotations

import dataclasses
from dataclasses import MISSING as NODEFAULT
from dataclasses import field
from typing import Any

__all__ = ["NODEFAULT", "Struct", "field", "structs"]


class Struct:
    """A class of values, with those options of msgspec that ours use. (`dict` says that it has room for cached values,
    as every dataclass without slots has.)"""

    def __init_subclass__(
        cls, *, frozen: bool = False, kw_only: bool = False, eq: bool = True, dict: bool = False
    ) -> None:
        dataclasses.dataclass(frozen=frozen, kw_only=kw_only, eq=eq)(cls)


class structs:  # noqa: N801 - the name of msgspec's module
    """What there is to do with a value or its class."""

    fields: Any = staticmethod(dataclasses.fields)
    replace: Any = staticmethod(dataclasses.replace)
