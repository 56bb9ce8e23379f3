"""`logbook link`: the experiment issue that exists already, and related issues."""

from __future__ import annotations

import dataclasses

from logbook_agent.issue.destination import default_repository, issue_of, site_of_names
from logbook_agent.model.errors import Taken, UsageError
from logbook_agent.model.header import ExperimentIssue, Header, Link
from logbook_agent.pages.views import changing
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.address import IssueAddress, parse_issue
from logbook_agent.text.markdown import one_line_code


def link(
    workspace: Workspace, target: str, *, label: str | None = None, replace: bool = False
) -> tuple[Book, IssueAddress]:
    """Write a link into the header; the logbook and the issue that it leads to. The next sync does the rest. Raises
    UsageError or Taken.

    Without a label the issue becomes the experiment issue, in the place of another one if `replace` says so.
    With a label it is linked; nothing is written there: GitHub shows the reference itself.
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
            book.change_header(lambda header: _linked(header, Link(label=name, url=url)))
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
    if before is not None and before.url != url:
        workspace.warnings.append(
            f"the block and the comments in {before.url} stay as they are and do not mention the change:"
            " write there where the thread continues, and close it"
        )
    return book, address


def adopted(header: Header, url: str) -> Header:
    """The header with an issue as the experiment issue."""
    before = header.issue
    issue = before if before is not None and before.url == url else ExperimentIssue(url=url)
    # The header's own line for it takes the place of one that was written as a link.
    links = tuple(x for x in header.links if x.url.rstrip("/") != url or x.label.casefold() != "experiment issue")
    return dataclasses.replace(header, links=links, issue=issue)


def _linked(header: Header, new: Link) -> Header:
    if header.issue is not None and header.issue.url == new.url:
        raise Taken(
            f"{new.url} is the experiment issue of {header.topic}",
            cause="the experiment issue cannot also be a related issue",
            hint="logbook link URL --as 'Related issue', with the address of another one",
        )
    if not any(x.url == new.url for x in header.links):
        return dataclasses.replace(header, links=(*header.links, new))
    return dataclasses.replace(header, links=tuple(new if x.url == new.url else x for x in header.links))
