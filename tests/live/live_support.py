"""What the tests of live views share: a command as a process, and a whole picture of a folder."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.e2e_support import LOGBOOK

GO = "until [ -e go ]; do sleep 0.02; done"


def whole(folder: Path) -> dict[str, tuple[int, bytes | None]]:
    """Every path below a folder, indexes and locks included, with its inode and content."""
    return {
        str(p.relative_to(folder)): (p.lstat().st_ino, p.read_bytes() if p.is_file() else None)
        for p in sorted(folder.rglob("*"))
    }


@contextmanager
def running(*words: str, cwd: Path, number: int = signal.SIGINT, **more: str) -> Iterator[subprocess.Popen[bytes]]:
    """`logbook WORDS` until the block is left; then a signal ends it."""
    process = subprocess.Popen(
        [*LOGBOOK, *words], cwd=cwd, env={**os.environ, **more}, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(number)
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        assert process.stderr is not None
        assert b"Traceback" not in (told := process.stderr.read()), told.decode()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
