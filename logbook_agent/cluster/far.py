"""What a client asks of another machine: it sends this file to `python3 -IS - VERB`, with a call of `main` behind it.

The answer is a line of JSON, and whatever bytes stand behind it: of a log, or of an archive. Only the standard library
is used, and what the question of every few seconds does not need is imported where it is needed. A run is a folder, its
worker's spool (`store/spool.py`).
"""

from __future__ import annotations

import base64
import contextlib
import errno
import fcntl
import io
import json
import os
import signal
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

# How long synced trees and the files of runs are kept after their last use.
DAY_S = 24 * 3600.0
KEPT_S = {"trees": 14 * DAY_S, "spools": 90 * DAY_S}
# The pause between two looks while somebody waits for news; longer for many runs.
LOOK_S, LOOK_OF_EACH_S = 0.2, 0.01
# What a command prints within so long is told together.
GATHER_S = 1.0
PIECE_BYTES = 1 << 20
# What a run has left comes with the news of its end, unless it is larger.
INLINE_BYTES = 48 << 10
LADDER = ((signal.SIGINT, 5.0), (signal.SIGTERM, 5.0), (signal.SIGKILL, 2.0))
# What is fetched of a run, beside the files in these folders.
FOLDERS = ("code", "artifacts")
FETCHED = (
    *("began.json", "output.log", "curves.points", "curves.large.points", "curves.part"),
    *("worker.err", "final.json"),
)

Answer = tuple[dict[str, Any], bytes]


def main(verb: str, request: dict[str, Any]) -> None:
    """Answer one request."""
    try:
        head, rest = VERBS[verb](**request)
    except OSError as error:
        sys.exit(f"{error.strerror or error}: {error.filename}" if error.filename else str(error))
    print(json.dumps(head), flush=True)
    sys.stdout.buffer.write(rest)
    sys.stdout.buffer.flush()
    if verb == "fetch":
        pack(left_by(path_of(request["folder"])), sys.stdout.buffer)


# -- what may be asked -----------------------------------------------------------------------------------


def hello(code: str) -> Answer:
    """Facts of this machine, as the worker's code there finds them."""
    if not path_of(code).is_dir():
        return {"missing": True}, b""
    sys.path.insert(0, str(path_of(code)))
    from logbook_agent.model.codec import encode
    from logbook_agent.running.executors import local

    return encode(local.hello(os.environ)), b""


def put(works: dict[str, Any], code: str) -> Answer:
    """Make spools for works, by their folders; somebody else starts their workers. The full paths of those that were
    not there yet."""
    if not path_of(code).is_dir():
        return {"missing": True}, b""
    folders = {}
    for text, work in works.items():
        folder = path_of(text)
        if made(folder, work):
            (folder / "work.json").write_text(json.dumps(work))
            folders[text] = str(folder)
    return {"made": folders, "python": sys.executable}, b""


