"""Runs: of no entry, without a record, and those whose code or log is gone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from logbook_agent.doctor.survey import OLD_S, Survey, age_s
from logbook_agent.model.entry import id_number
from logbook_agent.model.run_numbers import run_number
from logbook_agent.running.provenance.git_calls import in_head
from logbook_agent.store.names import CODE, LOG, SWEEP_CSV, marker_name
from logbook_agent.store.trouble import Trouble
from logbook_agent.text.commands.script import title_of
from logbook_agent.text.phrases import listed


def check_folders(survey: Survey) -> Iterator[Trouble]:
    """Folders of runs that belong to no entry, and folders in the others that are no runs."""
    book = survey.book
    for name in survey.names(book.runs_folder):
        folder = book.runs_folder / name
        if not folder.is_symlink() and not folder.is_dir():
            continue
        if (why := _not_of_an_entry(survey, folder)) is not None:
            yield Trouble("error", "orphaned-runs", folder, *why)
        elif book.has_entry(name):
            for run in survey.names(folder):
                yield from _check_run(survey, folder / run)


def _not_of_an_entry(survey: Survey, folder: Path) -> tuple[str, str] | None:
    """Why the runs in a folder are of no entry, and what to type; None where they are, or are just being made."""
    book, name = survey.book, folder.name
    if folder.is_symlink():
        return "a symbolic link, which is not followed", "put the folder itself in its place"
    if id_number(name, book.header.prefix) is None:
        return f"runs of {name}, which is not an ID of this logbook", "move them where they belong"
    if book.has_entry(name):
        right = book.entry_runs_folder(name)
        source = f"{survey.shown(folder)}/*" if right.is_dir() else survey.shown(folder)
        mend = f"mv -n {source} {survey.shown(right)}"
        return None if right == folder else (f"runs of {name}, whose entry is {right.name}", mend)
    message, path = f"runs of {name}, but there is no such entry", book.entries_folder / f"{name}.yaml"
    if in_head(path):
        return message, f"git restore -- {survey.shown(path)}"
    if runs := [run for found, run in survey.runs if found.path.parents[1] == folder]:
        title = title_of(runs[0].command) or name
        return message, f"write {survey.shown(path)} with two lines: `title: {title}` and `opened: {runs[0].started}`"
    if age_s(folder) < OLD_S:
        return None
    return f"{message}, and they hold no record", "check the folder, then delete it"


def _check_run(survey: Survey, folder: Path) -> Iterator[Trouble]:
    if run_number(folder.name) is None or folder.is_symlink() or not folder.is_dir():
        if not folder.name.startswith(".") and folder.name != SWEEP_CSV:
            message = f"{folder.name} is not a run: those are folders such as 01.p2m4a"
            yield Trouble("warning", "run-name", folder, message, "move it out of runs/")
        return
    record = folder / "run.json"
    if record in survey.reported or os.path.lexists(record):
        return
    if in_head(record):
        typed = f"git restore -- {survey.shown(record)}"
        yield Trouble("error", "run-record", folder, "its run.json is gone", typed)
    elif (folder / LOG).exists():
        mend = "restore run.json from where it was lost, or delete the folder"
        yield Trouble("error", "run-record", folder, "an output without a run.json", mend)
    elif age_s(folder) >= OLD_S or _is_dead(survey, folder):
        # `run` makes the folder, looks at the code, and then writes the record.
        message, mend = "a run that was cut off before anything started", f"{survey.fixing} removes the folder"
        yield Trouble("warning", "run-record", folder, message, mend, survey.removing(folder))


def _is_dead(survey: Survey, folder: Path) -> bool:
    """Whether the work of a run without a record began, and nobody goes on with it."""
    book, name = survey.book, f"{folder.parent.name}/{folder.name}"
    spool = next((spool for spool in book.spools() if spool.run_name == name), None)
    is_begun = os.path.lexists(book.open_folder / marker_name(name))
    return is_begun and (spool is None or not (spool.is_held() or spool.is_used()))


def check_code(survey: Survey) -> Iterator[Trouble]:
    """Diffs and untracked files that are gone: the code of their runs cannot be had again."""
    named: dict[Path, list[str]] = {}
    for found, run in survey.runs:
        for name in run.code.kept if run.code is not None and run.exit is not None else ():
            folder = survey.book.folder if name.startswith(f"{CODE}/") else found.path.parent
            named.setdefault(folder / name, []).append(f"run {found.number} of {found.entry}")
    for path, runs in named.items():
        if not os.path.lexists(path):
            message = f"code of {listed(runs, 3)} is gone: what these runs executed cannot be reproduced"
            restored = f"git restore -- {survey.shown(path)}"
            mend = restored if in_head(path) else "copy the file from a backup or another clone"
            yield Trouble("warning", "code", path, message, mend)


def check_logs(survey: Survey) -> Iterator[Trouble]:
    """A missing log is nothing wrong: they stay on the machine that ran the experiment. One of another size than
    the record says was changed."""
    missing = 0
    for found, run in survey.runs:
        if run.output is None or not run.output.log_bytes:
            continue
        path = found.path.with_name(LOG)
        try:
            size = path.lstat().st_size
        except OSError:
            missing += 1
            continue
        if size != run.output.log_bytes:
            message = f"the log has {size} bytes; {run.output.log_bytes} were written"
            mend = "it was changed after the run; the excerpt and the rows in run.json are what was seen"
            yield Trouble("warning", "log", path, message, mend)
    if missing:
        logs = f"{missing} {'logs are' if missing > 1 else 'log is'}"
        yield Trouble(
            "note", "missing-logs", None, f"{logs} not here: in another worktree, on another machine, or deleted"
        )
