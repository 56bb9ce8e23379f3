"""What an executor does: start a worker at most once, tell in its spool here how far it is, stop it, and bring all
that it left. For another machine, `cluster/README.md` says what a new one is made of.

Every executor passes the tests of `tests/contract/running/executors/test_executors_contract.py`.
"""

from __future__ import annotations

import abc
import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeVar, runtime_checkable

from msgspec import Struct

from logbook_agent.model.errors import LogbookError, ToolError
from logbook_agent.running.programs import NoAnswer
from logbook_agent.running.provenance.machine import MachineFacts
from logbook_agent.running.worker.work import Work
from logbook_agent.store.spool import Spool
from logbook_agent.text.commands.launchers import Launched
from logbook_agent.text.redaction.redactor import Redactor

T = TypeVar("T")
# Of a log, at most so much at once.
PIECE_BYTES = 1 << 20


class Unavailable(ToolError):
    """Nothing was started, for a reason that may pass: no connection, a queue that is full, a head that is away."""


class LogGrows(ToolError):
    """Raised for a run that has ended and whose log may not be whole yet: it is collected a little later."""


@contextlib.contextmanager
def nothing_sent() -> Iterator[None]:
    """Raise Unavailable instead of NoAnswer while a start is prepared, because nothing was started yet."""
    try:
        yield
    except NoAnswer as error:
        raise Unavailable(error.message, cause=error.cause, hint=error.hint) from error


class Submission(Struct, frozen=True, kw_only=True):
    """A run that is submitted: its sealed work, the lock of its spool, which the caller holds and closes (`claim`), and
    the secrets that the work refers to by name. Those of one `unit` are made one after another, in their order and
    on one machine."""

    spool: Spool
    claim: int
    work: Work
    secrets: Mapping[str, str]
    unit: str | None = None


def units_of(items: Iterable[T], of: Callable[[T], str | None]) -> list[list[T]]:
    """The units among these, in the order of the first of each; one that names none is a unit of its own."""
    units: dict[object, list[T]] = {}
    for number, item in enumerate(items):
        units.setdefault(number if (key := of(item)) is None else key, []).append(item)
    return list(units.values())


def troubles_of(look: Callable[[Spool], None], spools: Iterable[Spool]) -> dict[Path, str]:
    """Look at each of these runs: why nothing new is known of some, by their folders."""
    troubles = {}
    for spool in spools:
        try:
            look(spool)
        except LogbookError as error:
            troubles[spool.folder] = error.said
    return troubles


def for_each(do: Callable[[T], None], items: Sequence[T]) -> None:
    """Do it for each of these. Raises the first ToolError where it failed for all."""
    troubles = []
    for item in items:
        try:
            do(item)
        except ToolError as error:
            troubles.append(error)
    if troubles and len(troubles) == len(items):
        raise troubles[0]


class Executor(abc.ABC):
    """One way to start workers. A run is named by its spool, a folder on the client's machine; its log
    stands there, and how far it is (`Spool.stage`): by its lock here, else by the `Sent` and `Seen` that it writes.

    `pace_s`: the shortest pause between two looks at a run. `place`: where workers run, as far as that is known before
    they start; None: on this machine. `devices`: the devices of its machine that runs wait for; empty: those that the
    worker finds; None: runs do not wait, because an engine assigns the devices. `is_batch`: many runs are submitted
    together. `is_single`: it is one machine, so all of its runs can be compared, also those made at the same time; the
    queue for its devices decides which of these wait for one another.
    """

    is_batch: bool = False
    is_single: bool = False
    pace_s: float = 0.5
    place: str | None = None
    devices: tuple[str, ...] | None = None

    @abc.abstractmethod
    def hello(self) -> MachineFacts:
        """What its machine is. Whatever a worker needs is brought there. Raises LogbookError where it cannot be
        used."""

    @abc.abstractmethod
    def start(self, items: Sequence[Submission], at_most: int) -> None:
        """Start a worker for each, `at_most` units at a time. There is never more than one for a spool: called again,
        it does nothing.

        Raises Unavailable if no worker was started and a later call may start one, and NoAnswer if it is unknown
        whether one was started: the next call, or `look`, finds out. Any other ToolError: no worker was started, and
        calling again would not help. An error is one for all of them.
        """

    def look(self, spools: Sequence[Spool], *, wait_s: float = 0.0, with_log: bool = False) -> Mapping[Path, str]:
        """Bring what is new of these runs into their spools, unless workers write there themselves: how far each is,
        and `with_log` what it has printed. Returns why nothing new is known of some, by their folders. Where asking is
        costly, all are asked for at once, and the answer may take `wait_s`, unless there is something new."""
        return {}

    @abc.abstractmethod
    def stop(self, spools: Sequence[Spool]) -> None:
        """Ask the worker of each to end its command: INT to its process group, then TERM, then KILL. Returns at once;
        does nothing for a run that is over. Raises ToolError where none could be asked."""

    def collect(self, spool: Spool) -> None:  # noqa: B027 - workers may write there themselves
        """Bring all files of a run that is over into its spool."""


@runtime_checkable
class Launches(Protocol):
    """Optional: the user's launcher submits the command, and no worker of logbook runs there."""

    def launched(self, argv: Sequence[str], env: Mapping[str, str], redactor: Redactor) -> Launched:
        """The command behind the launcher, as it is recorded. Raises UsageError where it cannot be carried."""
