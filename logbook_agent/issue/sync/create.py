"""Opening the experiment issue, and making an issue that of a logbook."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from logbook_agent.entries.header import change_header
from logbook_agent.issue.github.calls import Calls
from logbook_agent.issue.github.opening import open_issue
from logbook_agent.issue.planning.plan import first_body, make_plan
from logbook_agent.issue.planning.steps import Create, SyncPlan, check_texts
from logbook_agent.issue.planning.values import Issue
from logbook_agent.issue.sync.gather import Gathered, gather
from logbook_agent.issue.sync.link import adopted
from logbook_agent.issue.sync.link_back import planned_link_backs
from logbook_agent.issue.sync.place import links_of
from logbook_agent.model.errors import UsageError
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.address import IssueAddress, RepositoryAddress

# GitHub's limit for the name of a label.
_LABEL_CHARS = 50


def check_no_link(book: Book) -> None:
    """A link that `start` was given as that of the experiment issue is meant to be used."""
    for link in book.header.links:
        if link.label.casefold() == "experiment issue":
            raise UsageError(
                f"{book.topic} names an experiment issue: {link.url}",
                cause="the links of the header have it, and another one would be opened",
                hint=f"logbook link {link.url}; then: logbook sync",
            )


def labels_of(workspace: Workspace, asked: Sequence[str]) -> tuple[str, ...]:
    """The labels of a new issue: those of the settings, then those asked for. Raises UsageError for one that cannot
    be, or that holds a secret."""
    return tuple(dict.fromkeys(_label(workspace, text) for text in (*workspace.config.github.labels, *asked)))


def _label(workspace: Workspace, text: str) -> str:
    label = text.strip()
    safe = workspace.redactor.text(label)
    if safe != label:
        trouble, cause = f"a label looks like a secret: {safe}", "everybody who sees the issue would read it"
    elif not label:
        trouble, cause = "a label is empty", "it would say nothing"
    elif len(label) > _LABEL_CHARS:
        trouble, cause = f"a label is too long: {label[:_LABEL_CHARS]}...", f"it has at most {_LABEL_CHARS} characters"
    elif not label.isprintable():
        trouble, cause = f"{label!r} is not a label", "a label is one line of text"
    else:
        return label
    raise UsageError(trouble, cause=cause, hint="name another one: --label NAME, or in logbook.toml: [github] labels")


def first_plan(
    workspace: Workspace, book: Book, gathered: Gathered, repository: RepositoryAddress | None, labels: Sequence[str]
) -> SyncPlan:
    """The plan of an issue that is yet to be opened; `repository` None: nothing says yet where."""
    body = first_body(gathered.wanted, gathered.documents)
    names = labels_of(workspace, labels)
    where = repository.slug if repository is not None else "a repository not known yet (add: --repo OWNER/REPO)"
    create = Create(repository=where, title=gathered.documents.title(), labels=names, text=body)
    empty = Issue(number=0, url="", title="", body=body, author="")
    plan = make_plan(gathered.wanted, gathered.documents, empty, ())
    return SyncPlan(
        steps=(create, *plan.steps, *planned_link_backs(book, gathered.documents)), warnings=tuple(plan.warnings)
    )


def create_issue(
    workspace: Workspace, book: Book, calls: Calls, repository: RepositoryAddress, labels: Sequence[str]
) -> Create:
    """Open the issue, or find the one that an earlier attempt opened, and write its link into the header."""
    gathered = gather(workspace, book, links_of(workspace, book, repository))
    plan = first_plan(workspace, book, gathered, repository, labels)
    check_texts(plan.steps)
    create = plan.steps[0]
    assert isinstance(create, Create)  # noqa: S101  the first step of a first plan
    calls.say(str(create))
    issue = open_issue(calls, create, gathered.wanted.book, _day_before(book.header.opened))
    # Not the address of the answer: what the header names is where the next token goes.
    url = IssueAddress(repository=repository, number=issue.number).web
    change_header(workspace, book, lambda header: adopted(header, url, (issue.author,), managed=True))
    return create


def _day_before(stamp: str) -> str:
    """This machine's clock may be ahead of the host's. Text that is no time stays as it is."""
    try:
        before = datetime.fromisoformat(stamp).astimezone(UTC) - timedelta(days=1)
    except (ValueError, OverflowError):
        return stamp
    return before.strftime("%Y-%m-%dT%H:%M:%SZ")
