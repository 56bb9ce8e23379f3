"""`logbook sync`: plan, show or apply."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Sequence
from dataclasses import dataclass, field

from logbook_agent.issue.apply import Learnt, Sync
from logbook_agent.issue.contents import BookDocuments, gather
from logbook_agent.issue.creation import check_no_link, create_issue, first_plan, labels_of
from logbook_agent.issue.destination import (
    SendOptions,
    connect,
    default_repository,
    issue_line,
    issue_of,
    named_by,
    typed,
)
from logbook_agent.issue.linked_issues import carry_out_link_backs, planned_link_backs
from logbook_agent.issue.pace import with_progress
from logbook_agent.issue.steps import Step
from logbook_agent.model.errors import Locked, RemoteError, StoreError, SyncRunning, UsageError
from logbook_agent.model.header import Header
from logbook_agent.running.provenance.commit import check_commit, commit_root
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.links import Links


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncRequest:
    """The options of `sync`. `entries`: only these go out, whatever their stage."""

    create: bool = False
    repository: str | None = None
    labels: Sequence[str] = ()
    entries: Sequence[str] = ()
    dry_run: bool = False
    commit: bool = False
    new_block: bool = False

    def words(self, *, opened: bool) -> tuple[str, ...]:
        """The command that asks for this again; `opened`: the issue is there, and says where and as what."""
        words = ["sync"]
        if self.create and not opened:
            words += ["--create", *(["--repo", self.repository] if self.repository is not None else [])]
            words += [word for label in self.labels for word in ("--label", label)]
        words += [word for entry_id in self.entries for word in ("--entry", entry_id)]
        flags = {"--dry-run": self.dry_run, "--commit": self.commit, "--new-block": self.new_block}
        return (*words, *(flag for flag, given in flags.items() if given))


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncResult:
    """`steps`: those carried out; in a dry run those that would be. `would_commit`: the records, in a dry run."""

    book: Book
    issue: str | None
    steps: tuple[Step, ...]
    links: Links
    waiting: tuple[str, ...] = ()
    commit: str | None = None
    would_commit: bool = False


@dataclass(kw_only=True)
class _Run:
    workspace: Workspace
    book: Book
    request: SyncRequest
    wire: SendOptions
    done: list[Step] = field(default_factory=list)

    @property
    def again(self) -> str:
        """What to type to go on after an error, as things stand now."""
        opened = self.book.header.issue is not None
        return self.wire.again or typed(self.workspace, *self.request.words(opened=opened))

    @property
    def telling(self) -> SendOptions:
        """The wire, with what to type to go on."""
        return dataclasses.replace(self.wire, again=self.again)


def sync(workspace: Workspace, request: SyncRequest, wire: SendOptions) -> SyncResult:
    """Bring the issue up to date. Raises RemoteError; what was not done is in the next plan."""
    book = workspace.book(request.entries[0] if request.entries else None)
    run = _Run(workspace=workspace, book=book, request=request, wire=wire)
    _check(run)
    if request.dry_run:
        return dataclasses.replace(_shown(run), would_commit=request.commit)
    with contextlib.ExitStack() as held:
        _alone(run, held)
        try:
            result = _applied(run)
        except RemoteError:
            # The network's trouble is no reason to leave the records uncommitted, and git's none to hide it.
            try:
                commit = _commit(run)
            except StoreError as error:
                wire.say(f"nor was the logbook committed: {error.message}")
            else:
                if commit is not None:
                    wire.say(f"committed: {commit[:9]}")
            raise
        except KeyboardInterrupt:
            made = "1 write" if len(run.done) == 1 else f"{len(run.done)} writes"
            wire.say(f"interrupted after {made}; the rest stays in the plan: {run.again}")
            raise
        try:
            return dataclasses.replace(result, commit=_commit(run))
        except StoreError as error:
            raise _not_committed(error, result) from None


def sync_after(workspace: Workspace, wire: SendOptions, done: str) -> SyncResult:
    """Bring the issue up to date after something was done; an error says that it was."""
    try:
        return sync(workspace, SyncRequest(), wire)
    except RemoteError as error:
        error.reword(f"{done}, but the issue was not updated: {error.message}")
        raise


def _check(run: _Run) -> None:
    """What can be refused before anything is asked of the network."""
    request, book = run.request, run.book
    if book.header.issue is None:
        if not request.create:
            raise UsageError(
                f"{book.topic} has no issue yet",
                cause="it was neither opened nor linked",
                hint="logbook sync --create, or for one that exists: logbook link URL",
            )
        check_no_link(book)
        labels_of(run.workspace, request.labels)
    elif request.repository or request.labels:
        raise UsageError(
            f"{book.topic} already has an issue: {book.header.issue.url}",
            cause="--repo and --label are for a new one",
            hint="logbook sync; or, to continue elsewhere: logbook link URL --replace",
        )
    if request.commit:
        check_commit(run.workspace.root, run.workspace.environ)


def _not_committed(error: StoreError, result: SyncResult) -> StoreError:
    """The error, saying also what was done."""
    error.reword(f"{result.issue} is up to date, but the logbook was not committed: {error.message}")
    if result.steps:
        error.cause = f"{error.cause}\nwritten before: {'; '.join(map(str, result.steps))}"
    return error


def _alone(run: _Run, held: contextlib.ExitStack) -> None:
    """One sync of a clone at a time."""
    try:
        held.enter_context(run.book.sync_lock())
    except Locked as error:
        raise SyncRunning(
            f"another sync of {run.book.topic} is under way ({error.holder})",
            cause="two syncs of one clone would write the same comments",
            hint=f"wait for it to end, then: {run.again}",
        ) from None


def _shown(run: _Run) -> SyncResult:
    """What would be done: with an issue, of the issue as it is; without one nothing is asked of the network."""
    workspace, book, request = run.workspace, run.book, run.request
    issue = issue_of(book)
    repository = issue.repository if issue is not None else default_repository(workspace, request.repository)
    documents = gather(workspace, book, repository, chosen=request.entries, new_block=request.new_block)
    if issue is None:
        plan = first_plan(documents, repository, request.labels)
        steps = plan.steps
    else:
        calls = connect(workspace, issue.repository, run.telling, named_by=issue_line(book), read_only=True)
        plan = Sync(calls=calls, number=issue.number, wanted=documents.wanted, documents=documents).plan()
        steps = (*plan.steps, *planned_link_backs(documents))
    workspace.warnings += plan.warnings
    return _result(run, steps, documents)


def _applied(run: _Run) -> SyncResult:
    workspace, book, request = run.workspace, run.book, run.request
    issue = issue_of(book)
    if issue is None:
        repository = default_repository(workspace, request.repository)
        if repository is None:
            raise UsageError(
                "no repository to open the issue in",
                cause="none is configured, and no git remote points to one",
                hint='add: --repo OWNER/REPO, or set in logbook.toml: [github] repository = "OWNER/REPO"',
            )
        who = named_by(workspace, repository, request.repository)
        calls = connect(workspace, repository, run.telling, named_by=who)
        created, issue = create_issue(workspace, book, calls, repository, request.labels)
        run.done.append(created)
    # Once it is open, another command goes on.
    calls = connect(workspace, issue.repository, run.telling, named_by=issue_line(book))
    documents = gather(workspace, book, issue.repository, chosen=request.entries, new_block=request.new_block)
    # What was done before is part of how far it came.
    syncing = Sync(calls=calls, number=issue.number, wanted=documents.wanted, documents=documents, done=run.done)
    syncing.remember = functools.partial(_remember, run)
    try:
        workspace.warnings += syncing.run().warnings
        run.done += carry_out_link_backs(documents, run.telling)
    except RemoteError as error:
        raise with_progress(error, len(run.done)) from None
    return _result(run, run.done, documents)


def _remember(run: _Run, learnt: Learnt) -> None:
    issue = run.book.header.issue
    if issue is not None and learnt(issue) != issue:

        def changed(header: Header) -> Header:
            return header if header.issue is None else dataclasses.replace(header, issue=learnt(header.issue))

        run.book.change_header(changed)


def _result(run: _Run, steps: Sequence[Step], documents: BookDocuments) -> SyncResult:
    issue, wanted = run.book.header.issue, documents.wanted
    return SyncResult(
        book=run.book,
        issue=issue.url if issue is not None else None,
        steps=tuple(steps),
        links=documents.values.links,
        waiting=tuple(e.id for e in wanted.entries if e.stage == "open" and e.id not in wanted.chosen),
    )


def _commit(run: _Run) -> str | None:
    if not run.request.commit:
        return None
    return commit_root(run.workspace.root, f"logbook {run.book.header.prefix}: records", run.workspace.environ)
