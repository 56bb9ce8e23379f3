"""Recorded code, brought back into a working tree of its commit: the diff and the untracked files beside it."""

from __future__ import annotations

import hashlib
from pathlib import Path

from logbook_agent.campaign.trees import Tree
from logbook_agent.findings.cases import short
from logbook_agent.model.code import Code, UntrackedFile
from logbook_agent.model.errors import LogbookError, StoreError
from logbook_agent.running.provenance.inputs import input_file
from logbook_agent.running.provenance.worktrees import Checkout
from logbook_agent.store.book import Book
from logbook_agent.store.folder import Folder

_MOST_BYTES = 64 * 2**20


def restore(book: Book, code: Code | None, checkout: Checkout, tree: Tree) -> list[str]:
    """Bring the diff and the untracked files of a recorded code into a working tree of its commit; what is missing of
    them."""
    missing = []
    if code is not None and code.diff_kept is not None:
        try:
            book.files.read(book.folder / code.diff_kept, limit=_MOST_BYTES)
            checkout.apply(tree.top, book.folder / code.diff_kept)
        except LogbookError as error:
            missing.append(f"diff {code.diff_kept}: {error.said}")
    elif code is not None and code.diff_sha256 is not None:
        missing.append(f"the diff of {code.diff_bytes or '?'} bytes: it was too large to be kept")
    for file in code.untracked if code is not None else ():
        if (said := _untracked(book, file, checkout, tree)) is not None:
            missing.append(said)
    return missing


def _untracked(book: Book, file: UntrackedFile, checkout: Checkout, tree: Tree) -> str | None:
    """Bring an untracked file into the tree, from the logbook or from here; why it cannot be had."""
    if Path(file.path).is_absolute():
        return None if _digest(Path(file.path)) == file.sha256 else _other("untracked file", file.path, file.sha256)
    sources = [(book.folder / file.kept, book.files)] if file.kept is not None else []
    here = Folder(checkout.top)
    for source, files in (*sources, (checkout.top / file.path, here)):
        try:
            content = files.read(source, limit=_MOST_BYTES)
        except StoreError:
            continue
        if hashlib.sha256(content).hexdigest() == file.sha256:
            target = tree.top / file.path
            Folder(tree.top).make(target.parent)
            Folder(tree.top).write(target, content, durable=False)
            mode = source.stat().st_mode if files == here else 0o755
            target.chmod(mode & 0o777)
            return None
    return _other("untracked file", file.path, file.sha256)


def _other(what: str, path: str, sha256: str) -> str:
    return f"{what} {path}: neither kept in the logbook nor here with the digest {short(sha256)}"


def _digest(path: Path) -> str | None:
    try:
        return input_file(path.name, path).sha256
    except OSError:
        return None
