"""What can go wrong with a request, and the rules that say with which."""

from __future__ import annotations

import json
import random
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.emulator.server import Reply

MAX_BODY_BYTES = 65_536


@dataclass(kw_only=True)
class Request:
    """One request that reached the proxy; `path` is without prefix and query.

    `user` is None without a token or with an unknown one. `fault`: the name of the fault it met. `applied`: whether the
    emulator was asked. `status` is None when no answer was sent.
    """

    method: str
    path: str
    query: str
    at: float
    host: str
    authorization: str | None
    user: str | None
    body: str
    fault: str | None = None
    applied: bool = False
    status: int | None = None

    @property
    def is_write(self) -> bool:
        return self.method not in ("GET", "HEAD")


@dataclass(kw_only=True)
class Fault:
    """`applied`: the emulator is asked first, so a write takes effect. `reply` None: no answer at all.

    `answers`: called with the request and the true answer (None when it was not applied) for the answer to send.
    """

    name: str
    applied: bool = False
    answers: Callable[[Request, Reply | None], Reply | None]


def refusal(status: int, message: str, headers: Mapping[str, str] | None = None, **more: Any) -> Reply:
    content = json.dumps({"message": message, "documentation_url": "https://docs.example.org/rest", **more})
    return Reply(status=status, headers={"content-type": JSON, **(headers or {})}, content=content.encode())


JSON = "application/json; charset=utf-8"
HTML = "text/html; charset=utf-8"
SECONDARY = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."


def _always(name: str, reply: Reply | None, *, applied: bool = False) -> Fault:
    return Fault(name=name, applied=applied, answers=lambda _request, _true: reply)


def _later(retry_after: int | None) -> dict[str, str]:
    return {} if retry_after is None else {"retry-after": str(retry_after)}


def server_error(*, applied: bool = False) -> Fault:
    return _always("server_error", refusal(500, "Server Error"), applied=applied)


def bad_gateway(*, applied: bool = True) -> Fault:
    page = Reply(status=502, headers={"content-type": HTML}, content=b"<html><h1>502 Bad Gateway</h1></html>")
    return _always("bad_gateway", page, applied=applied)


def dropped(*, applied: bool = True) -> Fault:
    return _always("dropped", None, applied=applied)


def unreadable(*, applied: bool = True) -> Fault:
    page = Reply(status=200, headers={"content-type": HTML}, content=b"<html>Please log in to the network</html>")
    return _always("unreadable", page, applied=applied)


def secondary_limit(retry_after: int | None = None) -> Fault:
    return _always("secondary_limit", refusal(403, SECONDARY, _later(retry_after)))


def too_many(retry_after: int | None = None) -> Fault:
    return _always("too_many", refusal(429, "Too many requests", _later(retry_after)))


def primary_limit(reset_in_s: float = 60) -> Fault:
    def answers(_request: Request, _true: Reply | None) -> Reply:
        reset = str(int(time.time() + reset_in_s))
        limits = {"x-ratelimit-limit": "5000", "x-ratelimit-remaining": "0", "x-ratelimit-reset": reset}
        return refusal(403, "API rate limit exceeded for user ID 1.", limits)

    return Fault(name="primary_limit", answers=answers)


def unauthorized() -> Fault:
    return _always("unauthorized", refusal(401, "Bad credentials"))


def forbidden(message: str = "Resource not accessible by personal access token") -> Fault:
    return _always("forbidden", refusal(403, message))


def locked() -> Fault:
    return _always("locked", refusal(403, "Unable to create comment because issue is locked."))


def missing() -> Fault:
    return _always("missing", refusal(404, "Not Found"))


def gone() -> Fault:
    return _always("gone", refusal(410, "This issue was deleted"))


def moved(location: str, status: int = 301) -> Fault:
    return _always("moved", refusal(status, "Moved Permanently", {"location": location}, url=location))


def invalid(message: str = "Validation Failed") -> Fault:
    return _always("invalid", refusal(422, message))


def old_body() -> Fault:
    """200, and nothing changed; `Proxy` gives what stands there as the true answer."""
    return Fault(name="old_body", answers=lambda _request, true: true)


def slow(delay_s: float) -> Fault:
    def answers(_request: Request, true: Reply | None) -> Reply | None:
        time.sleep(delay_s)
        return true

    return Fault(name="slow", applied=True, answers=answers)


def also(call: Callable[[Request], None], *, applied: bool = True) -> Fault:
    """Calls this before or after the write takes effect; then the answer is the true one, or 500 when not applied."""

    def answers(request: Request, true: Reply | None) -> Reply | None:
        call(request)
        return true or refusal(500, "Server Error")

    return Fault(name="also", applied=applied, answers=answers)


class Stall:
    """Never answers, until it is released; then the connection is dropped."""

    def __init__(self, *, applied: bool = True) -> None:
        self._released = threading.Event()
        self.fault = Fault(name="stalled", applied=applied, answers=self._answers)

    def _answers(self, _request: Request, _true: Reply | None) -> None:
        self._released.wait()

    def release(self) -> None:
        self._released.set()


@dataclass(kw_only=True)
class Rule:
    """`method` is a whole regex, `path` one that is searched for. Of the requests that match, those from the `nth` on,
    counted from 1, and at most `times` of them, meet the fault, each with this probability."""

    method: str
    path: str
    fault: Fault
    nth: int = 1
    times: int | None = None
    probability: float = 1.0
    chance: random.Random = field(default_factory=lambda: random.Random(4))
    seen: int = 0
    met: int = 0

    def matches(self, request: Request) -> bool:
        """Whether it is this request's turn; every rule counts every request."""
        if not (re.fullmatch(self.method, request.method) and re.search(self.path, request.path)):
            return False
        self.seen += 1
        due = self.seen >= self.nth and (self.times is None or self.met < self.times)
        return due and (self.probability >= 1 or self.chance.random() < self.probability)


class Rules:
    """The rules in force; of those that match a request, the first is kept to."""

    def __init__(self) -> None:
        self._rules: list[Rule] = []
        self._stalls: list[Stall] = []
        self._lock = threading.Lock()

    def add(
        self,
        method: str,
        path: str,
        fault: Fault | Stall,
        *,
        nth: int = 1,
        times: int | None = None,
        probability: float = 1.0,
        seed: int = 4,
    ) -> Rule:
        """`add("POST", "/comments$", faults.dropped(), nth=3, times=1)`: the third comment meets it, and no other."""
        with self._lock:
            if isinstance(fault, Stall):
                self._stalls.append(fault)
                fault = fault.fault
            rule = Rule(method=method, path=path, fault=fault, nth=nth, times=times, probability=probability)
            rule.chance = random.Random(seed)
            self._rules.append(rule)
            return rule

    def clear(self) -> None:
        """None is in force, and what stalls is released."""
        with self._lock:
            for stall in self._stalls:
                stall.release()
            self._rules, self._stalls = [], []

    def fault(self, request: Request) -> Fault | None:
        with self._lock:
            matching = [rule for rule in self._rules if rule.matches(request)]
            if not matching:
                return None
            matching[0].met += 1
            return matching[0].fault
