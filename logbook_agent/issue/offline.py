"""`logbook sync --offline`: the documents as files."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from logbook_agent.issue.contents import gather
from logbook_agent.issue.creation import first_plan
from logbook_agent.issue.destination import default_repository, issue_of
from logbook_agent.issue.steps import Create, LinkBack, Post, SyncPlan
from logbook_agent.issue.sync import SyncRequest
from logbook_agent.model.errors import StoreError, UsageError
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
    plan = first_plan(documents, repository, request.labels)
    return book, _write(_folder(folder), _texts(plan), documents.wanted.book)


def _folder(text: str) -> Path:
    if not text.strip():
        raise UsageError("--offline names no folder", cause="its value is empty", hint="logbook sync --offline out")
    folder = Path(text)
    # Above a folder that is to be made there may be a file, too.
    for place in (folder, *folder.parents):
        if place.is_dir():
            return folder
        if place.exists() or place.is_symlink():
            raise UsageError(
                f"{place} is not a folder", cause="the documents are written as files in one", hint="name another one"
            )
    return folder


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


def _write(folder: Path, texts: Mapping[str, str], key: str) -> list[Path]:
    """What an earlier call wrote and this one does not goes."""
    place = folder.absolute()
    before = sorted(p for p in folder.iterdir() if _OURS.fullmatch(p.name)) if folder.is_dir() else []
    _check_ours(before, key)
    for path in before:
        if path.name not in texts:
            remove(place / path.name, within=place)
    make_folder(place, within=place)
    for name, text in texts.items():
        write_text(place / name, text, within=place, durable=False)
    return [folder / name for name in texts]


def _check_ours(paths: Sequence[Path], key: str) -> None:
    head = re.compile(_HEAD.format(re.escape(key)))
    for path in paths:
        if not _begins(path.absolute(), head):
            raise UsageError(
                f"{path} is not a document of this logbook",
                cause="a file of that name would be replaced or removed",
                hint="name another folder, or put that file elsewhere",
            )


def _begins(path: Path, head: re.Pattern[str]) -> bool:
    try:
        data = read_bytes(path, within=path.parent, limit=PROSE_BYTES)
    except StoreError:
        return False
    return head.match(data.decode("utf-8", "replace")) is not None
