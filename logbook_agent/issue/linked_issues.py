"""`logbook link`: the experiment issue that exists already, and related issues, each with a comment that links back."""

from __future__ import annotations

import dataclasses
import functools
from shlex import join

from logbook_agent.issue import marking
from logbook_agent.issue.contents import BookDocuments
from logbook_agent.issue.destination import SendOptions, connect, default_repository, issue_of, site_of_names
from logbook_agent.issue.pace import Calls, edit_comment
from logbook_agent.issue.steps import Comment, LinkBack
from logbook_agent.issue.updates import ours_of
from logbook_agent.model.errors import (
    Forbidden,
    IssueLocked,
    IssueMissing,
    IssueMoved,
    NoToken,
    RemoteError,
    Taken,
    UsageError,
)
from logbook_agent.model.header import ExperimentIssue, Header, Link
from logbook_agent.pages.views import changing
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.address import IssueAddress, parse_issue
from logbook_agent.text.markdown import one_line_code

WANTED = "wanted"
_NO_ISSUE_YET = "(a link to the experiment issue, once it is open)"


def link(
    workspace: Workspace,
    target: str,
    *,
    label: str | None = None,
    one_way: bool = False,
    replace: bool = False,
) -> tuple[Book, IssueAddress]:
    """Write a link into the header; the logbook and the issue that it leads to. The next sync does the rest. Raises
    UsageError or Taken.

    Without a label the issue becomes the experiment issue, in the place of another one if `replace` says so.
    With a label it is linked; `one_way` asks for no comment there.
    """
    book = workspace.book()
    own = issue_of(book)
    default = default_repository(workspace) or (own.repository if own is not None else None)
    address = parse_issue(target, default=default, site=site_of_names(workspace))
    url = address.web
    if label is not None:
        name = one_line_code(label).strip()
        if not name:
            raise UsageError(
                "no label", cause="the text after --as is empty; it is the label of the link", hint="--as 'Prior issue'"
            )
        with changing(workspace, book):
            book.change_header(lambda header: _linked(header, Link(label=name, url=url), one_way=one_way))
        return book, address

    def changed(header: Header) -> Header:
        if header.issue is not None and header.issue.url != url and not replace:
            raise Taken(
                f"{header.topic} already has an issue: {header.issue.url}",
                cause="a logbook has one issue",
                hint=f"logbook link {url} --as 'Related issue'; or, to continue there instead:"
                f" logbook link {url} --replace",
            )
        return adopted(header, url)

    before = book.reread_header().issue
    with changing(workspace, book):
        book.change_header(changed)
    if before is not None and before.url != url and before.managed:
        workspace.warnings.append(
            f"the block and the comments in {before.url} stay as they are and do not mention the change:"
            " write there where the thread continues, and close it"
        )
    return book, address


def adopted(header: Header, url: str, *, managed: bool = False) -> Header:
    """The header with an issue as the experiment issue. `managed`: it has the block already."""
    before = header.issue
    kept = before if before is not None and before.url == url else ExperimentIssue(url=url)
    issue = dataclasses.replace(kept, managed=kept.managed or managed)
    # The header's own line for it takes the place of one that was written as a link.
    links = tuple(x for x in header.links if x.url.rstrip("/") != url or x.label.casefold() != "experiment issue")
    if before is not None and before.url != url:
        # The comments that link back lead to the issue there was before.
        links = tuple(dataclasses.replace(x, back=WANTED) if x.back is not None else x for x in links)
    return dataclasses.replace(header, links=links, issue=issue)


def _linked(header: Header, new: Link, *, one_way: bool) -> Header:
    if header.issue is not None and header.issue.url == new.url:
        raise Taken(
            f"{new.url} is the experiment issue of {header.topic}",
            cause="the experiment issue cannot also be a related issue",
            hint="logbook link URL --as 'Related issue', with the address of another one",
        )
    old = next((x for x in header.links if x.url == new.url), None)
    back = None if one_way else WANTED if old is None or old.back is None else old.back
    made = dataclasses.replace(new, back=back)
    if old is None:
        return dataclasses.replace(header, links=(*header.links, made))
    return dataclasses.replace(header, links=tuple(made if x is old else x for x in header.links))


