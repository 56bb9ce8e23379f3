"""A sync: read the issue, plan the writes (`plan.py`), write one by one, and read again.

No state is kept between two syncs. After a lost answer nothing is sent again: the issue is read, and the next plan
lacks what was applied. A process that dies anywhere leaves an issue that the next sync completes.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct, field, structs

from logbook_agent.issue import marking
from logbook_agent.issue.pace import Stale
from logbook_agent.issue.plan import make_plan
from logbook_agent.issue.values import Comment, Issue, SyncPlan, Texts, Wanted, Write
from logbook_agent.model.errors import AnswerLost, IssueLocked, Rejected, Unreachable
from logbook_agent.text.fit import size

if TYPE_CHECKING:
    from logbook_agent.issue.github import GitHub

# Plans that were carried out to their end and still left something to do.
_MOST_ROUNDS = 4


class Sync(Struct, kw_only=True):
    """One sync of one issue. `done` are the writes that were made; `warnings` what the plans left alone."""

    remote: GitHub
    number: int
    wanted: Wanted
    texts: Texts
    done: list[Write] = field(default_factory=list)
    warnings: dict[str, None] = field(default_factory=dict)
    # A list of the host may lag behind: comments that it confirmed, and None for those that it deleted.
    _known: dict[int, Comment | None] = field(default_factory=dict)
    # The write whose answer was lost; a plan that lacks it shows that it was made.
    _unsure: Write | None = None

    def run(self) -> None:
        """Plan and write until nothing is left to do. Raises the RemoteError that ended it; what was not written is in
        the plan of the next sync."""
        self.remote.pace.safely(self._carry_out)

    def plan(self) -> SyncPlan:
        """The plan for the issue as it is now."""
        issue, comments = self._read()
        plan = make_plan(self.wanted, self.texts, issue, comments)
        if plan.writes and not self.wanted.login:
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

    def _carry_out(self) -> None:
        plan = self.plan()
        if self._unsure is not None and self._unsure not in plan.writes:
            self.done.append(self._unsure)
            self.remote.pace.succeeded()
        self._unsure = None
        for _ in range(_MOST_ROUNDS):
            for number, write in enumerate(plan.writes, 1):
                self.remote.pace.say(f"{number}/{len(plan.writes)} {write.what}")
                self._write(write)
                self.done.append(write)
            if not plan.writes or not (plan := self.plan()).writes:
                return
        raise Rejected(
            f"the issue does not keep what is written to it: {plan.writes[0].what}",
            cause="something else writes to the same comments, or the server changes what it stores",
            hint="logbook sync --dry-run shows what differs",
        )

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
                remote.delete_comment(number)
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
