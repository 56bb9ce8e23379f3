"""The sync of a logbook: its issue, opened first if there is none, one sync of a clone at a time."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from logbook_agent.issue.destination import connect, default_repository, issue_of
from logbook_agent.issue.documents import BookTexts, gather
from logbook_agent.issue.opening import check_no_link, first_plan, labels_of, open_issue
from logbook_agent.issue.pace import Pace
from logbook_agent.issue.sync import Sync
from logbook_agent.issue.values import Links, Write
from logbook_agent.model.errors import Locked, RemoteError, SyncRunning, UsageError
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncRequest:
    """The options of `sync`. `entries`: only these are posted, whatever their stage. `digest`: of the plan that a dry
    run showed; no other is carried out."""

    create: bool = False
    repository: str | None = None
    labels: Sequence[str] = ()
    entries: Sequence[str] = ()
    dry_run: bool = False
    new_block: bool = False
    digest: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncResult:
    """`writes`: those that were made; in a dry run those that would be. `waiting`: entries that are not finished."""

    book: Book
    issue: str | None
    writes: tuple[Write, ...]
    links: Links
    waiting: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """The digest of where a plan writes, and what."""
        plain = [self.book.topic, self.issue, [(write.data(), write.diff()) for write in self.writes]]
        return f"sha256:{hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()}"


def sync(workspace: Workspace, request: SyncRequest, pace: Pace) -> SyncResult:
    """Bring the issue up to date. Raises RemoteError; what was not written is in the next plan."""
    book = workspace.book(request.entries[0] if request.entries else None)
    _check(workspace, book, request)
    if request.dry_run:
        return _preview(workspace, book, request, pace)
    if request.digest is not None and _preview(workspace, book, request, pace).digest != request.digest:
        raise UsageError(
            "the plan no longer has this digest",
            cause="the records or the issue have changed since it was shown",
            hint="read the new plan: logbook sync --dry-run --json",
        )
    done: list[Write] = []
    with _only_one(book, pace):
        try:
            issue = issue_of(book)
            if issue is None:
                opened, issue = open_issue(workspace, book, request.repository, request.labels, pace)
                done.append(opened)
            texts = gather(workspace, book, issue.repository, chosen=request.entries, new_block=request.new_block)
            remote = connect(workspace, issue.repository, pace)
            syncing = Sync(remote=remote, number=issue.number, wanted=texts.wanted, texts=texts, done=done)
            syncing.run()
        except RemoteError as error:
            if done:
                made = f"{_writes(done)} made before; what is left stays in the plan"
                error.cause = f"{error.cause}; {made}" if error.cause else made
            raise
        except KeyboardInterrupt:
            pace.say(f"interrupted after {_writes(done)}; to send the rest: {pace.again}")
            raise
        workspace.warnings += syncing.warnings
        return _result(book, done, texts)


def sync_after(workspace: Workspace, pace: Pace, done: str) -> SyncResult:
    """Bring the issue up to date after something was done; an error says that it was."""
    try:
        return sync(workspace, SyncRequest(), pace)
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
def _only_one(book: Book, pace: Pace) -> Iterator[None]:
    """One sync of a clone at a time. Raises SyncRunning."""
    with contextlib.ExitStack() as held:
        try:
            book.files.make(book.open_folder)
            held.enter_context(book.files.lock(book.open_folder / ".sync.lock", timeout_s=0))
        except Locked as error:
            raise SyncRunning(
                f"another sync of {book.topic} is under way ({error.holder})",
                cause="two syncs of one clone would write the same comments",
                hint=f"wait for it to end, then: {pace.again}",
            ) from None
        yield


def _preview(workspace: Workspace, book: Book, request: SyncRequest, pace: Pace) -> SyncResult:
    """What would be done to the issue as it is; without an issue nothing is asked of the network."""
    issue = issue_of(book)
    repository = issue.repository if issue is not None else default_repository(workspace, request.repository)
    texts = gather(workspace, book, repository, chosen=request.entries, new_block=request.new_block)
    if issue is None:
        plan = first_plan(texts, repository, request.labels)
    else:
        remote = connect(workspace, issue.repository, pace, read_only=True)
        plan = Sync(remote=remote, number=issue.number, wanted=texts.wanted, texts=texts).plan()
    workspace.warnings += plan.warnings
    return _result(book, plan.writes, texts)


def _result(book: Book, writes: Sequence[Write], texts: BookTexts) -> SyncResult:
    issue, wanted = book.header.issue, texts.wanted
    return SyncResult(
        book=book,
        issue=issue.url if issue is not None else None,
        writes=tuple(writes),
        links=texts.values.links,
        waiting=tuple(e.id for e in wanted.entries if e.stage == "open" and e.id not in wanted.chosen),
    )


def _writes(done: Sequence[Write]) -> str:
    return "1 write" if len(done) == 1 else f"{len(done)} writes"
