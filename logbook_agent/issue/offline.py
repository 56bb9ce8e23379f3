"""`logbook sync --offline`: the documents as files."""

from __future__ import annotations

import dataclasses
import os
import re
from collections import Counter
from pathlib import Path

from logbook_agent.issue.contents import gather
from logbook_agent.issue.creation import first_plan
from logbook_agent.issue.destination import default_repository, issue_of
from logbook_agent.issue.steps import Create, LinkBack, Post, SyncPlan
from logbook_agent.issue.sync import SyncRequest
from logbook_agent.model.errors import UsageError
from logbook_agent.store.book import Book
from logbook_agent.store.files import make_folder, remove, write_text
from logbook_agent.store.reading import PROSE_BYTES, read_bytes
from logbook_agent.store.workspace import Workspace

_OURS = re.compile(r"issue\.md|(?:update|snapshot|final|link)-\d{2,}\.md")
# A title, in `issue.md`, and the marker that names the logbook.
_HEAD = r"(?:# [^\n]*\n\n)?<!-- logbook:[a-z]+ \d+ book={}[ >]"


def write_offline(workspace: Workspace, request: SyncRequest, folder: str) -> tuple[Book, list[Path]]:
    """The documents as files, as if the issue were opened now. Nothing is asked of the network.

    Raises UsageError for what is not a folder, and for one with files of these names that are not of this logbook.
    """
    book = workspace.book(request.entries[0] if request.entries else None)
    issue = issue_of(book)
    repository = issue.repository if issue is not None else default_repository(workspace, request.repository)
    documents = gather(workspace, book, repository, chosen=request.entries, new_block=request.new_block)
    documents.wanted = dataclasses.replace(documents.wanted, managed=False, trusted=frozenset())
    texts = _texts(first_plan(documents, repository, request.labels))
    within = Path(os.path.normpath(workspace.cwd / Path(folder).expanduser()))
    if not folder.strip() or (within.exists() and not within.is_dir()):
        raise UsageError(
            f"{folder!r} is not a folder", cause="the documents are written as files in one", hint="name another one"
        )
    for path in _earlier(workspace, within, documents.wanted.book):
        remove(path, within=within)
    make_folder(within, within=within)
    for name, text in texts.items():
        write_text(within / name, text, within=within, durable=False)
    return book, [within / name for name in texts]


def _texts(plan: SyncPlan) -> dict[str, str]:
    """`issue.md`, `update-01.md`, ..."""
    texts: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for step in plan.steps:
        if isinstance(step, Create):
            texts["issue.md"] = f"# {step.title}\n\n{step.text}\n"
        elif isinstance(step, Post | LinkBack):
            kind = step.kind if isinstance(step, Post) else "link"
            counts[kind] += 1
            texts[f"{kind}-{counts[kind]:02d}.md"] = f"{step.text}\n"
    return texts


def _earlier(workspace: Workspace, folder: Path, key: str) -> list[Path]:
    """The files of an earlier call. Raises UsageError for one of these names that is not of this logbook."""
    found = [path for path in folder.glob("*.md") if _OURS.fullmatch(path.name)]
    head = re.compile(_HEAD.format(re.escape(key)))
    for path in found:
        if not head.match(read_bytes(path, within=folder, limit=PROSE_BYTES).decode("utf-8", "replace")):
            raise UsageError(
                f"{workspace.shown(path)} is not a document of this logbook",
                cause="a file of that name would be replaced or removed",
                hint="name another folder, or put that file elsewhere",
            )
    return found
