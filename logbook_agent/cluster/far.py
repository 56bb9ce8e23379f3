"""What a client asks of another machine: it starts `python3 -IS` there, with the code of workers that lies beside this
file, for each request.

A request is a line of JSON on standard input. Its answer is a line of JSON, and what has come of the files of runs: the
client keeps a copy of each run's folder, its worker's spool (`store/spool.py`), and says how long its files are there.
Only the standard library is used, and what is imported here.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import io
import json
import os
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from logbook_agent.store.run_files import FINAL
from logbook_agent.store.spool_stage import plain, stage_of, start_worker, stop_worker

# How long synced trees and the files of runs are kept after their last use.
DAY_S = 24 * 3600.0
KEPT_S = {"trees": 14 * DAY_S, "spools": 90 * DAY_S}
# The pauses between two looks while somebody waits for news: the first, and the longest, which grows with many runs.
SOON_S, LOOK_S, LOOK_OF_EACH_S = 0.05, 0.4, 0.01
# What a command prints within so long is told together.
GATHER_S = 1.0
# Of a log, of the files of a run that has just ended, and of files that are asked for, so much comes at once.
PIECE_BYTES, SMALL_BYTES, MOST_BYTES = 1 << 20, 48 << 10, 16 << 20
# What comes of a run, beside the files in these folders; its end last.
FOLDERS = ("code", "artifacts", "read", "result.json")
FILES = ("began.json", "output.log", "result.json", "worker.err")
OVER = ("ended", "lost", "never-started")

# A piece of a file: its name, where the piece begins, and its bytes.
Piece = tuple[str, int, bytes]
# The line of an answer, and the pieces behind it, each with the folder of its run.
Answer = tuple[dict[str, Any], list[tuple[str, Piece]]]


def answer(line: bytes) -> None:
    """Answer a request, `[VERB, {NAME: VALUE}]`."""
    verb, request = json.loads(line)
    try:
        head, pieces = VERBS[verb](**request)
    except OSError as error:
        said = error.strerror or str(error)
        head, pieces = {"error": f"{said}: {error.filename}" if error.filename else said}, []
    head["pieces"] = [(folder, name, at, len(data)) for folder, (name, at, data) in pieces]
    out = sys.stdout.buffer
    out.write(json.dumps(head).encode() + b"\n")
    out.write(zlib.compress(b"".join(data for _, (_, _, data) in pieces), 1))
    out.flush()


# -- what may be asked -----------------------------------------------------------------------------------


def take(path: str) -> Answer:
    """Write a file with what follows on standard input, if something does; whether the file is there."""
    if data := sys.stdin.buffer.read():
        store(path_of(path), data)
    return {"has": path_of(path).is_file()}, []


def hello() -> Answer:
    """Facts of this machine, as the worker's code there finds them."""
    from logbook_agent.model.codec import encode
    from logbook_agent.running.provenance.machine import machine_facts

    return encode(machine_facts(os.environ)), []


