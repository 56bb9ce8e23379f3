"""`logbook link`: the experiment issue that already exists, and issues that belong to the thread."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from logbook_agent.entries.header import change_header
from logbook_agent.issue.github.answers import LOGIN
from logbook_agent.issue.sync.link_back import WANTED
from logbook_agent.issue.sync.place import default_repository, issue_of, site_of_names
from logbook_agent.model.errors import Taken, UsageError
from logbook_agent.model.header import ExperimentIssue, Header, Link
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.address import IssueAddress, parse_issue
from logbook_agent.text.markdown import one_line_code


def link(
    workspace: Workspace,
    target: str,
    *,
    label: str | None = None,
    one_way: bool = False,
    replace: bool = False,
    trusted: Sequence[str] = (),
) -> tuple[Book, IssueAddress]:
    """Write a link into the header; where it leads. The next sync does the rest. Raises UsageError or Taken.

    Without a label the issue becomes the experiment issue, in the place of another one if `replace` says so, and the
    markers of `trusted` accounts count from now on. With a label it is linked; `one_way` asks for no comment there.
    """
    book = workspace.book()
    own = issue_of(book)
    default = default_repository(workspace) or (own.repository if own is not None else None)
    address = parse_issue(target, default=default, site=site_of_names(workspace))
    url = address.web
    if label is not None:
        name = one_line_code(label).strip()
        if not name:
            raise UsageError("no label", cause="--as says what the issue is to this thread", hint="--as 'Prior issue'")
        change_header(workspace, book, lambda header: _linked(header, Link(label=name, url=url), one_way=one_way))
        return book, address
    logins = [_login(text) for text in trusted]

    def changed(header: Header) -> Header:
        if header.issue is not None and header.issue.url != url and not replace:
            raise Taken(
                f"{header.topic} already has an issue: {header.issue.url}",
                cause="one issue shows a logbook",
                hint=f"logbook link {url} --as 'Related issue'; or, to continue there instead:"
                f" logbook link {url} --replace",
            )
        return adopted(header, url, logins)

    before = book.reread_header().issue
    change_header(workspace, book, changed)
    if before is not None and before.url != url and before.managed:
        workspace.warnings.append(
            f"the block and the comments in {before.url} stay as they are and do not mention the change:"
            " write there where the thread continues, and close it"
        )
    return book, address


def adopted(header: Header, url: str, trusted: Sequence[str], *, managed: bool = False) -> Header:
    """With an issue as the experiment issue. `managed`: it has the block already."""
    before = header.issue
    kept = before if before is not None and before.url == url else ExperimentIssue(url=url)
    known = before.trusted if before is not None else ()
    issue = dataclasses.replace(kept, trusted=tuple(sorted({*known, *trusted})), managed=kept.managed or managed)
    # The header's own line for it takes the place of one that was written as a link.
    links = tuple(x for x in header.links if x.url.rstrip("/") != url or x.label.casefold() != "experiment issue")
    if before is not None and before.url != url:
        # The comments that link back lead to the issue there was before.
        links = tuple(dataclasses.replace(x, back=WANTED) if x.back is not None else x for x in links)
    return dataclasses.replace(header, links=links, issue=issue)


def _login(text: str) -> str:
    name = text.strip().removeprefix("@")
    if not LOGIN.fullmatch(name):
        raise UsageError(
            f"{text!r} is not an account",
            cause="an account is named by its login",
            hint="--trust octocat, or --trust app[bot]",
        )
    return name


def _linked(header: Header, new: Link, *, one_way: bool) -> Header:
    if header.issue is not None and header.issue.url == new.url:
        raise Taken(
            f"{new.url} is the experiment issue of {header.topic}",
            cause="it is already linked everywhere, and a link to itself would say nothing",
            hint="logbook link URL --as 'Related issue', with the address of another one",
        )
    old = next((x for x in header.links if x.url == new.url), None)
    back = None if one_way else WANTED if old is None or old.back is None else old.back
    made = dataclasses.replace(new, back=back)
    if old is None:
        return dataclasses.replace(header, links=(*header.links, made))
    return dataclasses.replace(header, links=tuple(made if x is old else x for x in header.links))
