"""What a page links beside itself: the logs of its runs, and the files that they left."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator
from pathlib import Path

from logbook_agent.features import hook_module
from logbook_agent.model.run import Run
from logbook_agent.model.worker_report import Artifact
from logbook_agent.store.book import Book
from logbook_agent.store.folder import Folder
from logbook_agent.text.as_html import visible
from logbook_agent.text.redaction.stream import redacted_pieces


class NoLinks:
    """Nothing is linked."""

    def log(self, entry_id: str, run: int) -> str | None:
        """The address of a log; None where there is none."""

    def file(self, run: Run, artifact: Artifact) -> str | None:
        """The address of a file that a run left; None where it is not here."""


NO_LINKS = NoLinks()


class FileLinks(NoLinks):
    """The addresses of what is here, as the live server answers them."""

    def __init__(self, book: Book) -> None:
        self.book, self._showing = book, hook_module("artifacts")

    def log(self, entry_id: str, run: int) -> str | None:
        """The address of a log; None where there is none."""
        is_here = os.path.lexists(self.book.log_path(entry_id, run))
        return f"{self.book.topic}/logs/{entry_id}-{run:02d}.txt" if is_here else None

    def file(self, run: Run, artifact: Artifact) -> str | None:
        """The address of a file that a run left; None where it is not here."""
        if self._showing is None or not self._showing.is_here(self.book, run, artifact):
            return None
        return f"{self.book.topic}/artifacts/{run.entry}-{run.run:02d}/{self._showing.leaving_name(artifact)}"


class Copies(FileLinks):
    """Copies what is linked into the folder of a report, each file once. `binaries`: copies that are no texts."""

    def __init__(self, book: Book, files: Folder) -> None:
        super().__init__(book)
        self._files = files
        self.binaries: list[Path] = []
        self._copied: dict[tuple[str, int, str | None], str | None] = {}

    def log(self, entry_id: str, run: int) -> str | None:
        """The address of the copy of a log; one that is newer than the log stays."""
        address = super().log(entry_id, run)
        if address is not None:
            log, copy = self.book.log_path(entry_id, run), self._files.path / address
            if not copy.exists() or copy.stat().st_mtime_ns <= log.lstat().st_mtime_ns:
                self._files.make(copy.parent)
                self._files.write(copy, visible_log(self.book, entry_id, run), durable=False)
        return address

    def file(self, run: Run, artifact: Artifact) -> str | None:
        """The address of the copy of a file; None where it is not here, or is not what the run left."""
        key = (run.entry, run.run, artifact.kept)
        if key not in self._copied:
            self._copied[key] = self._copy(run, artifact)
        return self._copied[key]

    def _copy(self, run: Run, artifact: Artifact) -> str | None:
        showing, book = self._showing, self.book
        leaving = showing.leaving(book, run, artifact, book.redactor) if showing is not None else None
        if leaving is None:
            return None
        address = f"{book.topic}/artifacts/{leaving.name}"
        copy = self._files.path / address
        # What is a secret may have changed since.
        if leaving.is_text or not copy.is_file() or copy.stat().st_size != len(leaving.data):
            self._files.make(copy.parent)
            self._files.write(copy, leaving.data, durable=False)
        if not leaving.is_text and copy not in self.binaries:
            self.binaries.append(copy)
        return address


def visible_log(book: Book, entry_id: str, run: int) -> Iterator[bytes]:
    """The text of a log without secrets, with marks that would reverse the direction of text made visible."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    for piece in redacted_pieces(book.files.pieces(book.log_path(entry_id, run)), book.redactor):
        yield visible(decoder.decode(piece)).encode("utf-8", "replace")
    yield visible(decoder.decode(b"", final=True)).encode("utf-8", "replace")
