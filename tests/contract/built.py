"""Logbooks that many tests begin with, made once for each process of tests and copied."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

_MADE: dict[str, tempfile.TemporaryDirectory[str]] = {}


def built(name: str, folder: Path, make: Callable[[], None]) -> None:
    """Let the `logbooks` of `folder` be those that `make` makes there; from the second time on they are a copy."""
    place = folder / "logbooks"
    if name in _MADE:
        shutil.copytree(Path(_MADE[name].name) / "logbooks", place)
        return
    make()
    _MADE[name] = tempfile.TemporaryDirectory()
    shutil.copytree(place, Path(_MADE[name].name) / "logbooks")
