"""Runs that nobody finished, and the markers in open/ that say which runs go on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from logbook_agent.doctor.every_run import every_run
from logbook_agent.doctor.finding import DOCTOR_FIX, Examination, Finding
from logbook_agent.model.errors import StoreError
from logbook_agent.model.ids import id_number, run_number
from logbook_agent.model.run import Run
from logbook_agent.running.recover import finish
from logbook_agent.store import records
from logbook_agent.store.processes import life

GONE = "tool and command were gone"


def check_unfinished(examination: Examination) -> Iterator[Finding]:
    book = examination.book
    elsewhere = 0
    for found in every_run(book):
        run = found.run
        # (Of what is damaged or misplaced other checks tell.)
        if not isinstance(run, Run) or run.exit is not None or not found.is_in_place:
            continue
        state = life(run)
        elsewhere += state == "elsewhere"
        if state in ("gone", "child"):
            yield _interrupted(examination, run, found.path) if state == "gone" else _orphaned(run, found.path)
    if elsewhere:
        yield Finding(
            check="unfinished",
            severity="note",
            message=f"{elsewhere} unfinished {'runs' if elsewhere > 1 else 'run'} on another host",
            mend="logbook doctor, on that host",
        )


def _interrupted(examination: Examination, run: Run, path: Path) -> Finding:
    def fix() -> str:
        done = finish(examination.workspace, examination.book, examination.stamp, run.entry, run.run, GONE)
        if done is None:
            return "another command finished it"
        return f"finished as interrupted, with {len(done.rows)} row{'' if len(done.rows) == 1 else 's'} from its log"

    return Finding(
        check="interrupted",
        severity="warning",
        message=f"run {run.run} of {run.entry} was cut off: its tool and its command are gone",
        mend=f"{DOCTOR_FIX} finishes its record from its log",
        path=path,
        fix=fix,
    )


def _orphaned(run: Run, path: Path) -> Finding:
    pid = run.child.pid if run.child is not None else None
    return Finding(
        check="orphaned",
        severity="warning",
        message=f"run {run.run} of {run.entry}: its tool is gone, its command (pid {pid}) still runs",
        mend=f"wait for it to end and type {DOCTOR_FIX}, or end it: logbook doctor --stop {run.entry}",
        path=path,
    )


def check_markers(examination: Examination) -> Iterator[Finding]:
    """A marker belongs to a run that goes on; whoever looks for those looks here first."""
    book = examination.book
    if not book.open_folder.is_dir():
        return
    for marker in sorted(book.open_folder.iterdir()):
        why = None if marker.name.startswith(".") else _why_not(examination, marker.name)
        if why is None:
            continue

        def fix(marker: Path = marker) -> str:
            examination.remove(marker)
            return "removed"

        yield Finding(
            check="marker",
            severity="warning",
            message=f"marks a run as in progress, but {why}",
            mend=f"{DOCTOR_FIX} removes it",
            path=marker,
            fix=fix,
        )


def _why_not(examination: Examination, name: str) -> str | None:
    """Why this marker marks nothing; None when it does, or when that cannot be told."""
    book = examination.book
    entry_id, _, digits = name.rpartition(".")
    number = run_number(digits)
    if id_number(entry_id, book.header.prefix) is None or number is None:
        return "its name is not that of a run"
    path = book.run_folder(entry_id, number) / "run.json"
    if not os.path.lexists(path):
        return "there is no such run"
    try:
        return "the run has ended" if records.read_run(path).exit is not None else None
    except StoreError:
        return None
