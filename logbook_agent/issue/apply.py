"""Apply a plan: step by step; after a lost answer, read the issue again and plan again.

Nothing is kept here between two calls. A process that dies anywhere leaves the issue in a state from which the next
plan goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from logbook_agent.issue import marking
from logbook_agent.issue.pace import Calls, IssueComments, write_block
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
from logbook_agent.model.errors import AnswerLost, IssueLocked, Rejected, Unreachable

# Plans that were carried out to their end and still left something to do.
_MOST_ROUNDS = 4


@dataclass(kw_only=True)
class Sync:
    """One sync of one issue. `done` are the steps that were carried out; `remember_block` keeps in the header that the
    block stands."""

    calls: Calls
    number: int
    wanted: Wanted
    documents: Documents
    remember_block: Callable[[], None] = lambda: None
    done: list[Step] = field(default_factory=list)
    # What the plans warned about, each once: the last one, with nothing left to do, has forgotten.
    _warnings: dict[str, None] = field(default_factory=dict)
    # The step whose answer was lost; a plan that lacks it shows that it was carried out.
    _unsure: Step | None = None

    def __post_init__(self) -> None:
        self._comments = IssueComments(calls=self.calls, number=self.number)

    def plan(self) -> SyncPlan:
        """The plan for the issue as it is now."""
        issue, comments = self._read()
        plan = make_plan(self.wanted, self.documents, issue, comments)
        if plan.steps and not self.wanted.login:
            self.wanted = replace(self.wanted, login=self.calls.reading(self.calls.remote.login))
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
        comments = self._comments.read()
        if marking.find_block(issue.body, self.wanted.book) is None:
            # Another machine's first sync may fall between the two reads: it writes the block before any comment.
            issue = self.calls.reading(lambda: remote.issue(self.number))
        if marking.find_block(issue.body, self.wanted.book) is not None and not self.wanted.managed:
            self.wanted = replace(self.wanted, managed=True)
            self.remember_block()
        return issue, comments

    def _carry_out(self, plan: SyncPlan) -> None:
        check_texts(plan.steps)
        for number, step in enumerate(plan.steps, 1):
            self.calls.say(f"{number}/{len(plan.steps)} {step}")
            try:
                self._perform(step)
            except AnswerLost:
                self._unsure = step
                raise
            self.done.append(step)

    def _perform(self, step: Step) -> None:
        if isinstance(step, WriteBlock):
            write_block(self.calls, self.number, book=self.wanted.book, text=step.text)
            self.wanted = replace(self.wanted, new_block=False, managed=True)
            self.remember_block()
        elif isinstance(step, Post):
            self._comments.post(step.text)
        elif isinstance(step, EditStep):
            self._comments.edit(step.comment, old=step.old, new=step.text)
        elif isinstance(step, Delete):
            self._comments.delete(step.comment)
        elif isinstance(step, Close):
            self.calls.writing(lambda: self.calls.remote.edit_issue(self.number, state="closed"))
