"""The sync of a logbook: its issue, opened first if there is none, one sync of a clone at a time; or the documents as
files (`logbook sync --offline`)."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from msgspec import Struct, structs

from logbook_agent.issue import marking
from logbook_agent.issue.destination import connect, default_repository, issue_of
from logbook_agent.issue.documents import BookTexts, gather
from logbook_agent.issue.pace import Pace
from logbook_agent.issue.plan import make_plan
from logbook_agent.issue.sync import Sync
from logbook_agent.issue.values import Issue, Links, SyncPlan, Write
from logbook_agent.model.errors import Locked, RemoteError, SyncRunning, UsageError
from logbook_agent.model.header import ExperimentIssue, Header
from logbook_agent.pages.views import changing
from logbook_agent.store.book import Book
from logbook_agent.store.folder import Folder
from logbook_agent.store.layout import PROSE_BYTES
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.address import IssueAddress, RepositoryAddress
from logbook_agent.text.phrases import counted

# GitHub's limit for the name of a label.
_LABEL_CHARS = 50
# The files of `--offline`.
_OURS = re.compile(r"issue\.md|(?:update|snapshot|final)-\d{2,}\.md")


class SyncRequest(Struct, frozen=True, kw_only=True):
    """The options of `sync`. `entries`: only these are posted, whatever their stage. `digest`: of the plan that a dry
    run showed; no other is carried out."""

    create: bool = False
    repository: str | None = None
    labels: Sequence[str] = ()
    entries: Sequence[str] = ()
    dry_run: bool = False
    new_block: bool = False
    digest: str | None = None


class SyncResult(Struct, frozen=True, kw_only=True):
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
            issue = issue_of(book) or _opened(workspace, book, request, pace, done)
            texts = _texts(workspace, book, request, issue.repository)
            remote = connect(workspace, issue.repository, pace)
            syncing = Sync(remote=remote, number=issue.number, wanted=texts.wanted, texts=texts, done=done)
            syncing.run()
        except RemoteError as error:
            if done:
                made = f"{counted(len(done), 'write')} made before; what is left stays in the plan"
                error.cause = f"{error.cause}; {made}" if error.cause else made
            raise
        except KeyboardInterrupt:
            pace.say(f"interrupted after {counted(len(done), 'write')}; to send the rest: {pace.again}")
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
        raise UsageError(
            f"{book.topic} has no issue yet",
            cause="it was neither opened nor linked",
            hint="logbook sync --create, or for one that exists: logbook link URL",
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


def _texts(workspace: Workspace, book: Book, request: SyncRequest, repository: RepositoryAddress | None) -> BookTexts:
    return gather(workspace, book, repository, chosen=request.entries, new_block=request.new_block)


def _result(book: Book, writes: Sequence[Write], texts: BookTexts) -> SyncResult:
    issue, wanted = book.header.issue, texts.wanted
    return SyncResult(
        book=book,
        issue=issue.url if issue is not None else None,
        writes=tuple(writes),
        links=texts.values.links,
        waiting=tuple(e.id for e in wanted.entries if e.stage == "open" and e.id not in wanted.chosen),
    )


# -- an issue that is yet to be opened -------------------------------------------------------------------


def _preview(workspace: Workspace, book: Book, request: SyncRequest, pace: Pace) -> SyncResult:
    """What would be done to the issue as it is; without an issue nothing is asked of the network."""
    issue = issue_of(book)
    if issue is None:
        texts, plan = _first(workspace, book, request)
    else:
        texts = _texts(workspace, book, request, issue.repository)
        remote = connect(workspace, issue.repository, pace, read_only=True)
        plan = Sync(remote=remote, number=issue.number, wanted=texts.wanted, texts=texts).plan()
    workspace.warnings += plan.warnings
    return _result(book, plan.writes, texts)


def _first(workspace: Workspace, book: Book, request: SyncRequest) -> tuple[BookTexts, SyncPlan]:
    """The texts and the plan of an issue as if it were opened now."""
    issue = issue_of(book)
    repository = issue.repository if issue is not None else default_repository(workspace, request.repository)
    texts = _texts(workspace, book, request, repository)
    title, book_key = texts.title(), texts.wanted.book
    where = repository.slug if repository is not None else "a repository not known yet (add: --repo OWNER/REPO)"
    names = _labels(workspace, request.labels)
    named = f" with labels {', '.join(names)}" if names else ""
    plan = make_plan(texts.wanted, texts, Issue(number=0, url="", title=title, body="", author=""), ())
    what, text = f"open an issue in {where}{named}: {title}", marking.wrapped(book_key, plan.writes[0].text)
    create = structs.replace(plan.writes[0], kind="create", what=what, text=text)
    return texts, structs.replace(plan, writes=(create, *plan.writes[1:]))


def _opened(workspace: Workspace, book: Book, request: SyncRequest, pace: Pace, done: list[Write]) -> IssueAddress:
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
    texts, plan = _first(workspace, book, structs.replace(request, entries=()))
    create, labels = plan.writes[0], _labels(workspace, request.labels)
    pace.say(create.what)
    # A day before, since this machine's clock may be ahead of the host's.
    since = None
    with contextlib.suppress(ValueError, OverflowError):
        since = datetime.fromisoformat(book.header.opened).astimezone(UTC) - timedelta(days=1)

    def opened() -> Issue:
        remote.check_name()
        login = remote.login()
        for issue in remote.issues_by(login, since):
            if issue.state == "open" and issue.author == login and marking.begins(issue.body, texts.wanted.book):
                return issue
        return remote.create_issue(texts.title(), create.text, labels)

    # Not the address of the answer: what the header names is where the next token goes.
    address = IssueAddress(repository=repository, number=pace.safely(opened).number)
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
    texts, plan = _first(workspace, book, request)
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
