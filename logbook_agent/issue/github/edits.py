"""Edits of texts that people may edit too.

GitHub has no write that is refused when the text has changed since it was read. So a text is read again right before it
is written, after all waits, and what has changed by then is left alone. One request is left to lose an edit in.
"""

from __future__ import annotations

from logbook_agent.issue.github.calls import Calls
from logbook_agent.issue.planning import block
from logbook_agent.issue.planning.markers import normalised
from logbook_agent.issue.planning.plan import LIMIT_BYTES
from logbook_agent.issue.planning.values import Comment, Issue
from logbook_agent.model.errors import Unreachable
from logbook_agent.text.fit import size


def edit_comment(calls: Calls, comment_id: int, *, old: str, new: str) -> Comment:
    """Replace the text of a comment. Raises Unreachable when it is not `old` any more: to be planned again."""

    def write() -> Comment:
        there = calls.reading(lambda: calls.remote.comment(comment_id))
        if normalised(there.body) != normalised(old):
            raise Unreachable(f"comment {comment_id} was edited while it was synced", cause="somebody else edited it")
        return calls.remote.edit_comment(comment_id, new)

    return calls.writing(write)


def write_block(calls: Calls, number: int, *, book: str, text: str) -> Issue:
    """Replace the block in an issue's body, or add it, and leave the rest as it is at this moment."""

    def write() -> Issue:
        body = block.spliced(calls.reading(lambda: calls.remote.issue(number)).body, book, text)
        if size(body) > LIMIT_BYTES:
            raise Unreachable("people wrote in the issue while it was synced", cause="the block has less room now")
        return calls.remote.edit_issue(number, body=body)

    return calls.writing(write)
