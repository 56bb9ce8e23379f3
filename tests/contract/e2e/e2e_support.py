"""What the end-to-end tests share: a picture of a folder, and the real command line as a process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

LOGBOOK = (sys.executable, "-m", "logbook_agent")


def picture(folder: Path) -> dict[str, bytes | None]:
    """Every path below a folder with its content; None for a folder. The index is no record: reading makes it."""
    paths = (p for p in sorted(folder.rglob("*")) if not p.name.startswith(".index.sqlite"))
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in paths}


def logbook(*words: str, cwd: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[bytes]:
    """`logbook WORDS` as a process of its own."""
    return subprocess.run(
        [*LOGBOOK, *words], cwd=cwd, env={**os.environ, **(env or {})}, capture_output=True, timeout=120, check=False
    )


def blocks_of(view: Path) -> list[str]:
    """Names of the blocks that a view consists of."""
    return re.findall(r"(?m)^<!-- logbook:block (\S+) ", view.read_text())
