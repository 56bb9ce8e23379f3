"""What a sync gives up and finds again, and what becomes of an issue that another one replaces."""

from __future__ import annotations

from dataclasses import replace

import pytest

from logbook_agent.issue import marking
from logbook_agent.issue.creation import _opened
from logbook_agent.issue.pace import Calls, Pace
from logbook_agent.issue.steps import Create, Issue, IssueState
from logbook_agent.model.errors import Rejected
from tests.unit.issue.model_server import Client, Server
from tests.unit.issue.model_support import BOOK, Clock, sync
from tests.unit.issue.test_issues_plan import posted


def pace(clock: Clock, **more: float) -> Pace:
    return Pace(say=lambda _: None, clock=clock, sleep=clock.sleep, **more)


class Forgetful(Client):
    def edit_issue(self, number: int, *, body: str | None = None, state: IssueState | None = None) -> Issue:
        return self._write(lambda: self.server.issues[number])


def test_an_issue_that_keeps_nothing_is_given_up() -> None:
    server, header, entries = posted(1)
    client = Forgetful(server, "ada")
    with pytest.raises(Rejected, match="does not keep what is written to it: write the block"):
        sync(client, [replace(entries[0], digest="f" * 16)], header).run()
    # Four times the block, and once the comment.
    assert client.sent == 5


def test_a_comment_that_changed_since_it_was_read_is_not_written() -> None:
    server, header, entries = posted(1)
    client = Client(server, "ada")
    changed = [replace(entries[0], digest="f" * 16)]

    def edited_before_the_write() -> None:
        # The reads of a plan, then that of the block, its write, and that of the comment.
        if client.reads == 4 and "I doubt it" not in server.comments[1].body:
            server.comments[1] = replace(server.comments[1], body=server.comments[1].body + "\nI doubt it.")

    client.turn = edited_before_the_write
    sync(client, changed, header).run()
    assert server.comments[1].body.endswith("I doubt it.")


# -- one issue -------------------------------------------------------------------------------------


class Late(Client):
    """Its first list of issues lacks the newest, as lists may."""

    looks = 0

    def issues_by(self, author: str | None, since: str) -> tuple[Issue, ...]:
        self.looks += 1
        return () if self.looks == 1 else super().issues_by(author, since)


def test_of_two_issues_the_older_stays() -> None:
    server = Server()
    body = f"mine\n\n{marking.wrapped(BOOK, 'text')}"
    server.add_issue("ada", "t", body)
    calls = Calls(remote=Late(server, "ada"), pace=pace(Clock()), say=lambda _: None)  # type: ignore[arg-type]
    new = Create(repository="o/r", title="t", labels=(), text=marking.wrapped(BOOK, "text"))
    assert _opened(calls, new, BOOK, None).number == 1
    assert [issue.state for issue in server.issues.values()] == ["open", "closed"]
    assert server.issues[1].body == body
    assert server.issues[2].body.endswith("The experiment issue is https://h/o/r/issues/1")
