"""The repository and issue of a logbook, the connection to its host, and the hosts that the user's token may go to.

Only hosts that the user named outside of the repository get a token: a pulled branch names hosts, too, in its settings,
in the address of its issue and in its links.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from logbook_agent.issue.links import Links
from logbook_agent.issue.pace import MAX_WAIT_S, Calls, Pace
from logbook_agent.issue.permalinks import published, remote_of
from logbook_agent.issue.refusals import IssueHost
from logbook_agent.issue.token import gh_host, token_for
from logbook_agent.model.errors import HostNotConfirmed, NoToken
from logbook_agent.store.book import Book
from logbook_agent.store.files import create_exclusive, make_folder, remove
from logbook_agent.store.reading import names_in
from logbook_agent.store.repository import repository_of
from logbook_agent.store.user_config import made_folder, user_folder
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.address import (
    GITHUB_HOST,
    IssueAddress,
    RepositoryAddress,
    Site,
    parse_issue,
    parse_remote,
    parse_repository,
    parse_site,
)

# Seconds between the starts of two writes, as GitHub asks; and for one answer.
PAUSE_S, TIMEOUT_S = 1.0, 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SendOptions:
    """How a command talks to a host: how it tells the user (`say`), and how long it waits at most.

    `paces`: one for each host, whatever repositories of it one command writes to. `again`: the command as typed, which
    hints repeat.
    """

    say: Callable[[str], None]
    max_wait_s: float = MAX_WAIT_S
    paces: dict[str, Pace] = field(default_factory=dict)
    again: str = "logbook sync"


def default_repository(workspace: Workspace, option: str | None = None) -> RepositoryAddress | None:
    """The repository of issues: as named, else as configured, else where the git remote leads."""
    text = option or workspace.config.github.repository
    if text is not None:
        return parse_repository(text, site=site_of_names(workspace))
    return _remote_repository(workspace)


def site_of_names(workspace: Workspace) -> Site:
    """Where OWNER/REPO is: as configured, else where the git remote leads, else github.com."""
    settings = workspace.config.github
    if settings.host is None and settings.repository is None:
        remote = _remote_repository(workspace)
        if remote is not None:
            return remote.site
    return settings.site


def issue_of(book: Book) -> IssueAddress | None:
    """The experiment issue of a logbook."""
    return parse_issue(book.header.issue.url) if book.header.issue is not None else None


def issue_line(book: Book) -> str:
    """Where the address of the experiment issue stands, for a message."""
    return f"`issue` in {book.topic}/{book.header_path.name}"


def _remote_repository(workspace: Workspace) -> RepositoryAddress | None:
    remote = remote_of(workspace.root, workspace.environ, workspace.config.github.remote)
    return parse_remote(remote.url) if remote is not None else None


def links_of(workspace: Workspace, book: Book, issue: RepositoryAddress | None) -> Links:
    """Where others can read this logbook, as far as it is pushed."""
    remote = remote_of(workspace.root, workspace.environ, workspace.config.github.remote)
    if remote is None:
        where = "there is no git remote" if repository_of(workspace.root) is not None else "not in a git repository"
        return Links(why=f"not pushed: {where}")
    configured = default_repository(workspace)
    repository = parse_remote(remote.url) or configured or issue
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


def named_by(workspace: Workspace, repository: RepositoryAddress, option: str | None = None) -> str:
    """The option, setting or remote that names the host of a repository, for a message."""
    if option is not None and "://" in option:
        return "--repo"
    settings, file = workspace.config.github, workspace.config.file
    if settings.host is not None and file is not None and repository.site == settings.site:
        return f"`host` in {file.name}"
    return "the git remote"


def connect(
    workspace: Workspace, repository: RepositoryAddress, wire: SendOptions, *, named_by: str, read_only: bool = False
) -> Calls:
    """The way to a repository, with the token of its host and of no other.

    `named_by`: what names the host, for a message. `read_only`: without a token it is read as anybody may read it.
    Raises HostNotConfirmed before anything is asked for, and NoToken.
    """
    check_confirmed(repository.host, workspace.environ, named_by=named_by, again=wire.again)
    value = _token_of(workspace, repository, read_only=read_only)
    # Here, because nothing but a request needs it: it takes longer to load than most commands to run.
    from logbook_agent.issue.github import GitHub

    def say(text: str) -> None:
        wire.say(workspace.redactor.text(text))

    if repository.host not in wire.paces:
        wire.paces[repository.host] = Pace(
            say=say, max_wait_s=wire.max_wait_s, pause_s=PAUSE_S, again=wire.again, **workspace.timing
        )
    remote = GitHub(
        api=repository.api,
        token=value,
        repository=repository.slug,
        timeout_s=TIMEOUT_S,
        say=say,
        host=IssueHost(again=wire.again),
    )
    return Calls(remote=remote, pace=wire.paces[repository.host], say=say)


def _token_of(workspace: Workspace, repository: RepositoryAddress, *, read_only: bool) -> str | None:
    """None: there is none, and reading needs none. Raises NoToken."""
    environ = workspace.environ
    confirmed = () if repository.host == GITHUB_HOST else confirmed_hosts(environ)
    try:
        token = token_for(repository.host, environ, confirmed=confirmed)
    except NoToken as error:
        if not read_only:
            raise
        workspace.warnings.append(f"{error.message}: reading without one ({error.hint})")
        return None
    workspace.learn_secrets({"GH_TOKEN": token.value}, ())
    return token.value


ALWAYS, VARIABLE, CONFIRMED = "always", "GH_HOST", "--confirm-host"
# The folder in the user's state in which a file is called after each confirmed host.
_HOSTS = "hosts"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownHost:
    """`by`: `always`, `GH_HOST` or `--confirm-host`."""

    host: str
    by: str


def known_hosts(environ: Mapping[str, str]) -> list[KnownHost]:
    """All hosts that a token may go to."""
    found = [(gh_host(environ), VARIABLE), *((host, CONFIRMED) for host in confirmed_hosts(environ))]
    named = [KnownHost(host=host, by=by) for host, by in found if host not in (None, GITHUB_HOST)]
    return [KnownHost(host=GITHUB_HOST, by=ALWAYS), *named]


def confirmed_hosts(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The hosts that the user confirmed, by name."""
    state = user_folder(environ, "state")
    return () if state is None else tuple(sorted(names_in(state / _HOSTS, within=state)))


