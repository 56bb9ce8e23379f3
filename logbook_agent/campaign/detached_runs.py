"""Detached runs: collects those that have ended, waits for them, and stops them."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from logbook_agent.findings.advice import measure
from logbook_agent.findings.queries import brief_run
from logbook_agent.model.codec import encode
from logbook_agent.model.entry import State
from logbook_agent.model.errors import StoreError, UsageError
from logbook_agent.model.record import GOING, Record, UnfinishedRun
from logbook_agent.model.run import Run
from logbook_agent.pages.views import changing
from logbook_agent.running.execution import ask_to_end, terminate
from logbook_agent.running.executors.dispatch import log_piece
from logbook_agent.running.executors.intake import collected
from logbook_agent.running.launch.process import FAILED_STATUS, TIMEOUT_STATUS, exit_status
from logbook_agent.store.book import Book
from logbook_agent.store.book_runs import going_runs, is_open, open_series
from logbook_agent.store.processes import this_host
from logbook_agent.store.run_files import LOG
from logbook_agent.store.spool import SeriesEnd
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.redaction.stream import StreamRedactor

# How often is looked for an end: soon at first, then ever more seldom.
_FIRST_S, _LAST_S, _GROWTH = 0.05, 1.0, 1.3
# Whoever waits for longer is told why a run waits.
_TELL_S = 10.0
# What a command may take to end after INT, TERM and KILL, and its client to record that.
_ENDING_S = 30.0
# A series says at the end how it ended, before its answer.
_LAST_LINES = 200
# Of a series: `show` has all.
_SHOWN_RUNS = 3


def collect_ended(workspace: Workspace, book: Book) -> list[Run]:
    """Take in the runs whose workers have ended; those that nobody saw the end of are warned about."""
    if not book.spools():
        return []
    with collected(workspace, book) as found, changing(workspace, book):
        pass  # the view shows the ends before the spools go
    for run in found:
        if run.exit is not None and (run.exit.lost or run.exit.never_started):
            workspace.warnings.append(f"{run.entry} run {run.run}: {run.problems[-1] if run.problems else 'lost'}")
    return found


# -- waiting ---------------------------------------------------------------------------------------


class WaitedFor(Struct, frozen=True, kw_only=True):
    """An entry that has ended: its state, what `logbook run` would have exited with, and the runs that were waited for,
    or else its last one. `is_cut_off`: the process that made a series of its runs was killed; `why` that of a series
    ended early, though no run failed, as it said itself."""

    id: str
    state: State
    exit_status: int
    runs: tuple[Run, ...]
    is_cut_off: bool = False
    why: str = ""

    def data(self, book: Book) -> dict[str, object]:
        """For machines. Of a series the runs that ended first are left out, and counted."""
        statuses = book.statuses(self.runs)
        left_out = max(0, len(statuses) - _SHOWN_RUNS)
        return {
            "id": self.id,
            "state": self.state,
            "exit_status": self.exit_status,
            "cut_off": self.is_cut_off,
            **({"why": self.why} if self.why else {}),
            "runs": [brief_run(status, book.log_path) for status in statuses[left_out:]],
            **({"runs_left_out": left_out} if left_out else {}),
        }


class Waited(Struct, frozen=True, kw_only=True):
    """The entries that have ended, and the IDs of those that still run; `said` is what the engines of their runs say,
    such as why they wait. `is_past`: nothing was running, and this is what ended last."""

    ended: tuple[WaitedFor, ...]
    going: tuple[str, ...]
    said: tuple[str, ...] = ()
    is_timeout: bool = False
    is_past: bool = False

    def data(self, book: Book) -> dict[str, object]:
        """For machines."""
        return {
            "ended": [one.data(book) for one in self.ended],
            "going": list(self.going),
            "said": list(self.said),
            "timeout": self.is_timeout,
        }

    @property
    def exit_status(self) -> int:
        if self.is_timeout:
            return TIMEOUT_STATUS
        return next(filter(None, (one.exit_status for one in self.ended)), 0)


def wait(
    workspace: Workspace,
    book: Book,
    ids: Sequence[str],
    *,
    is_any: bool = False,
    timeout_s: float | None = None,
    tell: Callable[[str], None] | None = None,
) -> Waited:
    """Wait until these entries have ended, or with `is_any` one of them; without IDs, all that run now, with those
    whose end is taken in by this very call. Where there are none, the entry that ended last is answered."""
    numbers: dict[str, set[int]] = {}
    for run in [*collect_ended(workspace, book), *(one.run for one in going_runs(book))]:
        numbers.setdefault(run.entry, set()).add(run.run)
    # Another branch may hold the entry of a series that goes on.
    running = [*numbers, *filter(book.has_entry, _series(book))]
    wanted = list(dict.fromkeys(map(book.resolve, ids) if ids else running))
    if not wanted:
        last = _last_ended(book)
        past = () if last is None else (_ended(book, last.entry, {last.run}),)
        return Waited(ended=past, going=(), is_past=True)
    began = time.monotonic()
    deadline = None if timeout_s is None else began + timeout_s
    pause_s = _FIRST_S
    told: set[str] = set()
    while True:
        now = going_runs(book)
        left_now = {one.run.entry for one in now} | set(_series(book))
        left = [entry_id for entry_id in wanted if entry_id in left_now]
        is_late = deadline is not None and time.monotonic() >= deadline
        if not left or is_late or (is_any and len(left) < len(wanted)):
            break
        if tell is not None and time.monotonic() - began >= _TELL_S:
            for line in [line for line in _said(now, left) if line not in told]:
                told.add(line)
                tell(line)
        time.sleep(pause_s if deadline is None else min(pause_s, max(0.0, deadline - time.monotonic())))
        pause_s = min(_LAST_S, pause_s * _GROWTH)
        collect_ended(workspace, book)
    # One may have ended after it was looked for last.
    collect_ended(workspace, book)
    ended = tuple(_ended(book, i, numbers.get(i, set())) for i in wanted if i not in left)
    is_timeout = bool(left) and not (is_any and ended)
    return Waited(ended=ended, going=tuple(left), said=_said(now, left), is_timeout=is_timeout)


def _series(book: Book) -> list[str]:
    """The entries whose runs are made one after another now, detached or by a command that somebody watches: between
    two runs, too."""
    claims = (c for c in book.claims.held() if (c.host, c.root) == (this_host(), str(book.root)))
    return [*open_series(book), *(claim.entry for claim in claims)]


def _said(runs: Sequence[UnfinishedRun], ids: Sequence[str]) -> tuple[str, ...]:
    """What engines say of the runs of these entries: `MOE-000 run 1: job 12 is PENDING (Resources)`."""
    return tuple(f"{one.run.entry} run {one.run.run}: {one.said}" for one in runs if one.said and one.run.entry in ids)


def _last_ended(book: Book) -> Run | None:
    """The run that ended last; one that never started, or whose end nobody saw, counts with its start."""
    runs = (run for entry_id in book.entry_ids() for _, run in book.each_run(entry_id))
    ended = [run for run in runs if isinstance(run, Run) and run.exit is not None]
    return max(ended, key=lambda run: (run.ended or run.started, run.entry, run.run), default=None)


def _ended(book: Book, entry_id: str, numbers: set[int]) -> WaitedFor:
    """How an entry ended. A series says itself what it would have exited with."""
    record = book.record(entry_id)
    runs = [status.run for status in record.runs]
    if not runs:
        raise no_run(record)
    waited = [run for run in runs if run.run in numbers] or runs[-1:]
    has_series = book.series(entry_id).folder.is_dir()
    said = book.series(entry_id).get(SeriesEnd) if has_series else None
    # By the numbers of runs: the clocks of their machines may differ from this one's.
    if said is not None and said.last_run == runs[-1].run:
        waited, status = [run for run in runs if run.run >= said.first_run] or waited, said.exit_status
    else:
        statuses = (FAILED_STATUS if run.exit is None else exit_status(run.exit) for run in waited)
        status = next(filter(None, statuses), 0)
    is_cut_off = has_series and said is None
    status = status or (FAILED_STATUS if is_cut_off else 0)
    is_early = bool(status) and said is not None and record.state == "finished"
    return WaitedFor(
        id=entry_id,
        state=record.state,
        exit_status=status,
        runs=tuple(waited),
        is_cut_off=is_cut_off,
        why=_why_early(book, entry_id) if is_early else "",
    )


def _why_early(book: Book, entry_id: str) -> str:
    """Why a series ended early, from the line in which it said how many pairs it has: `stopped: the code changed`."""
    files = book.series(entry_id).files
    lines = (
        [line.decode("utf-8", "replace") for line in last_lines(files.pieces(LOG), _LAST_LINES)]
        if files.has(LOG)
        else []
    )
    own = [line for line in lines if line.startswith(f"{entry_id}: ")]
    return own[-1].strip().partition("; ")[2] if own else ""


def no_run(record: Record) -> UsageError:
    """That nothing was run in an entry, with what to type."""
    return UsageError(f"{record.id} has no run", cause=f"its state is {record.state}", hint=measure(record))


# -- ending ----------------------------------------------------------------------------------------


def cancel(workspace: Workspace, book: Book, entry_id: str) -> list[Run]:
    """End what runs in an entry: its series of runs, and the commands, by INT, TERM and KILL. Returns the runs that
    have ended by it. Raises UsageError when nothing runs, StoreError when it does not end."""
    collect_ended(workspace, book)
    entry_id = book.resolve(entry_id)
    series = book.series(entry_id)
    holder = series.holder() if series.is_held() else None
    stopped = [s.run for s in book.statuses(book.runs(entry_id)) if s.run.exit is None and s.state in GOING]
    if holder is None and not stopped:
        _check_known(book, entry_id)
        raise UsageError(
            f"nothing is running in {entry_id}",
            cause=f"its state is {book.record(entry_id).state}",
            hint=f"logbook show {entry_id}",
        )
    if holder is not None:
        terminate(entry_id, holder)
    else:
        with changing(workspace, book):
            ask_to_end(workspace, book, *stopped)
    deadline = time.monotonic() + _ENDING_S
    while is_open(book, entry_id):
        if time.monotonic() >= deadline:
            raise StoreError(
                f"{entry_id} was asked to stop, but still runs",
                cause="its command has not stopped yet, or its machine cannot be reached",
                hint=f"logbook wait {entry_id}",
            )
        time.sleep(_FIRST_S)
        collect_ended(workspace, book)
    collect_ended(workspace, book)
    numbers = {run.run for run in stopped}
    return [run for run in book.runs(entry_id) if run.run in numbers]


def _check_known(book: Book, entry_id: str) -> None:
    """Raises UsageError for a run that another host may still make."""
    for run in (status.run for status in book.statuses(book.runs(entry_id)) if status.state == "unknown"):
        raise UsageError(
            f"{entry_id} cannot be ended from here",
            cause=f"run {run.run} was started on {run.host.name}, and nobody can tell from here whether it still runs",
            hint=f"there: logbook cancel {entry_id}; if that host is gone: logbook doctor --fix",
        )


def cancelled(book: Book, runs: Sequence[Run]) -> dict[str, object]:
    """The answer of `cancel` for machines: the runs that have ended by it."""
    return {"ended": [{"id": one.run.entry, **brief_run(one, book.log_path)} for one in book.statuses(runs)]}


# -- logs ---------------------------------------------------------------------------------------------


# Of a line without end, no more than this is shown first.
_LINE_BYTES = 1 << 20


class FollowedLog:
    """The log of a run, wherever it lies; `offset` says how far it was read."""

    def __init__(self, space: Workspace, book: Book, entry_id: str, run: int) -> None:
        self._of = space, book, entry_id, run
        self._stream = StreamRedactor(space.redactor)
        self.offset = 0

    def pieces(self) -> Iterator[bytes]:
        """What there is now and was not read yet, without secrets; what may become one is held back."""
        while piece := log_piece(*self._of, self.offset):
            self.offset += len(piece)
            yield self._stream.feed(piece)
        yield self._stream.flush_idle()

    def all(self) -> Iterator[bytes]:
        """What there is now, to its end."""
        yield from self.pieces()
        yield self._stream.finish()


def last_lines(pieces: Iterable[bytes], count: int) -> list[bytes]:
    """The last lines of these pieces."""
    kept: deque[bytes] = deque(maxlen=min(count, sys.maxsize))
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        rest = rest[-_LINE_BYTES:]
        kept.extend(line + b"\n" for line in whole)
    kept.extend([rest] if rest else [])
    return [*kept]


def chosen_run(book: Book, entry_id: str, named: str | None = None) -> int:
    """The number of a run of an entry, by default of its newest. Raises UsageError where it has none, NotFound where it
    does not have this one."""
    numbers = book.run_numbers(entry_id)
    if not numbers:
        raise no_run(book.record(entry_id))
    return numbers[-1] if named is None else book.run_named(entry_id, named)


def log_data(
    space: Workspace, book: Book, entry_id: str, tail: int | None, named: str | None = None
) -> dict[str, object]:
    """The output of a run of an entry (the newest), or its last lines. Raises what `chosen_run` raises."""
    number = chosen_run(book, entry_id, named)
    whole = FollowedLog(space, book, entry_id, number).all()
    pieces = whole if tail is None else last_lines(whole, tail)
    return {"id": entry_id, "run": encode(number), "lines": b"".join(pieces).decode("utf-8", "replace").splitlines()}
