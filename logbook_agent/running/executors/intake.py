"""Copies what workers left in their spools into the logbook: facts during a run, then its end.

Taking in is idempotent, and may be cut off anywhere: the spool goes last. The first end that is recorded stands; one
that comes later is kept beside it, as late.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from logbook_agent.model.errors import LogbookError, StoreError
from logbook_agent.model.run import Exit, Run, noted
from logbook_agent.model.worker_report import Began, End
from logbook_agent.running.executors.contract import OVER, Executor, Stage
from logbook_agent.running.executors.table import executor_of
from logbook_agent.running.order import with_end, with_facts
from logbook_agent.running.recovery import from_log
from logbook_agent.store.book import Book
from logbook_agent.store.layout import ARTIFACTS, CODE, CURVES, CURVES_LARGE, CURVES_PART, LOG
from logbook_agent.store.spool import ERRORS, FINAL, SENT, Sent, Spool
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.phrases import counted
from logbook_agent.text.times import duration

_KEPT = (LOG, CODE, ARTIFACTS, CURVES, CURVES_LARGE, CURVES_PART)
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
    """What was collected, by the folders of spools: runs whose end was recorded, errors, and why there is no news of
    others."""

    ended: dict[Path, Run] = field(default_factory=dict)
    errors: dict[Path, LogbookError] = field(default_factory=dict)
    troubles: dict[Path, str] = field(default_factory=dict)

    @contextlib.contextmanager
    def noting(self, *spools: Spool) -> Iterator[None]:
        """Keep an error for these spools, of which the others know nothing. A spool that is gone has none: another
        command took it in meanwhile."""
        try:
            yield
        except LogbookError as error:
            self.errors.update((spool.folder, error) for spool in spools if spool.folder.is_dir())


@dataclass(slots=True, kw_only=True)
class _Arrived:
    """A spool with its run and the stage of that run; if it has ended, the digest of its log, and the files that are
    not what its command left."""

    spool: Spool
    run: Run
    executor: Executor
    stage: Stage
    digest: str | None = None
    changed: tuple[str, ...] = ()


def take_in(workspace: Workspace, book: Book, spool: Spool) -> Run | None:
    """Bring the record of a run up to date with its spool; the run if its end was recorded. Raises LogbookError."""
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
    """`take_in` for many spools, a few at a time. `stages`: by spool folder, the stages of runs that were followed just
    now. `drops`: remove the spools of runs that have ended."""
    taken = TakenIn()
    for start in range(0, len(spools), _TOGETHER):
        _take_some(workspace, book, spools[start : start + _TOGETHER], stages or {}, taken, drops=drops)
    return taken


def _take_some(
    workspace: Workspace,
    book: Book,
    spools: Sequence[Spool],
    stages: Mapping[Path, Stage],
    taken: TakenIn,
    *,
    drops: bool,
) -> None:
    followed: list[_Arrived] = []
    for spool in spools:
        with taken.noting(spool):
            followed += _followed(workspace, book, spool, stages.get(spool.folder), taken)
    brought: list[_Arrived] = []
    for one in followed:
        with taken.noting(one.spool):
            _bring(book, one)
            brought.append(one)
    if not brought:
        return
    with taken.noting(*(one.spool for one in brought)), book.lock():
        ended: list[tuple[Spool, Run]] = []
        for one in brought:
            # Else another command was quicker.
            if one.spool.folder.is_dir():
                with taken.noting(one.spool):
                    ended += [(one.spool, run) for run in _settled(workspace, book, one)]
        for spool, run in _written(book, ended, taken):
            taken.ended[spool.folder] = run
            if drops:
                with taken.noting(spool):
                    spool.drop()


def _written(book: Book, ended: Sequence[tuple[Spool, Run]], taken: TakenIn) -> list[tuple[Spool, Run]]:
    """Write these records; those that could be written, with their spools."""
    try:
        runs = book.write_runs([run for _, run in ended])
    except LogbookError:
        found = []
        # One that cannot be written is not to keep the others.
        for spool, run in ended:
            with taken.noting(spool):
                found.append((spool, book.write_run(run)))
        return found
    return [(spool, run) for (spool, _), run in zip(ended, runs, strict=True)]


def _followed(workspace: Workspace, book: Book, spool: Spool, stage: Stage | None, taken: TakenIn) -> list[_Arrived]:
    """How far a run is, if there is anything to be taken in. Raises LogbookError."""
    run = book.run_called(spool.run_name)
    if run is None:
        # A client that is about to write the record, or was cut off before it could; else it lies on another branch.
        is_abandoned = time.time() - spool.folder.stat().st_mtime > _ABANDONED_S
        if is_abandoned and not spool.is_held() and not spool.is_used():
            spool.drop()
        return []
    executor = executor_of(workspace, run)
    if stage is None:
        found = executor.follow(spool)
        stage = found.stage
        if found.trouble is not None:
            taken.troubles[spool.folder] = found.trouble
    if stage not in OVER and run.child is not None:
        return []  # all that is known of it stands in the record
    return [_Arrived(spool=spool, run=run, executor=executor, stage=stage)]


def _bring(book: Book, one: _Arrived) -> None:
    """Bring all files of a run that is over into its spool."""
    spool = one.spool
    if one.stage in OVER:
        one.executor.collect(spool)
    if one.stage == "lost" and spool.has(FINAL):
        spool.end()  # it cannot be read: not lost until somebody says so
    if one.stage == "ended":
        one.digest = _digest(book, spool, book.log_path(one.run.entry, one.run.run))
        one.changed = tuple(_changed_files(book, one))


def _settled(workspace: Workspace, book: Book, one: _Arrived) -> list[Run]:
    """The record with its end, where that is to be written, while nobody else writes; what else is known is written."""
    # Another command may have ended it since it was asked about.
    spool, stage, run = one.spool, one.stage, book.reread(one.run)
    if run.exit is not None:
        if stage in OVER:
            _keep_late(workspace, book, spool, run, stage)
        return []
    began = _began(spool)
    known = with_facts(run, began) if began is not None else run
    sent = _sent(spool)
    known = dataclasses.replace(known, job=sent.job) if sent is not None and sent.job is not None else known
    if stage not in OVER:
        if known != run:
            book.write_run(known)
        return []
    _keep_files(book, spool, run)
    return [_ended(workspace, book, one, known, began)]


def _ended(workspace: Workspace, book: Book, one: _Arrived, run: Run, began: Began | None) -> Run:
    """The record with its end; nothing is made up where nobody saw it."""
    spool, stage = one.spool, one.stage
    end = spool.end() if stage == "ended" else None
    if end is not None:
        files = (f"the copy of {name} is missing or was changed: its digest differs" for name in one.changed)
        problems = (*run.problems, *noted(*_changed(end, one.digest), *files, *_clock(spool, began, end)))
        return with_end(dataclasses.replace(run, problems=problems), end)
    said = _errors(spool, workspace)
    if stage == "never-started":
        why = f"never started: {said}" if said else "never started: its worker did not start"
        return dataclasses.replace(run, exit=Exit(never_started=True), problems=(*run.problems, *noted(why)))
    facts = began.problems if began is not None else ()
    known = dataclasses.replace(run, problems=(*run.problems, *facts))
    why = f"lost: its worker vanished{f' ({said})' if said else ''}; this record was rebuilt from its log"
    return from_log(workspace, book, known, Exit(lost=True), why)


def _clock(spool: Spool, began: Began | None, end: End) -> tuple[str, ...]:
    """Problems of a run whose machine has a wrong clock."""
    if began is None or not spool.has(SENT):
        return ()
    return clock_problems(began.started, end.ended, sent=(spool.folder / SENT).stat().st_mtime, now=time.time())


def _began(spool: Spool) -> Began | None:
    """The facts before the command started; None where they are unknown, or cannot be read."""
    try:
        return spool.began()
    except StoreError:
        return None


def _sent(spool: Spool) -> Sent | None:
    try:
        return spool.sent()
    except StoreError:
        return None


def _changed(end: End, digest: str | None) -> list[str]:
    """A problem if the log is not the one that the worker wrote."""
    if end.output is None or not end.output.log_bytes or digest == end.output.sha256:
        return []
    return ["the log is missing" if digest is None else "the log was changed after the run: its digest differs"]


def _errors(spool: Spool, workspace: Workspace) -> str:
    """The last line that the worker itself complained in, else what its engine said of it, without secrets."""
    try:
        lines = (spool.read(ERRORS) or "").strip().splitlines()
        seen = spool.seen()
    except StoreError:
        return ""
    said = lines[-1] if lines else (seen.said if seen is not None else None) or ""
    return workspace.redactor.text(said)[:_ERROR_CHARS]


# -- files -----------------------------------------------------------------------------------------


def _digest(book: Book, spool: Spool, kept: Path) -> str | None:
    """The digest of the log, in the spool or where it was moved to already; None when there is none."""
    for path in (spool.folder / LOG, kept):
        if os.path.lexists(path):
            return book.files_of(path).digest(path)
    return None


def _changed_files(book: Book, one: _Arrived) -> Iterator[str]:
    """The files whose copy is not what the worker wrote, in the spool or where it was moved to already."""
    end = one.spool.end()
    folders = (one.spool.folder, book.run_folder(one.run.entry, one.run.run))
    for artifact in end.artifacts if end is not None else ():
        if artifact.kept is not None:
            path = next((f / artifact.kept for f in folders if os.path.lexists(f / artifact.kept)), None)
            try:
                is_whole = path is not None and book.files_of(path).digest(path) == artifact.sha256
            except StoreError:
                is_whole = False
            if not is_whole:
                yield artifact.name


def _keep_files(book: Book, spool: Spool, run: Run) -> None:
    """Move the log, the kept files of the code and those that the command left to the folder of the record."""
    folder = book.run_folder(run.entry, run.run)
    for name in _KEPT:
        if spool.has(name) and not os.path.lexists(folder / name):
            spool.files.transfer(name, book.files, folder / name)


def _keep_late(workspace: Workspace, book: Book, spool: Spool, run: Run, stage: Stage) -> None:
    """Handle a second end of a run: drop it if it is the same, else keep it in the backups and name it in the
    record."""
    end = spool.end() if stage == "ended" else None
    if end is None or (end.exit == run.exit and end.ended == run.ended):
        # A command that was cut off recorded it, and may not have come to the view.
        book.changed.add(run.entry)
        spool.drop()
        return
    place = book.folder / "backups" / f"late-{spool.folder.name}-{workspace.moment()}"
    book.files.make(place.parent)
    spool.files.transfer(spool.folder, book.files, place)
    spool.drop()
    rows = counted(len(end.rows), "row")
    said = (
        f"late: a second result, with {rows}, arrived after the first; it is kept in {place.relative_to(book.folder)}"
    )
    book.write_run(dataclasses.replace(run, problems=(*run.problems, *noted(said))))


# -- clocks of other machines ------------------------------------------------------------------------


# Smaller differences are not reported.
_SLACK_S = 60.0


def clock_problems(began: str, ended: str, *, sent: float, now: float) -> tuple[str, ...]:
    """What is wrong with the times of a run that was submitted and is over, by this machine's clock (seconds since the
    epoch). A clock that is ahead shows only in a run that ended not long ago."""
    behind_s = sent - datetime.fromisoformat(began).timestamp()
    ahead_s = datetime.fromisoformat(ended).timestamp() - now
    if behind_s > _SLACK_S:
        return (_problem("behind", behind_s, "the run began before it was submitted"),)
    if ahead_s > _SLACK_S:
        return (_problem("ahead", ahead_s, "the run has not ended yet"),)
    return ()


def _problem(how: str, off_s: float, seems: str) -> str:
    return f"the clock of that machine is {how} by {duration(off_s)} or more: its times say that {seems}"
