"""What a sync gives up, and what it leaves alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from logbook_agent.issue.values import Issue
from logbook_agent.model.errors import Rejected
from tests.unit.issue.model_server import Client
from tests.unit.issue.model_support import sync
from tests.unit.issue.test_issues_plan import posted


class Forgetful(Client):
    def edit_body(self, number: int, change: Callable[[str], str]) -> Issue:
        return self._write(lambda: self.server.issues[number])


def test_an_issue_that_keeps_nothing_is_given_up() -> None:
    server, entries = posted(1)
    client = Forgetful(server, "ada")
    with pytest.raises(Rejected, match="does not keep what is written to it: write the block"):
        sync(client, [replace(entries[0], digest="f" * 16)]).run()
    # Four times the block, and once the comment.
    assert client.sent == 5


def test_a_comment_that_changed_since_it_was_read_is_not_written() -> None:
    server, entries = posted(1)
    client = Client(server, "ada")
    changed = [replace(entries[0], digest="f" * 16)]

    def edited_before_the_write() -> None:
        # The reads of a plan, then that of the block, its write, and that of the comment.
        if client.reads == 4 and "I doubt it" not in server.comments[1].body:
            server.comments[1] = replace(server.comments[1], body=server.comments[1].body + "\nI doubt it.")

    client.turn = edited_before_the_write
    sync(client, changed).run()
    assert server.comments[1].body.endswith("I doubt it.")
