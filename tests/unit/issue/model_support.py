"""What the model of plan and apply is asked and told: documents, a clock, a header, and how to sync."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from logbook_agent.issue import marking
from logbook_agent.issue.marking import LIMIT_BYTES
from logbook_agent.issue.pace import Pace
from logbook_agent.issue.sync import Sync
from logbook_agent.issue.values import SyncedEntry, Wanted
from logbook_agent.model.errors import LogbookError
from tests.unit.issue.model_server import Client, Killed, Server

BOOK = "MOE.12345678"


@dataclass
class Texts:
    """Documents that say no more than what they are about."""

    entries: dict[str, SyncedEntry]

    def block(self, room: int) -> str:
        return "block: " + " ".join(f"{e.id}={e.digest}" for e in self.entries.values())

    def update_of(self, entry_ids: Sequence[str], room: int) -> str:
        return "update: " + " ".join(f"{i}={self.entries[i].digest}" for i in entry_ids)


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def entry(number: int, version: int = 0, **more: object) -> SyncedEntry:
    entry_id = f"MOE-{number:03d}"
    return replace(SyncedEntry(id=entry_id, name=entry_id, digest=f"{number:08x}{version:08x}"), **more)  # type: ignore[arg-type]


def sync(client: Client, entries: Sequence[SyncedEntry]) -> Sync:
    clock = Clock()
    client.pace = Pace(clock=clock, sleep=clock.sleep, say=lambda _: None, max_wait_s=300)
    texts = Texts({e.id: e for e in entries})
    return Sync(remote=client, number=1, wanted=Wanted(book=BOOK, entries=tuple(entries)), texts=texts)  # type: ignore[arg-type]


def told(server: Server, *users: str) -> list[str]:
    """The entries of all updates, in the order of the comments."""
    found = []
    for comment in server.comments.values():
        marked = marking.read_comment(comment.body, BOOK) if comment.author in users else None
        if marked is not None and marked.kind == marking.UPDATE:
            found += marked.fields["entries"].split(",")
    return found


def check(server: Server, entries: Sequence[SyncedEntry], people: str, *users: str) -> None:
    """One block that says what is wanted, what people wrote as it was, and each settled entry told once."""
    body = server.issues[1].body
    found = marking.find_block(body, BOOK)
    assert found is not None
    assert found.intact
    assert found.text == Texts({e.id: e for e in entries}).block(LIMIT_BYTES)
    assert (body[: found.start] + body[found.end :]).strip() == people
    ids = told(server, *users)
    assert sorted(ids) == sorted({e.id for e in entries if e.stage == "settled"})


def settle(clients: Sequence[Client], entries: Sequence[SyncedEntry]) -> None:
    """The faults clear, and everybody syncs again."""
    for client in clients:
        client.faults = {}
        client.turn = lambda: None
        sync(client, entries).run()
    for client in clients:
        before = client.sent
        last = sync(client, entries)
        last.run()
        assert last.done == []
        assert client.sent == before


def attempt(client: Client, entries: Sequence[SyncedEntry]) -> None:
    """A sync that anything may befall."""
    with contextlib.suppress(Killed, LogbookError):
        sync(client, entries).run()
