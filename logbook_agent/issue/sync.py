"""The sync of a logbook, from the request to the last write.

    lock the working tree -> read the issue, or open it -> plan (`plan.py`) -> write one by one -> read and plan again

Nothing is kept between two syncs: what was told is read from the markers in the issue. So

- a write whose answer is lost is never sent again blindly. The issue is read again, after 1, 2, 4 s, and what was
  applied is in no plan any more. The fourth loss in a row ends the sync. Killed anywhere, the next one completes it;
- two clones may post the same: then the older comment stays, and the first sync that sees both deletes the other one;
- what a person edits in a comment stays: it no longer fits its marker. It is read once more right before it is
  written or deleted;
- a limit of the host is waited for (`pace.py`), as long as `--max-wait` allows; what was not sent is in the next plan.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct, field, structs

from logbook_agent.issue import marking
from logbook_agent.issue.destination import connect, issue_of
from logbook_agent.issue.documents import BookTexts, gather
from logbook_agent.issue.new_issue import check_request, first_plan, opened
from logbook_agent.issue.pace import Pace, Stale
from logbook_agent.issue.plan import make_plan
from logbook_agent.issue.values import Comment, Issue, Links, SyncPlan, SyncRequest, Wanted, Write
from logbook_agent.model.errors import (
    AnswerLost,
    IssueLocked,
    Locked,
    Rejected,
    RemoteError,
    SyncRunning,
    Unreachable,
    UsageError,
)
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.fit import size
from logbook_agent.text.phrases import counted

if TYPE_CHECKING:
    from logbook_agent.issue.github import GitHub

# Plans in a row that have something to do: the first is carried out, a second may remove what two clones posted.
_MOST_PLANS = 4


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
    check_request(workspace, book, request)
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
            issue = issue_of(book) or opened(workspace, book, request, pace, done)
            texts = gather(workspace, book, request, issue.repository)
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


def _preview(workspace: Workspace, book: Book, request: SyncRequest, pace: Pace) -> SyncResult:
    """What would be done to the issue as it is; without an issue nothing is asked of the network."""
    issue = issue_of(book)
    if issue is None:
        texts, plan = first_plan(workspace, book, request)
    else:
        texts = gather(workspace, book, request, issue.repository)
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


@contextlib.contextmanager
def _only_one(book: Book, pace: Pace) -> Iterator[None]:
    """One sync of a working tree at a time. Raises SyncRunning."""
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


class Sync(Struct, kw_only=True):
    """One sync of one issue. `done` are the writes that were made; `warnings` what the plans left alone."""

    remote: GitHub
    number: int
    wanted: Wanted
    texts: BookTexts
    done: list[Write] = field(default_factory=list)
    warnings: dict[str, None] = field(default_factory=dict)
    # A list of the host may lag behind: comments that it confirmed, and None for those that it deleted.
    _known: dict[int, Comment | None] = field(default_factory=dict)
    # The write whose answer was lost; a plan that lacks it shows that it was made.
    _unsure: Write | None = None

    def run(self) -> None:
        """Plan and write until nothing is left to do. Raises the RemoteError that ended it; what was not written is in
        the plan of the next sync."""
        for _ in range(_MOST_PLANS):
            # After a lost answer it begins again, by reading.
            plan = self.remote.pace.safely(self._carry_out)
            if not plan.writes:
                return
        raise Rejected(
            f"the issue does not keep what is written to it: {plan.writes[0].what}",
            cause="something else writes to the same comments, or the server changes what it stores",
            hint="logbook sync --dry-run shows what differs",
        )

    def _carry_out(self) -> SyncPlan:
        """The plan for the issue as it is now, after its writes were made."""
        plan = self.plan()
        if self._unsure is not None and self._unsure not in plan.writes:
            self.done.append(self._unsure)
            self.remote.pace.succeeded()
        self._unsure = None
        for number, write in enumerate(plan.writes, 1):
            self.remote.pace.say(f"{number}/{len(plan.writes)} {write.what}")
            self._write(write)
            self.done.append(write)
        return plan

    def plan(self) -> SyncPlan:
        """The plan for the issue as it is now."""
        issue, comments = self._read()
        if not self.wanted.login and any(marking.is_marked(c.body) and not c.counts("") for c in comments):
            # They count if they are by our own account, which has no place in the repository.
            self.wanted = structs.replace(self.wanted, login=self.remote.login())
        plan = make_plan(self.wanted, self.texts, issue, comments)
        if plan.writes and issue.locked:
            raise IssueLocked(
                f"the conversation of {issue.url} is locked",
                cause="somebody locked it; nothing was written",
                hint="have it unlocked, or continue in another issue: logbook link URL --replace; then: logbook sync",
            )
        self.warnings |= dict.fromkeys(plan.warnings)
        return plan

    def _read(self) -> tuple[Issue, list[Comment]]:
        issue = self.remote.issue(self.number)
        listed: dict[int, Comment | None] = {c.id: c for c in self.remote.comments(self.number)}
        comments = self._known | listed | {number: None for number, known in self._known.items() if known is None}
        if marking.find_block(issue.body, self.wanted.book) is None:
            # Another machine's first sync may fall between the two reads: it writes the block before any comment.
            issue = self.remote.issue(self.number)
        return issue, [comment for comment in comments.values() if comment is not None]

    def _write(self, write: Write) -> None:
        remote, number = self.remote, write.comment or 0
        try:
            if write.kind == "block":
                remote.edit_body(self.number, partial(self._spliced, text=write.text))
                self.wanted = structs.replace(self.wanted, new_block=False)
            elif write.kind == "post":
                posted = remote.post_comment(self.number, write.text)
                self._known[posted.id] = posted
            elif write.kind == "edit":
                self._known[number] = remote.edit_comment(number, old=write.old, new=write.text)
            elif write.kind == "delete":
                remote.delete_comment(number, old=write.old)
                self._known[number] = None
            elif write.kind == "close":
                remote.close_issue(self.number)
        except AnswerLost:
            self._unsure = write
            raise
        except Stale:
            self._known.pop(number, None)
            raise

    def _spliced(self, body: str, text: str) -> str:
        """The body as it is at this moment, with the block in its place."""
        body = marking.spliced(body, self.wanted.book, text)
        if size(body) > marking.LIMIT_BYTES:
            cause = "the block has less room now"
            raise Stale(Unreachable("people wrote in the issue while it was synced", cause=cause))
        return body
