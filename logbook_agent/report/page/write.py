"""`logbook report`: the pages as files, with the logs that they link."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from logbook_agent.findings.read import read
from logbook_agent.model.errors import NotFound, StoreError, Taken, UsageError
from logbook_agent.report.page.document import card, document, head, index_document
from logbook_agent.report.page.links import NO_LINKS, Copies
from logbook_agent.report.page.page import INDEX, page, page_file
from logbook_agent.report.page.thread_sections import foot
from logbook_agent.store.book import Book
from logbook_agent.store.folder import Folder
from logbook_agent.store.workspace import Workspace

# Below the root, where git ignores it and nothing of it changes the code that an experiment runs.
OWN = ".report"
# What a page of ours says of itself, near its beginning.
GENERATOR = b'<meta name="generator" content="logbook-agent">'
_HEAD_BYTES = 1000


class ReportFiles(Struct, frozen=True, kw_only=True):
    """The files of a report. `left_out`: how many entries and logbooks could not be read. `binaries`: copies of what
    runs left, in which no secret can be looked for."""

    index: Path
    pages: tuple[Path, ...]
    left_out: int
    binaries: tuple[Path, ...] = ()


def write_report(
    workspace: Workspace, folder: Path | None = None, books: Sequence[Book] | None = None, *, logs: bool = True
) -> ReportFiles:
    """Write the page of each logbook of `books` (None: of all of the root) and the index over all into a folder (None:
    `.report` in the root).

    A page is `TOPIC.html`. With `logs`, the logs that are on this machine are copied to `TOPIC/logs/ID-RUN.txt`, and
    the files that runs left to `TOPIC/artifacts/`. Pages of an earlier report are replaced, other files are left alone.
    The index names logbooks that cannot be read, and a page its entries that cannot be read; a warning names both.
    Raises NotFound without a logbook, UsageError where `folder` is none, Taken where a file of somebody else has the
    name of a page, and StoreError.
    """
    all_books = workspace.books()
    if not all_books:
        raise NotFound(
            f"no logbook in {workspace.root}",
            cause="a report needs at least one logbook, and none was started here",
            hint="logbook start TOPIC, or name another folder of logbooks: --root DIR",
        )
    wanted = [book.topic for book in (all_books if books is None else books)]
    files = _target(workspace, folder, wanted)
    found, damaged = [], []
    pages, binaries, left_out = list[Path](), list[Path](), 0
    for book in all_books:
        try:
            findings = read(workspace, book)
            if book.topic in wanted:
                copies = Copies(book, files) if logs else None
                made = page(workspace, findings, copies or NO_LINKS)
                pages.append(files.path / page_file(book.topic))
                pieces = (piece.encode("utf-8", "replace") for piece in document(made, above=INDEX))
                files.write(pages[-1], pieces, durable=False)
                binaries += copies.binaries if copies is not None else []
                if made.damaged:
                    left_out += len(made.damaged)
                    workspace.warnings.append(_left_out(book.topic, len(made.damaged)))
            found.append(findings)
        except StoreError as error:
            damaged.append(workspace.redactor.text(f"{book.topic}: {error.message}"))
    workspace.warnings += [f"left out of the report: {message}" for message in damaged]
    last = foot(found[0].header, workspace.now()) if len(found) == 1 else ""
    files.write(INDEX, index_document([head(found, damaged), *map(card, found)], foot=last), durable=False)
    return ReportFiles(
        index=files.path / INDEX, pages=tuple(pages), left_out=left_out + len(damaged), binaries=tuple(binaries)
    )


def _target(workspace: Workspace, folder: Path | None, topics: Sequence[str]) -> Folder:
    """The folder that pages are written to, which is there."""
    # Whoever names a folder chooses where it leads; below the root nothing is written through a link.
    files = Folder(workspace.root / OWN, workspace.root) if folder is None else Folder(folder)
    if os.path.lexists(files.path) and not files.path.is_dir():
        raise UsageError(
            f"{files.path} is not a folder",
            cause="logbook report writes several files into a folder",
            hint="logbook report --out DIR",
        )
    files.make()
    if folder is None and not files.has(".gitignore"):
        files.write(".gitignore", "*\n", durable=False)
    for name in (INDEX, *map(page_file, topics)) if folder is not None else ():
        check_replaceable(files.path / name, files, "--out")
    return files


def _left_out(topic: str, count: int) -> str:
    entries = "entry of {} cannot be read and is" if count == 1 else "entries of {} cannot be read and are"
    return f"{count:,} {entries.format(topic)} left out of its page: logbook doctor"


def check_replaceable(path: Path, files: Folder, option: str) -> None:
    """Raise Taken for a file that is no page of a report. `option` names it."""
    if not path.is_file() or path.is_symlink():
        return
    with files.open(path) as file:
        is_ours = GENERATOR in file.read(_HEAD_BYTES)
    if not is_ours:
        raise Taken(
            f"{path} exists and is not a page of a report",
            cause="a report replaces only pages of an earlier report",
            hint=f"choose another {option}, or move that file away",
        )
