"""One request after the other to one host: nothing is sent twice unasked, nowhere else, and no wait is silent."""

from __future__ import annotations

import re
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import SplitResult, urljoin, urlsplit

from requests.exceptions import ConnectTimeout, ProxyError, Timeout
from urllib3.exceptions import HTTPError, NewConnectionError

from logbook_agent.issue.github import answers
from logbook_agent.issue.github.answers import UNREADABLE, Call, HostAnswer, IssueHost, one_line
from logbook_agent.issue.github.connection import REDIRECTS, ConnectionStopped, TooMuch
from logbook_agent.issue.github.refusals import moved, no_answer, refusal
from logbook_agent.model.errors import RemoteError, Unreachable

# Before a read is asked again; two times at most.
READ_WAITS_S = (0.5, 2.0)
# No wait is silent for five seconds.
SAY_EVERY_S = 4.5
# What PyGithub, requests and urllib3 raise for an answer that they cannot read, beside errors of the network.
_GARBLED = (ValueError, TypeError, KeyError, AttributeError, AssertionError, RuntimeError, ArithmeticError, HTTPError)

# Method, path, parameters, headers, data -> status, headers, text.
Send = Callable[[str, str, dict[str, Any], dict[str, Any], Any], tuple[int, dict[str, Any], str]]


@dataclass(kw_only=True, repr=False)
class Wire:
    """`send` does one request by a connection that never repeats one; `api` is what its paths are relative to.

    `timeout_s` is what `send` keeps to, told to those who wait; `token` is taken out of what comes back.
    """

    send: Send
    api: str
    host: IssueHost
    token: str | None
    timeout_s: float
    say: Callable[[str], None]
    sleep: Callable[[float], None]

    def ask(self, call: Call) -> HostAnswer:
        """The answer, if it is a success; else raises what it means. A read is asked again when nothing came."""
        with self._patience(call):
            for wait_s in (*(() if call.is_write else READ_WAITS_S), None):
                outcome = self._once(call)
                if wait_s is None or not isinstance(outcome, Unreachable):
                    break
                self.sleep(wait_s)
            if isinstance(outcome, HostAnswer) and outcome.status in REDIRECTS:
                outcome = self._redirected(call, outcome.headers.get("location", ""))
        # Raised here and not where an exception of the library is at hand: that one knows the token.
        if isinstance(outcome, RemoteError):
            raise outcome
        return outcome

    def _once(self, call: Call) -> HostAnswer | RemoteError:
        """One request; a redirect is an answer."""
        try:
            # PyGithub writes the token into the headers that it is given.
            status, headers, text = self.send(
                call.method, call.path, dict(call.parameters), {"Accept": "application/vnd.github+json"}, call.data
            )
            answer = HostAnswer(status=status, headers=headers, text=text)
        except ConnectionStopped as stopped:
            answer = stopped.answer
        except TooMuch as error:
            return no_answer(call, self.host, f"its answer has no end ({error})")
        except OSError as error:
            return self._broken(call, error)
        except _GARBLED as error:
            return no_answer(call, self.host, f"its answer cannot be read ({type(error).__name__})")
        if (200 <= answer.status < 300 and answer.status != 202) or answer.status in REDIRECTS:
            return answer
        if self.token is not None:
            # A page of some server in between may hold the request it is about.
            answer = replace(answer, text=answer.text.replace(self.token, "[token]"))
        return refusal(answer, call, self.host, datetime.now(UTC))

    def _broken(self, call: Call, error: OSError) -> RemoteError:
        """The network, or TLS, gave up."""
        reasons = list(_reasons(error))
        for reason in reasons:
            if isinstance(reason, ssl.SSLCertVerificationError):
                return Unreachable(
                    f"{self.host.name} could not prove its identity",
                    cause=f"its certificate was not accepted: {reason.verify_message}",
                    hint="if the host has a certificate of its own, name it in REQUESTS_CA_BUNDLE, then:"
                    f" {self.host.again}",
                )
        if any(isinstance(reason, (ConnectTimeout, NewConnectionError, ProxyError)) for reason in reasons):
            cause = "no connection: the host is down, its name or port is wrong, or the network is down"
            return Unreachable(
                f"{self.host.name} cannot be reached", cause=cause, hint=f"try again later: {self.host.again}"
            )
        timed_out = any(isinstance(reason, TimeoutError | Timeout) for reason in reasons)
        cause = f"none came within {self.timeout_s:g} s" if timed_out else "the connection broke"
        return no_answer(call, self.host, cause)

    def _redirected(self, call: Call, location: str) -> RemoteError:
        """Nothing follows a redirect. One more read of the same host tells people where the issue is now."""
        try:
            here, target = urlsplit(self.api), urlsplit(urljoin(self.api + call.path, location))
            there = _origin(target)
        except ValueError:
            return no_answer(call, self.host, "it redirects to an address that is not valid")
        if there != _origin(here):
            shown = one_line(f"{target.scheme}://{target.netloc.rpartition('@')[2]}")
            return Unreachable(
                f"{self.host.name} redirects to {shown}",
                cause="nothing was sent there: a token is sent only to its own host",
                hint="if the API has moved there, change its address in the settings",
            )
        place = re.match(rf"{re.escape(here.path)}(/.*/issues/\d+)(/|$)", target.path)
        if place is not None:
            outcome = self._once(replace(call, method="GET", path=place[1], data=None, parameters={}))
            if isinstance(outcome, HostAnswer) and outcome.status == 200:
                try:
                    return moved(call, self.host, answers.issue(outcome.data).url)
                except UNREADABLE:
                    pass
        # The address of an API is nothing to look at or to link.
        return moved(call, self.host, None)

    @contextmanager
    def _patience(self, call: Call) -> Iterator[None]:
        """Says what is being waited for, from time to time, while it lasts."""
        done = threading.Event()
        began = time.monotonic()

        def speak() -> None:
            while not done.wait(SAY_EVERY_S):
                waited_s = time.monotonic() - began
                self.say(
                    f"waiting for {self.host.name} to {call.doing}: {waited_s:.0f} s so far, "
                    f"at most {self.timeout_s:g} s for each answer"
                )

        speaker = threading.Thread(target=speak, daemon=True)
        speaker.start()
        try:
            yield
        finally:
            done.set()
            speaker.join()


def _origin(address: SplitResult) -> tuple[str, str | None, int | None]:
    """Raises ValueError for a port that is none."""
    return address.scheme, address.hostname, address.port or {"http": 80, "https": 443}.get(address.scheme)


def _reasons(error: BaseException) -> Iterator[BaseException]:
    """The error and what it wraps; requests and urllib3 keep that in three different places."""
    seen: list[BaseException] = []
    waiting: list[object] = [error]
    while waiting:
        found = waiting.pop(0)
        if not isinstance(found, BaseException) or any(found is other for other in seen):
            continue
        seen.append(found)
        yield found
        waiting += [*found.args, getattr(found, "reason", None), found.__cause__, found.__context__]
