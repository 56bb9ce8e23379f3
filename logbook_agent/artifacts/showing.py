"""Kept files as others see them: in the view, on the page, in the issue, from the live view.

A record may come with a branch that anybody wrote: a name leads to a copy of its own run alone, what a file is follows
from its bytes, and bytes that do not match the digest are not shown.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from logbook_agent.artifacts.matching import pictures_in
from logbook_agent.artifacts.media import HEAD_BYTES, PICTURES, PLAIN, SVG, media_type
from logbook_agent.model.errors import StoreError
from logbook_agent.model.record import Record
from logbook_agent.model.run import Run
from logbook_agent.model.worker_report import Artifact
from logbook_agent.store.book import Book
from logbook_agent.store.run_files import ARTIFACTS, MOST_KEPT_BYTES
from logbook_agent.text.markdown import escape, items, one_line
from logbook_agent.text.phrases import size_text
from logbook_agent.text.redaction.redactor import Redactor

_COPY = re.compile(rf"{ARTIFACTS}/([0-9a-f]{{16}}(?:\.[a-z0-9]{{1,8}})?)", re.ASCII)
# Of one entry: so many files are listed, and so many pictures shown, of this size each and together.
_MOST_LISTED, _MOST_PICTURES = 30, 4
_PICTURE_BYTES, _PICTURES_BYTES = 300_000, 600_000


class NamedFile(Struct, frozen=True, kw_only=True):
    """A file that a run left; `about` says how large it is, and what. `path`: its copy, relative to the folder of the
    logbook; None: it was not copied."""

    run: int
    name: str
    about: str
    digest: str
    path: str | None
    is_picture: bool


def named(record: Record) -> list[NamedFile]:
    """The files of an entry as its runs name them."""
    return [_named(status.run, artifact) for status in record.runs for artifact in status.run.artifacts]


def _named(run: Run, artifact: Artifact) -> NamedFile:
    name = copy_name(artifact)
    return NamedFile(
        run=run.run,
        name=artifact.name,
        about=", ".join(_about(artifact)),
        digest=artifact.sha256,
        path=None if name is None else f"runs/{run.name}/{ARTIFACTS}/{name}",
        is_picture=name is not None and artifact.media_type in (*PICTURES, SVG),
    )


def _about(artifact: Artifact) -> Iterator[str]:
    yield size_text(artifact.bytes)
    yield from [artifact.media_type] if artifact.media_type else []
    if artifact.kept is None:
        yield f"not copied: {artifact.place or 'its place is unknown'}"
        yield f"sha256 {artifact.sha256[:16]}"


def copy_name(artifact: Artifact) -> str | None:
    """The name of a copy; None where there is none, or its name is not one of a copy."""
    match = _COPY.fullmatch(artifact.kept or "")
    return match[1] if match is not None else None


def kept_path(book: Book, run: Run, artifact: Artifact) -> Path | None:
    """Where the copy of a file is; None where the record names none."""
    name = copy_name(artifact)
    return None if name is None else book.run_folder(run.entry, run.run) / ARTIFACTS / name


def is_here(book: Book, run: Run, artifact: Artifact) -> bool:
    """Whether the copy is on this machine."""
    path = kept_path(book, run, artifact)
    return path is not None and os.path.lexists(path)


def not_kept(record: Record) -> list[str]:
    """The pictures that the prose of an entry shows and none of its runs has kept."""
    shown = dict.fromkeys(name for field in record.entry.fields for name in pictures_in(field.text))
    kept = {file.name for file in named(record) if file.path is not None}
    return [name for name in shown if name not in kept]


# -- in view and issue -----------------------------------------------------------------------------


def text(record: Record, address: Callable[[str], str | None]) -> str:
    """The files of an entry as a list in Markdown, with its pictures: each copy at its `address`, by its path in the
    folder of the logbook; where it has none, its digest is named."""
    found = named(record)
    runs = len({file.run for file in found})
    # The same picture of several runs is shown once.
    first = {file.digest: file for file in reversed(found)}
    lines = [
        _line(file, address(file.path) if file.path is not None else None, runs, is_new=first[file.digest] is file)
        for file in found[:_MOST_LISTED]
    ]
    more = len(found) - len(lines)
    return items([*lines, *([f"and {more} more: logbook show {record.id} --json"] if more > 0 else [])])


def _line(file: NamedFile, address: str | None, runs: int, *, is_new: bool) -> str:
    name = escape(one_line(file.name)).replace("[", "\\[").replace("]", "\\]")
    about = [escape(one_line(file.about)), *([f"run {file.run}"] if runs > 1 or address is None else [])]
    if address is None:
        about += [f"sha256 {file.digest[:16]}"] if file.path is not None else []
        return f"{name} ({', '.join(about)})"
    picture = f"\n\n![{name}]({address})" if file.is_picture and is_new else ""
    return f"[{name}]({address}) ({', '.join(about)}){picture}"


# -- on the page -----------------------------------------------------------------------------------


def shown(
    book: Book, record: Record, href: Callable[[Run, Artifact], str | None], *, inline: bool
) -> list[dict[str, object]]:
    """The files of an entry for the template of the page: `href` gives the address of a copy. With `inline`, small
    pictures are in the page itself; pictures that its prose shows come first,
    and the same picture of several runs is there once."""
    prose = {name for field in record.entry.fields for name in pictures_in(field.text)}
    found = [(status.run, artifact) for status in record.runs for artifact in status.run.artifacts]
    # Of files with one name, the prose means the newest.
    newest = {artifact.name: run.run for run, artifact in found if artifact.name in prose}
    found.sort(key=lambda one: newest.get(one[1].name) != one[0].run)
    runs = len({run.run for run, _ in found})
    left, seen = _PICTURES_BYTES, set[str]()
    made: list[dict[str, object]] = []
    for run, artifact in found[:_MOST_LISTED]:
        is_new = len(seen) < _MOST_PICTURES and artifact.sha256 not in seen
        picture = _picture(book, run, artifact, left) if inline and is_new else None
        if picture is not None:
            left -= artifact.bytes
            seen.add(artifact.sha256)
        about = ", ".join(_about(artifact)) + (f", run {run.run}" if runs > 1 else "")
        made.append(
            {
                "name": artifact.name,
                "about": about,
                "href": href(run, artifact),
                "picture": picture,
                "in_prose": newest.get(artifact.name) == run.run,
            }
        )
    if (more := len(found) - len(made)) > 0:
        rest = {"about": "", "href": None, "picture": None, "in_prose": False}
        made.append({"name": f"and {more} more: logbook show {record.id} --json", **rest})
    return made


def _picture(book: Book, run: Run, artifact: Artifact, room: int) -> str | None:
    """The address of a picture that stands in the page itself, where nothing in a drawing runs; None for what is none,
    is too large, or was changed."""
    data = content(book, run, artifact, min(room, _PICTURE_BYTES))
    kind = media_type(data[:HEAD_BYTES]) if data is not None else ""
    return f"data:{kind};base64,{base64.b64encode(data).decode()}" if data and kind in (*PICTURES, SVG) else None


def content(book: Book, run: Run, artifact: Artifact, limit: int = MOST_KEPT_BYTES) -> bytes | None:
    """The bytes of a copy, at most so many; None where it is not here, is larger, or is not what the run left."""
    path = kept_path(book, run, artifact)
    if path is None or artifact.bytes > limit:
        return None
    try:
        data = book.files.read(path, limit=limit)
    except StoreError:
        return None
    return data if hashlib.sha256(data).hexdigest() == artifact.sha256 else None


# -- as a file of its own --------------------------------------------------------------------------


class LeavingFile(Struct, frozen=True, kw_only=True):
    """A copy as it leaves: texts without secrets. `media_type` is one under which nothing in it runs, and so is the
    ending of `name`."""

    name: str
    media_type: str
    data: bytes

    @property
    def is_text(self) -> bool:
        return self.media_type == PLAIN

    @property
    def is_shown(self) -> bool:
        """Whether a browser may show it by itself."""
        return self.is_text or self.media_type in PICTURES


def leaving_named(book: Book, run: Run, name: str, redactor: Redactor) -> LeavingFile | None:
    """The file that leaves under this name; None where the run has none."""
    artifact = next((one for one in run.artifacts if name in (copy_name(one), leaving_name(one))), None)
    return leaving(book, run, artifact, redactor) if artifact is not None else None


def leaving(book: Book, run: Run, artifact: Artifact, redactor: Redactor) -> LeavingFile | None:
    """The copy that a run keeps of a file; None where it is not here, or is not what the run left."""
    name, data = copy_name(artifact), content(book, run, artifact)
    if name is None or data is None:
        return None
    kind = media_type(data[:HEAD_BYTES])
    if kind in PICTURES:
        return LeavingFile(name=name, media_type=kind, data=data)
    if kind in (PLAIN, SVG):
        safe = redactor.data(data)
        return LeavingFile(name=leaving_name(artifact) or name, media_type=PLAIN, data=safe)
    return LeavingFile(name=name, media_type="application/octet-stream", data=data)


def leaving_name(artifact: Artifact) -> str | None:
    """The name of a copy where a browser may open it: that of a picture of lines, in which a script may be, ends in
    `.txt`."""
    name = copy_name(artifact)
    return f"{name}.txt" if name is not None and name.endswith(".svg") else name
