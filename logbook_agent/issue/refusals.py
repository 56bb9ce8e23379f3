"""What an answer of GitHub other than a success means: which error, how long to wait, what to do next."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
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
from logbook_agent.text.escapes import visible
from logbook_agent.text.redaction.redactor import by_shape

_LONGEST = 300
_LIMITS = re.compile(r"rate limit|abuse", re.IGNORECASE)
_LOCKED = re.compile(r"\b(is|was|been) locked\b|\blocked (issue|conversation)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request as errors speak of it. `about`: its object, such as "issue ada/moe#5"; `doing`: what is done with
    it, "comment on ..."; `again`: the command that hints tell the user to type once the trouble is over."""

    doing: str
    about: str
    host: str
    again: str
    has_token: bool = True
    is_write: bool = False


def one_line(text: str) -> str:
    """A text of the server for a message: one line, bounded, with nothing in it that a terminal obeys."""
    plain = by_shape().text(" ".join(visible(text[: 10 * _LONGEST]).split()))
    return plain if len(plain) <= _LONGEST else plain[:_LONGEST] + "…"


def refusal(status: int, headers: Mapping[str, str], said: str, call: Request) -> RemoteError:
    """The error for an answer that is no success; `said` is the message of the server, on one line."""
    then, cause = f"then: {call.again}", said or f"it answered with {status}"
    if status >= 500 or status == 408 or status < 400:
        return no_answer(call, f"it answered with {status}{f': {said}' if said else ''}")
    if status == 401 and not call.has_token:
        hint = f"set {variables(call.host)[0]} or type `gh auth login`, {then}"
        return NoToken(f"{call.host} needs a token", cause="none was found for this host", hint=hint)
    if status == 401:
        return BadToken(
            f"{call.host} does not know the token",
            cause="it is mistyped, expired or revoked, or belongs to another host",
            hint=f"make a new one and set {variables(call.host)[0]}, {then}",
        )
    if status == 429 or (status == 403 and _is_limit(headers, said)):
        wait_s = wait_asked_s(headers, time.time())
        hint = f"wait {f'{wait_s:.0f} s' if wait_s is not None else 'some minutes'}, {then}"
        return RateLimited(f"{call.host} takes no more requests for now", wait_s=wait_s, cause=cause, hint=hint)
    if status == 403 and _LOCKED.search(said):
        hint = f"unlock the conversation, or use a token with write access to the repository, {then}"
        return IssueLocked(f"{call.about} is locked", cause=said, hint=hint)
    if status == 403:
        hint = f"give it write access to issues (and to contents, for tags), {then}"
        return Forbidden(f"the token may not {call.doing}", cause=cause, hint=hint)
    if status in (404, 410):
        seen = "this token may not see it" if call.has_token else "is private: there was no token to see it with"
        return IssueMissing(
            f"{call.host} did not find {call.about}",
            cause=f"it does not exist, was deleted, or {seen}",
            hint="check the address, and that the token may see it (another issue: logbook link URL --replace), "
            + then,
        )
    hint = f"change what it refuses (sync --dry-run shows what is sent), {then}"
    return Rejected(f"{call.host} refused to {call.doing}", cause=cause, hint=hint)


def moved(call: Request, url: str | None) -> IssueMoved:
    """`url`: where people find the issue now; None for a repository that has another name."""
    if url is None:
        return IssueMoved(
            f"{call.about} has another name or owner now",
            cause="the repository was renamed or moved",
            hint="use its current name: in logbook.toml ([github] repository), with --repo, or with"
            f" `git remote set-url`; then: {call.again}",
        )
    error = IssueMoved(
        f"{call.about} is now {url}",
        cause="the issue was transferred, or its repository renamed or moved",
        hint=f"logbook link {quote(url)} --replace; then: {call.again}",
    )
    error.url = url
    return error


def no_answer(call: Request, cause: str) -> RemoteError:
    """No answer, or one that says nothing. A write may have been applied."""
    if call.is_write:
        hint = f"it may or may not have been done; the next sync checks first: {call.again}"
        return AnswerLost(f"{call.host} did not confirm the request to {call.doing}", cause=cause, hint=hint)
    return Unreachable(f"{call.host} could not {call.doing}", cause=cause, hint=f"try again later: {call.again}")


def _is_limit(headers: Mapping[str, str], said: str) -> bool:
    used_up = headers.get("x-ratelimit-remaining") == "0"
    return "retry-after" in headers or used_up or _LIMITS.search(said) is not None


def wait_asked_s(headers: Mapping[str, str], now: float) -> float | None:
    """Retry-After (seconds, or a date), else until the reset of the used-up limit; None when the server does not say.
    `now`: Unix time."""
    later, reset = headers.get("retry-after", ""), headers.get("x-ratelimit-reset", "")
    if later.isdecimal():
        return float(later)
    if (until := _moment(later)) is not None:
        # By the clock of the server, where it tells the time.
        return max(0.0, until - (_moment(headers.get("date", "")) or now))
    if headers.get("x-ratelimit-remaining") == "0" and reset.isdecimal():
        return max(0.0, float(reset) - now)
    return None


def _moment(text: str) -> float | None:
    """The Unix time of an HTTP date; None for text that is none."""
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return None
