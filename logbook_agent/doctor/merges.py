"""Conflicts of a merge: two entries or runs with one number are told apart; everything else is resolved by people.

When two clones gave out one ID, git stops the merge with a conflict in a file that both sides created. Ours keeps the
number, theirs gets the next one. A mend that was cut off is completed by the next: ours is restored last, so until then
the conflict is found again.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from logbook_agent.doctor.damaged import every_run
from logbook_agent.doctor.examination import DOCTOR_FIX, Examination
from logbook_agent.doctor.renumber import entry_in, readable, relate, renumbered, run_at, run_in, same_run, twin_of
from logbook_agent.model.entry import Entry, run_number
from logbook_agent.model.errors import StoreError
from logbook_agent.model.run import Run
from logbook_agent.running.provenance.conflicts import GitConflicts, conflicts_below
from logbook_agent.store import records
from logbook_agent.store.files import digest_of, make_folder, move, remove_folder, write_atomic
from logbook_agent.store.reading import CODE, LOG, RUN_BYTES, read_bytes
from logbook_agent.store.trouble import Trouble

_MARKERS = b"<<<<<<< ", b"=======", b">>>>>>> "


def check_merges(examination: Examination) -> Iterator[Trouble]:
    book = examination.book
    conflicts = conflicts_below(book.folder)
    unmerged = sorted(conflicts.unmerged) if conflicts is not None else []
    examination.reported.update(book.folder / path for path in unmerged)
    yield from _left_markers(examination)
    if conflicts is None:
        return
    mend = _Mend(examination=examination, conflicts=conflicts)
    two_entries = [i for path in unmerged if path.startswith("entries/") and mend.two_entries(i := Path(path).stem)]
    for entry_id in two_entries:
        yield _two_entries(mend, entry_id)
    told = [f"runs/{entry_id}/" for entry_id in two_entries]
    for path in unmerged:
        if path.startswith("runs/") and path.endswith("/run.json") and not path.startswith(tuple(told)):
            _, entry_id, name, *_ = path.split("/")
            number = run_number(name)
            if number is not None and mend.their_run(entry_id, number) is not None:
                told.append(f"runs/{entry_id}/{name}/")
                yield _two_runs(mend, entry_id, number)
    done = {f"entries/{entry_id}.yaml" for entry_id in two_entries}
    for path in unmerged:
        if path not in done and not path.startswith(tuple(told)):
            yield _by_hand(mend, path)


def _two_entries(mend: _Mend, entry_id: str) -> Trouble:
    examination = mend.examination
    path = examination.book.entry_path(entry_id)
    ours, theirs = mend.entries_of(entry_id)
    twin = mend.twin(entry_id)
    if twin is not None and mend.is_restored(entry_id):
        mend.relations[entry_id] = twin
        message = f"{entry_id} named two entries; theirs is now {twin}, and git does not know yet"
        return Trouble("note", "merge", path, message, examination.git_add())
    message = f"{entry_id} names two entries since a merge: ours {ours.title!r}, theirs {theirs.title!r}"
    if examination.book.series(entry_id).is_held():
        # It writes each of its runs under the ID that it began with.
        mended = f"wait until its detached series of runs has ended (logbook wait {entry_id}), then: {DOCTOR_FIX}"
        return Trouble("error", "merge", path, message, mended)
    mended = f"{DOCTOR_FIX} keeps ours and gives theirs the next free ID"
    return Trouble("error", "merge", path, message, mended, functools.partial(mend.renumber, entry_id))


def _two_runs(mend: _Mend, entry_id: str, number: int) -> Trouble:
    examination = mend.examination
    path = examination.book.run_folder(entry_id, number) / "run.json"
    done = mend.moved_to(entry_id, number, entry_id)
    if done is not None and not mend.is_left(f"runs/{entry_id}/{number:02d}/"):
        where = f"run {done} of {entry_id}"
        message = f"run {number} of {entry_id} was two runs; theirs is now {where}, and git does not know yet"
        return Trouble("note", "merge", path, message, examination.git_add())
    mended = f"{DOCTOR_FIX} keeps ours and gives theirs the next number"
    fix = functools.partial(mend.renumber_run, entry_id, number)
    return Trouble(
        "error", "merge", path, f"run {number} of {entry_id} stands for two different runs since a merge", mended, fix
    )


def _by_hand(mend: _Mend, path: str) -> Trouble:
    examination = mend.examination
    file = examination.book.folder / path
    line = _marked_line(examination, file)
    both = mend.conflicts.ours(path) is not None and mend.conflicts.theirs(path) is not None
    what = "both sides changed it" if both else "one side removed it"
    typed = f"git add -- {examination.workspace.shown(file)}"
    next_step = f"resolve it in the file, then type: {typed}" if line or not file.exists() else typed
    return Trouble("error", "merge", file, f"in conflict: {what}", next_step, line=line)


def _left_markers(examination: Examination) -> Iterator[Trouble]:
    """Records with conflict markers of which git's index says nothing: they were staged or committed with them."""
    book = examination.book
    # What can be read as a record is JSON, in which no line starts with a marker.
    runs = (found.path for found in every_run(book) if not isinstance(found.run, Run))
    for path in (*sorted(book.folder.glob("entries/*.yaml")), *runs):
        line = _marked_line(examination, path)
        if line is None or path in examination.reported:
            continue
        examination.reported.add(path)
        again = f"git checkout --merge -- {examination.workspace.shown(book.folder)}"
        mend = (
            f"before the merge is committed: {again}, then {DOCTOR_FIX}; later: keep one version in this file, put"
            f" another entry into a file of its own beside it, then {DOCTOR_FIX}"
        )
        yield Trouble("error", "merge", path, "holds conflict markers, which were added to git", mend, line=line)


