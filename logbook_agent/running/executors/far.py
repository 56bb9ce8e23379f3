"""What a client calls on another machine: `python -P FOLDER VERB ...`, where FOLDER holds the client's version of this
package. The answer is a line of JSON; behind that of `follow` come bytes of the log, and `fetch` answers with an
archive alone.

Paths may begin with `~`. The standard library is all that is needed.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import gzip
import json
import os
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import logbook_agent
from logbook_agent.model.codec import CodecError, decode, encode
from logbook_agent.model.errors import LogbookError
from logbook_agent.running.executors.contract import OVER
from logbook_agent.running.executors.local import Local, hello, log_from, said_by, stage_of, worker_words
from logbook_agent.running.executors.pruning import KEPT_S, prune, prune_if_due
from logbook_agent.running.worker import nursery, process
from logbook_agent.running.worker.tree import COPY, ORIGINAL
from logbook_agent.running.worker.work import Work
from logbook_agent.store.files import remove_tree
from logbook_agent.store.reading import LOG
from logbook_agent.store.spool import BEGAN, CLOSED, ERRORS, FINAL, HEARTBEAT, LOCK, WORK, Spool

# How often is looked for news while somebody waits for them.
_LOOK_S = 0.1
_FETCHED = (BEGAN, LOG, "changes.diff", ERRORS, FINAL)


def main(args: Sequence[str] | None = None) -> None:
    """Answer one call, and exit."""
    words = list(sys.argv[1:] if args is None else args)
    if words[:1] == ["worker"]:
        code = process.main(words[1:])
        sys.stderr.flush()
        os._exit(code)
    if words == ["nursery"]:
        # Of a node of Ray, where nobody removes what was collected.
        prune_if_due(Path(logbook_agent.__file__).parents[3], uncollected_s=KEPT_S)
        nursery.main()
        return
    parser = argparse.ArgumentParser(prog="far", description="What a client of the logbook asks of this machine.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    asked = verbs.add_parser("hello")
    asked.add_argument("--starts", action="store_true", help="workers are started by `start`")
    verbs.add_parser("look")
    for name in ("put", "start", "follow", "close", "stop", "fetch", "drop", "prune"):
        verb = verbs.add_parser(name)
        verb.add_argument("folder", type=lambda text: Path(os.path.expanduser(text)))  # noqa: PTH111
        if name == "follow":
            verb.add_argument("--offset", type=int)
            verb.add_argument("--wait", type=float, default=0.0, metavar="SECONDS")
            verb.add_argument("--close", action="store_true", help="what has not come by now is not to come")
    given = parser.parse_args(words)
    call: Callable[[Any], None] = globals()[f"_{given.verb}"]
    try:
        call(given)
    except (LogbookError, OSError) as error:
        sys.exit(error.message if isinstance(error, LogbookError) else f"{type(error).__name__}: {error}")


def _hello(given: argparse.Namespace) -> None:
    """Which machine this is. One that cannot make runs says why."""
    trouble = process.unfit()
    own = worker_words()[0]
    if given.starts and own != sys.executable:
        done = subprocess.run([own, "-c", "import re2"], capture_output=True, check=False)
        trouble = None if done.returncode == 0 else f"{own} has no google-re2"
    if trouble is not None:
        sys.exit(trouble)
    _say(**hello(os.environ))


def _put(given: argparse.Namespace) -> None:
    """Make the spool, with what is to be done in it; somebody else starts its worker."""
    spool, work, _ = _made(given.folder)
    if spool is None:
        _say(made=False)
        return
    path = spool.folder / WORK
    path.write_text(json.dumps(encode(work)))
    _say(made=True, folder=str(spool.folder), python=sys.executable)


def _start(given: argparse.Namespace) -> None:
    """Make the spool, and start a worker that outlives this call. One that is there already is left alone."""
    spool, work, secrets = _made(given.folder)
    if spool is None:
        _say(made=False)
        return
    claim = spool.claim()
    if claim is None:
        _say(made=False)
        return
    try:
        Local(os.environ).start(spool, claim, work, secrets)
    except LogbookError as error:
        _say(made=False, error=error.message)
    else:
        _say(made=True)


def _made(folder: Path) -> tuple[Spool | None, Work, dict[str, str]]:
    """A new spool for the work of standard input; None for one that is there already."""
    plain = json.loads(sys.stdin.buffer.read())
    try:
        work = decode(Work, plain["work"])
    except CodecError as error:
        sys.exit(f"the work cannot be read: {error}")
    places = {name: os.path.expanduser(getattr(work, name)) for name in ("cwd", "root", "tree")}  # noqa: PTH111
    work = dataclasses.replace(work, **places)
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    prune_if_due(folder.parent.parent)
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        return None, work, {}
    if work.tree:
        (folder / ORIGINAL).symlink_to(work.tree)
    return _spool(folder), work, dict(plain.get("secrets", {}))


def _follow(given: argparse.Namespace) -> None:
    """How far a run is."""
    _say(**_state(given.folder, close=given.close, offset=given.offset, wait_s=given.wait))
    if given.offset is not None and given.folder.is_dir():
        sys.stdout.buffer.write(log_from(_spool(given.folder), given.offset))


def _look(_: argparse.Namespace) -> None:
    """How far many runs are, by their folders; standard input says of each whether it is closed."""
    wanted: dict[str, bool] = json.loads(sys.stdin.buffer.read())
    _say(**{text: _state(Path(os.path.expanduser(text)), close=close) for text, close in wanted.items()})  # noqa: PTH111


def _state(folder: Path, *, close: bool, offset: int | None = None, wait_s: float = 0.0) -> dict[str, Any]:
    """How far a run is, at last when `wait_s` have passed: sooner when its log reaches beyond `offset`, or it is
    over. `close`: what has not come by now is not to come."""
    if close:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            folder.mkdir(mode=0o700)
            (folder / CLOSED).touch()
        except FileExistsError:
            pass
    if not folder.is_dir():
        return {"stage": "sent"}
    spool = _spool(folder)
    if spool.has(CLOSED):
        return {"stage": "never-started", "said": "the submission never arrived", "is_closed": True}
    deadline = time.monotonic() + wait_s
    while (stage := stage_of(spool)) not in OVER and time.monotonic() < deadline:
        if offset is not None and log_from(spool, offset):
            break
        time.sleep(_LOOK_S)
    found = {name: _plain(spool, file) for name, file in (("began", BEGAN), ("heartbeat", HEARTBEAT))}
    size = (folder / LOG).stat().st_size if spool.has(LOG) else 0
    end = _end(spool) if stage == "ended" else {}
    return {
        "stage": stage,
        "said": said_by(spool),
        "size": size,
        "silent_s": _silent_s(folder),
        **end,
        **found,
    }


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


def _close(given: argparse.Namespace) -> None:
    """Let no worker begin any more, where none has; whether nothing more is to come."""
    folder: Path = given.folder
    spool = _spool(folder)
    # On a disk that machines share, this shows what others have written.
    list(folder.iterdir())
    claim, has_ended = spool.claim(), False
    with contextlib.suppress(LogbookError):
        has_ended = spool.end() is not None
    is_closed = claim is not None and not has_ended
    if is_closed and not spool.has(BEGAN):
        (folder / CLOSED).touch()
    if claim is not None:
        os.close(claim)
    _say(closed=is_closed)


def _stop(given: argparse.Namespace) -> None:
    """Ask the worker to end its command."""
    Local(os.environ).stop(_spool(given.folder))
    _say()


def _fetch(given: argparse.Namespace) -> None:
    """All that a run has left, as an archive."""
    folder: Path = given.folder
    with (
        gzip.GzipFile(fileobj=sys.stdout.buffer, mode="wb", compresslevel=1) as packed,
        tarfile.open(fileobj=packed, mode="w|") as tar,
    ):
        kept = sorted((folder / "files").iterdir()) if (folder / "files").is_dir() else []
        for path in (*(folder / name for name in _FETCHED), *kept):
            if path.is_file():
                tar.add(path, arcname=path.relative_to(folder).as_posix(), recursive=False)


def _drop(given: argparse.Namespace) -> None:
    """Remove the fetched files of a run. Its folder stays closed, so no worker starts in it."""
    folder: Path = given.folder
    if folder.is_dir():
        for path in folder.iterdir():
            # What the command wrote in its tree is nowhere else.
            if path.name not in (CLOSED, COPY):
                remove_tree(path, within=folder) if path.is_dir() and not path.is_symlink() else path.unlink()
        # Last: on a full disk there is place for it by now.
        (folder / CLOSED).touch()
    _say()


def _prune(given: argparse.Namespace) -> None:
    """Remove from the folder of an executor what no run needs any more."""
    _say(**dataclasses.asdict(prune(given.folder, kept_s=0.0)))


def _spool(folder: Path) -> Spool:
    return Spool(folder=folder, within=folder.parent)


def _plain(spool: Spool, name: str) -> Any:
    """A file of the spool as it stands; None where there is none that can be read."""
    try:
        return json.loads(spool.read(name) or "null")
    except (LogbookError, ValueError):
        return None


def _say(**answer: object) -> None:
    sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
    sys.stdout.buffer.flush()
