"""Folders of runs: of no entry, or without a record."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from logbook_agent.doctor.damaged import every_run, names
from logbook_agent.doctor.examination import DOCTOR_FIX, Examination
from logbook_agent.doctor.leftovers import OLD_S, age_s
from logbook_agent.model.entry import id_number
from logbook_agent.model.errors import LogbookError
from logbook_agent.model.run import Run
from logbook_agent.model.run_numbers import run_number
from logbook_agent.running.provenance.conflicts import in_head
from logbook_agent.store.layout import CODE, SWEEP_CSV
from logbook_agent.store.trouble import Fix, Trouble
from logbook_agent.text.commands.title import title_of
from logbook_agent.text.phrases import listed


def check_runs(examination: Examination) -> Iterator[Trouble]:
    book = examination.book
    if not book.runs_folder.is_dir():
        return
    for folder in sorted(book.runs_folder.iterdir()):
        if folder.is_symlink():
            yield _lost(folder, "a symbolic link, which is not followed", "put the folder itself in its place")
            continue
        if not folder.is_dir():
            continue
        entry_id = folder.name
        if id_number(entry_id, book.header.prefix) is None:
            message = f"runs of {entry_id}, which is not an ID of this logbook"
            yield _lost(folder, message, "move them where they belong")
            continue
        if book.has_entry(entry_id) and book.entry_runs_folder(entry_id) != folder:
            yield _elsewhere(examination, folder)
            continue
        if not book.has_entry(entry_id):
            lost = _of_no_entry(examination, folder)
            if lost is not None:
                yield lost
            continue
        for name in names(book, folder):
            yield from _check_run(examination, entry_id, folder / name)


def _lost(folder: Path, message: str, mend: str, fix: Fix | None = None) -> Trouble:
    return Trouble("error", "orphaned-runs", folder, message, mend, fix)


def check_code(examination: Examination) -> Iterator[Trouble]:
    """Diffs and untracked files that are gone: the code of their runs cannot be had again."""
    book = examination.book
    named: dict[Path, list[str]] = {}
    for found in every_run(book):
        run = found.run
        if isinstance(run, Run) and run.code is not None and run.exit is not None:
            for name in run.code.kept:
                folder = book.folder if name.startswith(f"{CODE}/") else found.path.parent
                named.setdefault(folder / name, []).append(f"run {found.number} of {found.entry}")
    for path, runs in named.items():
        if not os.path.lexists(path):
            message = f"code of {listed(runs, 3)} is gone: what these runs executed cannot be reproduced"
            shown = examination.workspace.shown(path)
            mend = f"git restore -- {shown}" if in_head(path) else "copy the file from a backup or another clone"
            yield Trouble("warning", "code", path, message, mend)


# -- runs of no entry --------------------------------------------------------------------------------


def _elsewhere(examination: Examination, folder: Path) -> Trouble:
    """Runs under the number of an entry, whose runs are those under its whole name."""
    shown, target = examination.workspace.shown, examination.book.entry_runs_folder(folder.name)
    source = f"{shown(folder)}/*" if target.is_dir() else shown(folder)
    return _lost(folder, f"runs of {folder.name}, whose entry is {target.name}", f"mv -n {source} {shown(target)}")


def _of_no_entry(examination: Examination, folder: Path) -> Trouble | None:
    book = examination.book
    entry_id = folder.name
    message = f"runs of {entry_id}, but there is no such entry"
    path = book.entries_folder / f"{entry_id}.yaml"
    shown = examination.workspace.shown(path)
    if in_head(path):
        return _lost(folder, message, f"git restore -- {shown}")
    runs = [run for _, run in book.each_run(book.names.id_of(entry_id)) if not isinstance(run, LogbookError)]
    if not runs:
        if age_s(folder) < OLD_S:
            return None
        return _lost(folder, f"{message}, and they hold no record", "check the folder, then delete it")
    title = title_of(runs[0].command) or entry_id
    return _lost(folder, message, f"write {shown} with two lines: `title: {title}` and `opened: {runs[0].started}`")


# -- single runs -------------------------------------------------------------------------------------


def _check_run(examination: Examination, entry_id: str, folder: Path) -> Iterator[Trouble]:
    number = run_number(folder.name)
    if number is None or folder.is_symlink() or not folder.is_dir():
        if not folder.name.startswith(".") and folder.name != SWEEP_CSV:
            message = f"{folder.name} is not a run: those are folders such as 01.p2m4a"
            yield Trouble("warning", "run-name", folder, message, "move it out of runs/")
        return
    path = folder / "run.json"
    if path in examination.reported:
        return
    if not os.path.lexists(path):
        yield from _without_record(examination, folder)


def _without_record(examination: Examination, folder: Path) -> Iterator[Trouble]:
    inside = [p for p in folder.iterdir() if not p.name.startswith(".")]
    if inside and in_head(folder / "run.json"):
        typed = f"git restore -- {examination.workspace.shown(folder / 'run.json')}"
        yield Trouble("error", "run-record", folder, "its run.json is gone", typed)
    elif (folder / "output.log").exists():
        mend = "restore run.json from where it was lost, or delete the folder"
        yield Trouble("error", "run-record", folder, "an output without a run.json", mend)
    elif age_s(folder) >= OLD_S:
        # `run` makes the folder, looks at the code, and then writes the record.
        def fix() -> str:
            for path in folder.rglob("*"):
                if not path.is_dir() or path.is_symlink():
                    examination.backup(path)
            examination.book.files.remove_tree(folder)
            return "removed"

        message = "a run that was cut off before anything started"
        yield Trouble("warning", "run-record", folder, message, f"{DOCTOR_FIX} removes the folder", fix)
