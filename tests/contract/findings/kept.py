"""Stores that several tests begin with: built by the first one, and copied by those that follow in its process."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path


def once(kept: Path, folder: Path, build: Callable[[], object]) -> None:
    """Have in `folder` what `build` makes of it; `kept` is where a copy lies."""
    if kept.exists():
        shutil.copytree(kept, folder, symlinks=True, dirs_exist_ok=True)
    else:
        build()
        shutil.copytree(folder, kept, symlinks=True)
