"""What a client calls on another machine: `python -P FOLDER serve`, where FOLDER holds the client's version of this
package. It answers requests, one after another, until standard input ends.

A request is a line of JSON with its `verb`. The answer is a line of JSON, too; `follows` tells how many bytes stand
behind it: of a log, or of archives. A request that cannot be answered gets the reason as `failed`.

Nothing of this package is loaded to wait for news; each verb loads what it needs (`far_verbs.py`), and that stays.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import sys
import time
from collections.abc import Sequence
from typing import Any

# An environment of ours, in the folder of an executor.
VENV_PYTHON = "venv/bin/python"
# How often is looked for news while somebody waits for them: of many runs less often.
_LOOK_S, _LOOK_OF_EACH_S = 0.1, 0.002
# So long is what is known of a run taken for known while none of its files changes.
_KNOWN_S, _KNOWN_OF_ORPHAN_S = 5.0, 1.0
# Two changes that come so close may bear the same time.
_TICK_NS = 50_000_000
_READ_BYTES = 1 << 16
_OVER = ("ended", "lost", "never-started")

Answer = tuple[dict[str, Any], bytes]


def main(args: Sequence[str] | None = None) -> None:
    """Be a worker, a nursery, or answer requests."""
    words = list(sys.argv[1:] if args is None else args)
    if words[:1] == ["worker"]:
        from logbook_agent.running.worker import process

        code = process.main(words[1:])
        sys.stderr.flush()
        os._exit(code)
    if words == ["nursery"]:
        from logbook_agent.running.executors import far_verbs
        from logbook_agent.running.worker import nursery

        # Of a node of Ray, where nobody removes what was collected.
        far_verbs.prune_left_over()
        nursery.main()
    elif words[:1] == ["prune"]:
        from logbook_agent.running.executors import far_verbs

        # A node of Ray is told by its coordinator.
        print(json.dumps(far_verbs.VERBS["prune"](folder=words[1])[0]), flush=True)
    elif words == ["serve"]:
        _take_own_python()
        _FarServer().serve()
    else:
        sys.exit(f"far: no such call: {' '.join(words)}")


def _take_own_python() -> None:
    """Go on as the Python of the environment that was made in the folder of the executor, where there is one."""
    code = sys.path[0]
    folder, parent = os.path.split(os.path.dirname(code))  # noqa: PTH120 - pathlib is slow to load
    own = f"{folder}/{VENV_PYTHON}"
    if parent == "code" and sys.executable != own and os.path.isfile(own):  # noqa: PTH113
        os.execv(own, [own, "-P", code, "serve"])  # noqa: S606 - no shell is needed


class _FarServer:
    """Answers one client. It remembers what it has told of each run."""

    def __init__(self) -> None:
        self._left = b""
        self._runs: dict[str, _FarRun] = {}

    def serve(self) -> None:
        """Answer until standard input ends."""
        _write({})
        while (line := self._request()) is not None:
            try:
                head, rest = self._answer(json.loads(line))
            except Exception as error:  # noqa: BLE001 - the client tells its user
                head, rest = {"failed": getattr(error, "message", None) or f"{type(error).__name__}: {error}"}, b""
            _write(head, rest)

    def _request(self) -> bytes | None:
        while b"\n" not in self._left:
            data = os.read(0, _READ_BYTES)
            if not data:
                return None
            self._left += data
        line, _, self._left = self._left.partition(b"\n")
        return line

    def _answer(self, given: dict[str, Any]) -> Answer:
        verb = given.pop("verb")
        if verb == "ping":
            return {}, b""
        if verb == "look":
            return self._look(given["runs"], float(given["wait_s"])), b""
        if "folder" in given:
            given["folder"] = os.path.expanduser(given["folder"])  # noqa: PTH111
        if verb == "follow":
            return self._follow(**given)
        from logbook_agent.running.executors import far_verbs

        return far_verbs.VERBS[verb](**given)

    def _look(self, wanted: dict[str, bool], wait_s: float) -> dict[str, Any]:
        """How far runs are that have changed since they were told of, by their folders, with whether each is closed.
        Waits for the first of them."""
        self._runs = {text: self._runs.get(text) or _FarRun(text) for text in wanted}
        pause_s = max(_LOOK_S, _LOOK_OF_EACH_S * len(wanted))
        deadline = time.monotonic() + wait_s
        while True:
            news = {text: found for text, run in self._runs.items() if (found := run.news(close=wanted[text]))}
            left_s = deadline - time.monotonic()
            if news or left_s <= 0 or select.select([0], [], [], min(pause_s, left_s))[0]:
                return {"runs": news}

    def _follow(self, folder: str, *, close: bool, offset: int | None, wait_s: float) -> Answer:
        """How far a run is, and its log from `offset` on: at last after `wait_s`, sooner when there is more of its log,
        or it is over."""
        run = self._runs.get(folder) or _FarRun(folder)
        deadline = time.monotonic() + wait_s
        while True:
            state = run.state(close=close)
            has_more = offset is not None and _size(f"{folder}/output.log") > offset
            left_s = deadline - time.monotonic()
            is_over = state["stage"] in _OVER
            if is_over or has_more or left_s <= 0 or select.select([0], [], [], min(_LOOK_S, left_s))[0]:
                break
        if offset is None or not has_more:
            return state, b""
        from logbook_agent.running.executors import far_verbs

        return state, far_verbs.output(folder, offset)


class _FarRun:
    """What is known of a run by its folder, and what was told."""

    def __init__(self, text: str) -> None:
        self._folder = os.path.expanduser(text)  # noqa: PTH111
        self._mark: tuple[int, int, bool] | None = None
        self._known: dict[str, Any] = {}
        self._told: dict[str, Any] | None = None
        self._until = float("-inf")

    def news(self, *, close: bool) -> dict[str, Any] | None:
        """How far it is, where that is not what was told last."""
        found = self.state(close=close)
        same = {name: value for name, value in found.items() if name != "silent_s"}
        if same == self._told:
            return None
        self._told = same
        return found

    def state(self, *, close: bool) -> dict[str, Any]:
        """How far it is: as it was known, while none of its files was made, and its lock is held as it was."""
        mark = _mark(self._folder)
        if mark is None or mark != self._mark or time.monotonic() >= self._until:
            if mark is None and not close:
                return {"stage": "sent"}
            from logbook_agent.running.executors import far_verbs

            self._known = far_verbs.state(self._folder, close=close)
            is_settled = mark is not None and abs(time.time_ns() - mark[1]) > _TICK_NS
            self._mark = mark if is_settled else None
            is_orphan = self._known["stage"] == "orphaned"
            self._until = time.monotonic() + (_KNOWN_OF_ORPHAN_S if is_orphan else _KNOWN_S)
        return self._known


def _mark(folder: str) -> tuple[int, int, bool] | None:
    """Changes whenever a file of a spool is replaced, what its worker complains of, or its lock is let go; None where
    there is none."""
    try:
        found = os.stat(folder)  # noqa: PTH116
    except FileNotFoundError:
        return None
    changed = found.st_mtime_ns
    # The one file that is written in place: the disk may be full.
    with contextlib.suppress(OSError):
        changed = max(changed, os.stat(f"{folder}/reserved").st_mtime_ns)  # noqa: PTH116
    return found.st_ino, changed, _is_held(f"{folder}/worker.lock")


def _is_held(lock: str) -> bool:
    try:
        descriptor = os.open(lock, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0


def _write(head: dict[str, Any], rest: bytes = b"") -> None:
    data = json.dumps({**head, "follows": len(rest)}).encode() + b"\n" + rest
    while data:
        data = data[os.write(1, data) :]
