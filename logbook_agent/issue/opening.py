"""Open the experiment issue: one that an earlier attempt opened is recognised by the block in its body. Or write what
would be opened to files (`logbook sync --offline`)."""

from __future__ import annotations

import dataclasses
import os
import re
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from logbook_agent.issue import marking
from logbook_agent.issue.destination import connect, default_repository, issue_of
from logbook_agent.issue.documents import BookTexts, gather
from logbook_agent.issue.linked_issues import adopted
from logbook_agent.issue.pace import Pace
from logbook_agent.issue.plan import first_body, make_plan
from logbook_agent.issue.values import Issue, SyncPlan, Write
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
    hint = "name another one: --label NAME, or in logbook.toml: [github] labels"
    labels = tuple(dict.fromkeys(text.strip() for text in (*workspace.config.github.labels, *asked)))
    for label in labels:
        safe = workspace.redactor.text(label)
        if safe != label:
            cause = "everybody who sees the issue would read it"
            raise UsageError(f"a label looks like a secret: {safe}", cause=cause, hint=hint)
        if not label or len(label) > _LABEL_CHARS or not label.isprintable():
            cause = f"a label is 1 to {_LABEL_CHARS} characters"
            raise UsageError(f"{label[:_LABEL_CHARS]!r} is not a label", cause=cause, hint=hint)
    return labels


def first_plan(texts: BookTexts, repository: RepositoryAddress | None, labels: Sequence[str]) -> SyncPlan:
    """The plan of an issue that is yet to be opened; `repository` None: nothing says yet where."""
    body, title = first_body(texts.wanted, texts), texts.title()
    where = repository.slug if repository is not None else "a repository not known yet (add: --repo OWNER/REPO)"
    names = labels_of(texts.workspace, labels)
    named = f" with labels {', '.join(names)}" if names else ""
    create = Write(kind="create", what=f"open an issue in {where}{named}: {title}", text=body)
    plan = make_plan(texts.wanted, texts, Issue(number=0, url="", title=title, body=body, author=""), ())
    return dataclasses.replace(plan, writes=(create, *plan.writes))


def open_issue(
    workspace: Workspace, book: Book, named: str | None, labels: Sequence[str], pace: Pace
) -> tuple[Write, IssueAddress]:
    """Open the issue, or find the one that an earlier attempt opened, and write its link into the header."""
    repository = default_repository(workspace, named)
    if repository is None:
        raise UsageError(
            "no repository to open the issue in",
            cause="none is configured, and no git remote points to one",
            hint='add: --repo OWNER/REPO, or set in logbook.toml: [github] repository = "OWNER/REPO"',
        )
    remote = connect(workspace, repository, pace)
    texts = gather(workspace, book, repository)
    create, *_ = first_plan(texts, repository, labels).writes
    pace.say(create.what)
    since = _day_before(book.header.opened)

    def opened() -> Issue:
        remote.check_name()
        login = remote.login()
        for issue in remote.issues_by(login, since):
            if issue.state == "open" and issue.author == login and marking.begins(issue.body, texts.wanted.book):
                return issue
        return remote.create_issue(texts.title(), create.text, labels_of(workspace, labels))

    # Not the address of the answer: what the header names is where the next token goes.
    address = IssueAddress(repository=repository, number=pace.safely(opened).number)
    with changing(workspace, book):
        book.change_header(lambda header: adopted(header, address.web))
    return create, address


def _day_before(stamp: str) -> datetime | None:
    """A day before, since this machine's clock may be ahead of the host's; None for text that is no time."""
    try:
        return datetime.fromisoformat(stamp).astimezone(UTC) - timedelta(days=1)
    except (ValueError, OverflowError):
        return None


def write_offline(
    workspace: Workspace, folder: str, *, entries: Sequence[str], repository: str | None, labels: Sequence[str]
) -> tuple[Book, list[Path]]:
    """The documents as files, as if the issue were opened now. Nothing is asked of the network.

    Raises UsageError for what is not a folder, and for one with files of these names that are not of this logbook.
    """
    book = workspace.book(entries[0] if entries else None)
    issue = issue_of(book)
    named = issue.repository if issue is not None else default_repository(workspace, repository)
    texts = gather(workspace, book, named, chosen=entries)
    documents = _documents(first_plan(texts, named, labels), texts.title())
    place = Path(os.path.normpath(workspace.cwd / Path(folder).expanduser()))
    if not folder.strip() or (place.exists() and not place.is_dir()):
        raise UsageError(
            f"{folder!r} is not a folder", cause="--offline writes several files into a folder", hint="name another one"
        )
    files = Folder(place)
    earlier = [path for path in place.glob("*.md") if _OURS.fullmatch(path.name)]
    for path in earlier:
        head = "\n".join(files.read(path, limit=PROSE_BYTES).decode("utf-8", "replace").split("\n")[:3])
        if re.search(rf"^<!-- logbook:[a-z]+ \d+ book={re.escape(texts.wanted.book)}[ >]", head, re.M) is None:
            raise UsageError(
                f"{workspace.shown(path)} is not a document of this logbook",
                cause="a file of that name would be replaced or removed",
                hint="name another folder, or put that file elsewhere",
            )
    for path in earlier:
        files.remove(path)
    files.make()
    for name, text in documents.items():
        files.write(name, text, durable=False)
    return book, [place / name for name in documents]


def _documents(plan: SyncPlan, title: str) -> dict[str, str]:
    """`issue.md`, `update-01.md`, ..."""
    found, counts = {"issue.md": f"# {title}\n\n{plan.writes[0].text}\n"}, Counter[str]()
    for write in plan.writes:
        if write.kind == "post":
            counts[write.document] += 1
            found[f"{write.document}-{counts[write.document]:02d}.md"] = f"{write.text}\n"
    return found
