"""The token for one host, and never for another.

github.com          GH_TOKEN, GITHUB_TOKEN
any other host      GH_ENTERPRISE_TOKEN, GITHUB_ENTERPRISE_TOKEN, when they are for that host
then, for both      what `gh auth token --hostname HOST` knows

The enterprise variables hold one token, for one host: the one that GH_HOST names, else the only one that the user has
confirmed. Of several, a repository would choose which of them gets the token, so it goes to none.

A token stands in no message, and in the repr of nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from logbook_agent.model.errors import NoToken, UsageError
from logbook_agent.running.programs import find_program, output_of
from logbook_agent.text.address import GITHUB_HOST, parse_site

GITHUB_VARIABLES = ("GH_TOKEN", "GITHUB_TOKEN")
ENTERPRISE_VARIABLES = ("GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN")
_GH_TIMEOUT_S = 5.0
_USABLE = re.compile(r"[\x21-\x7e]+")

# What a program prints, given its words and environment; None when it fails or takes too long.
Run = Callable[[Sequence[str], Mapping[str, str]], bytes | None]


def run_program(argv: Sequence[str], environ: Mapping[str, str]) -> bytes | None:
    """In a process group of its own, so that a wrapper script that hangs ends with what it started."""
    return output_of(argv, environ, timeout_s=_GH_TIMEOUT_S)


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """`source`: the variable or the program it came from."""

    value: str = field(repr=False)
    source: str


def token_for(host: str, environ: Mapping[str, str], *, confirmed: Sequence[str] = (), run: Run = run_program) -> Token:
    """`host` may have a port. `confirmed`: the hosts that the user's own settings name; GH_HOST comes before them.

    Raises NoToken, also for a token that cannot be one.
    """
    host = host.lower()
    named = _enterprise_host(environ, confirmed)
    for name in variables(host) if host == GITHUB_HOST or _is_named(host, named) else ():
        value = environ.get(name, "").strip()
        if value:
            return _usable(value, name, f"set {name} again, to the token and nothing else")
    known = _from_gh(host, environ, run)
    if known:
        return _usable(known, "gh auth token", f"gh auth login --hostname {host}")
    raise _none(host, environ, named)


def variables(host: str) -> tuple[str, ...]:
    """Where a token for a host is looked for."""
    return GITHUB_VARIABLES if host == GITHUB_HOST else ENTERPRISE_VARIABLES


def gh_host(environ: Mapping[str, str]) -> str | None:
    """The host that GH_HOST names; None when it names none."""
    try:
        return parse_site(environ["GH_HOST"]).host
    except (KeyError, UsageError):
        return None


def _enterprise_host(environ: Mapping[str, str], confirmed: Sequence[str]) -> str | None:
    """The one host that the enterprise variables are for."""
    # A text that is no host names none, and neither do the settings then: the token is meant for somewhere else.
    named = gh_host(environ) or environ.get("GH_HOST", "").strip()
    if named not in ("", GITHUB_HOST):
        return named
    return confirmed[0] if len(confirmed) == 1 else None


def _is_named(host: str, named: str | None) -> bool:
    if named is None:
        return False
    # A port that only one side names makes no other host.
    (name, port), (its_name, its_port) = _parts(host), _parts(named)
    return host == named or (name == its_name and not (port and its_port))


def _parts(host: str) -> tuple[str, str]:
    found = re.fullmatch(r"(.*?)(?::(\d+))?", host, re.DOTALL)
    return (found[1], found[2] or "") if found else (host, "")


def _from_gh(host: str, environ: Mapping[str, str], run: Run) -> str | None:
    program = find_program("gh", environ)
    if program is None:
        return None
    # With a token in its environment gh would repeat that one, whatever host is asked for.
    hidden = {*GITHUB_VARIABLES, *ENTERPRISE_VARIABLES, "GH_HOST", "GH_DEBUG"}
    env = {k: v for k, v in environ.items() if k not in hidden} | {"GH_PROMPT_DISABLED": "1"}
    out = run([program, "auth", "token", "--hostname", host], env)
    return None if out is None else out.decode("utf-8", "replace").strip()


def _usable(value: str, source: str, hint: str) -> Token:
    if not _USABLE.fullmatch(value):
        raise NoToken(
            f"{source} does not hold a valid token",
            cause="it contains a space, a line break or a character other than ASCII (it is not shown here)",
            hint=hint,
        )
    return Token(value=value, source=source)


def _none(host: str, environ: Mapping[str, str], named: str | None) -> NoToken:
    first, second = variables(host)
    if host == GITHUB_HOST or _is_named(host, named) or not (environ.get(first) or environ.get(second)):
        cause = f"neither {first} nor {second} is set, and gh knows none for this host"
        hint = f"set {first}, or: gh auth login --hostname {host}"
        if host != GITHUB_HOST and not _is_named(host, named):
            hint = f"set {first} and GH_HOST={host}, or: gh auth login --hostname {host}"
        return NoToken(f"no token for {host}", cause=cause, hint=hint)
    said = f"is for {named}" if named is not None else "is sent to no host until GH_HOST names one"
    return NoToken(
        f"no token for {host}",
        cause=f"{first if environ.get(first) else second} {said}, and gh knows none for {host}",
        hint=f"if it is meant for {host}, set GH_HOST={host}; else: gh auth login --hostname {host}",
    )
