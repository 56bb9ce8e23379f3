"""Apply a plan: step by step; after a lost answer, read the issue again and plan again.

Nothing is kept here between two calls. A process that dies anywhere leaves the issue in a state from which the next
plan goes on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from logbook_agent.issue import marking
from logbook_agent.issue.marking import normalised
from logbook_agent.issue.pace import Calls, edit_comment, write_block
from logbook_agent.issue.plan import make_plan
from logbook_agent.issue.steps import (
    Close,
    Comment,
    Delete,
    Documents,
    EditStep,
    Issue,
    Post,
    Step,
    SyncPlan,
    Wanted,
    WriteBlock,
    check_texts,
)
from logbook_agent.model.errors import AnswerLost, IssueLocked, IssueMissing, Rejected, Unreachable
from logbook_agent.model.header import ExperimentIssue

# Plans that were carried out to their end and still left something to do.
_MOST_ROUNDS = 4
# Edits of one comment that the host refused as not found, while its list had the comment.
_MOST_MISSED = 3


# A change of what the header keeps of its issue: trusted accounts, and that the block was written.
Learnt: TypeAlias = Callable[[ExperimentIssue], ExperimentIssue]


@dataclass(kw_only=True)
class Sync:
    """One sync of one issue. `done` are the steps that were carried out; `remember` keeps in the header what was learnt
    of the issue."""

    calls: Calls
    number: int
    wanted: Wanted
    documents: Documents
    remember: Callable[[Learnt], None] = lambda _: None
    done: list[Step] = field(default_factory=list)
    # What the plans warned about, each once: the last one, with nothing left to do, has forgotten.
    _warnings: dict[str, None] = field(default_factory=dict)
    _asked_login: bool = False
    # Comments that the server has confirmed, for lists that lag behind.
    _confirmed: dict[int, Comment] = field(default_factory=dict)
    _deleted: set[int] = field(default_factory=set)
    _missed: Counter[int] = field(default_factory=Counter)
    # The text of a comment whose answer was lost, by which its author is known when the host does not tell.
    _sent: str | None = None
    # The step whose answer was lost; a plan that lacks it shows that it was carried out.
    _unsure: Step | None = None

    def plan(self) -> SyncPlan:
        """The plan for the issue as it is now."""
        issue, comments = self._read()
        plan = make_plan(self.wanted, self.documents, issue, comments)
        if plan.steps and not self._asked_login:
            self._asked_login = True
            login = self.calls.reading(self.calls.remote.login)
            if login is not None and login not in self.wanted.trusted:
                self.wanted = self.wanted.trusting(login)
                plan = make_plan(self.wanted, self.documents, issue, comments)
        if plan.steps and issue.locked:
            raise IssueLocked(
                f"the conversation of {issue.url} is locked",
                cause="somebody locked it; nothing was written",
                hint="have it unlocked, or continue in another issue: logbook link URL --replace; then: logbook sync",
            )
        return plan

    def run(self) -> SyncPlan:
        """Carry out plans until nothing is left to do; an empty plan with the warnings of all.

        Raises the RemoteError that ended it; what was not done is in the next plan.
        """
        rounds = 0
        while True:
            try:
                plan = self.plan()
                self._warnings |= dict.fromkeys(plan.warnings)
                if self._unsure is not None and self._unsure not in plan.steps:
                    self.done.append(self._unsure)
                self._unsure = None
                if not plan.steps:
                    return replace(plan, warnings=tuple(self._warnings))
                rounds += 1
                if rounds > _MOST_ROUNDS:
                    raise Rejected(
                        f"the issue does not keep what is written to it: {plan.steps[0]}",
                        cause="something else writes to the same comments, or the server changes what it stores",
                        hint="logbook sync --dry-run shows what differs",
                    )
                self._carry_out(plan)
            except (AnswerLost, Unreachable) as error:
                rounds = 0
                self.calls.lose(error)

    def _read(self) -> tuple[Issue, list[Comment]]:
        remote = self.calls.remote
        issue = self.calls.reading(lambda: remote.issue(self.number))
        listed = {c.id: c for c in self.calls.reading(lambda: remote.comments(self.number))}
        if marking.find_block(issue.body, self.wanted.book) is None:
            # Another machine's first sync may fall between the two reads: it writes the block before any comment.
            issue = self.calls.reading(lambda: remote.issue(self.number))
        if self._sent is not None:
            self._learn_sender(list(listed.values()))
        if marking.find_block(issue.body, self.wanted.book) is not None and not self.wanted.managed:
            self.wanted = replace(self.wanted, managed=True)
            self.remember(_with_block)
        comments = self._confirmed | listed
        return issue, [c for c in comments.values() if c.id not in self._deleted]

    def _carry_out(self, plan: SyncPlan) -> None:
        check_texts(plan.steps)
        self.remember(_trusting(self.wanted.trusted))
        for number, step in enumerate(plan.steps, 1):
            self.calls.say(f"{number}/{len(plan.steps)} {step}")
            try:
                self._perform(step)
            except AnswerLost:
                self._unsure = step
                raise
            self.done.append(step)

    def _perform(self, step: Step) -> None:
        remote, writing = self.calls.remote, self.calls.writing
        if isinstance(step, WriteBlock):
            write_block(self.calls, self.number, book=self.wanted.book, text=step.text)
            self.wanted = replace(self.wanted, new_block=False, managed=True)
            self.remember(_with_block)
        elif isinstance(step, Post):
            self._sent = step.text
            comment = writing(lambda: remote.post_comment(self.number, step.text))
            self._sent = None
            self._confirmed[comment.id] = comment
            self._learn(comment.author)
        elif isinstance(step, EditStep):
            self._edit(step)
        elif isinstance(step, Delete):
            writing(lambda: remote.delete_comment(step.comment))
            self._deleted.add(step.comment)
        elif isinstance(step, Close):
            writing(lambda: remote.edit_issue(self.number, state="closed"))

    def _edit(self, step: EditStep) -> None:
        try:
            comment = edit_comment(self.calls, step.comment, old=step.old, new=step.text)
        except IssueMissing as error:
            # Removed since it was read, by another machine for example; or the host is wrong. The list decides.
            self._confirmed.pop(step.comment, None)
            self._missed[step.comment] += 1
            if self._missed[step.comment] >= _MOST_MISSED:
                error.hint = f"check that the token may edit this comment, then: {self.calls.pace.again}"
                raise
            raise Unreachable(f"comment {step.comment} was not found", cause=error.cause, hint=error.hint) from None
        self._confirmed[comment.id] = comment

    def _learn(self, login: str) -> None:
        if login not in self.wanted.trusted:
            self.wanted = self.wanted.trusting(login)
            self.remember(_trusting(frozenset({login})))

    def _learn_sender(self, comments: list[Comment]) -> None:
        """Trust the author of a comment that is, to the letter, what this process sent without getting an answer."""
        sent = normalised(self._sent or "")
        for comment in comments:
            if normalised(comment.body) == sent:
                self._learn(comment.author)
        self._sent = None


def _with_block(issue: ExperimentIssue) -> ExperimentIssue:
    return replace(issue, managed=True)


def _trusting(logins: frozenset[str]) -> Learnt:
    def learnt(issue: ExperimentIssue) -> ExperimentIssue:
        known = logins.union(issue.trusted)
        return issue if len(known) == len(issue.trusted) else replace(issue, trusted=tuple(sorted(known)))

    return learnt
