"""`logbook` without one of its features."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]


def without(feature: str, tmp_path: Path, cwd: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """The command line of a copy of this package that lacks the folder of a feature; a word that ends in `.py` is a
    program for its Python."""
    package = tmp_path / "without"
    shutil.copytree(
        ROOT / "logbook_agent", package / "logbook_agent", ignore=shutil.ignore_patterns(feature, "__pycache__")
    )
    for name in ("templates", "recipes"):
        (package / name).symlink_to(ROOT / name)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(package), str(ROOT)))}

    def logbook(*words: str) -> subprocess.CompletedProcess[str]:
        program = words if words[0].endswith(".py") else ("-m", "logbook_agent", *words)
        return subprocess.run(
            [sys.executable, *program], cwd=cwd, env=environment, capture_output=True, text=True, check=False
        )

    return logbook
