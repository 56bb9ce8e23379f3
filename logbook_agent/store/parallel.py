"""A long list of values made on all cores."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")
# Below this a fork costs more than it saves.
_LEAST = 1000


def on_all_cores(items: Sequence[T], make: Callable[[T], R]) -> list[R]:
    """`[make(i) for i in items]`, by forks of this process when there are many items and several cores.

    A fork has everything already; only results come back, as JSON: they are texts, numbers or None. What a
    fork could not do is done here again, so an error is raised where it can be seen.
    """
    workers = min(os.cpu_count() or 1, len(items) // _LEAST)
    if workers < 2:
        return [make(item) for item in items]
    size = -(-len(items) // workers)
    chunks = [items[at : at + size] for at in range(0, len(items), size)]
    forks = [_fork(chunk, make) for chunk in chunks[1:]]
    found = [make(item) for item in chunks[0]]
    for chunk, (pid, pipe) in zip(chunks[1:], forks, strict=True):
        with closing(os.fdopen(pipe, "rb")) as reader:
            data = reader.read()
        done = os.waitpid(pid, 0)[1] == 0
        found += json.loads(data) if done else [make(item) for item in chunk]
    return found


def _fork(chunk: Sequence[T], make: Callable[[T], R]) -> tuple[int, int]:
    """The pid of a fork that works on a chunk, and the pipe its answer comes through."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writer)
        return pid, reader
    status = 1
    try:
        os.close(reader)
        with os.fdopen(writer, "wb") as out:
            out.write(json.dumps([make(item) for item in chunk]).encode())
        status = 0
    finally:
        # Neither the caller's clean-up nor its error messages are a fork's business.
        os._exit(status)
