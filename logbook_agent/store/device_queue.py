"""The queue for the devices of a machine: runs that need the same device are made one after another.

A run draws a ticket: a file with the next number, which names the devices that the run needs, and which is locked while
a process holds it. Its turn has come when no ticket with a lower number that names one of these devices is held.
Whoever gives a ticket back removes it; the kernel releases that of processes that died.

Tickets lie in a folder that all users of the machine share. Everybody may read a ticket, and only its owner may change
it; so what a ticket says is checked. Containers have queues of their own, unless LOGBOOK_QUEUE names a folder that they
share.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pwd
import re
import stat
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from logbook_agent.model.errors import StoreError
from logbook_agent.store.folder import LOCK_S, SHARED, Folder, take, writing

_TICKET_BYTES = 4000
_MAKING_PAUSES, _PAUSE_S = 100, 0.005
# What the run of a ticket is called, as far as it is shown: other users write tickets, too.
_RUN = re.compile(r"[A-Za-z0-9-]{1,100} run [0-9]{1,9}")
_FOLDER = Path("/tmp/.logbook-agent-queue")  # noqa: S108 - shared on purpose


class Ticket(Struct, frozen=True, kw_only=True):
    """A place in the queue: the run that has it, and the devices needed. `user`: whose run it is, where it is not this
    user's."""

    number: int
    run: str
    devices: tuple[str, ...]
    user: str | None = None

    @property
    def name(self) -> str:
        return self.run if self.user is None else f"{self.run} of user {self.user}"

    def meets(self, other: Ticket) -> bool:
        """Whether both need one device."""
        return not {*self.devices}.isdisjoint(other.devices)


class Drawn(Struct, frozen=True, kw_only=True):
    """The `descriptor` that holds a ticket of this process, and the tickets in front of it."""

    descriptor: int
    ahead: tuple[Ticket, ...]


def queue_folder(environ: Mapping[str, str]) -> Path:
    """Where the tickets of all users of this machine lie."""
    named = Path(environ.get("LOGBOOK_QUEUE", ""))
    return named if named.is_absolute() else _FOLDER


class Queue(Struct, frozen=True, kw_only=True):
    """The tickets in a folder. Every method raises StoreError if the folder cannot be read or written."""

    files: Folder

    def tickets(self) -> list[Ticket]:
        """Those that are held, by their numbers."""
        found = [self._ticket(number) for number in self._numbers() if self.is_held(number)]
        return [ticket for ticket in found if ticket is not None]

    @contextlib.contextmanager
    def drawn(self, run: str, devices: tuple[str, ...]) -> Iterator[Drawn]:
        """A ticket until the block is left; the other words as in `Ticket`."""
        self._make()
        with self._locked():
            self._tidy()
            ahead = self.tickets()
            # Whoever waits holds a higher number: that of a ticket which somebody waits for is not given again.
            ticket = Ticket(number=max(self._numbers(), default=0) + 1, run=run, devices=devices)
            name = self._name(ticket.number)
            descriptor = self.files.open_lock(name)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.fchmod(descriptor, 0o644)  # others look whether it is held
                os.pwrite(descriptor, json.dumps({"run": run, "devices": devices}).encode(), 0)
            except OSError as error:
                os.close(descriptor)
                raise StoreError(
                    f"cannot write {self.files.at(name)}: {error.strerror or error}", cause="the disk is full"
                ) from error
        try:
            yield Drawn(descriptor=descriptor, ahead=tuple(t for t in ahead if t.meets(ticket)))
        finally:
            with contextlib.suppress(StoreError):
                self.files.remove(name)
            # A process that the command left behind has the descriptor, too.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)

    def _make(self) -> None:
        """Create the folder, which all users of the machine share."""
        path = self.files.path
        self.files.make(shared=True)
        for _ in range(_MAKING_PAUSES):
            mode = path.lstat().st_mode
            if stat.S_ISDIR(mode) and mode & SHARED == SHARED:
                return
            time.sleep(_PAUSE_S)  # another process is just making it
        raise StoreError(
            f"{path} cannot be shared by the users of this machine",
            cause="another program made it, or its permissions were changed",
            hint=f"remove it, or type: chmod 1777 {path}",
        )

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold a lock on the folder itself: a lock file would belong to whoever made it first."""
        with writing(self.files.path):
            descriptor = os.open(self.files.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if not take(descriptor, LOCK_S):
                raise StoreError(f"{self.files.path} is locked", cause="another process has held the lock for too long")
            yield
        finally:
            os.close(descriptor)

    def _tidy(self) -> None:
        """Remove the tickets of this user that nobody holds."""
        for number in self._numbers():
            if not self.is_held(number):
                with contextlib.suppress(StoreError):  # another user's, who does so
                    self.files.remove(self._name(number))

    def is_held(self, number: int) -> bool:
        """Whether the run with this ticket waits or goes on."""
        with contextlib.suppress(StoreError):  # another user keeps it to himself
            return self.files.is_locked(self._name(number))
        return False

    @contextlib.contextmanager
    def released(self, number: int) -> Iterator[int]:
        """A descriptor that becomes readable when nobody holds this ticket any more."""
        readable, end = os.pipe()

        def wait() -> None:
            # Not there: it was given back, or another user keeps it to himself.
            with contextlib.suppress(StoreError, OSError), self.files.open(self._name(number)) as file:
                fcntl.flock(file.fileno(), fcntl.LOCK_SH)
            os.close(end)

        # Left alone where the wait is cut short: it ends with the process.
        threading.Thread(target=wait, daemon=True).start()
        try:
            yield readable
        finally:
            os.close(readable)

    def _numbers(self) -> list[int]:
        return sorted(int(name) for name in self.files.names() if name.isascii() and name.isdigit())

    def _name(self, number: int) -> str:
        return f"{number:08d}"

    def _ticket(self, number: int) -> Ticket | None:
        """None for one that was given back meanwhile, or cannot be read."""
        try:
            with self.files.open(self._name(number)) as file:
                found: Any = json.loads(file.read(_TICKET_BYTES))
                owner = os.fstat(file.fileno()).st_uid
            run, devices = str(found["run"]), found["devices"]
            return Ticket(
                number=number,
                run=run if _RUN.fullmatch(run) else "a run",
                devices=tuple(map(str, devices)),
                user=None if owner == os.getuid() else _user(owner),
            )
        except (StoreError, ValueError, TypeError, KeyError, RecursionError):
            return None


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)
