"""One comment on a pull request, written anew at each push.

It is known by its marker and by who wrote it: a copy of the marker by anybody else is left alone. GitHub has no write
that is refused when the comment is there by now, so two jobs may each post one; then both keep the oldest, and remove
the younger ones of their own account.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from logbook_agent.issue import marking as markers
from logbook_agent.issue.calls import Calls
from logbook_agent.issue.gate.actions import run_of, run_text
from logbook_agent.issue.values import Comment
from logbook_agent.model.errors import IssueMissing, Unreachable

KIND = "ci"
# Who posts with the token of a job of GitHub Actions, which does not say whose it is.
ACTIONS_LOGIN = "github-actions[bot]"


class Written(StrEnum):
    POSTED = "posted"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    OVERTAKEN = "overtaken"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedComment:
    """What became of the comment. `overtaken`: a later run of the workflow has written it."""

    written: Written
    url: str


@dataclass(kw_only=True)
class Placing:
    """One comment of a job. `key` tells the comments of several jobs on a pull request apart; `author` is the account
    of the token, where the host does not say."""

    calls: Calls
    number: int
    key: str
    text: str
    run: tuple[int, int] | None = None
    author: str | None = None
    warnings: list[str] = field(default_factory=list)
    _sent: bool = False
    _confirmed: dict[int, Comment] = field(default_factory=dict)
    _gone: set[int] = field(default_factory=set)
    _posted: bool = False

    def place(self) -> PlacedComment:
        """Raises RemoteError. An answer that was lost is followed by reading, not by writing again."""
        login = self.author
        if login is None:
            told = self.calls.safely(lambda: self.calls.reading(self.calls.remote.login))
            login = told or ACTIONS_LOGIN
        return self.calls.safely(lambda: self._place(login))

    @property
    def _body(self) -> str:
        fields = {} if self.run is None else {"run": run_text(self.run)}
        return markers.stamped(KIND, self.key, fields, self.text)

    def _place(self, login: str) -> PlacedComment:
        ours = self._ours(login)
        if not ours:
            self._post(login)
            # Somebody may have posted at the same moment.
            ours = self._ours(login)
        if not ours:
            raise Unreachable("the comment that was just posted is not there", cause="somebody removed it at once")
        first, *others = ours
        placed = self._bring_up_to_date(first)
        for comment in others:
            self.calls.writing(lambda c=comment: self.calls.remote.delete_comment(c.id))  # type: ignore[misc]
            self._gone.add(comment.id)
        return placed

    def _ours(self, login: str) -> list[Comment]:
        """Ours, the oldest first; also one that this process has sent, to the letter, whatever account it was."""
        listed = {c.id: c for c in self.calls.reading(lambda: self.calls.remote.comments(self.number))}
        # A list may lag behind what was confirmed.
        there = [c for c in (self._confirmed | listed).values() if c.id not in self._gone]
        return sorted((c for c in there if self._is_ours(c, login)), key=lambda c: c.id)

    def _is_ours(self, comment: Comment, login: str) -> bool:
        if self._sent and markers.normalised(comment.body) == markers.normalised(self._body):
            return True
        if comment.author.casefold() != login.casefold():
            return False
        marked = markers.read_comment(comment.body, self.key)
        return marked is not None and marked.kind == KIND

    def _post(self, login: str) -> None:
        self._sent = True
        comment = self.calls.writing(lambda: self.calls.remote.post_comment(self.number, self._body))
        self._confirmed[comment.id] = comment
        self._posted = True
        if comment.author.casefold() != login.casefold():
            self.warnings.append(
                f"the comment was posted by {comment.author}, not by {login}, so the next push would post a second one;"
                f" add: --comment-author '{comment.author}'"
            )

    def _bring_up_to_date(self, comment: Comment) -> PlacedComment:
        marked = markers.read_comment(comment.body, self.key)
        before = run_of(marked.fields.get("run", "")) if marked is not None else None
        if before is not None and self.run is not None and before > self.run:
            return PlacedComment(written=Written.OVERTAKEN, url=comment.url)
        if markers.normalised(comment.body) == markers.normalised(self._body):
            return PlacedComment(written=Written.POSTED if self._sent else Written.UNCHANGED, url=comment.url)
        try:
            edited = self.calls.writing(lambda: self.calls.remote.edit_comment(comment.id, self._body))
        except IssueMissing:
            self._confirmed.pop(comment.id, None)
            self._gone.add(comment.id)
            raise Unreachable(f"comment {comment.id} was removed meanwhile", cause="somebody deleted it") from None
        self._confirmed[edited.id] = edited
        return PlacedComment(written=Written.UPDATED, url=edited.url)


def key_of(name: str) -> str:
    """What names a job in its marker: letters, digits, dots, dashes."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "-" for c in name)[:60]
    return f"ci.{plain}.{markers.text_digest(name)[:8]}"
