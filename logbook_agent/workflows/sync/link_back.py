"""Links both ways: a comment on an issue that was linked, which points back to ours."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from shlex import quote

from logbook_agent.errors import Forbidden, IssueLocked, IssueMissing, IssueMoved, NoToken, RemoteError
from logbook_agent.issues import markers
from logbook_agent.issues.address import parse_issue
from logbook_agent.issues.markers import book_key
from logbook_agent.issues.steps import LinkBack
from logbook_agent.issues.values import Comment
from logbook_agent.model.header import Header, Link
from logbook_agent.store.book import Book
from logbook_agent.sync.calls import Calls
from logbook_agent.workflows.sync.gather import BookDocuments
from logbook_agent.workflows.sync.header import change_header
from logbook_agent.workflows.sync.place import Wire, connect
from logbook_agent.workflows.workspace import Workspace

WANTED = "wanted"
_NO_ISSUE_YET = "(a link to the experiment issue, once it is open)"


def planned_link_backs(book: Book, documents: BookDocuments) -> tuple[LinkBack, ...]:
    """The comments that linked issues still lack. (An issue whose comment was posted says where it is.)"""
    key = book_key(book.header)
    own = book.header.issue.url if book.header.issue is not None else None
    return tuple(
        LinkBack(
            url=link.url,
            label=link.label,
            # Of an issue that is yet to be opened there is no address.
            text=markers.stamped(markers.LINK, key, {}, documents.link_back(link.label) if own else _NO_ISSUE_YET),
        )
        for link in book.header.links
        if link.back == WANTED and link.url != own
    )


def carry_out_link_backs(workspace: Workspace, book: Book, documents: BookDocuments, wire: Wire) -> list[LinkBack]:
    """Post what is lacking, each once; where each comment is goes into the header.

    An issue where nothing can be left does not keep the others from theirs; the first such error is raised then.
    """
    done: list[LinkBack] = []
    troubles: list[RemoteError] = []
    for step in planned_link_backs(book, documents):
        try:
            calls = connect(workspace, parse_issue(step.url).repository, wire)
            wire.say(str(step))
            _note(workspace, book, step.url, _ensured(calls, step, book).url)
        except (Forbidden, IssueLocked, IssueMissing, IssueMoved, NoToken) as error:
            troubles.append(_without(error, step))
        else:
            done.append(step)
    if troubles:
        raise troubles[0]
    return done


def _without(error: RemoteError, step: LinkBack) -> RemoteError:
    """The error, saying also how to do without a comment there."""
    error.message = f"no link back on {step.url}: {error.message}"
    error.args = (error.message,)
    error.hint = f"{error.hint}; or do without: logbook link {step.url} --as {quote(step.label)} --one-way"
    return error


def _ensured(calls: Calls, step: LinkBack, book: Book) -> Comment:
    number = parse_issue(step.url).number
    trusted = book.header.issue.trusted if book.header.issue is not None else ()
    return calls.safely(lambda: _posted(calls, number, step, book, trusted))


def _posted(calls: Calls, number: int, step: LinkBack, book: Book, trusted: Sequence[str]) -> Comment:
    """The comment, whether it was there or had to be posted."""
    issue = calls.reading(lambda: calls.remote.issue(number))
    login = calls.reading(calls.remote.login)
    key = book_key(book.header)
    known = {name.casefold() for name in (*trusted, login) if name is not None}
    for comment in calls.reading(lambda: calls.remote.comments(number)):
        if comment.author.casefold() in known:
            marked = markers.read_comment(comment.body, key)
            if marked is not None and marked.kind == markers.LINK:
                return comment
    if issue.locked:
        raise IssueLocked(
            "its conversation is locked",
            cause="somebody locked it",
            hint="have it unlocked",
        )
    return calls.writing(lambda: calls.remote.post_comment(number, step.text))


def _note(workspace: Workspace, book: Book, url: str, back: str) -> None:
    def changed(header: Header) -> Header:
        links = tuple(
            _with_back(link, back) if link.url == url and link.back == WANTED else link for link in header.links
        )
        return dataclasses.replace(header, links=links)

    change_header(workspace, book, changed, seen=False)


def _with_back(link: Link, back: str) -> Link:
    return dataclasses.replace(link, back=back)
