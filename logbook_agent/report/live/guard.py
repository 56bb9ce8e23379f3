"""Access to the live view: requests from this machine, by its own name, to read, with the token.

A page of any site may have its browser ask an address of this machine, also by a name that leads here (DNS
rebinding). So a request must name the host that is served and come from no other page; it must have the token or the
cookie that was given for it; and it can change nothing, since nothing but GET and HEAD is answered.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_CLOSED = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
POLICY = "content-security-policy"
_HEADERS = {
    "cache-control": "no-store",
    "cross-origin-embedder-policy": "require-corp",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
# The page that a link from another site leads to: the browser sends the cookie to what our own page opens.
_FORWARD = '<!doctype html><html lang="en"><meta http-equiv="refresh" content="0; url={path}"><title>logbook</title>'


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The token, in the address that is printed, and the cookie that is given for it. `port` is
    the one that is served: its cookie is another one than that of a second server."""

    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    session: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    @property
    def hosts(self) -> frozenset[str]:
        return frozenset((f"127.0.0.1:{self.port}", f"localhost:{self.port}"))

    @property
    def origins(self) -> frozenset[str]:
        return frozenset(f"http://{host}" for host in self.hosts)

    @property
    def cookie(self) -> str:
        return f"logbook_{self.port}"

    def address(self, path: str) -> str:
        """The address that the user opens."""
        return f"http://127.0.0.1:{self.port}{path}?token={self.token}"


class Guard:
    """Answers what is refused, and puts the same headers on every answer."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = _sealed(message["headers"])
            await send(message)

        if scope["type"] != "http":
            raise AssertionError(f"{scope['type']} is not served")
        headers = Headers(scope=scope)
        answer = self._refused(scope, headers) or self._let_in(scope, headers)
        await (self._app if answer is None else answer)(scope, receive, sealed)

    def _refused(self, scope: Scope, headers: Headers) -> Response | None:
        """The refusal of a request for another host, from another page, or to change something; None for others."""
        if [name.lower() for name in headers.getlist("host")] not in [[host] for host in self._access.hosts]:
            return _said(403, "This server answers only requests for 127.0.0.1.")
        if any(origin not in self._access.origins for origin in headers.getlist("origin")):
            return _said(403, "This server answers only its own pages.")
        is_opened = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not is_opened:
            return _said(403, "This server answers only its own pages.")
        if scope["method"] not in ("GET", "HEAD"):
            return _said(405, "This server is read-only.", allow="GET, HEAD")
        return None

    def _let_in(self, scope: Scope, headers: Headers) -> Response | None:
        """None for who has the cookie; the cookie for who has the token."""
        given = _asked(scope["query_string"]).get("token")
        if given is not None:
            if len(given) == 1 and _is_same(given[0], self._access.token):
                return self._given(scope["path"], headers)
            return _said(401, _HOW)
        cookies = [part.partition("=") for line in headers.getlist("cookie") for part in line.split(";")]
        named = [value.strip() for name, _, value in cookies if name.strip() == self._access.cookie]
        # All are compared, so that how long it takes tells nothing.
        if any([_is_same(value, self._access.session) for value in named]):  # noqa: C419
            return None
        return _said(401, _HOW)

    def _given(self, path: str, headers: Headers) -> Response:
        """The cookie, and the address without the token."""
        # Only what can be a path of ours goes into the answer: `//host` would lead elsewhere.
        path = path if _PATH.fullmatch(path) else "/"
        answer: Response = RedirectResponse(path, status_code=303)
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            answer = HTMLResponse(_FORWARD.format(path=path))
        answer.set_cookie(self._access.cookie, self._access.session, httponly=True, samesite="strict", path="/")
        return answer


_PATH = re.compile(r"/[A-Za-z0-9_.-]*", re.ASCII)
_HOW = "Open the address that `logbook report --serve` printed: it contains the token."


def _asked(query: bytes) -> dict[str, list[str]]:
    """The values of a query by name; none of a query with more of them than any address of ours has."""
    try:
        return parse_qs(query.decode("latin-1"), max_num_fields=20)
    except ValueError:
        return {}


def _said(status: int, text: str, **headers: str) -> Response:
    return PlainTextResponse(f"{text}\n", status_code=status, headers=headers)


def _is_same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())


def _sealed(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The headers of an answer with those that every answer has; a page brings a policy of its own."""
    found = list(headers)
    named = {name.lower() for name, _ in found}
    own = {**_HEADERS, POLICY: _CLOSED}
    return [*found, *((n.encode(), v.encode()) for n, v in own.items() if n.encode() not in named)]
