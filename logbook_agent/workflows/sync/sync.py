"""`logbook sync`: plan, show or apply."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from logbook_agent.errors import RemoteError, StoreError, SyncRunning, UsageError
from logbook_agent.issues.address import RepositoryAddress, parse_issue
from logbook_agent.issues.links import Links
from logbook_agent.issues.plan import first_body, make_plan
from logbook_agent.issues.steps import Create, LinkBack, Plan, Post, Step, check_texts
from logbook_agent.issues.values import Issue
from logbook_agent.model.header import ExperimentIssue, Header
from logbook_agent.provenance.commit import commit_root
from logbook_agent.store.book import Book
from logbook_agent.sync.apply import Sync
from logbook_agent.sync.calls import Calls, with_progress
from logbook_agent.sync.opening import NewIssue, open_issue
from logbook_agent.workflows.sync.gather import Gathered, gather
from logbook_agent.workflows.sync.header import HeaderMemory, change_header
from logbook_agent.workflows.sync.link_back import carry_out_link_backs, planned_link_backs
from logbook_agent.workflows.sync.place import (
    Wire,
    connect,
    default_repository,
    issue_of,
    links_of,
    needed_repository,
)
from logbook_agent.workflows.workspace import Workspace

# Where a dry run opens its issue when nothing says where.
_NOWHERE = RepositoryAddress(owner="OWNER", name="REPO")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncResult:
    """`steps`: those carried out; in a dry run those that would be."""

    book: Book
    issue: str | None
    steps: tuple[Step, ...]
    links: Links
    waiting: tuple[str, ...] = ()
    commit: str | None = None


@dataclass(kw_only=True)
class _Run:
    workspace: Workspace
    book: Book
    request: SyncRequest
    wire: Wire
    done: list[Step] = field(default_factory=list)


def sync(workspace: Workspace, request: SyncRequest, wire: Wire) -> SyncResult:
    """Bring the issue up to date. Raises RemoteError; what was not done is in the next plan."""
    book = workspace.book(request.entries[0] if request.entries else None)
    if issue_of(book) is None:
        if request.create:
            _check_no_link(book)
    elif request.repository or request.labels:
        raise UsageError(
            f"{book.topic} has its issue already: {book.header.issue.url if book.header.issue else ''}",
            cause="--repo and --label are for a new one",
            hint="logbook sync; or, to go on elsewhere: logbook link URL --replace",
        )
    if request.dry_run:
        return _shown(_Run(workspace=workspace, book=book, request=request, wire=wire))
    with _alone(book):
        run = _Run(workspace=workspace, book=book, request=request, wire=wire)
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
            wire.say(f"interrupted after {made}; the rest stays in the plan: logbook sync")
            raise
        return dataclasses.replace(result, commit=_commit(run))


@contextlib.contextmanager
def _alone(book: Book) -> Iterator[None]:
    """One sync of a clone at a time."""
    try:
        with book.sync_lock():
            yield
    except StoreError as error:
        if "is locked by" not in error.message:
            raise
        raise SyncRunning(
            f"another sync of {book.topic} is under way: {error.message}",
            cause="two syncs of one clone would write the same comments",
            hint="wait for it to end, then: logbook sync",
        ) from None


def _shown(run: _Run) -> SyncResult:
    """What would be done: with an issue, of the issue as it is; without one nothing is asked of the network."""
    book, request = run.book, run.request
    issue = issue_of(book)
    if issue is None:
        _check_create(run)
        repository = default_repository(run.workspace, request.repository)
        links = links_of(run.workspace, book, repository)
        gathered = _gather(run, links)
        plan = _first_plan(run, gathered, repository or _NOWHERE)
        return _result(run, plan.steps, links, gathered)
    links = links_of(run.workspace, book, issue.repository)
    gathered = _gather(run, links)
    calls = connect(run.workspace, issue.repository, run.wire, read_only=True)
    plan = calls.safely(_syncing(run, calls, issue.number, gathered).plan)
    run.workspace.warnings += plan.warnings
    return _result(run, (*plan.steps, *planned_link_backs(book, gathered.documents)), links, gathered)


def _applied(run: _Run) -> SyncResult:
    book, workspace = run.book, run.workspace
    issue = issue_of(book)
    if issue is None:
        _check_create(run)
        repository = needed_repository(workspace, run.request.repository)
        calls = connect(workspace, repository, run.wire)
        _create(run, calls, repository)
        issue = issue_of(book)
        assert issue is not None  # noqa: S101  it was just written
    else:
        calls = connect(workspace, issue.repository, run.wire)
    links = links_of(workspace, book, issue.repository)
    gathered = _gather(run, links)
    syncing = _syncing(run, calls, issue.number, gathered)
    try:
        plan = syncing.run()
    finally:
        run.done += syncing.done
    workspace.warnings += plan.warnings
    try:
        run.done += carry_out_link_backs(workspace, book, gathered.documents, run.wire)
    except RemoteError as error:
        raise with_progress(error, len(run.done)) from None
    return _result(run, run.done, links, gathered)


def _gather(run: _Run, links: Links) -> Gathered:
    return gather(run.workspace, run.book, links, chosen=run.request.entries, new_block=run.request.new_block)


def _syncing(run: _Run, calls: Calls, number: int, gathered: Gathered) -> Sync:
    return Sync(
        calls=calls,
        number=number,
        wanted=gathered.wanted,
        documents=gathered.documents,
        memory=HeaderMemory(workspace=run.workspace, book=run.book),
    )


def _result(run: _Run, steps: Sequence[Step], links: Links, gathered: Gathered) -> SyncResult:
    issue = run.book.header.issue
    return SyncResult(
        book=run.book,
        issue=issue.url if issue is not None else None,
        steps=tuple(steps),
        links=links,
        waiting=tuple(e.id for e in gathered.wanted.entries if e.stage == "open"),
    )


# -- opening the issue -------------------------------------------------------------------------------


def _check_create(run: _Run) -> None:
    if not run.request.create:
        raise UsageError(
            f"{run.book.topic} has no issue yet",
            cause="it was neither opened nor linked",
            hint="logbook sync --create, or for one that exists: logbook link URL",
        )


def _check_no_link(book: Book) -> None:
    """A link that `start` was given as that of the experiment issue is meant to be used."""
    for link in book.header.links:
        if link.label.casefold() == "experiment issue":
            raise UsageError(
                f"{book.topic} names an experiment issue: {link.url}",
                cause="it stands among the links of the header, and another one would be opened",
                hint=f"logbook link {link.url}; then: logbook sync",
            )


def _first_plan(run: _Run, gathered: Gathered, repository: RepositoryAddress) -> Plan:
    """The plan of an issue that is yet to be opened."""
    body = first_body(gathered.wanted, gathered.documents)
    labels = _labels(run)
    create = Create(repository=repository.slug, title=gathered.documents.title(), labels=labels, text=body)
    empty = Issue(number=0, url="", title="", body=body, author="")
    plan = make_plan(gathered.wanted, gathered.documents, empty, ())
    return Plan(steps=(create, *plan.steps, *planned_link_backs(run.book, gathered.documents)))


def _labels(run: _Run) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*run.workspace.config.github.labels, *run.request.labels)))


def _create(run: _Run, calls: Calls, repository: RepositoryAddress) -> None:
    """Open the issue, or find the one that an earlier attempt opened, and write its link into the header."""
    workspace, book = run.workspace, run.book
    gathered = gather(workspace, book, links_of(workspace, book, repository))
    plan = _first_plan(run, gathered, repository)
    check_texts(plan.steps)
    create = plan.steps[0]
    assert isinstance(create, Create)  # noqa: S101  the first step of a first plan
    new = NewIssue(
        book=gathered.wanted.book,
        title=create.title,
        body=create.text,
        labels=create.labels,
        since=_day_before(book.header.opened),
    )
    run.wire.say(str(create))
    try:
        issue = open_issue(calls, new)
    except RemoteError as error:
        raise with_progress(error, 0) from None
    run.done.append(create)
    adopt(workspace, book, issue.url, author=issue.author)


def _day_before(stamp: str) -> str:
    """This machine's clock may be ahead of the host's. Text that is no time stays as it is."""
    try:
        before = datetime.fromisoformat(stamp).astimezone(UTC) - timedelta(days=1)
    except (ValueError, OverflowError):
        return stamp
    return before.strftime("%Y-%m-%dT%H:%M:%SZ")


def adopt(workspace: Workspace, book: Book, url: str, *, author: str | None = None) -> None:
    """Make an issue the experiment issue of a logbook. `author` opened it for us, with the block in it."""
    parse_issue(url)

    def changed(header: Header) -> Header:
        before = header.issue
        if before is not None and before.url == url:
            return header
        trusted = {*(before.trusted if before is not None else ()), *((author,) if author else ())}
        issue = ExperimentIssue(url=url, trusted=tuple(sorted(trusted)), managed=author is not None)
        return dataclasses.replace(header, issue=issue)

    change_header(workspace, book, changed)


# -- elsewhere ---------------------------------------------------------------------------------------


def _commit(run: _Run) -> str | None:
    if not run.request.commit:
        return None
    return commit_root(run.workspace.root, f"logbook {run.book.header.prefix}: records", run.workspace.environ)


def write_offline(workspace: Workspace, request: SyncRequest, folder: Path) -> tuple[Book, list[Path]]:
    """The documents as files, as if the issue were opened now. Nothing is asked of the network."""
    book = workspace.book(request.entries[0] if request.entries else None)
    run = _Run(workspace=workspace, book=book, request=request, wire=Wire(say=lambda _: None))
    issue = issue_of(book)
    repository = issue.repository if issue is not None else default_repository(workspace, request.repository)
    gathered = _gather(run, links_of(workspace, book, repository))
    fresh = dataclasses.replace(gathered.wanted, managed=False, trusted=frozenset())
    plan = _first_plan(run, dataclasses.replace(gathered, wanted=fresh), repository or _NOWHERE)
    return book, write_documents(folder, plan)


def write_documents(folder: Path, plan: Plan) -> list[Path]:
    """`issue.md`, `update-01.md`, ... in a folder that is made when it is not there."""
    names: dict[str, str] = {}
    counts: dict[str, int] = {}
    for step in plan.steps:
        if isinstance(step, Create):
            names["issue.md"] = f"# {step.title}\n\n{step.text}\n"
        elif isinstance(step, Post | LinkBack):
            kind = step.kind if isinstance(step, Post) else "link"
            counts[kind] = counts.get(kind, 0) + 1
            names[f"{kind}-{counts[kind]:02d}.md"] = f"{step.text}\n"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in names.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in names]