def start(works: dict[str, Any], secrets: dict[str, Any], code: str, wait_s: float) -> Answer:
    """Make spools for works, by their folders, and start a worker in each that outlives this process; nothing for a
    spool that is there already. The states of the runs, which may be over within `wait_s`."""
    for text, work in works.items():
        if not made(place := path_of(text), work):
            continue
        with (place / "worker.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            words = [sys.executable, "-P", str(path_of(code)), "worker"]
            start_worker(words, place, {**os.environ, **secrets[text]}, lock=lock.fileno())
    deadline = time.monotonic() + wait_s
    while any(stage_of(path_of(text)) not in OVER for text in works) and waited(deadline, SOON_S):
        pass
    return look({text: (False, None, {}, False) for text in works}, 0.0)


def put(works: dict[str, Any]) -> Answer:
    """Make spools for works, by their folders; somebody else starts their workers. The full paths of those that were
    not there yet."""
    folders = {}
    for text, work in works.items():
        if made(folder := path_of(text), work):
            folders[text] = str(folder)
    return {"made": folders, "python": sys.executable}, []


def look(runs: dict[str, Any], wait_s: float) -> Answer:
    """The states of runs by their folders; for each, whether its spool is to be closed where it is not there, what its
    state was called when it was last told, which files the client has, and whether it wants the log. Waits until there
    is news: another state, a run that is over, or output, which is gathered for a moment."""
    deadline, pause_s = time.monotonic() + wait_s, SOON_S
    places = {text: path_of(text) for text in runs}
    logged = {text: sizes.get("output.log", 0) for text, (_, _, sizes, with_log) in runs.items() if with_log}
    while True:
        states = {text: state_of(places[text], close=close) for text, (close, *_) in runs.items()}
        has_news = any(states[text]["seen"] != seen for text, (_, seen, *_) in runs.items())
        has_news |= any(states[text]["stage"] in OVER for text in logged)
        grown = max((size_of(places[text]) - size for text, size in logged.items()), default=0)
        if grown > 0:
            deadline = min(deadline, time.monotonic() + GATHER_S)
        if has_news or grown >= PIECE_BYTES or not waited(deadline, pause_s):
            break
        pause_s = min(pause_s * 2, max(LOOK_S, LOOK_OF_EACH_S * len(runs)))
    pieces: list[tuple[str, Piece]] = []
    for text, (_, _, sizes, _) in runs.items():
        state = states[text]
        state["silent_s"] = silence_of(places[text])
        if state["stage"] == "ended":
            found, state["is_whole"] = left_by(places[text], sizes, SMALL_BYTES)
        else:
            found = list(news(places[text], ("began.json", "output.log")[: 1 + (text in logged)], sizes, PIECE_BYTES))
            found += news(places[text], ("heartbeat.json",), {}, PIECE_BYTES)
        pieces += [(text, piece) for piece in found]
    return {"runs": states}, pieces


def close(folder: str) -> Answer:
    """Let no worker begin any more, where none has; whether nothing more is to come."""
    place = path_of(folder)
    # On a disk that machines share, this shows what others have written.
    os.listdir(place)  # noqa: PTH208
    with (place / "worker.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return {"closed": False}, []
        if plain(place / FINAL) is not None:
            return {"closed": False}, []
        if not (place / "began.json").exists():
            (place / "closed").touch()
    return {"closed": True}, []


def stop(folder: str) -> Answer:
    """Ask the worker to end its command; end a command that outlived it."""
    stop_worker(path_of(folder))
    return {}, []


def fetch(folder: str, sizes: dict[str, int]) -> Answer:
    """What a run has left and the client does not have, as much as comes at once."""
    pieces, is_whole = left_by(path_of(folder), sizes, MOST_BYTES)
    return {"is_whole": is_whole}, [(folder, piece) for piece in pieces]


def drop(folder: str) -> Answer:
    """Remove what was fetched of a run; its place stays closed."""
    place = path_of(folder)
    if place.is_dir() and place.parent.name == "spools":
        for path in place.iterdir():
            if path.name != "closed":
                remove(path)
        # Last: on a full disk there is space for it by now.
        (place / "closed").touch()
    return {}, []


VERBS: dict[str, Callable[..., Answer]] = {
    one.__name__: one for one in (take, hello, start, put, look, close, stop, fetch, drop)
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
    has_begun = (place / "began.json").exists()
    found: dict[str, Any] = {"stage": stage_of(place), "said": said_of(place), "has_begun": has_begun}
    # A sign of life is no news.
    found["seen"] = zlib.crc32(json.dumps(found).encode())
    if found["stage"] == "ended" and (plain(place / FINAL) or {}).get("exit", {}).get("interrupted"):
        # An engine that ended it complains in the file of the worker.
        with contextlib.suppress(OSError):
            found["complaint"] = (place / "worker.err").read_text(errors="replace")[-SMALL_BYTES:]
    return found


def silence_of(place: Path) -> float | None:
    """How old the last sign of life of a run's worker is by the clock of this machine; None: there was none."""
    states = [stat_of(place / name) for name in ("worker.lock", "began.json", "heartbeat.json")]
    signs = [state.st_mtime for state in states if state is not None]
    return round(time.time() - max(signs), 3) if signs else None


def size_of(place: Path) -> int:
    """How long the log of a run is."""
    state = stat_of(place / "output.log")
    return 0 if state is None else state.st_size


def said_of(place: Path) -> str | None:
    """What a run waits for before it begins; later, that nothing can be written there any more."""
    if (place / FINAL).exists():
        return None
    if not (place / "began.json").exists():
        return (plain(place / "seen.json") or {}).get("said")
    return None if os.statvfs(place).f_bavail else f"{os.strerror(errno.ENOSPC)}: {place}"


def made(place: Path, work: dict[str, Any]) -> bool:
    """Make a new spool with this work, whose paths become those of this machine; False for one that is there."""
    for name in ("cwd", "root", "tree"):
        work[name] = os.path.expanduser(work.get(name, ""))  # noqa: PTH111
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for tree in (work["tree"], f"{work['tree']}.tar.gz") if work["tree"] else ():
        with contextlib.suppress(OSError):
            os.utime(tree)
    try:
        place.mkdir(mode=0o700)
    except FileExistsError:
        return False
    for name, kept_s in KEPT_S.items():
        for path in (place.parents[1] / name).glob("*"):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > kept_s:
                    remove(path)
    (place / "work.json").write_text(json.dumps(work))
    return True


def news(place: Path, names: Iterable[str], sizes: dict[str, int], room: int) -> Iterator[Piece]:
    """What these files hold behind these sizes, up to so many bytes; of an empty file that nobody has, an empty
    piece."""
    for name in names:
        at = sizes.get(name, 0)
        with contextlib.suppress(OSError), (place / name).open("rb") as file:
            file.seek(at)
            while room and ((data := file.read(min(room, PIECE_BYTES))) or (name not in sizes and not at)):
                yield name, at, data
                at, room = at + len(data), room - len(data)
                if not data:
                    break


def left_by(place: Path, sizes: dict[str, int], room: int) -> tuple[list[Piece], bool]:
    """What a run has left behind these sizes, up to so many bytes, and whether that is all of it: its end comes
    last."""
    kept = [path for name in FOLDERS if (place / name).is_dir() for path in sorted((place / name).rglob("*"))]
    names = [*FILES, *(path.relative_to(place).as_posix() for path in kept if path.is_file()), FINAL]
    pieces = list(news(place, names, sizes, room))
    return pieces, sum(len(data) for _, _, data in pieces) < room


# -- files and processes ---------------------------------------------------------------------------------


def path_of(text: str) -> Path:
    return Path(os.path.expanduser(text))  # noqa: PTH111 - `~` may stand for no home


def stat_of(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def store(path: Path, data: bytes) -> None:
    """Write a file. Under another name first: nobody meets half of it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.urandom(6).hex()}")
    part.write_bytes(data)
    part.replace(path)


def unpack(folder: Path, archive: bytes) -> None:
    """Unpack an archive into a folder, unless somebody else has done so. Under another name first, too."""
    import tarfile

    part = folder.with_name(f"{folder.name}.{os.urandom(6).hex()}")
    part.mkdir(mode=0o700, parents=True)
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(part)  # noqa: S202 - it was sent by logbook
    try:
        part.rename(folder)
    except OSError:
        remove(part)


def link(path: Path, new: Path) -> None:
    """Give a file another name, where that can be done."""
    with contextlib.suppress(OSError):
        new.hardlink_to(path)


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


def waited(deadline: float, pause_s: float) -> bool:
    """Wait a moment; False when the time is up."""
    left_s = deadline - time.monotonic()
    if left_s <= 0:
        return False
    time.sleep(min(pause_s, left_s))
    return True
