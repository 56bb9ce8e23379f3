"""The model of plan and apply: two machines, lost answers, kills, people who write. Whatever befell, once the faults
clear and the sync is run again there is one block, one comment per update, and every entry is told once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from logbook_agent.issue import marking
from logbook_agent.issue.values import SyncedEntry
from logbook_agent.model.record import digest
from tests.breadth import examples
from tests.unit.issue.model_server import FAULTS, Client, Server
from tests.unit.issue.model_support import BOOK, attempt, check, entry, settle


@dataclass
class Turnstile:
    """Lets two threads make their requests in a given order; who is done no longer counts."""

    order: list[int]
    condition: threading.Condition = field(default_factory=threading.Condition)
    finished: set[int] = field(default_factory=set)

    def wait(self, who: int) -> None:
        with self.condition:
            assert self.condition.wait_for(lambda: self._next() in (who, None), timeout=30)
            if self.order:
                self.order.pop(0)
            self.condition.notify_all()

    def _next(self) -> int | None:
        while self.order and self.order[0] in self.finished:
            self.order.pop(0)
        return self.order[0] if self.order else None

    def done(self, who: int) -> None:
        with self.condition:
            self.finished.add(who)
            self.condition.notify_all()


def side_by_side(clients: Sequence[Client], jobs: Sequence[Callable[[], None]], order: Sequence[int]) -> None:
    turnstile = Turnstile(list(order))
    errors: list[BaseException] = []

    def work(who: int) -> None:
        try:
            jobs[who]()
        except BaseException as error:  # noqa: BLE001  told below
            errors.append(error)
        finally:
            turnstile.done(who)

    for who, client in enumerate(clients):
        client.turn = lambda who=who: turnstile.wait(who)
    threads = [threading.Thread(target=work, args=(who,)) for who in range(len(clients))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert errors == []


@examples(150)
@given(data=st.data())
@pytest.mark.slow
def test_two_machines_converge(data: st.DataObject) -> None:
    """Whatever the order of their requests, whatever is lost, one account or two, one knowing more entries."""
    one_account = data.draw(st.booleans())
    users = ("ada", "ada") if one_account else ("ada", "bob")
    server = Server()
    server.add_issue("someone", "t", "people")
    total = data.draw(st.integers(1, 25))
    entries = [entry(n) for n in range(total)]
    fewer = entries[: data.draw(st.integers(0, total))]
    faults = st.dictionaries(st.integers(1, 5), st.sampled_from(FAULTS), max_size=2)
    clients = [Client(server, user, data.draw(faults)) for user in users]
    order = data.draw(st.lists(st.integers(0, 1), max_size=30))
    sides = (fewer, entries)
    side_by_side(clients, [lambda who=who: attempt(clients[who], sides[who]) for who in (0, 1)], order)
    settle(clients, entries)
    check(server, entries, "people", *users)


@examples(150)
@given(data=st.data())
@pytest.mark.slow
def test_a_history_of_changes_converges(data: st.DataObject) -> None:
    """Entries appear, settle, change, people comment; syncs fail in between."""
    server = Server()
    server.add_issue("someone", "t", "people")
    entries: list[SyncedEntry] = []
    for _ in range(data.draw(st.integers(1, 6))):
        for _ in range(data.draw(st.integers(0, 8))):
            number = len(entries)
            stage = data.draw(st.sampled_from(["settled", "settled", "settled", "open"]))
            entries.append(entry(number, stage=stage, shown=data.draw(st.integers(0, 2))))
        for at in data.draw(st.lists(st.integers(0, max(len(entries) - 1, 0)), max_size=3)):
            if entries:
                old = entries[at]
                entries[at] = replace(old, stage="settled", digest=f"{int(old.digest, 16) + 1:016x}")
        if data.draw(st.booleans()):
            server.add_comment(
                "mallory",
                "I think "
                + data.draw(st.sampled_from(["so", marking.stamped("update", BOOK, {"entries": "MOE-000"}, "x")])),
            )
        faults = data.draw(st.dictionaries(st.integers(1, 4), st.sampled_from(FAULTS), max_size=2))
        attempt(Client(server, "ada", faults), entries)
    settle([Client(server, "ada")], entries)
    check(server, entries, "people", "ada")
    digests = {e.id: e.digest for e in entries}
    for comment in server.comments.values():
        marked = marking.read_comment(comment.body, BOOK)
        if comment.author == "ada" and marked is not None:
            of = digest([digests[name] for name in marked.fields["entries"].split(",")])
            assert marked.fields["digest"] == of, "an update that was not brought up to date"
