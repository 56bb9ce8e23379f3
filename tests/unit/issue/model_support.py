"""What the model of plan and apply is asked and told: documents, a clock, a header, and how to sync."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from logbook_agent.issue import marking
from logbook_agent.issue.apply import Sync
from logbook_agent.issue.marking import LIMIT_BYTES
from logbook_agent.issue.pace import Calls, Pace
from logbook_agent.issue.steps import EntryWanted, Wanted
from logbook_agent.model.errors import LogbookError
from tests.unit.issue.model_server import Client, Killed, Server

BOOK = "MOE.12345678"


@dataclass
class Texts:
    """Documents that say no more than what they are about."""

    entries: dict[str, EntryWanted]

    def block(self, room: int) -> str:
        return "block: " + " ".join(f"{e.id}={e.digest}" for e in self.entries.values())

    def update_of(self, entry_ids: Sequence[str], room: int) -> str:
        return "update: " + " ".join(f"{i}={self.entries[i].digest}" for i in entry_ids)

    def snapshot_of(self, name: str, room: int) -> str:
        return f"snapshot {name}"

    def final(self, room: int) -> str:
        return "final"


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@dataclass
class Header:
    """What a machine remembers in its logbook's header."""

    managed: bool = False

    def remember_block(self) -> None:
        self.managed = True


def entry(number: int, version: int = 0, **more: object) -> EntryWanted:
    entry_id = f"MOE-{number:03d}"
    return replace(EntryWanted(id=entry_id, name=entry_id, digest=f"{number:08x}{version:08x}"), **more)  # type: ignore[arg-type]


def wanted_of(entries: Sequence[EntryWanted], header: Header, **more: object) -> Wanted:
    base = Wanted(book=BOOK, entries=tuple(entries), managed=header.managed)
    return replace(base, **more)  # type: ignore[arg-type]


def sync(
    client: Client, entries: Sequence[EntryWanted], header: Header, *, max_wait_s: float = 300, **more: object
) -> Sync:
    clock = Clock()
    pace = Pace(clock=clock, sleep=clock.sleep, say=lambda _: None, max_wait_s=max_wait_s)
    return Sync(
        calls=Calls(remote=client, pace=pace, say=lambda _: None),
        number=1,
        wanted=wanted_of(entries, header, **more),
        documents=Texts({e.id: e for e in entries}),
        remember_block=header.remember_block,
    )


def told(server: Server, *users: str) -> list[str]:
    """The entries of all updates, in the order of the comments."""
    found = []
    for comment in server.comments.values():
        marked = marking.read_comment(comment.body, BOOK) if comment.author in users else None
        if marked is not None and marked.kind == marking.UPDATE:
            found += [word.split(":")[0] for word in marked.fields["entries"].split(",")]
    return found


def check(server: Server, entries: Sequence[EntryWanted], people: str, *users: str) -> None:
    """One block that says what is wanted, what people wrote as it was, and each settled entry told once."""
    body = server.issues[1].body
    found = marking.find_block(body, BOOK)
    assert found is not None
    assert found.intact
    assert found.text == Texts({e.id: e for e in entries}).block(LIMIT_BYTES)
    assert (body[: found.start] + body[found.end :]).strip() == people
    ids = told(server, *users)
    assert sorted(ids) == sorted({e.id for e in entries if e.stage == "settled"})


def settle(clients: Sequence[Client], entries: Sequence[EntryWanted], headers: Sequence[Header]) -> None:
    """The faults clear, and everybody syncs again."""
    for client, header in zip(clients, headers, strict=True):
        client.faults = {}
        client.turn = lambda: None
        sync(client, entries, header).run()
    for client, header in zip(clients, headers, strict=True):
        before = client.sent
        plan = sync(client, entries, header).run()
        assert plan.steps == ()
        assert client.sent == before


def attempt(client: Client, entries: Sequence[EntryWanted], header: Header) -> None:
    """A sync that anything may befall."""
    with contextlib.suppress(Killed, LogbookError):
        sync(client, entries, header).run()