# -- the comments that link back ----------------------------------------------------------------------


def planned_link_backs(documents: BookDocuments) -> tuple[LinkBack, ...]:
    """The comments that linked issues still lack. (An issue whose comment was posted says where it is.)"""
    header = documents.book.header
    own = header.issue.url if header.issue is not None else None
    return tuple(
        LinkBack(
            url=link.url,
            label=link.label,
            # Of an issue that is yet to be opened there is no address.
            text=marking.stamped(
                marking.LINK, documents.wanted.book, {}, documents.link_back(link.label) if own else _NO_ISSUE_YET
            ),
        )
        for link in header.links
        if link.back == WANTED and link.url != own
    )


def carry_out_link_backs(documents: BookDocuments, wire: SendOptions) -> list[LinkBack]:
    """Post the comments that are lacking, each once, and note their addresses in the header.

    An issue where nothing can be left does not keep the others from theirs; the first such error is raised then.
    """
    workspace, book = documents.workspace, documents.book
    done: list[LinkBack] = []
    troubles: list[RemoteError] = []
    for step in planned_link_backs(documents):
        try:
            calls = connect(workspace, parse_issue(step.url).repository, wire)
            wire.say(str(step))
            found = calls.safely(functools.partial(_posted, calls, step, book.header))
        except (Forbidden, IssueLocked, IssueMissing, IssueMoved, NoToken) as error:
            troubles.append(_without(error, step, wire.again))
        else:
            if marking.normalised(found.body) != marking.normalised(step.text):
                workspace.warnings.append(f"{found.url} links back, and was edited by hand: left alone")
            _note(book, step.url, found.url)
            done.append(step)
    if troubles:
        raise troubles[0]
    return done


def _without(error: RemoteError, step: LinkBack, again: str) -> RemoteError:
    """The error, with a hint how to do without a comment there."""
    error.reword(f"no link back on {step.url}: {error.message}")
    without = join(("logbook", "link", step.url, "--as", step.label, "--one-way"))
    if isinstance(error, IssueMoved):
        # It is not the thread's own issue that has moved.
        there = join(("logbook", "link", error.url or "URL", "--as", step.label))
        error.hint = f"link it where it is now: {there}; then, for its old address: {without}; then: {again}"
    else:
        error.hint = f"{error.hint}; or do without: {without}"
    return error


def _posted(calls: Calls, step: LinkBack, header: Header) -> Comment:
    """The comment that links back: as it was, edited, or newly posted."""
    number, key = parse_issue(step.url).number, marking.book_key(header)
    issue = calls.reading(lambda: calls.remote.issue(number))
    login = calls.reading(calls.remote.login)
    comments = calls.reading(lambda: calls.remote.comments(number))
    ours = next((o for o in ours_of(key, login, comments) if o.marked.kind == marking.LINK), None)
    if ours is not None:
        is_same = marking.normalised(ours.comment.body) == marking.normalised(step.text)
        if is_same or not ours.marked.intact:
            return ours.comment
    if issue.locked:
        raise IssueLocked("its conversation is locked", cause="somebody locked it", hint="have it unlocked")
    if ours is not None:
        return edit_comment(calls, ours.comment.id, old=ours.comment.body, new=step.text)
    return calls.writing(lambda: calls.remote.post_comment(number, step.text))


def _note(book: Book, url: str, back: str) -> None:
    def changed(header: Header) -> Header:
        return dataclasses.replace(
            header,
            links=tuple(
                dataclasses.replace(x, back=back) if x.url == url and x.back == WANTED else x for x in header.links
            ),
        )

    book.change_header(changed)
