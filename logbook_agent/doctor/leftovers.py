"""What `doctor --fix` mends: runs that ended unseen, and the markers, folders and files that dead processes left."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterator
from pathlib import Path

from logbook_agent.doctor.checks import OLD_S, Survey, age_s
from logbook_agent.model.errors import StoreError
from logbook_agent.model.run import Run
from logbook_agent.model.worker_report import End
from logbook_agent.running.executors.intake import finish, take_in, take_in_all
from logbook_agent.store.book import Book
from logbook_agent.store.names import marker_name, run_of_marker
from logbook_agent.store.run_files import FINAL
from logbook_agent.store.spool import Spool
from logbook_agent.store.trouble import Trouble
from logbook_agent.text.phrases import counted


def check_unfinished(survey: Survey) -> Iterator[Trouble]:
    book = survey.book
    for found, run in survey.runs:
        if run.exit is not None:
            continue
        fix = functools.partial(_closed, survey, run)
        name, state = f"run {run.run} of {run.entry}", book.stage(run)
        if state == "orphaned":
            holder = book.spool(run).holder()
            pid = f" (pid {holder.group})" if holder is not None else ""
            mend = f"wait for it to end, or end it: logbook cancel {run.entry}"
            message = f"{name}: its tool is gone, its command{pid} still runs"
            yield Trouble("warning", "orphaned", found.path, message, mend)
        elif state == "elsewhere":
            message = f"{name} was started on {run.host.name}, and from here nobody can tell whether it still runs"
            mend = f"if that host is gone: {survey.fixing} finishes its record from its log"
            yield Trouble("warning", "unknown", found.path, message, mend, fix)
        elif state in ("gone", "lost"):
            message = f"{name} was cut off: its tool and its command are gone"
            mend = f"{survey.fixing} finishes its record from its log"
            yield Trouble("warning", "interrupted", found.path, message, mend, fix)


def _closed(survey: Survey, run: Run) -> str:
    """End a run that nobody finished, with what its log holds."""
    book, workspace = survey.book, survey.workspace
    spool = book.spool(run)
    if spool.folder.is_dir():
        taken = take_in_all(workspace, book, [spool], {spool.folder: "lost"})
        for error in taken.errors.values():
            raise error
        done = taken.ended.get(spool.folder)
    else:
        done = finish(workspace, book, run, "its tool and its command were gone")
    if done is None:
        return "another command finished it"
    how = "lost" if done.exit is not None and done.exit.lost else "interrupted"
    return f"finished as {how}, with {counted(len(done.rows), 'row')} from its log"


def check_markers(survey: Survey) -> Iterator[Trouble]:
    """A marker belongs to a run that goes on; whoever looks for those looks here first."""
    book = survey.book
    for marker in (book.open_folder / name for name in survey.names(book.open_folder) if not name.startswith(".")):
        if marker.is_dir():
            continue
        why = _why_not(survey, marker.name)
        if why is not None:
            message = f"marks a run as in progress, but {why}"
            yield Trouble("warning", "marker", marker, message, f"{survey.fixing} removes it", survey.removing(marker))
    for spool in book.spools():
        with contextlib.suppress(StoreError):
            if book.run_called(spool.run_name) is None and spool.is_used():
                message = f"holds the run {spool.run_name}, whose record is not here"
                mend = "check out the branch that has its record, or delete the folder to give up what the run measured"
                yield Trouble("warning", "spool", spool.folder, message, mend)


def _why_not(survey: Survey, name: str) -> str | None:
    """Why this marker marks nothing; None when it does, or when that cannot be told."""
    book = survey.book
    run_name = run_of_marker(name)
    if run_name is None:
        return "its name is not that of a run"
    try:
        run = book.run_called(run_name)
    except StoreError:
        return None
    if run is None:
        return "there is no record of it"
    return "the run has ended" if run.exit is not None and not book.spool(run).folder.is_dir() else None


def check_detached(survey: Survey) -> Iterator[Trouble]:
    """Ends that cannot be read, so that nobody can take them in; and series of runs that were cut off."""
    book = survey.book
    for spool in book.spools():
        try:
            spool.get(End)
        except StoreError as error:
            what = "records the run as lost, with what its log holds, and keeps the file in the backups"
            fix = functools.partial(_without_end, survey, spool)
            yield Trouble("error", "spool", spool.folder, error.message, f"{survey.fixing} {what}", fix)
    for entry_id in book.series_names():
        series = book.series(entry_id)
        if series.is_held() or series.has(FINAL):
            continue
        with contextlib.suppress(StoreError):
            message = f"the detached series of runs of {entry_id} was cut off"
            mend = f"to run the rest: {_again(book, entry_id)}; {survey.fixing} removes this folder with its messages"
            yield Trouble("warning", "series", series.folder, message, mend, survey.removing(series.folder))


def _again(book: Book, entry_id: str) -> str:
    """The command that makes the remaining runs of a series."""
    entry = book.entry(entry_id)
    if entry.recipe is None and entry.comparison is None:
        return f"its command again, in {entry_id}"
    return f"logbook {'ab' if entry.recipe is None else 'sweep'} --id {entry_id} --detach"


def _without_end(survey: Survey, spool: Spool) -> str:
    book = survey.book
    kept = book.folder / "backups" / f"doctor-{survey.workspace.moment()}" / marker_name(spool.run_name) / FINAL
    book.files.make(kept.parent)
    book.files.move(spool.folder / FINAL, kept)
    done = take_in(survey.workspace, book, spool)
    return "another command finished it" if done is None else "recorded as lost"


# -- temporary files -----------------------------------------------------------------------------------


def check_temporary_files(survey: Survey) -> Iterator[Trouble]:
    book = survey.book
    found = [*book.root.glob(f".{book.view_path.name}.*.tmp"), *map(Path, _temporary_files(str(book.folder)))]
    for path in sorted(found):
        if age_s(path) >= OLD_S:
            message = "left by an interrupted write; the file it was meant for is intact"
            yield Trouble(
                "warning", "temporary-file", path, message, f"{survey.fixing} removes it", survey.removing(path)
            )


def _temporary_files(folder: str) -> Iterator[str]:
    """Those below a folder. (`rglob` takes ten times as long, and a long entry has a folder for each run.)"""
    with contextlib.suppress(OSError), os.scandir(folder) as found:
        for item in found:
            if item.is_dir(follow_symlinks=False):
                yield from _temporary_files(item.path)
            elif item.name.startswith(".") and item.name.endswith(".tmp"):
                yield item.path
