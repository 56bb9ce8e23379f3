"""Which code fills the caches: what other code has kept is made again."""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


@functools.cache
def code_key() -> str:
    """A digest of this package: of the list of files in its wheel, which states what each holds; else of the
    sizes and times of change of its files."""
    listed = sorted(_PACKAGE.parent.glob("logbook_agent-*.dist-info/RECORD"))
    if listed:
        return hashlib.sha256(b"".join(path.read_bytes() for path in listed)).hexdigest()
    return hashlib.sha256("\n".join(sorted(_stamps(str(_PACKAGE)))).encode()).hexdigest()


def _stamps(folder: str) -> Iterator[str]:
    for found in os.scandir(folder):
        if found.is_dir(follow_symlinks=False):
            if found.name != "__pycache__":
                yield from _stamps(found.path)
        else:
            state = found.stat()
            yield f"{found.path} {state.st_size} {state.st_mtime_ns}"
