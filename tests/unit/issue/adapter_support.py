"""The adapter to GitHub, connected; its writes, and the faults that they can meet."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from logbook_agent.issue import github as adapter
from logbook_agent.issue.github import GitHub
from logbook_agent.model.errors import (
    BadToken,
    Forbidden,
    IssueLocked,
    IssueMissing,
    RateLimited,
    Rejected,
)
from tests.emulator import faults
from tests.emulator.faults import Fault
from tests.emulator.fixtures import Hub

Connect = Callable[..., GitHub]


@pytest.fixture
def connect(github: Hub, monkeypatch: pytest.MonkeyPatch) -> Iterator[Connect]:
    """`connect(repo)`: the adapter as ada, with no waits between reads."""
    monkeypatch.setattr(adapter, "READ_BACKOFF_S", 0)
    made: list[GitHub] = []

    def make(repo: str, **more: Any) -> GitHub:
        options: dict[str, Any] = {"api": github.api, "token": github.token, "timeout_s": 2}
        options |= {"say": lambda _: None}
        made.append(GitHub(repository=repo, **(options | more)))
        return made[-1]

    yield make
    for remote in made:
        remote._github.close()


def everything(error: BaseException | None) -> str:
    """What a report of a crash would show: the traceback with its locals, and every error behind it."""
    parts = []
    while error is not None:
        shown = traceback.TracebackException.from_exception(error)
        parts += [*shown.format(), repr(error), str(vars(error))]
        error = error.__cause__ or error.__context__
    return "\n".join(parts)


def post(remote: GitHub) -> object:
    return remote.post_comment(1, "text")


def create(remote: GitHub) -> object:
    return remote.create_issue("Two", "text", [])


def patch(remote: GitHub) -> object:
    return remote.edit_issue(1, body="text")


WRITES = [post, create, patch]
TERMINAL = [
    (faults.unauthorized(), BadToken),
    (faults.forbidden(), Forbidden),
    (faults.locked(), IssueLocked),
    (faults.missing(), IssueMissing),
    (faults.gone(), IssueMissing),
    (faults.invalid(), Rejected),
    (faults.secondary_limit(), RateLimited),
    (faults.too_many(3), RateLimited),
    (faults.primary_limit(), RateLimited),
]


LOST = [
    faults.server_error(),
    faults.server_error(applied=True),
    faults.bad_gateway(),
    faults.dropped(),
    faults.dropped(applied=False),
    faults.unreadable(),
    Fault(name="half", applied=True, answers=lambda _request, _true: faults.Reply(status=200, content=b'{"id": 1,')),
]
