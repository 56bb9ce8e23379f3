"""One reading of the records of a logbook, which all checks look at. And the checks of its header and entries:
conflicts of git, names, relations, what cannot be read; and of its runs: of no entry, without a record, code or log."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path

from msgspec import Struct

from logbook_agent.model.entry import RELATIONS, Entry, bare_id, format_id, id_number, parse_id, typed_id
from logbook_agent.model.errors import LogbookError, StoreError
from logbook_agent.model.run import Run
from logbook_agent.model.values import run_number
from logbook_agent.running.provenance.git_calls import in_head, ref_beside_head, unmerged_below
from logbook_agent.store import records
from logbook_agent.store.book import Book
from logbook_agent.store.folder import RUN_BYTES
from logbook_agent.store.names import SWEEP_CSV, marker_name
from logbook_agent.store.run_files import CODE, LOG
from logbook_agent.store.trouble import Fix, Trouble
from logbook_agent.store.workspace import Workspace, naming
from logbook_agent.text.commands.script import title_of
from logbook_agent.text.phrases import listed

# Younger ones may belong to a process that is just writing.
OLD_S = 60.0


class FoundRun(Struct, frozen=True, kw_only=True):
    """The record of a run; the error of one that cannot be read."""

    entry: str
    number: int
    path: Path
    run: Run | LogbookError


class Survey:
    """The entries and runs of a logbook. `reported` are the files of which a check has spoken already."""

    def __init__(self, workspace: Workspace, book: Book, reported: set[Path]) -> None:
        self.workspace = workspace
        self.book = book
        self.reported = reported

    def typed(self, command: str) -> str:
        """A command as it is typed for this logbook."""
        return shlex.join(["logbook", *naming(self.workspace, self.book), *command.split()])

    @property
    def fixing(self) -> str:
        """The command that mends."""
        return self.typed("doctor --fix")

    @cached_property
    def entries(self) -> dict[Path, Entry | StoreError]:
        """Each entry by its file; the error of one that cannot be read."""
        found: dict[Path, Entry | StoreError] = {}
        for entry_id in self.book.entry_ids():
            path = self.book.entry_path(entry_id)
            try:
                found[path] = self.book.entry(entry_id)
            except StoreError as error:
                found[path] = error
        return found

    @cached_property
    def found_runs(self) -> list[FoundRun]:
        """All records of runs, by the names of their folders; also those of no entry."""
        book = self.book
        folders = {name: book.names.id_of(name) for name in self.names(book.runs_folder)}
        return [
            FoundRun(entry=entry, number=number, path=book.run_folder(entry, number) / "run.json", run=run)
            for name, entry in folders.items()
            if book.whole_name(entry) == name
            for number, run in book.each_run(entry)
        ]

    @property
    def runs(self) -> Iterator[tuple[FoundRun, Run]]:
        """Those that can be read."""
        return ((found, found.run) for found in self.found_runs if isinstance(found.run, Run))

    def names(self, folder: Path) -> list[str]:
        """The names in a folder of the logbook in order; none where there is none, or a link in its place."""
        try:
            return sorted(self.book.files.names(folder))
        except StoreError:
            return []

    def shown(self, path: Path) -> str:
        """A file as it is typed here."""
        return self.workspace.shown(path)

    def removing(self, path: Path) -> Fix:
        """Removes a file or folder of the logbook."""

        def remove() -> str:
            files = self.book.files
            if path.is_dir() and not path.is_symlink():
                files.remove_tree(path)
            else:
                files.remove(path)
            return "removed"

        return remove


Check = Callable[[Survey], Iterator[Trouble]]


def age_s(path: Path) -> float:
    """How long ago a file was changed; 0 when it is gone."""
    try:
        return time.time() - path.lstat().st_mtime
    except OSError:
        return 0.0


# -- header and entries ----------------------------------------------------------------------------------

_MARKERS = b"<<<<<<< ", b"=======", b">>>>>>> "


def check_header(survey: Survey) -> Iterator[Trouble]:
    path = survey.book.header_path
    try:
        records.read_header(survey.book.files, path)
    except StoreError as error:
        yield _unreadable(path, error, check="header")


def check_merges(survey: Survey) -> Iterator[Trouble]:
    """Files at which git stopped, and records with conflict markers of which its index says nothing any more."""
    book = survey.book
    unmerged = {book.folder / path: sides for path, sides in unmerged_below(book.folder).items()}
    # What can be read as a record has no line that starts with a marker.
    damaged = [found.path for found in survey.found_runs if isinstance(found.run, LogbookError)]
    for path in (*unmerged, *sorted(book.entries_folder.glob("*.yaml")), *damaged):
        line = _marked_line(survey, path)
        if path in survey.reported or (line is None and path not in unmerged):
            continue
        survey.reported.add(path)
        mend = f"git add -- {survey.shown(path)}"
        if path not in unmerged:
            message = "holds conflict markers, which were added to git"
            mend = f"keep one version of each part, then: {mend}"
        else:
            message = f"in conflict: {'both sides changed it' if len(unmerged[path]) == 2 else 'one side removed it'}"
            if line or not os.path.lexists(path):
                mend = f"resolve it in the file, then type: {mend}"
        yield Trouble("error", "merge", path, message, mend, line=line)


def _marked_line(survey: Survey, path: Path) -> int | None:
    """The line, from 1, of the first conflict marker in a file; None where it has not all three."""
    try:
        data = survey.book.files.read(path, limit=RUN_BYTES)
    except StoreError:
        return None
    lines = data.split(b"\n") if _MARKERS[0] in data else []
    found = [next((n for n, line in enumerate(lines, 1) if line.startswith(marker)), None) for marker in _MARKERS]
    return found[0] if all(found) else None


def check_names(survey: Survey) -> Iterator[Trouble]:
    """Files in entries/ whose name is not an ID of this logbook."""
    book, prefix = survey.book, survey.book.header.prefix
    for name in survey.names(book.entries_folder):
        path, stem = book.entries_folder / name, name.removesuffix(".yaml")
        if name.startswith(".") or (stem != name and id_number(stem, prefix) is not None):
            continue
        right = typed_id(stem)
        if parse_id(right) is not None and id_number(right, prefix) is not None:
            message = f"its name should be {right}.yaml"
            mend = shlex.join(["mv", "-n", "--", survey.shown(path), survey.shown(path.with_name(f"{right}.yaml"))])
            yield Trouble("error", "entry-name", path, message, mend)
        else:
            message = f"it is not an entry of this logbook: those are named as {format_id(prefix, 0)}.yaml"
            yield Trouble("warning", "entry-name", path, message, "move it out of entries/")


def check_records(survey: Survey) -> Iterator[Trouble]:
    """Entries and runs that cannot be read, and relations to later entries."""
    for path, entry in survey.entries.items():
        if path in survey.reported:
            continue
        if isinstance(entry, StoreError):
            yield _unreadable(path, entry, check="entry")
            continue
        for name in RELATIONS:
            yield from _backwards(survey, path, entry, name)
    for found in survey.found_runs:
        if isinstance(found.run, StoreError) and found.path not in survey.reported:
            yield _unreadable(found.path, found.run, check="run")


def _backwards(survey: Survey, path: Path, entry: Entry, name: str) -> Iterator[Trouble]:
    """A relation to a later entry, which commands refuse: no reader looks for it among the earlier ones."""
    book, target = survey.book, getattr(entry, name)
    own, other = (id_number(i or "", book.header.prefix) for i in (entry.id, target))
    if own is None or other is None or other < own or not book.has_entry(target):
        return
    message = f"{entry.id} {name} {target}, which is no earlier entry"
    taking_back = "--state void" if name == "decides" else f"--{name} ''"
    yield Trouble("warning", "relation", path, message, f"logbook edit {entry.id} {taking_back} takes it back")


def _unreadable(path: Path, error: StoreError, *, check: str) -> Trouble:
    """The finding of a record that cannot be read; one of a newer format has a check of its own."""
    if error.hint.startswith("upgrade"):
        check = "newer-format"
    return Trouble("error", check, path, error.message, error.hint or error.cause, line=getattr(error, "line", None))


def check_twins(survey: Survey) -> Iterator[Trouble]:
    """Entries with one number, from two clones: nothing to mend, and every reader shows the whole names."""
    found = survey.book.names
    for entry_id in sorted({bare_id(one) for one in found.ids if one != bare_id(one)}):
        if len(twins := found.twins(entry_id)) > 1:
            message = f"{entry_id} is the number of {len(twins)} entries: {listed(twins, 6)}; name them so"
            yield Trouble("note", "twins", None, message, items=tuple(twins))


def check_voids(survey: Survey) -> Iterator[Trouble]:
    """IDs without an entry, which another branch has, or whose command died before it wrote one: nothing to mend."""
    book = survey.book
    found = {
        one: ref_beside_head(book.entries_folder / f"{one}*.yaml") for one in book.reservations.voids(book.entry_ids())
    }
    for ref in dict.fromkeys(found.values()):
        of = [one for one in found if found[one] == ref]
        why = f"on {ref}, which is not merged here" if ref else "reserved by a command that died; not used again"
        yield Trouble("note", "void", None, f"{listed(of, 6)}: {why}", items=tuple(of))


# -- runs ------------------------------------------------------------------------------------------------


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
