"""An issue that is yet to be opened: what is refused, its first plan, its opening; and the same texts as files
(`logbook sync --offline`)."""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from msgspec import structs

from logbook_agent.issue import marking
from logbook_agent.issue.destination import connect, default_repository, issue_of
from logbook_agent.issue.documents import BookTexts, gather
from logbook_agent.issue.pace import Pace
from logbook_agent.issue.plan import make_plan
from logbook_agent.issue.values import Issue, SyncPlan, SyncRequest, Write
from logbook_agent.model.errors import UsageError
from logbook_agent.model.header import ExperimentIssue, Header
from logbook_agent.pages.views import changing
from logbook_agent.store.book import Book
from logbook_agent.store.folder import PROSE_BYTES, Folder
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.address import IssueAddress

# GitHub's limit for the name of a label.
_LABEL_CHARS = 50
# The files of `--offline`.
_OURS = re.compile(r"issue\.md|(?:update|snapshot|final)-\d{2,}\.md")


def check_request(workspace: Workspace, book: Book, request: SyncRequest) -> None:
    """Raises UsageError for what can be refused before anything is asked of the network."""
    issue = book.header.issue
    if issue is not None and (request.repository or request.labels) and not request.create:
        raise UsageError(
            f"{book.topic} already has an issue: {issue.url}",
            cause="--repo and --label are for a new one",
            hint="logbook sync; or, to continue elsewhere: logbook link URL --replace",
        )
    if issue is not None:
        return
    if not request.create:
        where = "" if default_repository(workspace, request.repository) is not None else " --repo OWNER/REPO"
        where += " --dry-run" if request.dry_run else ""
        raise UsageError(
            f"{book.topic} has no issue yet",
            cause="it was neither opened nor linked",
            hint=f"logbook sync --create{where}, or for one that exists: logbook link URL",
        )
    for link in book.header.links:
        if link.label.casefold() == "experiment issue":
            raise UsageError(
                f"{book.topic} names an experiment issue: {link.url}",
                cause="the header already links to it, and a second would be opened",
                hint=f"logbook link {link.url}; then: logbook sync",
            )
    _labels(workspace, request.labels)


def _labels(workspace: Workspace, asked: Sequence[str]) -> tuple[str, ...]:
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


def first_plan(workspace: Workspace, book: Book, request: SyncRequest) -> tuple[BookTexts, SyncPlan]:
    """The texts and the plan of an issue as if it were opened now."""
    issue = issue_of(book)
    repository = issue.repository if issue is not None else default_repository(workspace, request.repository)
    texts = gather(workspace, book, request, repository)
    where = repository.slug if repository is not None else "a repository not known yet (add: --repo OWNER/REPO)"
    names = _labels(workspace, request.labels)
    named = f" with labels {', '.join(names)}" if names else ""
    block, *comments = make_plan(texts.wanted, texts, Issue(number=0, url="", title="", body="", author=""), ()).writes
    what = f"open an issue in {where}{named}: {texts.title()}"
    create = structs.replace(block, kind="create", what=what, text=marking.wrapped(texts.wanted.book, block.text))
    return texts, SyncPlan(writes=(create, *comments))


def opened(workspace: Workspace, book: Book, request: SyncRequest, pace: Pace, done: list[Write]) -> IssueAddress:
    """The issue that was opened now, or by an earlier attempt, which is recognised by the block in its body. Its link
    is written into the header, and what was done into `done`."""
    repository = default_repository(workspace, request.repository)
    if repository is None:
        raise UsageError(
            "no repository to open the issue in",
            cause="none is configured, and no git remote points to one",
            hint='add: --repo OWNER/REPO, or set in logbook.toml: [github] repository = "OWNER/REPO"',
        )
    remote = connect(workspace, repository, pace)
    texts, plan = first_plan(workspace, book, structs.replace(request, entries=()))
    create, labels = plan.writes[0], _labels(workspace, request.labels)
    pace.say(create.what)
    # A day before, since this machine's clock may be ahead of the host's.
    since = None
    with contextlib.suppress(ValueError, OverflowError):
        since = datetime.fromisoformat(book.header.opened).astimezone(UTC) - timedelta(days=1)

    def found_or_created() -> Issue:
        remote.check_name()
        login = remote.login()
        for issue in remote.issues_by(login, since):
            if issue.state == "open" and issue.author == login and marking.begins(issue.body, texts.wanted.book):
                return issue
        return remote.create_issue(texts.title(), create.text, labels)

    # Not the address of the answer: what the header names is where the next token goes.
    address = IssueAddress(repository=repository, number=pace.safely(found_or_created).number)
    with changing(workspace, book):
        book.change_header(lambda header: adopted(header, address.web))
    done.append(create)
    return address


def adopted(header: Header, url: str) -> Header:
    """The header with an issue as the experiment issue."""
    before = header.issue
    issue = before if before is not None and before.url == url else ExperimentIssue(url=url)
    # The header's own line for it takes the place of one that was written as a link.
    links = tuple(x for x in header.links if x.url.rstrip("/") != url or x.label.casefold() != "experiment issue")
    return structs.replace(header, links=links, issue=issue)


def write_offline(workspace: Workspace, folder: str, request: SyncRequest) -> tuple[Book, list[Path]]:
    """The documents as files, as if the issue were opened now. Nothing is asked of the network.

    Raises UsageError for what is not a folder, and for one with files of these names that are not of this logbook.
    """
    book = workspace.book(request.entries[0] if request.entries else None)
    texts, plan = first_plan(workspace, book, request)
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
    if not place.exists():
        files.make()
        # They are no part of the code beside which they lie.
        files.write(".gitignore", "*\n", durable=False)
    documents, counts = {"issue.md": f"# {texts.title()}\n\n{plan.writes[0].text}\n"}, Counter[str]()
    # What closes the issue has no text.
    for write in (one for one in plan.writes[1:] if one.document):
        counts[write.document] += 1
        documents[f"{write.document}-{counts[write.document]:02d}.md"] = f"{write.text}\n"
    for name, text in documents.items():
        files.write(name, text, durable=False)
    return book, [place / name for name in documents]
