"""`logbook sync`: read what the logbook has to say, plan the steps that bring the issue there, apply them.

gather (`contents.py`)      entries, header and texts, as the issue is to show them
plan (`plan.py`)            the steps from the issue as read to that; pure
apply (`apply.py`)          step by step; after a lost answer, read and plan anew
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from logbook_agent.issue.apply import Sync
from logbook_agent.issue.contents import BookDocuments, gather
from logbook_agent.issue.creation import check_no_link, create_issue, first_plan, labels_of
from logbook_agent.issue.destination import SendOptions, connect, default_repository, issue_of
from logbook_agent.issue.links import Links
from logbook_agent.issue.pace import with_progress
from logbook_agent.issue.steps import Step
from logbook_agent.model.errors import Locked, RemoteError, SyncRunning, UsageError
from logbook_agent.model.header import Header
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.address import IssueAddress


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncRequest:
    """The options of `sync`. `entries`: only these go out, whatever their stage."""

    create: bool = False
    repository: str | None = None
    labels: Sequence[str] = ()
    entries: Sequence[str] = ()
    dry_run: bool = False
    new_block: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncResult:
    """`steps`: those carried out; in a dry run those that would be."""

    book: Book
    issue: str | None
    steps: tuple[Step, ...]
    links: Links
    waiting: tuple[str, ...] = ()


def sync(workspace: Workspace, request: SyncRequest, wire: SendOptions) -> SyncResult:
    """Bring the issue up to date. Raises RemoteError; what was not done is in the next plan."""
    book = workspace.book(request.entries[0] if request.entries else None)
    _check(workspace, book, request)
    if request.dry_run:
        return _preview(workspace, book, request, wire)
    done: list[Step] = []
    with _only_one(book, wire):
        try:
            issue = issue_of(book) or _open(workspace, book, request, wire, done)
            contents = gather(workspace, book, issue.repository, chosen=request.entries, new_block=request.new_block)
            calls = connect(workspace, issue.repository, wire)
            applying = Sync(calls=calls, number=issue.number, wanted=contents.wanted, documents=contents, done=done)
            applying.remember_block = lambda: _remember_block(book)
            workspace.warnings += applying.run().warnings
        except RemoteError as error:
            raise with_progress(error, len(done)) from None
        except KeyboardInterrupt:
            made = "1 write" if len(done) == 1 else f"{len(done)} writes"
            wire.say(f"interrupted after {made}; to send the rest: {wire.again}")
            raise
        return _result(book, done, contents)


def sync_after(workspace: Workspace, wire: SendOptions, done: str) -> SyncResult:
    """Bring the issue up to date after something was done; an error says that it was."""
    try:
        return sync(workspace, SyncRequest(), wire)
    except RemoteError as error:
        error.reword(f"{done}, but the issue was not updated: {error.message}")
        raise


def _check(workspace: Workspace, book: Book, request: SyncRequest) -> None:
    """Raises UsageError for what can be refused before anything is asked of the network."""
    if book.header.issue is None:
        if not request.create:
            raise UsageError(
                f"{book.topic} has no issue yet",
                cause="it was neither opened nor linked",
                hint="logbook sync --create, or for one that exists: logbook link URL",
            )
        check_no_link(book)
        labels_of(workspace, request.labels)
    elif (request.repository or request.labels) and not request.create:
        raise UsageError(
            f"{book.topic} already has an issue: {book.header.issue.url}",
            cause="--repo and --label are for a new one",
            hint="logbook sync; or, to continue elsewhere: logbook link URL --replace",
        )


@contextlib.contextmanager
def _only_one(book: Book, wire: SendOptions) -> Iterator[None]:
    """One sync of a clone at a time. Raises SyncRunning."""
    with contextlib.ExitStack() as held:
        try:
            book.files.make(book.open_folder)
            held.enter_context(book.files.lock(book.open_folder / ".sync.lock", timeout_s=0))
        except Locked as error:
            raise SyncRunning(
                f"another sync of {book.topic} is under way ({error.holder})",
                cause="two syncs of one clone would write the same comments",
                hint=f"wait for it to end, then: {wire.again}",
            ) from None
        yield


def _preview(workspace: Workspace, book: Book, request: SyncRequest, wire: SendOptions) -> SyncResult:
    """What would be done to the issue as it is; without an issue nothing is asked of the network."""
    issue = issue_of(book)
    repository = issue.repository if issue is not None else default_repository(workspace, request.repository)
    contents = gather(workspace, book, repository, chosen=request.entries, new_block=request.new_block)
    if issue is None:
        plan = first_plan(contents, repository, request.labels)
    else:
        calls = connect(workspace, issue.repository, wire, read_only=True)
        plan = Sync(calls=calls, number=issue.number, wanted=contents.wanted, documents=contents).plan()
    workspace.warnings += plan.warnings
    return _result(book, plan.steps, contents)


def _open(workspace: Workspace, book: Book, request: SyncRequest, wire: SendOptions, done: list[Step]) -> IssueAddress:
    """The issue, newly opened; the step is added to `done`."""
    repository = default_repository(workspace, request.repository)
    if repository is None:
        raise UsageError(
            "no repository to open the issue in",
            cause="none is configured, and no git remote points to one",
            hint='add: --repo OWNER/REPO, or set in logbook.toml: [github] repository = "OWNER/REPO"',
        )
    calls = connect(workspace, repository, wire)
    created, issue = create_issue(workspace, book, calls, repository, request.labels)
    done.append(created)
    return issue


def _remember_block(book: Book) -> None:
    def changed(header: Header) -> Header:
        issue = header.issue
        return header if issue is None else dataclasses.replace(header, issue=dataclasses.replace(issue, managed=True))

    book.change_header(changed)


def _result(book: Book, steps: Sequence[Step], contents: BookDocuments) -> SyncResult:
    issue, wanted = book.header.issue, contents.wanted
    return SyncResult(
        book=book,
        issue=issue.url if issue is not None else None,
        steps=tuple(steps),
        links=contents.values.links,
        waiting=tuple(e.id for e in wanted.entries if e.stage == "open" and e.id not in wanted.chosen),
    )
