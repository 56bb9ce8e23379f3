"""What the sync asks of an issue tracker. One class per tracker implements it; `github` is the first.

Every method is one request or, where it lists, one per page. It returns what the server holds now, or raises:
`AnswerLost` when a write was sent and its fate is unknown, `RateLimited` when it was refused for now, `Unreachable`
when a read failed for good, else the terminal RemoteError that names the trouble. No method waits or writes twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from logbook_agent.issue.planning.values import Comment, Issue, IssueState


class Remote(Protocol):
    """One repository on one host, with one token."""

    def login(self) -> str | None:
        """Whose token it is; None when the host does not tell this kind of token."""

    def issue(self, number: int) -> Issue:
        """Raises IssueMissing or IssueMoved. A locked issue is returned as such."""

    def comments(self, number: int) -> tuple[Comment, ...]:
        """All comments, ascending by ID."""

    def comment(self, comment_id: int) -> Comment:
        """Raises IssueMissing."""

    def issues_by(self, author: str | None, since: str) -> tuple[Issue, ...]:
        """Issues (no pull requests), open and closed, that changed since then (ISO 8601), ascending by number."""

    def create_issue(self, title: str, body: str, labels: Sequence[str]) -> Issue: ...

    def edit_issue(self, number: int, *, body: str | None = None, state: IssueState | None = None) -> Issue:
        """Changes what is given and nothing else. A closed issue is closed as completed."""

    def post_comment(self, number: int, body: str) -> Comment: ...

    def edit_comment(self, comment_id: int, body: str) -> Comment: ...

    def delete_comment(self, comment_id: int) -> None:
        """One that is gone already is no error."""

    def tagged_commit(self, name: str) -> str | None:
        """The commit that a tag leads to, through tag objects; None when there is no such tag."""

    def has_commit(self, commit: str) -> bool: ...

    def create_tag(self, name: str, commit: str, message: str) -> None:
        """An annotated tag: the object and its ref."""
