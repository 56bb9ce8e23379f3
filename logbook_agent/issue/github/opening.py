"""Opening the experiment issue, once. It has no name of its own: it is known by the block in its body."""

from __future__ import annotations

from logbook_agent.issue.github.calls import Calls
from logbook_agent.issue.planning import block
from logbook_agent.issue.planning.steps import Create
from logbook_agent.issue.planning.values import Issue
from logbook_agent.model.errors import MarkersDamaged


def open_issue(calls: Calls, new: Create, book: str, since: str) -> Issue:
    """The one open issue of this logbook by this account, created when there is none. No issue of the logbook is
    older than `since` (ISO 8601).

    A creation whose answer was lost is found again by its block. Of two that two machines opened at one time the
    older stays; the younger is closed and points to it.
    """
    login = calls.safely(lambda: calls.reading(calls.remote.login))
    return calls.safely(lambda: _opened(calls, new, book, since, login))


def existing(calls: Calls, book: str, since: str, login: str | None) -> list[Issue]:
    """Open issues of this account with the block of this logbook, oldest first.

    Where the host does not tell whose token it is, those of anybody with an intact block: an earlier attempt may
    have opened one and been killed, and since then the logbook may have changed.
    """
    found = calls.reading(lambda: calls.remote.issues_by(login, since))
    mine = [i for i in found if i.state == "open" and _is_ours(i, book, login)]
    return sorted(mine, key=lambda i: i.number)


def _is_ours(issue: Issue, book: str, login: str | None) -> bool:
    if login is not None:
        return issue.author == login and block.begins(issue.body, book)
    try:
        found = block.find(issue.body, book)
    except MarkersDamaged:
        return False
    return found is not None and found.intact


def _opened(calls: Calls, new: Create, book: str, since: str, login: str | None) -> Issue:
    found = existing(calls, book, since, login)
    if found and login is None:
        calls.say(
            f"continuing in {found[0].url}, opened by {found[0].author}: it has the block of this logbook, and the host"
            " does not say whose this token is"
        )
    if not found:
        created = calls.writing(lambda: calls.remote.create_issue(new.title, new.text, new.labels))
        # Lists may lag behind: the one that was just created counts, whether it is listed or not.
        others = [i for i in existing(calls, book, since, login) if i.number != created.number]
        found = sorted([created, *others], key=lambda i: i.number)
    for younger in found[1:]:
        # Without a login a block may also be somebody's copy.
        if younger.author == found[0].author:
            _close(calls, younger, found[0], book)
    return found[0]


def _close(calls: Calls, younger: Issue, older: Issue, book: str) -> None:
    calls.say(f"closing {younger.url}, a duplicate of {older.url}")
    pointer = f"Opened twice by a sync that lost an answer. The experiment issue is {older.url}"

    def write() -> Issue:
        body = calls.reading(lambda: calls.remote.issue(younger.number)).body
        return calls.remote.edit_issue(younger.number, body=_replaced(body, book, pointer), state="closed")

    calls.writing(write)


def _replaced(body: str, book: str, text: str) -> str:
    """The body with the text in the place of the block; people may have written around it."""
    try:
        found = block.find(body, book)
    except MarkersDamaged:
        found = None
    return f"{text}\n\n{body}" if found is None else body[: found.start] + text + body[found.end :]
