"""Changes of a logbook's header after it was started."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass

from logbook_agent.model.header import ExperimentIssue, Header
from logbook_agent.pages.views import changing
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.markdown import clean


def change_header(workspace: Workspace, book: Book, change: Callable[[Header], Header], *, seen: bool = True) -> Header:
    """Rewrite the header, starting from what is on disk now. `seen`: the view shows it."""
    with changing(workspace, book) if seen else nullcontext(), book.lock():
        before = book.reread_header()
        header = workspace.redacted_header(change(before))
        if header == before:
            return before
        return book.write_header(header)


def summarise(workspace: Workspace, book: Book, text: str) -> Header:
    """Set the summary of the thread; an empty text removes it."""
    return change_header(workspace, book, lambda h: dataclasses.replace(h, summary=clean(text) or None))


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderMemory:
    """What the first write to an issue teaches, kept in the header. (For `sync.apply`.)"""

    workspace: Workspace
    book: Book

    def learn_author(self, login: str) -> None:
        self._change(lambda issue: issue if login in issue.trusted else _with_author(issue, login))

    def learn_block(self) -> None:
        self._change(lambda issue: dataclasses.replace(issue, managed=True))

    def _change(self, change: Callable[[ExperimentIssue], ExperimentIssue]) -> None:
        issue = self.book.header.issue
        if issue is not None and change(issue) != issue:
            change_header(
                self.workspace,
                self.book,
                lambda header: (
                    header if header.issue is None else dataclasses.replace(header, issue=change(header.issue))
                ),
                seen=False,
            )


class NoMemory:
    """For who only looks. (For `sync.apply`.)"""

    def learn_author(self, login: str) -> None:
        """Nothing."""

    def learn_block(self) -> None:
        """Nothing."""


def _with_author(issue: ExperimentIssue, login: str) -> ExperimentIssue:
    return dataclasses.replace(issue, trusted=tuple(sorted({*issue.trusted, login})))