def start(folder: str, work: dict[str, Any], secrets: dict[str, str], code: str) -> Answer:
    """Make a spool, and start a worker that outlives this process; neither where the spool is there already."""
    place, program = path_of(folder), path_of(code)
    if not program.is_dir():
        return {"missing": True}, b""
    if not made(place, work):
        return {}, b""
    lock = os.open(place / "worker.lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    errors = os.open(place / "worker.err", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    import subprocess

    process = subprocess.Popen(
        [sys.executable, "-P", str(program), "worker", str(place), "--lock", str(lock)],
        env={**os.environ, **secrets},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=errors,
        cwd="/",
        start_new_session=True,
        pass_fds=(lock,),
    )
    assert process.stdin is not None  # noqa: S101
    # What becomes of a worker that is gone already, its spool tells.
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(json.dumps(work).encode())
        process.stdin.close()
    return {}, b""


def look(runs: dict[str, Any], wait_s: float) -> Answer:
    """The states of runs by their folders; for each, whether its spool is to be closed where it is not there, and what
    its state was called when it was last told. Waits until one has another."""
    deadline = time.monotonic() + wait_s
    while True:
        states = {text: state_of(path_of(text), close=close) for text, (close, _) in runs.items()}
        has_news = any(states[text]["seen"] != seen for text, (_, seen) in runs.items())
        if has_news or not waited(deadline, max(LOOK_S, LOOK_OF_EACH_S * len(runs))):
            return {"runs": states}, b""


def follow(folder: str, close: bool, offset: int, wait_s: float) -> Answer:
    """The state of a run, and its log from `offset` on: after `wait_s`, or sooner when there was more of its log for a
    moment, or it is over."""
    place, deadline, rest = path_of(folder), time.monotonic() + wait_s, b""
    while True:
        state = state_of(place, close=close)
        with contextlib.suppress(FileNotFoundError), (place / "output.log").open("rb") as log:
            log.seek(offset)
            rest = log.read(PIECE_BYTES)
        deadline = min(deadline, time.monotonic() + GATHER_S) if rest else deadline
        is_over = state["stage"] in ("ended", "lost", "never-started")
        if is_over or len(rest) == PIECE_BYTES or not waited(deadline, LOOK_S):
            return state, rest


def close(folder: str) -> Answer:
    """Let no worker begin any more, where none has; whether nothing more is to come."""
    place = path_of(folder)
    # On a disk that machines share, this shows what others have written.
    os.listdir(place)  # noqa: PTH208
    lock = os.open(place / "worker.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return {"closed": False}, b""
    if plain(place / "final.json") is not None:
        return {"closed": False}, b""
    if not (place / "began.json").exists():
        (place / "closed").touch()
    return {"closed": True}, b""


def stop(folder: str) -> Answer:
    """Ask the worker to end its command; end a command that outlived it."""
    place, deadline = path_of(folder), time.monotonic() + 10.0
    while (stage := stage_of(place)) in ("sent", "running") and time.monotonic() < deadline:
        holder = plain(place / "worker.lock")
        # Until the worker is named, the lock names nobody.
        if holder is not None and is_held(place / "worker.lock"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(holder["pid"], signal.SIGTERM)
            return {}, b""
        time.sleep(0.02)
    group: Any = (plain(place / "worker.lock") or {}).get("group")
    for number, wait_s in LADDER if stage == "orphaned" else ():
        deadline = time.monotonic() + wait_s
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, number)
            while time.monotonic() < deadline:
                os.killpg(group, 0)
                time.sleep(0.02)
    return {}, b""


def fetch(folder: str) -> Answer:
    """All that a run has left, as an archive."""
    return {"found": path_of(folder).is_dir()}, b""


def drop(folder: str) -> Answer:
    """Remove what was fetched of a run; its place stays closed."""
    place = path_of(folder)
    if place.is_dir() and place.parent.name == "spools":
        for path in place.iterdir():
            # What the command wrote in its tree is nowhere else.
            if path.name not in ("closed", "tree"):
                remove(path)
        # Last: on a full disk there is space for it by now.
        (place / "closed").touch()
    return {}, b""


VERBS: dict[str, Callable[..., Answer]] = {
    one.__name__: one for one in (hello, put, start, look, follow, close, stop, fetch, drop)
}


# -- a run, by its folder --------------------------------------------------------------------------------


def state_of(place: Path, *, close: bool) -> dict[str, Any]:
    """The state of a run. `close`: a submission that has not arrived by now is kept from arriving later."""
    if close:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            place.mkdir(mode=0o700)
            (place / "closed").touch()
    if not place.is_dir():
        return {"stage": "sent", "seen": 0}
    if (place / "closed").exists():
        return {"stage": "never-started", "said": "the submission never arrived", "is_closed": True, "seen": 1}
    found = {"stage": stage_of(place), "said": said_of(place), "began": plain(place / "began.json")}
    # A sign of life is no news.
    found["seen"] = zlib.crc32(json.dumps(found).encode())
    if found["stage"] == "ended":
        # What an engine had to do with the end: it complains in the file of the worker.
        found["is_interrupted"] = bool((plain(place / "final.json") or {}).get("exit", {}).get("interrupted"))
        with contextlib.suppress(OSError):
            found["complaint"] = (place / "worker.err").read_text(errors="replace")[-PIECE_BYTES:]
            found["files"] = inline(left_by(place))
    paths = [place / name for name in ("worker.lock", "began.json", "heartbeat.json")]
    signs = [path.stat().st_mtime for path in paths if path.exists()]
    # By the clock of this machine; None: there was no sign of a worker.
    silent_s = round(time.time() - max(signs), 3) if signs else None
    return {**found, "heartbeat": plain(place / "heartbeat.json"), "silent_s": silent_s}


def stage_of(place: Path) -> str:
    """How far a run is. An end counts when nobody holds the spool any more."""
    holder = plain(place / "worker.lock") or {}
    has_began, has_end = (place / "began.json").exists(), plain(place / "final.json") is not None
    if holder.get("host", os.uname().nodename) != os.uname().nodename and not has_end:
        return "elsewhere"
    if (held := is_held(place / "worker.lock")) or has_end:
        waits = (place / "seen.json").exists() and not has_began and not has_end
        return "ended" if has_end and not held else "running" if has_began and not waits else "sent"
    if not has_began:
        return "never-started"
    return "orphaned" if group_lives(holder.get("group"), holder.get("mark", "")) else "lost"


def said_of(place: Path) -> str | None:
    """What a run waits for before it begins; later, that nothing can be written there any more."""
    if (place / "final.json").exists():
        return None
    if not (place / "began.json").exists():
        return (plain(place / "seen.json") or {}).get("said")
    return None if os.statvfs(place).f_bavail else f"{os.strerror(errno.ENOSPC)}: {place}"


def made(place: Path, work: dict[str, Any]) -> bool:
    """Make a new spool for this work, whose paths become those of this machine; False for one that is there."""
    for name in ("cwd", "root", "tree"):
        work[name] = os.path.expanduser(work.get(name, ""))  # noqa: PTH111
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if work["tree"]:
        with contextlib.suppress(OSError):
            os.utime(work["tree"])
    try:
        place.mkdir(mode=0o700)
    except FileExistsError:
        return False
    for name, kept_s in KEPT_S.items():
        for path in (place.parents[1] / name).glob("*"):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > kept_s:
                    remove(path)
    return True


def left_by(place: Path) -> dict[str, Path]:
    """The files that a run has left, by their names in an archive."""
    kept = [path for name in FOLDERS if (place / name).is_dir() for path in sorted((place / name).iterdir())]
    paths = [path for path in (*(place / name for name in FETCHED), *kept) if path.is_file()]
    return {path.relative_to(place).as_posix(): path for path in paths}


def inline(files: dict[str, Path]) -> str | None:
    """An archive of files that are small together, as text; None where they are larger."""
    if sum(path.stat().st_size for path in files.values()) > INLINE_BYTES:
        return None
    pack(files, archive := io.BytesIO())
    return base64.b64encode(archive.getvalue()).decode()


def pack(files: dict[str, Path], into: IO[bytes]) -> None:
    """Write files as an archive."""
    import gzip
    import tarfile

    with (
        gzip.GzipFile(fileobj=into, mode="wb", compresslevel=1) as packed,
        tarfile.open(fileobj=packed, mode="w|") as tar,
    ):
        for name, path in files.items():
            tar.add(path, arcname=name, recursive=False)


# -- files and processes ---------------------------------------------------------------------------------


def path_of(text: str) -> Path:
    return Path(os.path.expanduser(text))  # noqa: PTH111 - `~` may stand for no home


def plain(path: Path) -> Any:
    """The mapping in a file of JSON; None where there is none that can be read."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def remove(path: Path) -> None:
    """Remove a file, or a folder in which some may be read-only."""
    if path.is_symlink() or not path.is_dir():
        path.unlink()
        return
    import shutil

    for folder, _, _ in os.walk(path):
        with contextlib.suppress(OSError):
            Path(folder).chmod(0o700)
    shutil.rmtree(path, ignore_errors=True)


def is_held(lock: Path) -> bool:
    """Whether a process that lives holds a lock."""
    with contextlib.suppress(FileNotFoundError), lock.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def group_lives(group: int | None, mark: str) -> bool:
    """Whether a process of this group runs that has this mark in its variables, as `store/processes.py` has it."""
    if group is None:
        return False
    if not Path("/proc/stat").exists():
        with contextlib.suppress(OSError):
            os.killpg(group, 0)
            return True
        return False
    word = f"LOGBOOK_MARK={mark}".encode()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError):
            fields = (process / "stat").read_text().rpartition(")")[2].split()
            is_one = fields[0] not in ("Z", "X") and fields[2] == str(group)
            if is_one and word in (process / "environ").read_bytes().split(b"\0"):
                return True
    return False


def waited(deadline: float, pause_s: float) -> bool:
    """Wait a moment; False when the time is up."""
    left_s = deadline - time.monotonic()
    if left_s <= 0:
        return False
    time.sleep(min(pause_s, left_s))
    return True
