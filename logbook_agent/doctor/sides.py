"""Both versions of files that a merge could not join: from git's index, else from the conflict markers."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from logbook_agent.doctor.records import every_run
from logbook_agent.model.errors import StoreError
from logbook_agent.model.run import Run
from logbook_agent.running.provenance.merges import BASE, OURS, THEIRS, GitMerge, Joined, merge_below, merges_of
from logbook_agent.store.book import Book
from logbook_agent.store.reading import RUN_BYTES, read_bytes
from logbook_agent.text.marked import sides

_MARKERS = b"<<<<<<< ", b"=======", b">>>>>>> "


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """`has_base`: both sides changed one file that they had in common (None: not known)."""

    ours: bytes | None
    theirs: bytes | None
    has_base: bool | None
    marked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflicts:
    """Files of a logbook in conflict, by their path in it; `theirs_alone` are files only they had."""

    files: dict[str, Sides] = field(default_factory=dict)
    theirs_alone: frozenset[str] = frozenset()


def conflicts_in(book: Book) -> Conflicts:
    """What git's index says is unmerged, and files that hold conflict markers."""
    merge = merge_below(book.folder)
    files: dict[str, Sides] = {}
    for path in merge.conflicts if merge is not None else ():
        if merge is not None:
            files[path] = _of_index(merge, path, book)
    marked = {p.relative_to(book.folder).as_posix(): data for p, data in _marked(book)}
    for path, data in marked.items():
        if path not in files:
            ours, theirs = split(data)
            files[path] = Sides(ours=ours, theirs=theirs, has_base=None, marked=True)
    if merge is not None:
        return Conflicts(files=files, theirs_alone=merge.theirs_alone)
    joined = _joined(book, marked) if marked else None
    if joined is None:
        return Conflicts(files=files)
    for path in _brought(joined, marked):
        files[path] = dataclasses.replace(files[path], has_base=joined.read(joined.base, path) is not None)
        if path.startswith("runs/"):
            files.update(_beside(joined, path, book))
    return Conflicts(files=files, theirs_alone=joined.theirs_alone())


def _joined(book: Book, marked: Iterable[str]) -> Joined | None:
    """The merge that brought these markers, when somebody staged or committed them."""
    return next((joined for joined in merges_of(book.folder) if _brought(joined, marked)), None)


def _brought(joined: Joined, marked: Iterable[str]) -> list[str]:
    """Of the files with markers, those that both sides had without."""
    return [
        path
        for path in marked
        if all(
            (data := joined.read(commit, path)) is not None and not has_markers(data)
            for commit in (joined.ours, joined.theirs)
        )
    ]


def _beside(joined: Joined, record: str, book: Book) -> Iterator[tuple[str, Sides]]:
    """The other files of a run with markers that both sides have, and not alike."""
    at = record.removesuffix("run.json")
    for path in sorted(joined.names(joined.ours, at) & joined.names(joined.theirs, at) - {record}):
        ours, theirs = joined.read(joined.ours, path), joined.read(joined.theirs, path)
        if ours != theirs:
            marked = has_markers(content(book, book.folder / path))
            yield path, Sides(ours=ours, theirs=theirs, has_base=False, marked=marked)


def _of_index(merge: GitMerge, path: str, book: Book) -> Sides:
    return Sides(
        ours=merge.read(path, OURS),
        theirs=merge.read(path, THEIRS),
        has_base=BASE in merge.conflicts[path],
        marked=has_markers(content(book, book.folder / path)),
    )


def _marked(book: Book) -> Iterator[tuple[Path, bytes]]:
    for path in sorted(book.folder.glob("entries/*.yaml")):
        data = content(book, path)
        if has_markers(data):
            yield path, data
    for found in every_run(book):
        # What can be read as a record is JSON, in which no line starts with a marker.
        if not isinstance(found.run, Run) and has_markers(data := content(book, found.path)):
            yield found.path, data


def content(book: Book, path: Path) -> bytes:
    """What a file of the logbook holds; nothing where it cannot be read, of which other checks tell."""
    try:
        return read_bytes(path, within=book.root, limit=RUN_BYTES)
    except StoreError:
        return b""


def has_markers(data: bytes) -> bool:
    """Whether the three markers stand at the starts of lines, where no record of ours has such text."""
    lines = data.split(b"\n") if b"<<<<<<<" in data else []
    return all(any(line.startswith(marker) for line in lines) for marker in _MARKERS)


def split(data: bytes) -> tuple[bytes, bytes]:
    """Our and their version of a text with conflict markers."""
    ours, theirs = sides(data.decode("latin-1"))  # byte by byte
    return ours.encode("latin-1"), theirs.encode("latin-1")
