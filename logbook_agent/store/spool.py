"""The work in progress of a run: the folder `work/` in its own, in which whoever makes the run leaves what is found,
until it is taken into the record. The worker of another machine has such a folder there.

worker.lock      held by the process that makes the run (before, by the one that submits it); names its pid, its host,
                 and the process group of the command
work.json        the work, without its secrets
began.json       facts recorded before the command started
output.log       the log, as the command printed it, without the values of known secrets
code/            the diff and small untracked files of the code
artifacts/       the files that the command left
safe.log, safe/  the log and the files without what patterns find, written when the run is taken in and then moved
                 beside the record
result.json      what the command writes to $LOGBOOK_RESULT_FILE
read/            the file of a benchmark tool
heartbeat.json   rewritten every few seconds
room             on a full disk, the end of the run takes its place
final.json       how the command ended; written last
worker.err       errors of the worker itself
sent.json        of a run on another machine: where its worker's folder is
seen.json        the last known state of a run on another machine; in a worker's folder: what the run waits for
closed           in a worker's folder: nothing more will be written

A run goes on as long as its lock is held: the kernel releases that of a process that has ended, however it ended.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from logbook_agent.model.codec import CodecError, decode, encode
from logbook_agent.model.errors import RecordError, StoreError
from logbook_agent.model.worker_report import OVER, Began, End, Stage
from logbook_agent.store.folder import PROSE_BYTES, RUN_BYTES, Folder, take
from logbook_agent.store.json_text import parse_json, place_of
from logbook_agent.store.processes import this_host
from logbook_agent.store.run_files import BEGAN, FINAL, HEARTBEAT, LOCK, SEEN, SENT
from logbook_agent.store.spool_stage import stage_of
from logbook_agent.text.redaction.known_values import KnownValues

T = TypeVar("T")
# The stages of a run that another machine tells of.
_TOLD: tuple[Stage, ...] = ("sent", "running", "ended", "orphaned", "lost", "never-started")
# Whoever only looks holds a lock for an instant; whoever wants it waits so long.
_LOOK_S = 0.5
_HOLDER_BYTES = 1000


class Holder(Struct, frozen=True, kw_only=True):
    """The process that took a lock last, and its host. Of a run whose command was started also the process `group` of
    that, and the `mark` in the variables of its processes."""

    pid: int
    host: str
    group: int | None = None
    mark: str = ""


class Heartbeat(Struct, frozen=True, kw_only=True):
    """A sign of life of a worker: the time, the last result line of its command, and the bytes that it had printed."""

    format: int = 1
    at: str
    last: str | None = None
    bytes: int = 0


class SeriesEnd(Struct, frozen=True, kw_only=True):
    """The end of a detached series of runs: its exit status, the number of the first run that it could make, and of the
    last one there was when it ended; 0: unknown, or there was none."""

    format: int = 1
    ended: str
    exit_status: int
    first_run: int
    last_run: int = 0


class HiddenValue(Struct, frozen=True, kw_only=True):
    """A secret that was handed over: its length in characters, what it is `shown` as, and its digest, salted with the
    name of the spool. `is_word`: no blank is in it."""

    shown: str
    chars: int
    is_word: bool
    digest: str


class Sent(Struct, frozen=True, kw_only=True):
    """Where a run was submitted to: the `folder` of its worker's spool there, and the `job` that an engine calls it.

    Where no worker of ours runs: the `name` that the job was given (`is_typed`: by the user), `at` which time (seconds
    since the epoch), and digests of the secret `values` in it.
    """

    format: int = 1
    folder: str = ""
    job: str | None = None
    name: str = ""
    is_typed: bool = False
    at: float = 0.0
    values: tuple[HiddenValue, ...] = ()


class Seen(Struct, frozen=True, kw_only=True):
    """The stage that a run on another machine was in when it last changed, and what its engine said of it then."""

    format: int = 1
    stage: str
    said: str | None = None


_FILES: dict[type, str] = {
    Began: BEGAN, End: FINAL, SeriesEnd: FINAL, Heartbeat: HEARTBEAT, Sent: SENT, Seen: SEEN,
}  # fmt: skip


class Spool(Struct, frozen=True, kw_only=True):
    """One such folder. Whatever is written passes the redactor, which for a worker knows values alone."""

    files: Folder
    redactor: Callable[[], KnownValues] = KnownValues

    @property
    def folder(self) -> Path:
        return self.files.path

    @property
    def run_name(self) -> str:
        """The whole name of the run whose folder it lies in."""
        return run_at(self.folder)

    def drop(self) -> None:
        """Remove the folder, if no other command was quicker. Under another name first: nobody meets half of one."""
        hidden: Path = self.folder.with_name(f".{self.folder.name}.taken")
        self.files.remove_tree(hidden)
        try:
            self.files.move(self.folder, hidden)
        except StoreError:
            if self.folder.is_dir():
                raise
        self.files.remove_tree(hidden)

    # -- what stands in it ---------------------------------------------------------------------------

    def get(self, kind: type[T]) -> T | None:
        """What stands here of a kind: `Began`, the facts before the command started; `End`, or `SeriesEnd` of a series
        of runs, whose folder has the same lock and log; `Heartbeat`; `Sent` and `Seen` of a run on another machine.
        None where it is not there. Raises StoreError."""
        path = self.folder / _FILES[kind]
        text = self.read(path.name, limit=RUN_BYTES)
        try:
            return None if text is None else decode(kind, parse_json(text, path))
        except CodecError as error:
            raise RecordError(
                f"{place_of(path)}: {error}",
                cause="another version of logbook-agent or another program wrote it",
                hint="logbook doctor",
            ) from error

    def put(self, found: Began | End | SeriesEnd | Heartbeat | Sent | Seen) -> None:
        """Write what is found, completely or not at all, in place of the last of its kind."""
        name, plain = _FILES[type(found)], encode(found)
        if not isinstance(found, Sent | SeriesEnd):
            plain = self.redactor().plain(plain)
        data = json.dumps(plain, ensure_ascii=False, indent=1, allow_nan=False).encode() + b"\n"
        self.files.write(name, data, durable=name in (BEGAN, FINAL, SENT))

    def has(self, name: str) -> bool:
        return self.files.has(name)

    def is_used(self) -> bool:
        """Whether a run was submitted or began here."""
        return any(map(self.has, (BEGAN, SENT, FINAL)))

    def read(self, name: str, *, limit: int = PROSE_BYTES) -> str | None:
        """The text of a file; None when it is not there. Raises StoreError."""
        return self.files.text(name, limit=limit) if self.has(name) else None

    # -- who is responsible --------------------------------------------------------------------------

    def claim(self) -> int | None:
        """The descriptor of the lock, held from here on until it is closed by all who inherit it; None when somebody
        holds it already."""
        descriptor = self.files.open_lock(LOCK)
        if not take(descriptor, _LOOK_S):
            os.close(descriptor)
            return None
        name_holder(descriptor, os.getpid())
        return descriptor

    @contextmanager
    def claimed(self) -> Iterator[int | None]:
        """`claim`, until the block is left."""
        descriptor = self.claim()
        try:
            yield descriptor
        finally:
            if descriptor is not None:
                os.close(descriptor)

    def is_held(self) -> bool:
        """Whether somebody who lives is responsible."""
        return self.has(LOCK) and self.files.is_locked(LOCK)

    def holder(self) -> Holder | None:
        """Who took the lock last; None when nobody did, or it cannot be read."""
        with contextlib.suppress(StoreError, CodecError):
            text = self.read(LOCK, limit=_HOLDER_BYTES)
            return decode(Holder, parse_json(text, self.folder / LOCK)) if text else None
        return None

    def stage(self) -> Stage:
        """How far the run is. An end counts when nobody holds the folder any more: what is there while its worker works
        was written by somebody else."""
        if not self.folder.is_dir():
            return "lost"
        if self.has(SENT):
            seen = None
            with contextlib.suppress(StoreError):
                seen = self.get(Seen)
            # Where nobody there answers for a run, it goes on until it is given up.
            stage: Stage = next((stage for stage in _TOLD if seen is None or stage == seen.stage), "running")
            # First: an attempt that an engine cut off is lost, though its worker wrote an end.
            return "ended" if stage not in OVER and self.has(FINAL) else stage
        found: Stage = stage_of(self.folder)
        return found


def run_at(folder: Path) -> str:
    """The whole name of the run whose folder this one, `work/`, lies in."""
    return "/".join(folder.parts[-3:-1])


def name_holder(descriptor: int, pid: int, group: int | None = None, mark: str = "") -> None:
    """Write into a lock who holds it, and the process group of the command."""
    data = json.dumps(encode(Holder(pid=pid, host=this_host(), group=group, mark=mark))).encode()
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, data, 0)
