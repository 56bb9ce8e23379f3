"""The repository and issue of a logbook, and the connection to its host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from logbook_agent.issue.pace import Pace
from logbook_agent.issue.permalinks import published, remote_of
from logbook_agent.issue.token import is_named, token_for
from logbook_agent.issue.values import Links
from logbook_agent.model.errors import NoToken
from logbook_agent.store.book import Book
from logbook_agent.store.places import repository_of
from logbook_agent.store.workspace import Workspace
from logbook_agent.text import address
from logbook_agent.text.address import IssueAddress, RepositoryAddress, Site

if TYPE_CHECKING:
    from logbook_agent.issue.github import GitHub


def default_repository(workspace: Workspace, option: str | None = None) -> RepositoryAddress | None:
    """The repository of issues: as named, else as configured, else where the git remote leads."""
    text = option or workspace.config.github.repository
    if text is not None:
        return address.parse_repository(text, site=site_of_names(workspace))
    return _remote_repository(workspace)


def site_of_names(workspace: Workspace) -> Site:
    """Where OWNER/REPO is: as configured, else where the git remote leads, else github.com."""
    settings = workspace.config.github
    if settings.host is None and settings.repository is None:
        remote = _remote_repository(workspace)
        if remote is not None:
            return remote
    return settings.site


def issue_of(book: Book) -> IssueAddress | None:
    """The experiment issue of a logbook."""
    return address.parse_issue(book.header.issue.url) if book.header.issue is not None else None


def _remote_repository(workspace: Workspace) -> RepositoryAddress | None:
    remote = remote_of(workspace.root, workspace.environ, workspace.config.github.remote)
    return address.parse_remote(remote.url) if remote is not None else None


def links_of(workspace: Workspace, book: Book, issue: RepositoryAddress | None) -> Links:
    """Where others can read this logbook, as far as it is pushed."""
    remote = remote_of(workspace.root, workspace.environ, workspace.config.github.remote)
    if remote is None:
        where = "there is no git remote" if repository_of(workspace.root) is not None else "not in a git repository"
        return Links(why=f"not pushed: {where}")
    configured = default_repository(workspace)
    repository = address.parse_remote(remote.url) or configured or issue
    if repository is None:
        return Links(why="not pushed: the git remote is not a repository on the web")
    return published(
        view=book.view_path,
        folder=book.folder,
        entry_ids=book.entry_ids(),
        repository=repository,
        remote=remote.name,
        environ=workspace.environ,
    )


def connect(workspace: Workspace, repository: RepositoryAddress, pace: Pace, *, read_only: bool = False) -> GitHub:
    """The way to a repository, with the token of its host and of no other.

    `read_only`: without a token it is read as anybody may read it. Raises NoToken.
    """
    token = _token_of(workspace, repository, read_only=read_only)
    # Here, because nothing but a request needs it: it takes longer to load than most commands to run.
    from logbook_agent.issue.github import GitHub

    return GitHub(api=repository.api, token=token, repository=repository.slug, pace=pace)


def _token_of(workspace: Workspace, repository: RepositoryAddress, *, read_only: bool) -> str | None:
    """None: there is none, and reading needs none. Raises NoToken."""
    try:
        token = token_for(repository.host, workspace.environ)
    except NoToken as error:
        # Nothing at all is sent to a host that only the repository names.
        if not (read_only and is_named(repository.host, workspace.environ)):
            raise
        workspace.warnings.append(f"{error.message}: reading without one ({error.hint})")
        return None
    workspace.learn_secrets({"GH_TOKEN": token.value}, ())
    return token.value
