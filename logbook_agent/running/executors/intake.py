"""Brings the ends of runs into their records, from what was left in their folders.

Taking in is idempotent, and may be cut off anywhere: the folder `work/` goes last. The first end that is
recorded stands; one that comes later is kept beside it, as late.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from logbook_agent.model.errors import LogbookError, StoreError
from logbook_agent.model.run import Exit, Run, noted
from logbook_agent.model.worker_report import OVER, Began, End, Stage
from logbook_agent.running.executors.clocks import clock_problems
from logbook_agent.running.executors.table import executor_of
from logbook_agent.running.order import with_facts
from logbook_agent.running.reading import RunResults, cut_off, ended, read_run
from logbook_agent.store.book import Book
from logbook_agent.store.layout import LOG
from logbook_agent.store.names import marker_name
from logbook_agent.store.spool import ERRORS, FINAL, SENT, Seen, Sent, Spool, keep_files
from logbook_agent.store.workspace import Workspace

_ERROR_CHARS = 500
# A spool without a record: its client writes that within an instant.
_ABANDONED_S = 60.0
# The lock of the logbook is held for so many at a time.
_TOGETHER = 20


def warn_once(workspace: Workspace, text: str) -> None:
    """Add a warning if it is new: commands that wait collect again and again."""
    workspace.warnings.extend([text] if text not in workspace.warnings else [])


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenIn:
    """What was collected, by the folders of spools: runs whose end was recorded, and errors."""

    ended: dict[Path, Run] = field(default_factory=dict)
    errors: dict[Path, LogbookError] = field(default_factory=dict)

    @contextlib.contextmanager
    def noting(self, *spools: Spool) -> Iterator[None]:
        """Keep an error for these spools, of which the others know nothing. A spool that is gone has none: another
        command took it in meanwhile."""
        try:
            yield
        except LogbookError as error:
            self.errors.update((spool.folder, error) for spool in spools if spool.folder.is_dir())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Arrived:
    """The folder of a run that is over, what was changed in it since, its end and what it holds. A run whose record has
    an end is not read."""

    spool: Spool
    run: Run
    stage: Stage
    end: End | None = None
    changed: tuple[str, ...] = ()
    reading: RunResults = field(default_factory=RunResults)


def take_in(workspace: Workspace, book: Book, spool: Spool) -> Run | None:
    """Bring the record of a run up to date, as its executor knows it now; the run if its end was recorded. Raises
    LogbookError."""
    if (run := book.run_called(spool.run_name)) is not None:
        executor_of(workspace, run).look([spool])
    taken = take_in_all(workspace, book, [spool])
    for error in taken.errors.values():
        raise error
    return taken.ended.get(spool.folder)


def take_in_all(
    workspace: Workspace,
    book: Book,
    spools: Sequence[Spool],
    stages: Mapping[Path, Stage] | None = None,
    *,
    drops: bool = True,
) -> TakenIn:
    """Bring the records of runs up to date with their spools, a few at a time. `stages`: by folder, the stages of runs
    that are known. `drops`: remove the folders of runs that have ended."""
    taken = TakenIn()
    for start in range(0, len(spools), _TOGETHER):
        arrived: list[_Arrived] = []
        for spool in spools[start : start + _TOGETHER]:
            with taken.noting(spool):
                arrived += _arrived(workspace, book, spool, (stages or {}).get(spool.folder))
        if arrived:
            _record(workspace, book, arrived, taken)
    if drops:
        for spool in spools:
            if spool.folder in taken.ended:
                with taken.noting(spool):
                    book.drop(spool)
    return taken


def _arrived(workspace: Workspace, book: Book, spool: Spool, stage: Stage | None) -> list[_Arrived]:
    """A run that is over, after its files were brought here. Raises LogbookError."""
    run = book.run_called(spool.run_name)
    if run is None:
        # A client that is about to write the record, or was cut off before it could; else it lies on another branch.
        is_abandoned = time.time() - spool.folder.stat().st_mtime > _ABANDONED_S
        if is_abandoned and not spool.is_held() and not spool.is_used():
            book.drop(spool)
        return []
    executor = executor_of(workspace, run)
    stage = stage or spool.stage()
    if stage not in OVER:
        return []
    executor.collect(spool)
    if stage == "lost" and spool.has(FINAL):
        spool.get(End)  # it cannot be read: not lost until somebody says so
    end = spool.get(End) if stage == "ended" else None
    if run.exit is not None:
        return [_Arrived(spool=spool, run=run, stage=stage, end=end)]
    began = spool.get(Began)
    run = with_facts(run, began) if began is not None else run
    # Before the logbook is locked: a long log takes its time.
    reading = read_run(workspace, book, run, end)
    changed = _changed(book, spool, run, end) if end is not None else ()
    return [_Arrived(spool=spool, run=run, stage=stage, end=end, changed=changed, reading=reading)]


def _record(workspace: Workspace, book: Book, arrived: Sequence[_Arrived], taken: TakenIn) -> None:
    """Write the ends of these runs, under the lock of the logbook."""
    with taken.noting(*(one.spool for one in arrived)), book.lock():
        ended: list[tuple[Spool, Run]] = []
        for one in arrived:
            # Else another command was quicker.
            if one.spool.folder.is_dir():
                with taken.noting(one.spool):
                    ended += [(one.spool, run) for run in _ended(workspace, book, one)]
        try:
            runs = book.write_runs([run for _, run in ended])
        except LogbookError:
            # One that cannot be written is not to keep the others.
            for spool, run in ended:
                with taken.noting(spool):
                    taken.ended[spool.folder] = book.write_run(run)
        else:
            taken.ended.update((spool.folder, run) for (spool, _), run in zip(ended, runs, strict=True))


def _ended(workspace: Workspace, book: Book, one: _Arrived) -> list[Run]:
    """The record of a run with its end; nothing is made up where nobody saw that. None, where it has one already."""
    # Another command may have ended it since it was asked about.
    spool, stage, run = one.spool, one.stage, book.reread(one.run)
    end = one.end
    if run.exit is not None:
        _keep_late(workspace, book, spool, run, end)
        return []
    began, sent = spool.get(Began), spool.get(Sent)
    run = with_facts(run, began) if began is not None else run
    run = dataclasses.replace(run, job=sent.job if sent is not None else None)
    keep_files(book, spool, is_whole=end is not None)
    if end is not None:
        clocks: tuple[str, ...] = ()
        if began is not None and sent is not None:
            submitted = (spool.folder / SENT).stat().st_mtime
            clocks = clock_problems(began.started, end.ended, sent=submitted, now=time.time())
        run = dataclasses.replace(run, problems=(*run.problems, *noted(*one.changed, *clocks)))
        return [ended(run, end, one.reading)]
    said = _errors(spool, workspace)
    if stage == "never-started" and run.executor is not None:
        why = f"never started: {said}" if said else "never started: its worker did not start"
        return [dataclasses.replace(run, exit=Exit(never_started=True), problems=(*run.problems, *noted(why)))]
    how = Exit(lost=True) if run.executor is not None else Exit(interrupted=True)
    who = f"lost: its worker vanished{f' ({said})' if said else ''}" if how.lost else "its logbook process was gone"
    return [cut_off(run, how, f"{who}; this record was rebuilt from its log", one.reading)]


def _errors(spool: Spool, workspace: Workspace) -> str:
    """The last line that the worker itself complained in, else what its engine said of it, without secrets."""
    try:
        lines = (spool.read(ERRORS) or "").strip().splitlines()
        seen = spool.get(Seen)
    except StoreError:
        return ""
    said = lines[-1] if lines else (seen.said if seen is not None else None) or ""
    return workspace.redactor.text(said)[:_ERROR_CHARS]


def finish(workspace: Workspace, book: Book, run: Run, why: str) -> Run | None:
    """Close the record of a run that nobody finished and whose work is not here, with the rows that stand in its log.
    None when it was finished meanwhile."""
    found = read_run(workspace, book, run)
    with book.lock():
        run = book.reread(run)
        if run.exit is not None:
            return None
        exit = Exit(interrupted=True) if run.executor is None else Exit(lost=True)
        return book.write_run(cut_off(run, exit, f"{why}; its record was finished from the log", found))


def _changed(book: Book, spool: Spool, run: Run, end: End) -> tuple[str, ...]:
    """Problems of a log and of kept files that are not what the worker wrote, in the spool or where they were moved to
    already."""
    folders = (spool.folder, book.run_folder(run.entry, run.run))

    def digest(name: str) -> str | None:
        path = next((folder / name for folder in folders if os.path.lexists(folder / name)), None)
        with contextlib.suppress(StoreError):
            return None if path is None else book.files.digest(path)
        return ""

    found = []
    if end.output is not None and end.output.log_bytes and (now := digest(LOG)) != end.output.sha256:
        how = "is missing" if now is None else "was changed after the run: its digest differs"
        found.append(f"the log {how}")
    for artifact in end.artifacts:
        if artifact.kept is not None and digest(artifact.kept) != artifact.sha256:
            found.append(f"the copy of {artifact.name} is missing or was changed: its digest differs")
    return tuple(found)


def _keep_late(workspace: Workspace, book: Book, spool: Spool, run: Run, end: End | None) -> None:
    """Handle a second end of a run: drop it if it is the same, else keep it in the backups and name it in the
    record."""
    if end is None or (end.exit == run.exit and end.ended == run.ended):
        # A command that was cut off recorded it, and may not have come to the view.
        book.changed.add(run.entry)
        book.drop(spool)
        return
    place = book.folder / "backups" / f"late-{marker_name(run.name)}-{workspace.moment()}"
    book.files.make(place.parent)
    book.files.move(spool.folder, place)
    book.drop(spool)
    kept = place.relative_to(book.folder)
    said = f"late: a second result arrived after the first; it is kept in {kept}"
    book.write_run(dataclasses.replace(run, problems=(*run.problems, *noted(said))))
