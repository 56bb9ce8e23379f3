"""Two clones gave out one ID, and a merge brought both entries together: ours keeps it, theirs gets the next."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from logbook_agent.doctor.finding import DOCTOR_FIX, Examination, Trouble
from logbook_agent.doctor.merged_header import doubtful, rename_theirs, words_of
from logbook_agent.doctor.renumber import (
    entry_in,
    readable,
    readdress,
    relate,
    renumbered,
    run_at,
    run_in,
    same_run,
    twin_of,
)
from logbook_agent.doctor.sides import Conflicts, Sides, conflicts_in, content
from logbook_agent.model.entry import Entry, id_number, run_number
from logbook_agent.model.errors import StoreError
from logbook_agent.model.run import Run
from logbook_agent.store import records
from logbook_agent.store.files import (
    create_folder,
    digest_of,
    make_folder,
    move,
    remove_folder,
    remove_tree,
    write_atomic,
)
from logbook_agent.store.reading import CODE, LOG


def check_merges(examination: Examination) -> Iterator[Trouble]:
    conflicts = conflicts_in(examination.book)
    if not conflicts.files:
        return
    for path in conflicts.files:
        examination.reported.add(examination.book.folder / path)
    mend = _Mend(examination=examination, conflicts=conflicts)
    told: set[str] = set()
    # An entry's conflict comes first and speaks for its runs.
    for path in sorted(conflicts.files, key=lambda p: (p.split("/")[0], p)):
        yield from _finding(mend, path, told)


def _finding(mend: _Mend, path: str, told: set[str]) -> Iterator[Trouble]:
    folder, _, rest = path.partition("/")
    sides = mend.conflicts.files[path]
    if folder == "entries" and id_number(Path(rest).stem, mend.examination.book.header.prefix) is not None:
        entry_id = Path(rest).stem
        pair = _pair(mend.examination, entry_id, sides)
        if pair is not None:
            told.add(entry_id)
            finding = _two_entries(mend, entry_id, *pair)
            yield finding
            if finding.fix is not None:
                yield from _unclear(mend.examination, entry_id, sides)
            return
    if folder == "runs" and len(rest.split("/")) >= 3:
        entry_id, number = rest.split("/")[:2]
        if entry_id in told or f"{entry_id}/{number}" in told:
            return
        told.add(f"{entry_id}/{number}")
        found = run_number(number)
        if found is not None and mend.their_run(entry_id, found) is not None:
            yield _two_runs(mend, entry_id, found)
            return
    yield _by_hand(mend.examination, path, sides)


def _pair(examination: Examination, entry_id: str, sides: Sides) -> tuple[Entry, Entry] | None:
    """Our and their entry when they are two, not two versions of one."""
    path = examination.book.entry_path(entry_id)
    ours, theirs = entry_in(sides.ours, path), entry_in(sides.theirs, path)
    if ours is None or theirs is None or sides.has_base:
        return None
    # Without a word from git the time alone tells: titles are edited, times are not.
    same = sides.has_base is None and ours.opened == theirs.opened
    return None if same else (ours, theirs)


def _is_ours(there: Entry | None, ours: Entry, theirs: Entry) -> bool:
    """Whether our entry stands in its file, edited since perhaps."""
    return there is not None and there.opened == ours.opened and there != theirs


def _two_entries(mend: _Mend, entry_id: str, ours: Entry, theirs: Entry) -> Trouble:
    examination = mend.examination
    path = examination.book.entry_path(entry_id)
    there = readable(path)
    twin = twin_of(examination, theirs, entry_id, mend.their_runs(entry_id))
    if twin is not None and _is_ours(there, ours, theirs) and not mend.runs_left(entry_id):
        mend.relations[entry_id] = twin
        message = f"{entry_id} named two entries; theirs is now {twin}, and git does not know yet"
        return Trouble("note", "merge", path, message, examination.git_add())
    message = f"{entry_id} names two entries since a merge: ours {ours.title!r}, theirs {theirs.title!r}"
    if examination.book.series(entry_id).is_held():
        # It writes each of its runs under the ID that it began with.
        mended = f"wait until its detached series of runs has ended (logbook wait {entry_id}), then: {DOCTOR_FIX}"
        return Trouble("error", "merge", path, message, mended)
    mended = f"{DOCTOR_FIX} keeps ours and gives theirs the next free ID"
    return Trouble("error", "merge", path, message, mended, functools.partial(mend.renumber, entry_id, ours, theirs))


def _unclear(examination: Examination, entry_id: str, sides: Sides) -> Iterator[Trouble]:
    """Where the header names an ID of two entries, and not from one side alone."""
    for place in doubtful(examination, entry_id, sides):
        message = f"{words_of(place)} names {entry_id}, which was two entries, and git does not tell which is meant"
        mend = "ours keeps the ID; where theirs is meant, write its new ID into logbook.yaml"
        yield Trouble("warning", "merge", examination.book.header_path, message, mend)


def _two_runs(mend: _Mend, entry_id: str, number: int) -> Trouble:
    examination = mend.examination
    path = examination.book.run_folder(entry_id, number) / "run.json"
    done = mend.moved_run(entry_id, number)
    if done is not None and not mend.marked(entry_id, number):
        where = f"run {done.run} of {done.entry}"
        message = f"run {number} of {entry_id} was two runs; theirs is now {where}, and git does not know yet"
        return Trouble("note", "merge", path, message, examination.git_add())
    mended = f"{DOCTOR_FIX} keeps ours and gives theirs the next number"
    fix = functools.partial(mend.renumber_run, entry_id, number)
    return Trouble("error", "merge", path, f"run {number} of {entry_id} is two runs since a merge", mended, fix)


def _by_hand(examination: Examination, path: str, sides: Sides) -> Trouble:
    file = examination.book.folder / path
    line = None
    if file.is_file():
        lines = content(examination.book, file).split(b"\n")
        line = next((n for n, text in enumerate(lines, 1) if text.startswith(b"<<<<<<< ")), None)
    what = "both sides changed it" if sides.ours is not None and sides.theirs is not None else "one side removed it"
    typed = f"git add -- {examination.workspace.shown(file)}"
    mend = f"resolve it in the file, then type: {typed}" if line or not file.exists() else typed
    return Trouble("error", "merge", file, f"in conflict: {what}", mend, line=line)


@dataclass(slots=True, kw_only=True)
class _Mend:
    """The mend of one merge; `relations` are the IDs that theirs had and have now."""

    examination: Examination
    conflicts: Conflicts
    relations: dict[str, str] = field(default_factory=dict)

    def renumber(self, entry_id: str, ours: Entry, theirs: Entry) -> str:
        book = self.examination.book
        path = book.entry_path(entry_id)
        with book.lock():
            if path.exists():
                self.examination.backup(path)
            runs = self.their_runs(entry_id)
            new_id = renumbered(self.examination, theirs, entry_id, self.relations, runs)
            self.relations[entry_id] = new_id
            for number in runs:
                self._move_run(entry_id, number, new_id)
            their_entries = [Path(p).stem for p in self.conflicts.theirs_alone if p.startswith("entries/")]
            changed = relate(self.examination, [*self.relations.values(), *their_entries], self.relations)
            sides = self.conflicts.files[f"entries/{path.name}"]
            changed += map(words_of, rename_theirs(self.examination, entry_id, sides, new_id))
            # Ours comes last: until it is whole, the conflict is seen, and a mend that was cut off goes on.
            there = readable(path)
            mine = sides.ours
            if mine is not None and not _is_ours(there, ours, theirs):
                write_atomic(path, mine, within=book.root, durable=book.durable)
        self.examination.reported.discard(path)
        says = f", also where {', '.join(changed)} referred to it" if changed else ""
        return f"theirs is now {new_id}{says}; then type: {self.examination.git_add()}"

    def renumber_run(self, entry_id: str, number: int) -> str:
        book = self.examination.book
        with book.lock():
            to_entry, new = self._move_run(entry_id, number, entry_id)
        return f"theirs is now run {new} of {to_entry}; then type: {self.examination.git_add()}"

    # -- their runs ------------------------------------------------------------------------------

    def their_runs(self, entry_id: str) -> dict[int, Run]:
        """By their numbers, the runs that they had in this entry: in conflict, or theirs alone."""
        at = f"runs/{entry_id}/"
        names = {p.split("/")[2] for p in (*self.conflicts.files, *self.conflicts.theirs_alone) if p.startswith(at)}
        numbers = sorted(number for n in names if (number := run_number(n)) is not None)
        return {n: run for n in numbers if (run := self.their_run(entry_id, n)) is not None}

    def their_run(self, entry_id: str, number: int) -> Run | None:
        """Their record of a run, unless it is another version of a run that ours has too."""
        name = f"runs/{entry_id}/{number:02d}/run.json"
        file = self.examination.book.folder / name
        sides = self.conflicts.files.get(name)
        if sides is not None:
            return None if sides.has_base else run_in(sides.theirs, file)
        if name in self.conflicts.theirs_alone and file.exists():
            return run_in(content(self.examination.book, file), file)
        return None

    def runs_left(self, entry_id: str) -> bool:
        """Whether any of their runs still has to be moved."""
        alone = any(
            p.startswith(f"runs/{entry_id}/") and (self.examination.book.folder / p).exists()
            for p in self.conflicts.theirs_alone
        )
        return alone or any(self.marked(entry_id, n) for n in self.their_runs(entry_id))

    def marked(self, entry_id: str, number: int) -> bool:
        """Whether the working files of a run still hold both sides."""
        at = f"runs/{entry_id}/{number:02d}/"
        return any(s.marked for p, s in self.conflicts.files.items() if p.startswith(at))

    def moved_run(self, entry_id: str, number: int) -> Run | None:
        """Their run where a mend put it already: in its entry, or in what that was renumbered to."""
        theirs = self.their_run(entry_id, number)
        book = self.examination.book
        heirs = [i for i in book.entry_ids() if (e := readable(book.entry_path(i))) and entry_id in e.aliases]
        places = (p for i in (entry_id, *heirs) for p in sorted((book.runs_folder / i).glob("*/run.json")))
        for folder in (p.parent for p in places if run_number(p.parent.name) is not None):
            if theirs is None or folder == book.run_folder(entry_id, number):
                continue
            run = run_at(folder)
            if run is not None and same_run(run, theirs):
                return dataclasses.replace(run, entry=folder.parent.name, run=int(folder.name))
        return None

    def _move_run(self, entry_id: str, number: int, to_entry: str) -> tuple[str, int]:
        """Their run under its number in another entry, or under the next free one; where it is now."""
        book = self.examination.book
        old = book.run_folder(entry_id, number)
        at = f"runs/{entry_id}/{number:02d}/"
        sides = self.conflicts.files.get(f"{at}run.json")
        if sides is None:
            to_number = self._claim(to_entry, old)
            new = book.run_folder(to_entry, to_number)
            _take(old, new, book.root)
            readdress(self.examination, new, to_entry, to_number)
            return to_entry, to_number
        theirs, to_number = run_in(sides.theirs, old / "run.json"), number
        moved = self.moved_run(entry_id, number)
        if moved is not None:
            to_entry, to_number = moved.entry, moved.run
        elif theirs is not None:
            to_number = self._claim(to_entry, old)
            self._make_run(dataclasses.replace(theirs, entry=to_entry, run=to_number), old, at)
            self._move_log(theirs, old / LOG, book.run_folder(to_entry, to_number) / LOG)
        ours = run_in(sides.ours, old / "run.json")
        if ours is not None:
            self._restore(old, at, _named(ours), self.conflicts.files)
        return to_entry, to_number

    def _claim(self, entry_id: str, old: Path) -> int:
        """The number of a run in another entry, or the next free one; its folder is created, so it is nobody else's."""
        book = self.examination.book
        folder = book.run_folder(entry_id, int(old.name))
        make_folder(folder.parent, within=book.root)
        # In the same entry the number is ours, whether its folder is there or not.
        if folder == old or not create_folder(folder, within=book.root):
            return book.new_run(entry_id)
        return int(old.name)

    def _make_run(self, run: Run, old: Path, at: str) -> None:
        """Their run, whole at once: it is put together beside the folder that was created for it."""
        book = self.examination.book
        new = book.run_folder(run.entry, run.run)
        made = new.with_name(f".doctor-{new.name}")
        remove_tree(made, within=book.root)
        try:
            make_folder(made, within=book.root)
            for name in sorted(_named(run)):
                self._copy(old / name, self.conflicts.files.get(at + name), made / name)
            records.write_run(made / "run.json", run, durable=book.durable)
            _take(made, new, book.root)
        finally:
            remove_tree(made, within=book.root)
            _give_back(new, book.root)

    def _move_log(self, run: Run, log: Path, to: Path) -> None:
        """Move the log with its run: git knows none, so it lies where the run was made."""
        within = self.examination.book.root
        if run.output is not None and os.path.lexists(log) and run.output.sha256 == digest_of(log, within=within):
            move(log, to, within=within)

    def _copy(self, file: Path, sides: Sides | None, to: Path) -> None:
        book = self.examination.book
        data = sides.theirs if sides is not None else content(book, file) if file.exists() else None
        if data is not None:
            make_folder(to.parent, within=book.root)
            write_atomic(to, data, within=book.root, durable=book.durable)

    def _restore(self, folder: Path, at: str, names: set[str], files: Mapping[str, Sides]) -> None:
        """Our side of a run's files; those that only theirs named are gone from here. run.json comes last."""
        mine = [p for p in files if p.startswith(at)] + [p for p in self.conflicts.theirs_alone if p.startswith(at)]
        book = self.examination.book
        for path in sorted(set(mine), key=lambda p: p.endswith("/run.json")):
            file = book.folder / path
            sides = files.get(path)
            if file.exists():
                self.examination.backup(file)
            if sides is not None and sides.ours is not None:
                make_folder(file.parent, within=book.root)
                write_atomic(file, sides.ours, within=book.root, durable=book.durable)
            elif path.removeprefix(at) not in {*names, "run.json"}:
                self.examination.remove(file)


def _take(folder: Path, claimed: Path, within: Path) -> None:
    """Move a folder to a name that was created for it; whatever is in there already stays, and this is refused."""
    try:
        move(folder, claimed, within=within)
    except StoreError:
        _give_back(claimed, within)
        raise


def _give_back(claimed: Path, within: Path) -> None:
    """Remove a folder that could not be filled, so that the next attempt finds its number free."""
    with contextlib.suppress(StoreError):
        remove_folder(claimed, within=within)


def _named(run: Run) -> set[str]:
    """The files beside a record that it names."""
    code = run.code
    if code is None:
        return set()
    kept = (code.diff_kept, *(file.kept for file in code.untracked))
    return {name for name in kept if name is not None and not name.startswith(f"{CODE}/")}
