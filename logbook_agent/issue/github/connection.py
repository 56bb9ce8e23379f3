"""The connection below every request: it sends nothing twice, follows nothing, and reads no answer without bounds."""

from __future__ import annotations

import codecs
import time
from collections.abc import Iterator
from typing import Any

from github import Auth
from github.Requester import HTTPRequestsConnectionClass, HTTPSRequestsConnectionClass, Requester
from requests import Response
from requests.utils import get_environ_proxies, select_proxy

from logbook_agent.issue.github.answers import HostAnswer
from logbook_agent.model.errors import UsageError

REDIRECTS = frozenset({301, 302, 303, 307, 308})
# A page of 100 comments that are as long as they may be, with each character escaped, is 40 MB.
MOST_BYTES = 64 * 1024 * 1024
# For one whole answer; the time-out of a request bounds each of its pieces alone.
LONGEST_S = 300.0


class ConnectionStopped(Exception):
    """An answer that PyGithub must not see: it would follow a redirect, and ask again for ever after a 202."""

    def __init__(self, answer: HostAnswer) -> None:
        super().__init__(answer.status)
        self.answer = answer


class TooMuch(ValueError):
    """An answer that is too long, in bytes or in time."""


class _Bounded:
    """What `requests` reads an answer from, up to a size and a time; a success is UTF-8 or none."""

    def __init__(self, raw: Any, *, strict: bool) -> None:
        self._raw = raw
        self._decoder = codecs.getincrementaldecoder("utf-8")("strict" if strict else "replace")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._raw, name)

    def stream(self, amount: int, decode_content: bool | None = None) -> Iterator[bytes]:
        size, until = 0, time.monotonic() + LONGEST_S
        # What is there, and not `amount`: a server that sends byte after byte would be waited for between two looks.
        while piece := self._raw.read1(amount, decode_content=decode_content):
            size += len(piece)
            if size > MOST_BYTES or time.monotonic() > until:
                self._raw.close()
                raise TooMuch(f"more than {MOST_BYTES:,} bytes or {LONGEST_S:g} s")
            self._decoder.decode(piece)
            yield piece
        self._decoder.decode(b"", final=True)


def _bound(response: Response, **_: Any) -> None:
    """A hook of `requests`, called before it reads the content."""
    if response.status_code in REDIRECTS or response.status_code == 202:
        headers = {name.lower(): value for name, value in response.headers.items()}
        # Its content says nothing, and may have no end.
        response.close()
        raise ConnectionStopped(HostAnswer(status=response.status_code, headers=headers, text=""))
    response.raw = _Bounded(response.raw, strict=200 <= response.status_code < 300)
    # Else it would be guessed, which takes long, or named by the host.
    response.encoding = "utf-8"


class _Http(HTTPRequestsConnectionClass):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.session.hooks["response"].append(_bound)


class _Https(HTTPSRequestsConnectionClass):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.session.hooks["response"].append(_bound)


class _Requester(Requester):
    """With connections of its own; those of another user of PyGithub in this process stay as they are."""


_Requester.injectConnectionClasses(_Http, _Https)


def requester(*, api: str, token: str | None, timeout_s: int, per_page: int) -> Requester:
    """What sends requests to one API. Raises UsageError where a token would leave this machine in clear text."""
    if token is not None and api.startswith("http:") and select_proxy(api, get_environ_proxies(api, no_proxy=None)):
        raise UsageError(
            f"{api} would be reached through a proxy, with the token in clear text",
            cause="http_proxy or all_proxy is set; without TLS, only this machine may be reached",
            hint="set NO_PROXY=127.0.0.1,localhost",
        )
    return _Requester(
        auth=None if token is None else Auth.Token(token),
        base_url=api,
        timeout=timeout_s,
        user_agent="logbook-agent",
        per_page=per_page,
        verify=True,
        # Nothing is sent twice.
        retry=0,
        pool_size=None,
        # The pace is kept by who calls.
        seconds_between_requests=None,
        seconds_between_writes=None,
    )
