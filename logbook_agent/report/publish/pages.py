"""What would be published: the files of a report, listed before anything leaves, and looked through for secrets."""

from __future__ import annotations

import mimetypes
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from logbook_agent.model.errors import Rejected
from logbook_agent.report.page.write import write_report
from logbook_agent.store.book import Book
from logbook_agent.store.folder import Folder
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.phrases import listed
from logbook_agent.text.redaction.redactor import Redactor

_NAMED = 5


class PublishedFile(Struct, frozen=True, kw_only=True):
    """A file of the report, with its path below the folder of the report."""

    path: str
    content: bytes

    @property
    def media_type(self) -> str:
        return mimetypes.guess_type(self.path)[0] or "application/octet-stream"

    @property
    def text(self) -> str | None:
        """All of it as a text, in which secrets can be looked for; None for another file."""
        try:
            return None if b"\0" in self.content else self.content.decode()
        except UnicodeDecodeError:
            return None


def report_files(
    workspace: Workspace, folder: Path, books: Sequence[Book] | None, *, logs: bool
) -> tuple[PublishedFile, ...]:
    """Write a report into an empty folder, and return its files by path. Raises Rejected where one holds a secret."""
    write_report(workspace, folder, books, logs=logs)
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    found = tuple(
        PublishedFile(path=path.relative_to(folder).as_posix(), content=b"".join(Folder(folder).pieces(path)))
        for path in paths
    )
    check_no_secret(found, workspace.redactor)
    return found


def check_no_secret(files: Sequence[PublishedFile], redactor: Redactor) -> None:
    """Raises Rejected, naming the files in which a secret is left."""
    held = [file.path for file in files if _holds_secret(file, redactor)]
    if held:
        raise Rejected(
            f"a secret is left in {listed(held, _NAMED)}; nothing was published",
            cause="the pages are searched once more before they are published",
            hint="logbook report --out FOLDER, and look there; then correct the entry: logbook edit ID",
        )


def _holds_secret(file: PublishedFile, redactor: Redactor) -> bool:
    """Whether a text holds a secret; of another file, whether its bytes do."""
    text = file.text
    return redactor.in_binary(file.content) if text is None else redactor.text(text) != text
