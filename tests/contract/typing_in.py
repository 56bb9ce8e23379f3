"""Commands in processes of their own, for stores that are made once for many tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.conftest import QUIET


def in_folder(folder: Path) -> Callable[..., None]:
    """`logbook ARGS` in a folder, with nothing of the user's; it must succeed, or end with the code that is given."""
    own = {f"XDG_{name}_HOME": str(folder.parent / name.lower()) for name in ("CONFIG", "STATE", "CACHE")}
    environ = {"PATH": os.environ["PATH"], "TZ": "UTC", "LOGBOOK_DEVICES": "none", "LOGBOOK_HOST_ROOT": str(QUIET)}
    if "PYTHONPATH" in os.environ:
        environ["PYTHONPATH"] = os.environ["PYTHONPATH"]

    def typed(*words: str, code: int = 0) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "logbook_agent", *words],
            cwd=folder,
            env={**environ, **own},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stderr

    return typed
