"""Which hosts a token may go to: those that the user named outside of the repository.

A pulled branch names hosts too, in its settings, in the address of its issue and in its links. None of these counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from logbook_agent.issue.github.token import gh_host
from logbook_agent.model.errors import HostNotConfirmed
from logbook_agent.store.user_config import change_confirmed_hosts, load_user_config, user_config_file
from logbook_agent.text.address import GITHUB_HOST, parse_site

ALWAYS, VARIABLE = "always", "GH_HOST"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownHost:
    """`by`: `always`, `GH_HOST`, or the file of the user's settings."""

    host: str
    by: str


def known_hosts(environ: Mapping[str, str]) -> list[KnownHost]:
    """All hosts that a token may go to."""
    file = str(user_config_file(environ))
    found = [(gh_host(environ), VARIABLE), *((host, file) for host in load_user_config(environ).confirmed_hosts)]
    named = [KnownHost(host=host, by=by) for host, by in found if host not in (None, GITHUB_HOST)]
    return [KnownHost(host=GITHUB_HOST, by=ALWAYS), *named]


def confirm_host(environ: Mapping[str, str], text: str) -> str:
    """Keep a host (or its base URL) in the user's settings; the host as it stands in addresses."""
    host = parse_site(text).host
    if host != GITHUB_HOST:
        change_confirmed_hosts(environ, lambda hosts: hosts if host in hosts else (*hosts, host))
    return host


def forget_host(environ: Mapping[str, str], text: str) -> tuple[str, bool]:
    """Take a confirmation back; the host, and whether it was confirmed."""
    host = parse_site(text).host
    was_there = host in load_user_config(environ).confirmed_hosts
    if was_there:
        change_confirmed_hosts(environ, lambda hosts: tuple(other for other in hosts if other != host))
    return host, was_there


def is_confirmed(host: str, environ: Mapping[str, str]) -> bool:
    """Whether a token may go to this host, to the letter: another port is another host."""
    return host in (GITHUB_HOST, gh_host(environ)) or host in load_user_config(environ).confirmed_hosts


def check_confirmed(host: str, environ: Mapping[str, str], *, named_by: str, again: str) -> None:
    """Raises HostNotConfirmed. `named_by`: what of the repository names the host; `again`: what to type then."""
    if not is_confirmed(host, environ):
        raise HostNotConfirmed(
            f"{host} is not confirmed; no request or token was sent to it",
            cause=f"{named_by} names this host, and a repository does not decide where your token goes",
            hint=f"if the host may have your token: logbook link --confirm-host {host}, or set GH_HOST={host};"
            f" then: {again}",
        )
