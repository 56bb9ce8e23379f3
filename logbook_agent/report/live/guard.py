"""Access to the live view: requests from this machine, by its own name, to read, with the token.

A page of any site may have its browser ask an address of this machine, also by a name that leads here (DNS
rebinding). So a request must name the host that is served and come from no other page; it must have the token or the
cookie that was given for it; and it can change nothing, since nothing but GET and HEAD is answered.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from email.message import Message
from urllib.parse import parse_qs

POLICY = "content-security-policy"
# What every answer has, unless it has its own.
HEADERS = {
    POLICY: "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
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
_PATH = re.compile(r"/[A-Za-z0-9_.-]*", re.ASCII)
_HOW = "Open the address that `logbook report --serve` printed: it contains the token."


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """An answer to a request. `body`: whole, or in pieces whose length nobody knows yet."""

    status: int = 200
    body: bytes | Iterable[bytes] = b""
    media_type: str = "text/plain; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)


def said(status: int, text: str, **headers: str) -> Response:
    """A sentence as an answer."""
    return Response(status=status, body=f"{text}\n".encode(), headers=headers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The token, in the address that is printed, and the cookie that is given for it. `port` is
    the one that is served: its cookie is another one than that of a second server."""

    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    session: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    @property
    def hosts(self) -> tuple[str, str]:
        return f"127.0.0.1:{self.port}", f"localhost:{self.port}"

    @property
    def cookie(self) -> str:
        return f"logbook_{self.port}"

    def address(self, path: str) -> str:
        """The address that the user opens."""
        return f"http://127.0.0.1:{self.port}{path}?token={self.token}"

    def refused(self, method: str, headers: Message) -> Response | None:
        """The refusal of a request for another host, from another page, or to change something; None for others."""
        if [name.lower() for name in headers.get_all("host", [])] not in [[host] for host in self.hosts]:
            return said(403, "This server answers only requests for 127.0.0.1.")
        origins = [f"http://{host}" for host in self.hosts]
        is_opened = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
        is_foreign = any(origin not in origins for origin in headers.get_all("origin", []))
        if is_foreign or (_is_from_elsewhere(headers) and not is_opened):
            return said(403, "This server answers only its own pages.")
        if method not in ("GET", "HEAD"):
            return said(405, "This server is read-only.", allow="GET, HEAD")
        return None

    def let_in(self, path: str, query: str, headers: Message) -> Response | None:
        """None for who has the cookie; the cookie for who has the token."""
        given = _asked(query).get("token")
        if given is not None:
            is_right = len(given) == 1 and _is_same(given[0], self.token)
            return self._given(path, headers) if is_right else said(401, _HOW)
        cookies = [part.partition("=") for line in headers.get_all("cookie", []) for part in line.split(";")]
        named = [value.strip() for name, _, value in cookies if name.strip() == self.cookie]
        # All are compared, so that how long it takes tells nothing.
        return None if any([_is_same(value, self.session) for value in named]) else said(401, _HOW)  # noqa: C419

    def _given(self, path: str, headers: Message) -> Response:
        """The cookie, and the address without the token."""
        # Only what can be a path of ours goes into the answer: `//host` would lead elsewhere.
        path = path if _PATH.fullmatch(path) else "/"
        cookie = {"set-cookie": f"{self.cookie}={self.session}; HttpOnly; Path=/; SameSite=strict"}
        if _is_from_elsewhere(headers):
            body = _FORWARD.format(path=path).encode()
            return Response(body=body, media_type="text/html; charset=utf-8", headers=cookie)
        return Response(status=303, headers={"location": path, **cookie})


def _is_from_elsewhere(headers: Message) -> bool:
    return headers.get("sec-fetch-site", "none") not in ("none", "same-origin")


def _asked(query: str) -> dict[str, list[str]]:
    """The values of a query by name; none of a query with more of them than any address of ours has."""
    try:
        return parse_qs(query, max_num_fields=20)
    except ValueError:
        return {}


def _is_same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())