def confirm_host(environ: Mapping[str, str], text: str) -> str:
    """Confirm a host (or its base URL); the host as it stands in addresses."""
    host = parse_site(text).host
    if host != GITHUB_HOST:
        state = made_folder(user_folder(environ, "state"), "what you confirm")
        make_folder(state / _HOSTS, within=state)
        create_exclusive(state / _HOSTS / host, b"", within=state)
    return host


def forget_host(environ: Mapping[str, str], text: str) -> tuple[str, bool]:
    """Take a confirmation back; the host, and whether it was confirmed."""
    host = parse_site(text).host
    was_there = host in confirmed_hosts(environ)
    if was_there and (state := user_folder(environ, "state")) is not None:
        remove(state / _HOSTS / host, within=state)
    return host, was_there


def is_confirmed(host: str, environ: Mapping[str, str]) -> bool:
    """Whether a token may go to this host, to the letter: another port is another host."""
    return host in (GITHUB_HOST, gh_host(environ)) or host in confirmed_hosts(environ)


def check_confirmed(host: str, environ: Mapping[str, str], *, named_by: str, again: str) -> None:
    """Raises HostNotConfirmed. `named_by`: what of the repository names the host; `again`: what to type then."""
    if not is_confirmed(host, environ):
        raise HostNotConfirmed(
            f"{host} is not confirmed; no request or token was sent to it",
            cause=f"{named_by} names this host, and a repository does not decide where your token goes",
            hint=f"if the host may have your token: logbook link --confirm-host {host}, or set GH_HOST={host};"
            f" then: {again}",
        )
