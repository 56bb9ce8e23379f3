"""`logbook report`: the pages as files, with the logs that they link."""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from logbook_agent.features import hook_module
from logbook_agent.findings.read import Findings, read
from logbook_agent.model.errors import NotFound, StoreError, Taken, UsageError
from logbook_agent.model.run import Artifact, Run
from logbook_agent.report.page.document import document, index_document
from logbook_agent.report.page.entry_section import kept_nowhere, log_nowhere
from logbook_agent.report.page.page import INDEX, page, page_file
from logbook_agent.store.book import Book
from logbook_agent.store.folder import Folder
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.as_html import visible
from logbook_agent.text.redaction.redactor import Redactor
from logbook_agent.text.redaction.stream import redacted_pieces

# Below the root, where git ignores it and nothing of it changes the code that an experiment runs.
OWN = ".report"
_LOGS = "logs"
_FILES = "artifacts"
# What a page of ours says of itself, near its beginning.
GENERATOR = b'<meta name="generator" content="logbook-agent">'
_HEAD_BYTES = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFiles:
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
    # Whoever names a folder chooses where it leads; below the root nothing is written through a link.
    files = Folder(workspace.root / OWN, workspace.root) if folder is None else Folder(folder)
    target = files.path
    all_books = workspace.books()
    if not all_books:
        raise NotFound(
            f"no logbook in {workspace.root}",
            cause="a report needs at least one logbook, and none was started here",
            hint="logbook start TOPIC, or name another folder of logbooks: --root DIR",
        )
    if os.path.lexists(target) and not target.is_dir():
        raise UsageError(
            f"{target} is not a folder",
            cause="logbook report writes several files into a folder",
            hint="logbook report --out DIR",
        )
    files.make()
    if folder is None:
        if not files.has(".gitignore"):
            files.write(".gitignore", "*\n", durable=False)
    else:
        for name in (INDEX, *(page_file(book.topic) for book in (all_books if books is None else books))):
            check_replaceable(target / name, files, "--out")
    wanted = {book.topic for book in (all_books if books is None else books)}
    found, damaged, pages, left_out = [], [], [], 0
    binaries: list[Path] = []
    for book in all_books:
        try:
            findings = read(workspace, book)
            if book.topic in wanted:
                copies = _FileCopies(workspace, book, files)
                path, missing = _write_page(workspace, book, findings, files, copies if logs else None)
                pages.append(path)
                binaries += copies.binaries
                if missing:
                    left_out += missing
                    workspace.warnings.append(
                        f"{missing:,} {'entries' if missing > 1 else 'entry'} of {book.topic} cannot be read and"
                        f" {'are' if missing > 1 else 'is'} left out of its page: logbook doctor"
                    )
            found.append(findings)
        except StoreError as error:
            damaged.append(workspace.redactor.text(f"{book.topic}: {error.message}"))
    workspace.warnings += [f"left out of the report: {message}" for message in damaged]
    text = index_document(workspace, found, damaged)
    files.write(INDEX, text, durable=False)
    left_out += len(damaged)
    return ReportFiles(index=target / INDEX, pages=tuple(pages), left_out=left_out, binaries=tuple(binaries))


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


def _write_page(
    workspace: Workspace, book: Book, findings: Findings, files: Folder, copies: _FileCopies | None
) -> tuple[Path, int]:
    """Where the page is, and how many entries it leaves out. `copies` copies what it links; None: it links nothing."""
    path = files.path / page_file(book.topic)
    made = page(
        workspace,
        findings,
        log_href=_copies(book, workspace.redactor, files) if copies is not None else log_nowhere,
        file_href=copies.href if copies is not None else kept_nowhere,
    )
    pieces = (piece.encode("utf-8", "replace") for piece in document(made, above=INDEX))
    files.write(path, pieces, durable=False)
    return path, len(made.damaged)


def _copies(book: Book, redactor: Redactor, files: Folder) -> Callable[[str, int], str | None]:
    """A function that copies the log of a run beside the page, if it is not there yet, and returns its address; None
    where there is no log."""
    folder = files.path / book.topic / _LOGS

    def href(entry_id: str, run: int) -> str | None:
        log = book.log_path(entry_id, run)
        if not os.path.lexists(log):
            return None
        name = f"{entry_id}-{run:02d}.txt"
        copy = folder / name
        if not _is_newer(copy, log):
            files.make(folder)
            pieces = (piece.encode("utf-8", "replace") for piece in visible_log(log, book.files, redactor))
            files.write(copy, pieces, durable=False)
        return f"{book.topic}/{_LOGS}/{name}"

    return href


class _FileCopies:
    """Copies the files that runs left beside the page, each once, and notes which of them are no texts."""

    def __init__(self, workspace: Workspace, book: Book, files: Folder) -> None:
        self._workspace, self._book, self._files = workspace, book, files
        self.binaries: list[Path] = []
        self._made: dict[tuple[str, int, str | None], str | None] = {}

    def href(self, run: Run, artifact: Artifact) -> str | None:
        """The address of the copy; None where the file is not here, or is not what the run left."""
        key = (run.entry, run.run, artifact.kept)
        if key not in self._made:
            self._made[key] = self._copied(run, artifact)
        return self._made[key]

    def _copied(self, run: Run, artifact: Artifact) -> str | None:
        showing = hook_module("artifacts")
        leaving = showing.leaving(self._book, run, artifact, self._workspace.redactor) if showing is not None else None
        if leaving is None:
            return None
        folder = self._files.path / self._book.topic / _FILES
        copy = folder / leaving.name
        # What is a secret may have changed since.
        if leaving.is_text or not copy.is_file() or copy.stat().st_size != len(leaving.data):
            self._files.make(folder)
            self._files.write(copy, leaving.data, durable=False)
        if not leaving.is_text and copy not in self.binaries:
            self.binaries.append(copy)
        return f"{self._book.topic}/{_FILES}/{leaving.name}"


def _is_newer(copy: Path, log: Path) -> bool:
    try:
        return copy.stat().st_mtime_ns > log.stat().st_mtime_ns
    except OSError:
        return False


def visible_log(log: Path, files: Folder, redactor: Redactor) -> Iterator[str]:
    """The text of a log without secrets, with marks that would reverse the direction of text made visible."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    for piece in redacted_pieces(files.pieces(log), redactor):
        yield visible(decoder.decode(piece))
    yield visible(decoder.decode(b"", final=True))
