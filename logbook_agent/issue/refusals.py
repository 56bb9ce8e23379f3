"""What an answer of GitHub other than a success means: which error, how long to wait, what to do next."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from shlex import quote

from logbook_agent.issue.token import variables
from logbook_agent.model.errors import (
    AnswerLost,
    BadToken,
    Forbidden,
    IssueLocked,
    IssueMissing,
    IssueMoved,
    NoToken,
    RateLimited,
    Rejected,
    RemoteError,
    Unreachable,
)
from logbook_agent.text.redaction.redactor import by_shape

_LONGEST = 300
_LIMITS = re.compile(r"rate limit|abuse", re.IGNORECASE)
_LOCKED = re.compile(r"\b(is|was|been) locked\b|\blocked (issue|conversation)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueHost:
    """`name` as people know it; `again`: the command that hints tell the user to type once the trouble is over."""

    name: str = "github.com"
    has_token: bool = True
    again: str = "logbook sync"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request. `about`: its object, such as "issue ada/moe#5"; `doing`: what is done with it, "comment on ..."."""

    doing: str
    about: str
    is_write: bool = False


def one_line(text: str) -> str:
    """A text of the server for a message: one line, bounded, with nothing in it that a terminal obeys."""
    plain = " ".join("".join(c if c.isprintable() else " " for c in text[: 10 * _LONGEST]).split())
    plain = by_shape().text(plain)  # a secret that is cut is no longer known as one
    return plain if len(plain) <= _LONGEST else plain[:_LONGEST] + "…"


def refusal(
    status: int, headers: Mapping[str, str], said: str, call: Call, host: IssueHost, now: datetime
) -> RemoteError:
    """The error for an answer that is no success; `said` is the message of the server, on one line."""
    if status >= 500 or status == 408 or status < 400:
        return no_answer(call, host, f"it answered with {status}{f': {said}' if said else ''}")
    if status == 401:
        return _unknown(host)
    if status == 429 or (status == 403 and _is_limit(headers, said)):
        wait_s = wait_asked_s(headers, now)
        return RateLimited(
            f"{host.name} takes no more requests for now",
            wait_s=wait_s,
            cause=said or f"it answered with {status}",
            hint=f"wait {f'{wait_s:.0f} s' if wait_s is not None else 'some minutes'}, then: {host.again}",
        )
    if status == 403:
        return _forbidden(call, host, said)
    if status in (404, 410):
        return _missing(status, said, call, host)
    return Rejected(
        f"{host.name} refused to {call.doing}",
        cause=said or f"it answered with {status}",
        hint="`logbook sync --dry-run` shows what would be sent",
    )


def moved(call: Call, host: IssueHost, url: str | None) -> IssueMoved:
    """`url`: where people find the issue now; None for a repository that has another name."""
    if url is None:
        return IssueMoved(
            f"{call.about} has another name or owner now",
            cause="the repository was renamed or moved",
            hint="use its current name: in logbook.toml ([github] repository), with --repo, or with"
            f" `git remote set-url`; then: {host.again}",
        )
    error = IssueMoved(
        f"{call.about} is now {url}",
        cause="the issue was transferred, or its repository renamed or moved",
        hint=f"logbook link {quote(url)} --replace; then: {host.again}",
    )
    error.url = url
    return error


def no_answer(call: Call, host: IssueHost, cause: str) -> RemoteError:
    """No answer, or one that says nothing. A write may have been applied."""
    if call.is_write:
        return AnswerLost(
            f"{host.name} did not confirm the request to {call.doing}",
            cause=cause,
            hint=f"it may or may not have been done; the next sync checks first: {host.again}",
        )
    return Unreachable(f"{host.name} could not {call.doing}", cause=cause, hint=f"try again later: {host.again}")


def _unknown(host: IssueHost) -> RemoteError:
    if not host.has_token:
        return NoToken(
            f"{host.name} needs a token",
            cause="none was found for this host",
            hint=f"set {variables(host.name)[0]} or type `gh auth login`, then: {host.again}",
        )
    return BadToken(
        f"{host.name} does not know the token",
        cause="it is mistyped, expired or revoked, or belongs to another host",
        hint=f"make a new one and set {variables(host.name)[0]}, then: {host.again}",
    )


def _missing(status: int, said: str, call: Call, host: IssueHost) -> RemoteError:
    cause = "it does not exist, was deleted, or this token may not see it"
    hint = f"check the address, and that the token may see it, then: {host.again}"
    if status == 410:
        cause = said or "it was deleted"
        hint = f"check the address, or continue in another issue: logbook link URL --replace; then: {host.again}"
    elif not host.has_token:
        cause = "it does not exist, was deleted, or is private: there was no token to see it with"
    return IssueMissing(
        f"{host.name} did not find {call.about}",
        cause=cause,
        hint=hint,
    )


def _forbidden(call: Call, host: IssueHost, said: str) -> RemoteError:
    if _LOCKED.search(said):
        return IssueLocked(
            f"{call.about} is locked",
            cause=said,
            hint=f"unlock the conversation, or use a token with write access to the repository, then: {host.again}",
        )
    return Forbidden(
        f"the token may not {call.doing}",
        cause=said or f"{host.name} answered with 403",
        hint=f"give it write access to issues (and to contents, for tags), then: {host.again}",
    )


def _is_limit(headers: Mapping[str, str], said: str) -> bool:
    used_up = headers.get("x-ratelimit-remaining") == "0"
    return "retry-after" in headers or used_up or _LIMITS.search(said) is not None


def wait_asked_s(headers: Mapping[str, str], now: datetime) -> float | None:
    """Retry-After (seconds or a date), else the reset of the used-up limit by the server's own clock, else None."""
    here = _date(headers.get("date", "")) or now
    later = headers.get("retry-after", "").strip()
    if later.isdecimal():
        return float(later)
    until = _date(later)
    reset = headers.get("x-ratelimit-reset", "").strip()
    if until is None and headers.get("x-ratelimit-remaining") == "0" and reset.isdecimal():
        try:
            until = datetime.fromtimestamp(int(reset), UTC)
        except (ValueError, OverflowError, OSError):
            return None
    return None if until is None else max(0.0, (until - here).total_seconds())


def _date(text: str) -> datetime | None:
    """Of an HTTP header."""
    try:
        found = parsedate_to_datetime(text)
    except (ValueError, TypeError):
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
