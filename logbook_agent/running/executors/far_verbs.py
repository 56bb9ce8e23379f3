"""What is asked of another machine, on that machine: each verb takes what the request holds, and returns what is
answered, with the bytes behind it."""

from __future__ import annotations

import contextlib
import dataclasses
import gzip
import io
import json
import os
import sys
import tarfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import logbook_agent
from logbook_agent.model.codec import CodecError, decode, encode
from logbook_agent.model.errors import LogbookError, ToolError
from logbook_agent.running.executors.pruning import KEPT_S, prune, prune_if_due
from logbook_agent.running.executors.stages import log_from, said_by, stage_of
from logbook_agent.running.worker.tree import COPY, ORIGINAL
from logbook_agent.store.files import remove_tree
from logbook_agent.store.reading import CODE, LOG
from logbook_agent.store.spool import BEGAN, CLOSED, ERRORS, FINAL, HEARTBEAT, LOCK, WORK, Spool

_FETCHED = (BEGAN, LOG, "changes.diff", ERRORS, FINAL)
Answer = tuple[dict[str, Any], bytes]


def _hello() -> Answer:
    """Which machine this is. One that cannot make runs says why."""
    from logbook_agent.running.executors.local import hello
    from logbook_agent.running.worker import process

    if (trouble := process.unfit()) is not None:
        raise ToolError(trouble)
    return hello(os.environ), b""


def _put(works: dict[str, Any]) -> Answer:
    """Make spools, with what is to be done in them, by their folders; somebody else starts their workers. The whole
    paths of those that were not there yet."""
    made = {text: _made(_path(text), work) for text, work in works.items()}
    folders = {text: str(spool.folder) for text, spool in made.items() if spool is not None}
    return {"made": folders, "python": sys.executable}, b""


def _start(folder: str, work: Any, secrets: dict[str, str]) -> Answer:
    """Make a spool, and start a worker that outlives this process. A spool that is there already is left alone."""
    from logbook_agent.running.worker import nursery, process

    if (trouble := process.unfit()) is not None:
        return {"made": False, "error": trouble}, b""
    nursery.load()
    spool = _made(Path(folder), work)
    claim = spool.claim() if spool is not None else None
    if spool is None or claim is None:
        return {"made": False}, b""
    try:
        nursery.start(spool, claim, secrets)
    except LogbookError as error:
        return {"made": False, "error": error.message}, b""
    finally:
        os.close(claim)
    return {"made": True}, b""


def _made(folder: Path, plain: Any) -> Spool | None:
    """A new spool for this work; None for one that is there already."""
    from logbook_agent.running.worker.work import Work

    try:
        work = decode(Work, plain)
    except CodecError as error:
        raise ToolError(f"the work cannot be read: {error}") from error
    places = {name: os.path.expanduser(getattr(work, name)) for name in ("cwd", "root", "tree")}  # noqa: PTH111
    work = dataclasses.replace(work, **places)
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    prune_if_due(folder.parent.parent)
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        return None
    if work.tree:
        (folder / ORIGINAL).symlink_to(work.tree)
    (folder / WORK).write_text(json.dumps(encode(work)))
    return _spool(folder)


def state(folder: str, *, close: bool) -> dict[str, Any]:
    """How far a run is. `close`: what has not come by now is not to come."""
    place = Path(folder)
    if close:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            place.mkdir(mode=0o700)
            (place / CLOSED).touch()
        except FileExistsError:
            pass
    if not place.is_dir():
        return {"stage": "sent"}
    spool = _spool(place)
    if spool.has(CLOSED):
        return {"stage": "never-started", "said": "the submission never arrived", "is_closed": True}
    stage = stage_of(spool)
    found = {name: _plain(spool, file) for name, file in (("began", BEGAN), ("heartbeat", HEARTBEAT))}
    end = _end(spool) if stage == "ended" else {}
    return {"stage": stage, "said": said_by(spool), "silent_s": _silent_s(place), **end, **found}


def output(folder: str, offset: int) -> bytes:
    """A piece of the log of a run."""
    return log_from(_spool(Path(folder)), offset)


def _silent_s(folder: Path) -> float | None:
    """How long nothing was heard of a worker, by the clock of this machine; None: never was."""
    signs = [(folder / name).stat().st_mtime for name in (LOCK, BEGAN, HEARTBEAT) if (folder / name).exists()]
    return round(time.time() - max(signs), 3) if signs else None


def _end(spool: Spool) -> dict[str, Any]:
    """What an engine had to do with the end of a run: it complains in the file of the worker."""
    with contextlib.suppress(LogbookError):
        end = spool.end()
        return {"is_interrupted": end is not None and end.exit.interrupted, "complaint": spool.read(ERRORS)}
    return {}


def _close(folder: str) -> Answer:
    """Let no worker begin any more, where none has; whether nothing more is to come."""
    place = Path(folder)
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


def _stop(folder: str) -> Answer:
    """Ask the worker to end its command."""
    from logbook_agent.running.executors.local import Local

    Local(os.environ).stop(_spool(Path(folder)))
    return {}, b""


def _fetch(folders: list[str], limit: int | None = None) -> Answer:
    """All that runs have left, as archives one after another, with their sizes. Of one with more than `limit` bytes
    there is none; its size is 0."""
    archives = [_archive(_path(text), limit) for text in folders]
    return {"sizes": [len(one) for one in archives]}, b"".join(archives)


def _archive(folder: Path, limit: int | None) -> bytes:
    kept = sorted(path for name in (CODE, "files") if (folder / name).is_dir() for path in (folder / name).iterdir())
    files = [path for path in (*(folder / name for name in _FETCHED), *kept) if path.is_file()]
    if limit is not None and sum(path.stat().st_size for path in files) > limit:
        return b""
    buffer = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=1) as packed,
        tarfile.open(fileobj=packed, mode="w|") as tar,
    ):
        for path in files:
            tar.add(path, arcname=path.relative_to(folder).as_posix(), recursive=False)
    return buffer.getvalue()


def _drop(folders: list[str]) -> Answer:
    """Remove what was fetched of runs; their places stay closed."""
    for folder in map(_path, folders):
        if folder.is_dir() and folder.parent.name == "spools":
            for path in folder.iterdir():
                # What the command wrote in its tree is nowhere else.
                if path.name not in (CLOSED, COPY):
                    remove_tree(path, within=folder) if path.is_dir() and not path.is_symlink() else path.unlink()
            # Last: on a full disk there is place for it by now.
            (folder / CLOSED).touch()
    return {}, b""


def _prune(folder: str) -> Answer:
    """Remove from the folder of an executor what no run needs any more."""
    return dataclasses.asdict(prune(Path(folder), kept_s=0.0)), b""


def prune_left_over() -> None:
    """Prune the folder of the executor that this code lies in, also of runs that nobody has collected for long."""
    prune_if_due(Path(logbook_agent.__file__).parents[3], uncollected_s=KEPT_S)


def _path(text: str) -> Path:
    return Path(os.path.expanduser(text))  # noqa: PTH111 - `~` may stand for no home


def _spool(folder: Path) -> Spool:
    return Spool(folder=folder, within=folder.parent)


def _plain(spool: Spool, name: str) -> Any:
    """A file of the spool as it stands; None where there is none that can be read."""
    try:
        return json.loads(spool.read(name) or "null")
    except (LogbookError, ValueError):
        return None


VERBS: dict[str, Callable[..., Answer]] = {
    "hello": _hello,
    "put": _put,
    "start": _start,
    "close": _close,
    "stop": _stop,
    "fetch": _fetch,
    "drop": _drop,
    "prune": _prune,
}
