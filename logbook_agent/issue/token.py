"""The token for one host, and never for another.

github.com          GH_TOKEN, GITHUB_TOKEN
the host in GH_HOST GH_ENTERPRISE_TOKEN, GITHUB_ENTERPRISE_TOKEN
then, for any host  what `gh auth token --hostname HOST` knows

So no token goes to a host that only a repository names: a pulled branch names hosts in its settings, in the address of
its issue and in its links.

A token stands in no message, and in the repr of nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

from logbook_agent.model.errors import NoToken, UsageError
from logbook_agent.running.programs import find_program, output_of
from logbook_agent.text.address import GITHUB_HOST, parse_site

GITHUB_VARIABLES = ("GH_TOKEN", "GITHUB_TOKEN")
ENTERPRISE_VARIABLES = ("GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN")
_GH_TIMEOUT_S = 5.0
_USABLE = re.compile(r"[\x21-\x7e]+")


class Token(Struct, frozen=True, kw_only=True):
    """`source`: the variable or the program it came from."""

    value: str
    source: str

    def __repr__(self) -> str:
        return f"Token(source={self.source!r})"


def token_for(host: str, environ: Mapping[str, str]) -> Token:
    """`host` may have a port. Raises NoToken, also for a token that cannot be one."""
    host = host.lower()
    for name in variables(host) if is_named(host, environ) else ():
        value = environ.get(name, "").strip()
        if value:
            return _usable(value, name, f"set {name} again, to the token and nothing else")
    known = _from_gh(host, environ)
    if known:
        return _usable(known, "gh auth token", f"gh auth login --hostname {host}")
    raise _none(host, environ)


def variables(host: str) -> tuple[str, ...]:
    """Where a token for a host is looked for."""
    return GITHUB_VARIABLES if host == GITHUB_HOST else ENTERPRISE_VARIABLES


def is_named(host: str, environ: Mapping[str, str]) -> bool:
    """Whether the user names this host, to the letter: another port is another host."""
    return host in (GITHUB_HOST, _gh_host(environ))


def _gh_host(environ: Mapping[str, str]) -> str | None:
    """The host that GH_HOST names; None when it names none."""
    try:
        return parse_site(environ["GH_HOST"]).host
    except (KeyError, UsageError):
        return None


def _from_gh(host: str, environ: Mapping[str, str]) -> str | None:
    program = find_program("gh", environ)
    if program is None:
        return None
    # With a token in its environment gh would repeat that one, whatever host is asked for.
    hidden = {*GITHUB_VARIABLES, *ENTERPRISE_VARIABLES, "GH_HOST", "GH_DEBUG"}
    env = {k: v for k, v in environ.items() if k not in hidden} | {"GH_PROMPT_DISABLED": "1"}
    # In a process group of its own, so that a wrapper script that hangs ends with what it started.
    out = output_of([program, "auth", "token", "--hostname", host], env, timeout_s=_GH_TIMEOUT_S)
    return None if out is None else out.decode("utf-8", "replace").strip()


def _usable(value: str, source: str, hint: str) -> Token:
    if not _USABLE.fullmatch(value):
        raise NoToken(
            f"{source} does not hold a valid token",
            cause="it contains a space, a line break or a character other than ASCII (it is not shown here)",
            hint=hint,
        )
    return Token(value=value, source=source)


def _none(host: str, environ: Mapping[str, str]) -> NoToken:
    first, second = variables(host)
    if is_named(host, environ):
        cause = f"neither {first} nor {second} is set, and gh is not logged in to this host"
        return NoToken(f"no token for {host}", cause=cause, hint=f"set {first}, or: gh auth login --hostname {host}")
    return NoToken(
        f"no token for {host}; nothing was sent to it",
        cause="a token goes to github.com, to the host in GH_HOST, and to hosts that gh is logged in to",
        hint=f"if this host may have your token: gh auth login --hostname {host}, or set GH_HOST={host} and {first}",
    )
