"""What a client calls on another machine: `python -P FOLDER serve`, where FOLDER holds the client's version of this
package. It answers requests, one after another, until standard input ends.

A request is a line of JSON with its `verb`, and what the method of that name takes. The answer is a line of JSON, too;
`follows` says how many bytes stand behind it: of a log, or of an archive. A request that cannot be answered gets the
reason as `failed`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gzip
import io
import json
import os
import select
import signal
import sys
import tarfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from logbook_agent.model.codec import CodecError, decode, encode
from logbook_agent.model.errors import LogbookError, ToolError
from logbook_agent.running.executors.contract import OVER
from logbook_agent.running.executors.local import Local, hello, log_from, said_by, stage_of
from logbook_agent.running.worker.tree import COPY
from logbook_agent.running.worker.work import Work
from logbook_agent.store.folder import Folder
from logbook_agent.store.layout import ARTIFACTS, CODE, CURVES, CURVES_LARGE, CURVES_PART, LOG
from logbook_agent.store.spool import BEGAN, CLOSED, ERRORS, FINAL, HEARTBEAT, LOCK, WORK, Spool

# How long synced trees and the files of runs are kept after their last use.
_DAY_S = 24 * 3600.0
_KEPT_S = {"trees": 14 * _DAY_S, "spools": 90 * _DAY_S}
# The pause between two looks while somebody waits for news; longer for many runs.
_LOOK_S, _LOOK_OF_EACH_S = 0.2, 0.01
_READ_BYTES = 1 << 16
# What is fetched of a run, beside the files of its code and those that its command left.
FOLDERS = (CODE, ARTIFACTS)
FETCHED = (BEGAN, LOG, CURVES, CURVES_LARGE, CURVES_PART, ERRORS, FINAL)

Answer = tuple[dict[str, Any], bytes]


def main() -> None:
    """Answer requests, or make a run: as a worker, or as the task of Ray that the process PARENT makes."""
    match sys.argv[1:]:
        case ["serve"]:
            FarServer().serve()
        case ["worker", *words]:
            _work(words)
        case ["task", folder, parent]:
            sys.exit(_make_task(folder, int(parent)))
        case words:
            sys.exit(f"far: no such call: {' '.join(words)}")


def _work(words: Sequence[str]) -> NoReturn:
    # Not loaded to answer: it takes as long again as all else here.
    from logbook_agent.running.worker import entrypoint

    code = entrypoint.main(words)
    sys.stderr.flush()
    os._exit(code)


def _make_task(folder: str, parent: int) -> int:
    """Wait for a worker, and return its exit code. Ray kills what its processes started when they end, too early for a
    worker to end its command: the worker is one step further away."""
    from logbook_agent.running.worker import entrypoint

    entrypoint.stop_with_parent()
    if os.getppid() != parent:
        return 1
    if (worker := os.fork()) == 0:
        _work([folder, "--with-parent"])
    signal.signal(signal.SIGTERM, lambda *_: os.kill(worker, signal.SIGTERM))
    code = os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1])
    _remove_old(Path(folder).parents[1])
    return code


class FarServer:
    """Answers one client. It remembers the last state of each run that it has reported."""

    def __init__(self) -> None:
        self._left = b""
        self._told: dict[str, dict[str, Any] | None] = {}

    def serve(self) -> None:
        """Answer until standard input ends."""
        _write({})
        while (line := self._request()) is not None:
            try:
                asked = json.loads(line)
                head, rest = getattr(self, asked.pop("verb"))(**asked)
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

    # -- what may be asked -----------------------------------------------------------------------------

    def hello(self) -> Answer:
        """Facts of this machine. Raises ToolError where it cannot make runs."""
        return encode(hello(os.environ)), b""

    def put(self, works: dict[str, Any]) -> Answer:
        """Make spools for works, by their folders; somebody else starts their workers. The full paths of those that
        were not there yet."""
        folders = {}
        for text, plain in works.items():
            work = _work_of(plain)
            if (spool := _made(_path(text), work)) is not None:
                (spool.folder / WORK).write_text(json.dumps(encode(work)))
                folders[text] = str(spool.folder)
        for top in {_path(text).parents[1] for text in works}:
            _remove_old(top)
        return {"made": folders, "python": sys.executable}, b""

    def start(self, folder: str, work: Any, secrets: dict[str, str]) -> Answer:
        """Make a spool, and start a worker that outlives this process; neither where the spool is there already. Raises
        ToolError where this machine cannot make runs."""
        found = _work_of(work)
        spool = _made(_path(folder), found)
        _remove_old(_path(folder).parents[1])
        claim = spool.claim() if spool is not None else None
        if spool is None or claim is None:
            return {}, b""
        try:
            Local(os.environ, [sys.executable, "-P", sys.path[0], "worker"]).start(spool, claim, found, secrets)
        finally:
            os.close(claim)
        return {}, b""

    def look(self, runs: dict[str, bool], wait_s: float) -> Answer:
        """The states of runs that have changed since they were last told, by their folders; for each, whether its
        spool is to be closed where it is not there. Waits for the first of them."""
        self._told = {text: self._told.get(text) for text in runs}
        deadline = time.monotonic() + wait_s
        while True:
            news = {}
            for text, close in runs.items():
                found = _state(_path(text), close=close)
                same = {name: value for name, value in found.items() if name != "silent_s"}
                if same != self._told[text]:
                    self._told[text], news[text] = same, found
            if news or _is_asked_before(deadline, max(_LOOK_S, _LOOK_OF_EACH_S * len(runs))):
                return {"runs": news}, b""

    def follow(self, folder: str, *, close: bool, offset: int | None, wait_s: float) -> Answer:
        """The state of a run, and its log from `offset` on: after `wait_s`, or sooner when there is more of its log, or
        it is over."""
        place, deadline = _path(folder), time.monotonic() + wait_s
        while True:
            state = _state(place, close=close)
            rest = b"" if offset is None or not place.is_dir() else log_from(_spool(place), offset)
            if rest or state["stage"] in OVER or _is_asked_before(deadline, _LOOK_S):
                return state, rest

    def close(self, folder: str) -> Answer:
        """Let no worker begin any more, where none has; whether nothing more is to come."""
        place = _path(folder)
        spool = _spool(place)
        # On a disk that machines share, this shows what others have written.
        list(place.iterdir())
        claim, has_ended = spool.claim(), False
        with contextlib.suppress(LogbookError):
            has_ended = spool.end() is not None
        is_closed = claim is not None and not has_ended
        if is_closed and not spool.has(BEGAN):
            (place / CLOSED).touch()
        if claim is not None:
            os.close(claim)
        return {"closed": is_closed}, b""

    def stop(self, folder: str) -> Answer:
        """Ask the worker to end its command."""
        Local(os.environ).stop(_spool(_path(folder)))
        return {}, b""

    def fetch(self, folder: str) -> Answer:
        """All that a run has left, as an archive."""
        place = _path(folder)
        kept = sorted(path for name in FOLDERS if (place / name).is_dir() for path in (place / name).iterdir())
        buffer = io.BytesIO()
        with (
            gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=1) as packed,
            tarfile.open(fileobj=packed, mode="w|") as tar,
        ):
            for path in (*(place / name for name in FETCHED), *kept):
                if path.is_file():
                    tar.add(path, arcname=path.relative_to(place).as_posix(), recursive=False)
        return {}, buffer.getvalue()

    def drop(self, folder: str) -> Answer:
        """Remove what was fetched of a run; its place stays closed."""
        place = _path(folder)
        if place.is_dir() and place.parent.name == "spools":
            for path in place.iterdir():
                # What the command wrote in its tree is nowhere else.
                if path.name not in (CLOSED, COPY):
                    Folder(place).remove_tree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
            # Last: on a full disk there is space for it by now.
            (place / CLOSED).touch()
        return {}, b""


def _is_asked_before(deadline: float, pause_s: float) -> bool:
    """Wait a moment; whether the time is up, or the next request came."""
    left_s = deadline - time.monotonic()
    return left_s <= 0 or bool(select.select([0], [], [], min(pause_s, left_s))[0])


def _work_of(plain: Any) -> Work:
    """The work, with its paths on this machine. Raises ToolError where it cannot be read."""
    try:
        work = decode(Work, plain)
    except CodecError as error:
        raise ToolError(f"the work cannot be read: {error}") from error
    places = {name: os.path.expanduser(getattr(work, name)) for name in ("cwd", "root", "tree")}  # noqa: PTH111
    return dataclasses.replace(work, **places)


def _made(folder: Path, work: Work) -> Spool | None:
    """A new spool for this work; None for one that is there already."""
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if work.tree:
        with contextlib.suppress(OSError):
            os.utime(work.tree)
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        return None
    return _spool(folder)


def _remove_old(top: Path) -> None:
    """Remove from the folder of an executor what nobody has used for long. A worker that lives writes into its spool
    every few seconds."""
    for name, kept_s in _KEPT_S.items():
        for path in (top / name).glob("*"):
            with contextlib.suppress(LogbookError, OSError):
                if time.time() - path.stat().st_mtime > kept_s:
                    Folder(top).remove_tree(path)


def _state(place: Path, *, close: bool) -> dict[str, Any]:
    """The state of a run. `close`: a submission that has not arrived by now is kept from arriving later."""
    if close:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            place.mkdir(mode=0o700)
            (place / CLOSED).touch()
    if not place.is_dir():
        return {"stage": "sent"}
    spool = _spool(place)
    if spool.has(CLOSED):
        return {"stage": "never-started", "said": "the submission never arrived", "is_closed": True}
    found = {"stage": stage_of(spool), "said": said_by(spool), "silent_s": _silent_s(place)}
    if found["stage"] == "ended":
        # What an engine had to do with the end: it complains in the file of the worker.
        with contextlib.suppress(LogbookError):
            end = spool.end()
            found |= {"is_interrupted": end is not None and end.exit.interrupted, "complaint": spool.read(ERRORS)}
    return {**found, "began": _plain(spool, BEGAN), "heartbeat": _plain(spool, HEARTBEAT)}


def _silent_s(folder: Path) -> float | None:
    """Seconds since the last sign of a worker, by the clock of this machine; None: there was none."""
    signs = [(folder / name).stat().st_mtime for name in (LOCK, BEGAN, HEARTBEAT) if (folder / name).exists()]
    return round(time.time() - max(signs), 3) if signs else None


def _plain(spool: Spool, name: str) -> Any:
    """A file of the spool as it stands; None where there is none that can be read."""
    try:
        return json.loads(spool.read(name) or "null")
    except (LogbookError, ValueError):
        return None


def _path(text: str) -> Path:
    return Path(os.path.expanduser(text))  # noqa: PTH111 - `~` may stand for no home


def _spool(folder: Path) -> Spool:
    return Spool(files=Folder(folder, folder.parent))


def _write(head: Mapping[str, object], rest: bytes = b"") -> None:
    data = json.dumps({**head, "follows": len(rest)}).encode() + b"\n" + rest
    while data:
        data = data[os.write(1, data) :]
