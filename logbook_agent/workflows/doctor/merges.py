"""Two clones gave out one ID, and a merge brought both entries together: ours keeps it, theirs gets the next."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from logbook_agent.model.entry import Entry
from logbook_agent.model.ids import id_number
from logbook_agent.model.run import Run
from logbook_agent.store import records
from logbook_agent.store.files import make_folder, write_atomic
from logbook_agent.workflows.doctor.finding import DOCTOR_FIX, Examination, Finding, remove, rename
from logbook_agent.workflows.doctor.renumber import (
    entry_in,
    readable,
    readdress,
    relate,
    renumbered,
    run_in,
    twin_of,
)
from logbook_agent.workflows.doctor.sides import Conflicts, Sides, conflicts_in


def check_merges(examination: Examination) -> Iterator[Finding]:
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


def _finding(mend: _Mend, path: str, told: set[str]) -> Iterator[Finding]:
    folder, _, rest = path.partition("/")
    sides = mend.conflicts.files[path]
    if folder == "entries" and id_number(Path(rest).stem, mend.examination.book.header.prefix) is not None:
        entry_id = Path(rest).stem
        pair = _pair(mend.examination, entry_id, sides)
        if pair is not None:
            told.add(entry_id)
            yield _two_entries(mend, entry_id, *pair)
            return
    if folder == "runs" and len(rest.split("/")) >= 3:
        entry_id, number = rest.split("/")[:2]
        if entry_id in told or f"{entry_id}/{number}" in told:
            return
        told.add(f"{entry_id}/{number}")
        if number.isdigit() and mend.their_run(entry_id, int(number)) is not None:
            yield _two_runs(mend, entry_id, int(number))
            return
    yield _by_hand(mend.examination, path, sides)


def _pair(examination: Examination, entry_id: str, sides: Sides) -> tuple[Entry, Entry] | None:
    """Our and their entry when they are two, not two versions of one."""
    path = examination.book.entry_path(entry_id)
    ours, theirs = entry_in(sides.ours, path), entry_in(sides.theirs, path)
    if ours is None or theirs is None or sides.has_base:
        return None
    # Without a base from git the time alone tells: titles are edited, times are not.
    same = ours.opened == theirs.opened and (sides.has_base is None or ours.title == theirs.title)
    return None if same else (ours, theirs)


def _two_entries(mend: _Mend, entry_id: str, ours: Entry, theirs: Entry) -> Finding:
    examination = mend.examination
    path = examination.book.entry_path(entry_id)
    there = readable(path)
    twin = twin_of(examination, theirs, entry_id)
    if twin is not None and there is not None and there.opened == ours.opened and not mend.runs_left(entry_id):
        return Finding(
            check="merge",
            severity="note",
            message=f"{entry_id} named two entries; theirs is {twin} now, and git still has to be told",
            mend=examination.git_add(),
            path=path,
        )
    return Finding(
        check="merge",
        severity="error",
        message=f"{entry_id} names two entries since a merge: ours {ours.title!r}, theirs {theirs.title!r}",
        mend=f"{DOCTOR_FIX} keeps ours and gives theirs the next free ID",
        path=path,
        fix=lambda: mend.renumber(entry_id, ours, theirs),
    )


def _two_runs(mend: _Mend, entry_id: str, number: int) -> Finding:
    examination = mend.examination
    path = examination.book.run_folder(entry_id, number) / "run.json"
    done = mend.moved_run(entry_id, number)
    if done is not None and not mend.marked(entry_id, number):
        return Finding(
            check="merge",
            severity="note",
            message=f"run {number} of {entry_id} was two runs; theirs is run {done.run} of {done.entry} now,"
            " and git still has to be told",
            mend=examination.git_add(),
            path=path,
        )
    return Finding(
        check="merge",
        severity="error",
        message=f"run {number} of {entry_id} is two runs since a merge",
        mend=f"{DOCTOR_FIX} keeps ours and gives theirs the next number",
        path=path,
        fix=lambda: mend.renumber_run(entry_id, number),
    )


def _by_hand(examination: Examination, path: str, sides: Sides) -> Finding:
    file = examination.book.folder / path
    line = None
    if file.is_file():
        lines = file.read_bytes().split(b"\n")
        line = next((n for n, text in enumerate(lines, 1) if text.startswith(b"<<<<<<< ")), None)
    what = "both sides changed it" if sides.ours is not None and sides.theirs is not None else "one side removed it"
    typed = f"git add -- {examination.shown(file)}"
    return Finding(
        check="merge",
        severity="error",
        message=f"in conflict: {what}",
        mend=f"settle it in the file, then type: {typed}" if line or not file.exists() else typed,
        path=file,
        line=line,
    )


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
            new_id = renumbered(self.examination, theirs, entry_id, self.relations)
            self.relations[entry_id] = new_id
            for number in self.their_runs(entry_id):
                self._move_run(entry_id, number, new_id, number)
            their_entries = [Path(p).stem for p in self.conflicts.theirs_alone if p.startswith("entries/")]
            changed = relate(self.examination, [*self.relations.values(), *their_entries], self.relations)
            # Ours comes last: until it is whole, the conflict is seen, and a mend that was cut off goes on.
            there = readable(path)
            content = self.conflicts.files[f"entries/{path.name}"].ours
            if content is not None and (there is None or there.opened != ours.opened):
                write_atomic(path, content, durable=book.durable)
        self.examination.reported.discard(path)
        says = f", also where {', '.join(changed)} referred to it" if changed else ""
        return f"theirs is {new_id} now{says}; then type: {self.examination.git_add()}"

    def renumber_run(self, entry_id: str, number: int) -> str:
        book = self.examination.book
        with book.lock():
            moved = self.moved_run(entry_id, number)
            to_entry, new = (moved.entry, moved.run) if moved is not None else (entry_id, book.new_run(entry_id))
            self._move_run(entry_id, number, to_entry, new)
        return f"theirs is run {new} of {to_entry} now; then type: {self.examination.git_add()}"

    # -- their runs ------------------------------------------------------------------------------

    def their_runs(self, entry_id: str) -> list[int]:
        """Numbers of the runs that they had in this entry: in conflict, or theirs alone."""
        at = f"runs/{entry_id}/"
        names = {p.split("/")[2] for p in (*self.conflicts.files, *self.conflicts.theirs_alone) if p.startswith(at)}
        numbers = sorted(int(n) for n in names if n.isdigit())
        return [n for n in numbers if self.their_run(entry_id, n) is not None]

    def their_run(self, entry_id: str, number: int) -> Run | None:
        """Their record of a run, unless it is another version of a run that ours has too."""
        name = f"runs/{entry_id}/{number:02d}/run.json"
        file = self.examination.book.folder / name
        sides = self.conflicts.files.get(name)
        if sides is not None:
            return None if sides.has_base else run_in(sides.theirs, file)
        if name in self.conflicts.theirs_alone and file.exists():
            return run_in(file.read_bytes(), file)
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
        for path in (p for i in (entry_id, *heirs) for p in sorted((book.runs_folder / i).glob("*/run.json"))):
            run = run_in(path.read_bytes(), path)
            if theirs is None or run is None or (run.entry, run.run) == (entry_id, number):
                continue
            if (run.started, run.argv) == (theirs.started, theirs.argv):
                return run
        return None

    def _move_run(self, entry_id: str, number: int, to_entry: str, to_number: int) -> None:
        book = self.examination.book
        old, new = book.run_folder(entry_id, number), book.run_folder(to_entry, to_number)
        at = f"runs/{entry_id}/{number:02d}/"
        sides = self.conflicts.files.get(f"{at}run.json")
        if sides is None:
            rename(old, new)
            readdress(self.examination, new, to_entry, to_number)
            return
        theirs = run_in(sides.theirs, old / "run.json")
        if theirs is None:
            return
        ours = run_in(sides.ours, old / "run.json")
        for name in sorted(_named(theirs)):
            self._copy(old / name, self.conflicts.files.get(at + name), new / name)
        # The record comes last: with it the run is there.
        made = dataclasses.replace(theirs, entry=to_entry, run=to_number)
        records.write_run(new / "run.json", made, durable=book.durable)
        if ours is not None:
            self._restore(old, at, _named(ours), self.conflicts.files)

    def _copy(self, file: Path, sides: Sides | None, to: Path) -> None:
        content = sides.theirs if sides is not None else file.read_bytes() if file.exists() else None
        if content is not None:
            make_folder(to.parent)
            write_atomic(to, content, durable=self.examination.book.durable)

    def _restore(self, folder: Path, at: str, names: set[str], files: Mapping[str, Sides]) -> None:
        """Our side of a run's files; those that only theirs named are gone from here. run.json comes last."""
        mine = [p for p in files if p.startswith(at)] + [p for p in self.conflicts.theirs_alone if p.startswith(at)]
        for path in sorted(set(mine), key=lambda p: p.endswith("/run.json")):
            file = self.examination.book.folder / path
            sides = files.get(path)
            if file.exists():
                self.examination.backup(file)
            if sides is not None and sides.ours is not None:
                write_atomic(file, sides.ours, durable=self.examination.book.durable)
            elif path.removeprefix(at) not in {*names, "run.json"}:
                remove(file)


def _named(run: Run) -> set[str]:
    """The files beside a record that it names."""
    code = run.code
    if code is None:
        return set()
    kept = [code.diff_kept, *(file.kept for file in code.untracked)]
    # A name is a path below the run's folder, and the record is text from outside.
    return {name for name in kept if name is not None and ".." not in Path(name).parts and not name.startswith("/")}
