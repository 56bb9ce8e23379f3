"""Links both ways: a comment on an issue that was linked, which points back to ours."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Collection

from logbook_agent.entries.header import change_header
from logbook_agent.issue.github.calls import Calls, edit_comment
from logbook_agent.issue.planning import markers
from logbook_agent.issue.planning.markers import book_key
from logbook_agent.issue.planning.steps import LinkBack
from logbook_agent.issue.planning.values import Comment
from logbook_agent.issue.sync.gather import BookDocuments
from logbook_agent.issue.sync.place import SendOptions, connect, typed
from logbook_agent.model.errors import (
    Forbidden,
    HostNotConfirmed,
    IssueLocked,
    IssueMissing,
    IssueMoved,
    NoToken,
    RemoteError,
)
from logbook_agent.model.header import Header
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.address import parse_issue

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


def carry_out_link_backs(
    workspace: Workspace, book: Book, documents: BookDocuments, wire: SendOptions
) -> list[LinkBack]:
    """Post what is lacking, each once; where each comment is goes into the header.

    An issue where nothing can be left does not keep the others from theirs; the first such error is raised then.
    """
    done: list[LinkBack] = []
    troubles: list[RemoteError] = []
    for step in planned_link_backs(book, documents):
        try:
            where = f"the link {step.label!r} in {book.topic}/{book.header_path.name}"
            calls = connect(workspace, parse_issue(step.url).repository, wire, named_by=where)
            wire.say(str(step))
            found = calls.safely(functools.partial(_posted, calls, step, book.header))
        except (Forbidden, HostNotConfirmed, IssueLocked, IssueMissing, IssueMoved, NoToken) as error:
            troubles.append(_without(workspace, error, step, wire.again or typed(workspace, "sync")))
        else:
            if markers.normalised(found.body) != markers.normalised(step.text):
                workspace.warnings.append(f"{found.url} links back, and was edited by hand: left alone")
            _note(workspace, book, step.url, found.url)
            done.append(step)
    if troubles:
        raise troubles[0]
    return done


def _without(workspace: Workspace, error: RemoteError, step: LinkBack, again: str) -> RemoteError:
    """The error, saying also how to do without a comment there."""
    error.reword(f"no link back on {step.url}: {error.message}")
    without = typed(workspace, "link", step.url, "--as", step.label, "--one-way")
    if isinstance(error, IssueMoved):
        # It is not the thread's own issue that has moved.
        there = typed(workspace, "link", error.url or "URL", "--as", step.label)
        error.hint = f"link it where it is now: {there}; then, for its old address: {without}; then: {again}"
    else:
        error.hint = f"{error.hint}; or do without: {without}"
    return error


def _posted(calls: Calls, step: LinkBack, header: Header) -> Comment:
    """The comment, whether it was there, had to follow a change, or had to be posted."""
    number, key = parse_issue(step.url).number, book_key(header)
    trusted = header.issue.trusted if header.issue is not None else ()
    issue = calls.reading(lambda: calls.remote.issue(number))
    login = calls.reading(calls.remote.login)
    known = {name.casefold() for name in (*trusted, login) if name is not None}
    comments = calls.reading(lambda: calls.remote.comments(number))
    found = next((c for c in comments if _is_ours(c, step, key, known, login)), None)
    marked = markers.read_comment(found.body, key) if found is not None else None
    as_it_is = found is not None and markers.normalised(found.body) == markers.normalised(step.text)
    if found is not None and (as_it_is or marked is None or not marked.intact):
        return found
    if issue.locked:
        raise IssueLocked(
            "its conversation is locked",
            cause="somebody locked it",
            hint="have it unlocked",
        )
    if found is not None:
        return edit_comment(calls, found.id, old=found.body, new=step.text)
    return calls.writing(lambda: calls.remote.post_comment(number, step.text))


def _is_ours(comment: Comment, step: LinkBack, key: str, known: Collection[str], login: str | None) -> bool:
    """A link back by an account that counts. Where the host does not tell whose token it is, also one that says to
    the letter what this one would."""
    if comment.author.casefold() in known:
        marked = markers.read_comment(comment.body, key)
        return marked is not None and marked.kind == markers.LINK
    return login is None and markers.normalised(comment.body) == markers.normalised(step.text)


def _note(workspace: Workspace, book: Book, url: str, back: str) -> None:
    def changed(header: Header) -> Header:
        return dataclasses.replace(
            header,
            links=tuple(
                dataclasses.replace(x, back=back) if x.url == url and x.back == WANTED else x for x in header.links
            ),
        )

    change_header(workspace, book, changed, seen=False)