def _marked_line(examination: Examination, path: Path) -> int | None:
    """The line, from 1, of the first conflict marker in a file; None where it has not all three."""
    try:
        data = read_bytes(path, within=examination.book.root, limit=RUN_BYTES)
    except StoreError:
        return None
    lines = data.split(b"\n") if _MARKERS[0] in data else []
    found = [next((n for n, line in enumerate(lines, 1) if line.startswith(marker)), None) for marker in _MARKERS]
    return found[0] if all(found) else None


@dataclass(slots=True, kw_only=True)
class _Mend:
    """The mend of one merge; `relations` are the IDs that theirs had and have now."""

    examination: Examination
    conflicts: GitConflicts
    relations: dict[str, str] = field(default_factory=dict)

    # -- two entries -----------------------------------------------------------------------------

    def two_entries(self, entry_id: str) -> bool:
        """Whether both sides created an entry with this ID."""
        name = f"entries/{entry_id}.yaml"
        if not self.conflicts.is_added_twice(name):
            return False
        path = self.examination.book.entry_path(entry_id)
        return None not in (
            entry_in(self.conflicts.ours(name), path),
            entry_in(self.conflicts.theirs(name), path),
        )

    def entries_of(self, entry_id: str) -> tuple[Entry, Entry]:
        """Our and their entry of an ID that both sides gave out."""
        path, name = self.examination.book.entry_path(entry_id), f"entries/{entry_id}.yaml"
        ours, theirs = self.conflicts.ours(name) or b"", self.conflicts.theirs(name) or b""
        return records.entry_of(ours, path), records.entry_of(theirs, path)

    def twin(self, entry_id: str) -> str | None:
        """The ID under which a mend wrote their entry already."""
        return twin_of(self.examination, self.entries_of(entry_id)[1], entry_id, self.their_runs(entry_id))

    def is_restored(self, entry_id: str) -> bool:
        """Whether our entry is in its file, edited since perhaps, and none of their runs is left beside ours."""
        ours, theirs = self.entries_of(entry_id)
        there = readable(self.examination.book.entry_path(entry_id))
        is_ours = there is not None and there.opened == ours.opened and there != theirs
        return is_ours and not self.is_left(f"runs/{entry_id}/")

    def renumber(self, entry_id: str) -> str:
        """Give their entry the next free ID; what was done."""
        book = self.examination.book
        path = book.entry_path(entry_id)
        _, theirs = self.entries_of(entry_id)
        with book.lock():
            if path.exists():
                self.examination.backup(path)
            runs = self.their_runs(entry_id)
            new_id = renumbered(self.examination, theirs, entry_id, self.relations, runs)
            self.relations[entry_id] = new_id
            for number in runs:
                self._move_run(entry_id, number, new_id)
            theirs_alone = [Path(p).stem for p in self.conflicts.theirs_alone if p.startswith("entries/")]
            changed = relate(self.examination, [*self.relations.values(), *theirs_alone], self.relations)
            if not self.is_restored(entry_id):
                ours = self.conflicts.ours(f"entries/{path.name}") or b""
                write_atomic(path, ours, within=book.root, durable=book.durable)
        self.examination.reported.discard(path)
        says = f", also where {', '.join(changed)} referred to it" if changed else ""
        return (
            f"theirs is now {new_id}{says}{self._in_header(entry_id, new_id)}; then type: {self.examination.git_add()}"
        )

    def _in_header(self, entry_id: str, new_id: str) -> str:
        """What to change in a header that names the ID: nobody but its writer knows which entry is meant."""
        path = self.examination.book.header_path
        text = read_bytes(path, within=self.examination.book.root, limit=RUN_BYTES).decode("utf-8", "replace")
        if not re.search(rf"\b{re.escape(entry_id)}\b", text):
            return ""
        return f"; {path.name} names {entry_id}: write {new_id} there where theirs is meant"

    # -- two runs --------------------------------------------------------------------------------

    def their_runs(self, entry_id: str) -> dict[int, Run]:
        """By their numbers, the runs that they had in this entry: in conflict, or theirs alone."""
        at = f"runs/{entry_id}/"
        paths = (*self.conflicts.unmerged, *self.conflicts.theirs_alone)
        numbers = sorted({n for p in paths if p.startswith(at) and (n := run_number(p.split("/")[2])) is not None})
        return {n: run for n in numbers if (run := self.their_run(entry_id, n)) is not None}

    def their_run(self, entry_id: str, number: int) -> Run | None:
        """Their record of a run, unless it is another version of a run that ours has too."""
        name = f"runs/{entry_id}/{number:02d}/run.json"
        if name in self.conflicts.unmerged and not self.conflicts.is_added_twice(name):
            return None
        return run_in(self.conflicts.theirs(name), self.examination.book.folder / name)

    def is_left(self, at: str) -> bool:
        """Whether a folder of runs still holds files of theirs, or both sides of one."""
        folder = self.examination.book.folder
        if any(path.startswith(at) and os.path.lexists(folder / path) for path in self.conflicts.theirs_alone):
            return True
        mixed = (folder / path for path in self.conflicts.unmerged if path.startswith(at))
        return any(_marked_line(self.examination, path) is not None for path in mixed)

    def moved_to(self, entry_id: str, number: int, to_entry: str) -> int | None:
        """The number under which a mend put their run into an entry already."""
        theirs, book = self.their_run(entry_id, number), self.examination.book
        for folder in sorted(path.parent for path in (book.runs_folder / to_entry).glob("*/run.json")):
            run, found = run_at(folder), run_number(folder.name)
            if found is None or folder == book.run_folder(entry_id, number) or run is None or theirs is None:
                continue
            if same_run(run, theirs):
                return found
        return None

    def renumber_run(self, entry_id: str, number: int) -> str:
        """Give their run the next free number of its entry; what was done."""
        with self.examination.book.lock():
            new = self._move_run(entry_id, number, entry_id)
        return f"theirs is now run {new} of {entry_id}; then type: {self.examination.git_add()}"

    def _move_run(self, entry_id: str, number: int, to_entry: str) -> int:
        """Write their run into an entry, and restore ours in its place; the number that theirs has there."""
        book = self.examination.book
        old, at = book.run_folder(entry_id, number), f"runs/{entry_id}/{number:02d}/"
        theirs = self.their_run(entry_id, number)
        new = self.moved_to(entry_id, number, to_entry)
        if new is None and theirs is not None:
            is_free = to_entry != entry_id and not (book.run_folder(to_entry, number) / "run.json").exists()
            new = number if is_free else book.new_run(to_entry)
            folder = book.run_folder(to_entry, new)
            make_folder(folder, within=book.root)
            for name in sorted(_named(theirs)):
                self._copy(at + name, folder / name)
            self._move_log(theirs, old / LOG, folder / LOG)
            run = dataclasses.replace(theirs, entry=to_entry, run=new)
            records.write_run(folder / "run.json", run, durable=book.durable)
        self._restore(old, at)
        return new or number

    def _copy(self, path: str, to: Path) -> None:
        """Copy a file beside their run; one that both sides have alike is in no conflict, and still in its place."""
        book = self.examination.book
        data = self.conflicts.theirs(path)
        if data is None and (book.folder / path).exists():
            data = read_bytes(book.folder / path, within=book.root, limit=RUN_BYTES)
        if data is not None:
            make_folder(to.parent, within=book.root)
            write_atomic(to, data, within=book.root, durable=book.durable)

    def _move_log(self, run: Run, log: Path, to: Path) -> None:
        """Move the log with its run: git knows none, so it lies where the run was made."""
        within = self.examination.book.root
        if run.output is not None and os.path.lexists(log) and run.output.sha256 == digest_of(log, within=within):
            move(log, to, within=within)

    def _restore(self, folder: Path, at: str) -> None:
        """Restore our side of a run; files that only theirs had are removed. run.json comes last."""
        book = self.examination.book
        ours = run_in(self.conflicts.ours(f"{at}run.json"), folder / "run.json")
        keep = _named(ours) if ours is not None else set()
        paths = {p for p in (*self.conflicts.unmerged, *self.conflicts.theirs_alone) if p.startswith(at)}
        for path in sorted(paths, key=lambda p: p.endswith("/run.json")):
            file, mine = book.folder / path, self.conflicts.ours(path)
            if file.exists():
                self.examination.backup(file)
            if mine is not None:
                make_folder(file.parent, within=book.root)
                write_atomic(file, mine, within=book.root, durable=book.durable)
            elif file.exists() and path.removeprefix(at) not in keep:
                self.examination.remove(file)
        for empty in sorted({(book.folder / path).parent for path in paths}, reverse=True):
            with contextlib.suppress(StoreError, OSError):
                if not any(empty.iterdir()):
                    remove_folder(empty, within=book.root)


def _named(run: Run) -> set[str]:
    """The files beside a record that it names."""
    return {name for name in (run.code.kept if run.code is not None else ()) if not name.startswith(f"{CODE}/")}
