"""Open the experiment issue: one that an earlier attempt opened is recognised by the block in its body. Or write
what would be opened to files (`logbook sync --offline`)."""

from __future__ import annotations

import dataclasses
import os
import re
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from logbook_agent.issue import marking
from logbook_agent.issue.contents import BookDocuments, gather
from logbook_agent.issue.destination import default_repository, issue_of
from logbook_agent.issue.linked_issues import adopted
from logbook_agent.issue.pace import Calls
from logbook_agent.issue.plan import first_body, make_plan
from logbook_agent.issue.steps import Create, Issue, Post, SyncPlan, check_texts
from logbook_agent.model.errors import UsageError
from logbook_agent.pages.views import changing
from logbook_agent.store.book import Book
from logbook_agent.store.folder import Folder
from logbook_agent.store.layout import PROSE_BYTES
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.address import IssueAddress, RepositoryAddress

# GitHub's limit for the name of a label.
_LABEL_CHARS = 50
# The files of `--offline`.
_OURS = re.compile(r"issue\.md|(?:update|snapshot|final)-\d{2,}\.md")
# A title, in `issue.md`, and the marker that names the logbook.
_HEAD = r"(?:# [^\n]*\n\n)?<!-- logbook:[a-z]+ \d+ book={}[ >]"


def check_no_link(book: Book) -> None:
    """Raises UsageError where the header links an experiment issue already, which `start` was given."""
    for link in book.header.links:
        if link.label.casefold() == "experiment issue":
            raise UsageError(
                f"{book.topic} names an experiment issue: {link.url}",
                cause="the header already links to it, and a second would be opened",
                hint=f"logbook link {link.url}; then: logbook sync",
            )


def labels_of(workspace: Workspace, asked: Sequence[str]) -> tuple[str, ...]:
    """The labels of a new issue: those of the settings, then those asked for. Raises UsageError for one that cannot
    be, or that holds a secret."""
    return tuple(dict.fromkeys(_label(workspace, text) for text in (*workspace.config.github.labels, *asked)))


def _label(workspace: Workspace, text: str) -> str:
    label, hint = text.strip(), "name another one: --label NAME, or in logbook.toml: [github] labels"
    safe = workspace.redactor.text(label)
    if safe != label:
        raise UsageError(
            f"a label looks like a secret: {safe}", cause="everybody who sees the issue would read it", hint=hint
        )
    if not label or len(label) > _LABEL_CHARS or not label.isprintable():
        raise UsageError(
            f"{label[:_LABEL_CHARS]!r} is not a label", cause=f"a label is 1 to {_LABEL_CHARS} characters", hint=hint
        )
    return label


def first_plan(documents: BookDocuments, repository: RepositoryAddress | None, labels: Sequence[str]) -> SyncPlan:
    """The plan of an issue that is yet to be opened; `repository` None: nothing says yet where."""
    body = first_body(documents.wanted, documents)
    where = repository.slug if repository is not None else "a repository not known yet (add: --repo OWNER/REPO)"
    names = labels_of(documents.workspace, labels)
    create = Create(repository=where, title=documents.title(), labels=names, text=body)
    empty = Issue(number=0, url="", title="", body=body, author="")
    plan = make_plan(documents.wanted, documents, empty, ())
    return dataclasses.replace(plan, steps=(create, *plan.steps))


def create_issue(
    workspace: Workspace, book: Book, calls: Calls, repository: RepositoryAddress, labels: Sequence[str]
) -> tuple[Create, IssueAddress]:
    """Open the issue, or find the one that an earlier attempt opened, and write its link into the header."""
    documents = gather(workspace, book, repository)
    plan = first_plan(documents, repository, labels)
    check_texts(plan.steps)
    create = next(step for step in plan.steps if isinstance(step, Create))
    calls.say(str(create))
    since = _day_before(book.header.opened)
    issue = calls.safely(lambda: _opened(calls, create, documents.wanted.book, since))
    # Not the address of the answer: what the header names is where the next token goes.
    address = IssueAddress(repository=repository, number=issue.number)
    with changing(workspace, book):
        book.change_header(lambda header: adopted(header, address.web, managed=True))
    return create, address


def _day_before(stamp: str) -> datetime | None:
    """A day before, since this machine's clock may be ahead of the host's; None for text that is no time."""
    try:
        return datetime.fromisoformat(stamp).astimezone(UTC) - timedelta(days=1)
    except (ValueError, OverflowError):
        return None


def _opened(calls: Calls, new: Create, book: str, since: datetime | None) -> Issue:
    """The issue, created unless an earlier attempt did so: that one is open, by this account, not older than `since`,
    and has the block of this logbook."""
    calls.reading(calls.remote.check_name)
    login = calls.reading(calls.remote.login)
    for issue in calls.reading(lambda: calls.remote.issues_by(login, since)):
        if issue.state == "open" and issue.author == login and marking.begins(issue.body, book):
            return issue
    return calls.writing(lambda: calls.remote.create_issue(new.title, new.text, new.labels))


def write_offline(
    workspace: Workspace, folder: str, *, entries: Sequence[str], repository: str | None, labels: Sequence[str]
) -> tuple[Book, list[Path]]:
    """The documents as files, as if the issue were opened now. Nothing is asked of the network.

    Raises UsageError for what is not a folder, and for one with files of these names that are not of this logbook.
    """
    book = workspace.book(entries[0] if entries else None)
    issue = issue_of(book)
    named = issue.repository if issue is not None else default_repository(workspace, repository)
    documents = gather(workspace, book, named, chosen=entries)
    documents.wanted = dataclasses.replace(documents.wanted, managed=False)
    texts = _texts(first_plan(documents, named, labels))
    place = Path(os.path.normpath(workspace.cwd / Path(folder).expanduser()))
    if not folder.strip() or (place.exists() and not place.is_dir()):
        raise UsageError(
            f"{folder!r} is not a folder", cause="--offline writes several files into a folder", hint="name another one"
        )
    files = Folder(place)
    for path in _earlier(workspace, place, documents.wanted.book):
        files.remove(path)
    files.make()
    for name, text in texts.items():
        files.write(name, text, durable=False)
    return book, [place / name for name in texts]


def _texts(plan: SyncPlan) -> dict[str, str]:
    """`issue.md`, `update-01.md`, ..."""
    texts: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for step in plan.steps:
        if isinstance(step, Create):
            texts["issue.md"] = f"# {step.title}\n\n{step.text}\n"
        elif isinstance(step, Post):
            counts[step.kind] += 1
            texts[f"{step.kind}-{counts[step.kind]:02d}.md"] = f"{step.text}\n"
    return texts


def _earlier(workspace: Workspace, folder: Path, key: str) -> list[Path]:
    """The files of an earlier call. Raises UsageError for one of these names that is not of this logbook."""
    found = [path for path in folder.glob("*.md") if _OURS.fullmatch(path.name)]
    head = re.compile(_HEAD.format(re.escape(key)))
    for path in found:
        if not head.match(Folder(folder).read(path, limit=PROSE_BYTES).decode("utf-8", "replace")):
            raise UsageError(
                f"{workspace.shown(path)} is not a document of this logbook",
                cause="a file of that name would be replaced or removed",
                hint="name another folder, or put that file elsewhere",
            )
    return found
