"""The most memory that a command takes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.contract.e2e.e2e_support import LOGBOOK

# A process counts the memory of the one that it was forked from; this one is small.
_MEASURED = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:])
unit = 1 if sys.platform == "darwin" else 1024
print("PEAK", code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit, file=sys.stderr)
"""


def measured(*words: str, cwd: Path, stdout: Any = subprocess.DEVNULL) -> tuple[int, str, int]:
    """The exit code of `logbook WORDS`, what it says on stderr, and how many bytes it and its command take at most."""
    done = subprocess.run(
        [sys.executable, "-c", _MEASURED, *LOGBOOK, *words],
        cwd=cwd,
        stdout=stdout,
        stderr=subprocess.PIPE,
        timeout=300,
        check=True,
    )
    said, _, numbers = done.stderr.decode(errors="replace").rpartition("PEAK ")
    code, used = map(int, numbers.split())
    return code, said, used
