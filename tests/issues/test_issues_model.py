"""The model of plan and apply: two machines, lost answers, kills, people who write. Whatever befell, once the faults
clear and the sync is run again there is one block, one comment per update, and every entry is told once."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logbook_agent.errors import LogbookError, MarkersDamaged, RateLimited
from logbook_agent.issues import block, markers
from logbook_agent.issues.plan import LIMIT_BYTES, make_plan
from logbook_agent.issues.steps import Delete, Edit, Post, Step, WriteBlock
from logbook_agent.issues.values import Comment, Issue
from logbook_agent.issues.wanted import EntryWanted, Wanted
from logbook_agent.sync.apply import Sync
from logbook_agent.sync.calls import Calls
from logbook_agent.sync.pace import Pace
from tests.issues.model_server import FAULTS, Client, Killed, Server

BOOK = "MOE.12345678"


@dataclass
class Texts:
    """Documents that say no more than what they are about."""

    entries: dict[str, EntryWanted]

    def title(self) -> str:
        return "title"

    def block(self, room: int) -> str:
        return "block: " + " ".join(f"{e.id}={e.digest}" for e in self.entries.values())

    def update(self, entry_ids: Sequence[str], room: int) -> str:
        return "update: " + " ".join(f"{i}={self.entries[i].digest}" for i in entry_ids)

    def snapshot(self, name: str, room: int) -> str:
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

    trusted: set[str] = field(default_factory=set)
    managed: bool = False

    def learn_author(self, login: str) -> None:
        self.trusted.add(login)

    def learn_block(self) -> None:
        self.managed = True


def entry(number: int, version: int = 0, **more: object) -> EntryWanted:
    return replace(EntryWanted(id=f"MOE-{number:03d}", digest=f"{number:08x}{version:08x}"), **more)  # type: ignore[arg-type]


def wanted_of(entries: Sequence[EntryWanted], header: Header, **more: object) -> Wanted:
    base = Wanted(book=BOOK, entries=tuple(entries), trusted=frozenset(header.trusted), managed=header.managed)
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
        memory=header,
    )


def told(server: Server, *users: str) -> list[str]:
    """The entries of all updates, in the order of the comments."""
    found = []
    for comment in server.comments.values():
        marked = markers.read_comment(comment.body, BOOK) if comment.author in users else None
        if marked is not None and marked.kind == markers.UPDATE:
            found += [word.split(":")[0] for word in marked.fields["entries"].split(",")]
    return found


def check(server: Server, entries: Sequence[EntryWanted], people: str, *users: str) -> None:
    """One block that says what is wanted, what people wrote as it was, and each settled entry told once."""
    body = server.issues[1].body
    found = block.find(body, BOOK)
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


@pytest.mark.parametrize("people", ["", "What people wrote.\n\n- [ ] theirs"])
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("at", range(1, 6))
def test_a_fault_at_every_write(fault: str, at: int, people: str) -> None:
    server = Server()
    server.add_issue("someone", "t", people)
    entries = [entry(n) for n in range(30)]
    client, header = Client(server, "ada", {at: fault}), Header()
    attempt(client, entries, header)
    settle([client], entries, [header])
    check(server, entries, people, "ada")
    assert len(server.comments) == 3


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_that_meets_every_write_for_a_while(fault: str) -> None:
    server = Server()
    server.add_issue("someone", "t", "")
    entries = [entry(n) for n in range(30)]
    header = Header()
    for _ in range(3):
        attempt(Client(server, "ada", dict.fromkeys(range(1, 100), fault)), entries, header)
    settle([Client(server, "ada")], entries, [header])
    check(server, entries, "", "ada")
    assert len(server.comments) == 3


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


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_two_machines_converge(data: st.DataObject) -> None:
    """Whatever the order of their requests, whatever is lost, one account or two, one knowing more entries."""
    one_account = data.draw(st.booleans())
    users = ("ada", "ada") if one_account else ("ada", "bob")
    server = Server()
    server.add_issue("someone", "t", "people")
    total = data.draw(st.integers(1, 25))
    entries = [entry(n) for n in range(total)]
    fewer = entries[: data.draw(st.integers(0, total))]
    # Two accounts know of each other when the header that one wrote has reached the other.
    headers = [Header(set(users)), Header(set(users))]
    faults = st.dictionaries(st.integers(1, 5), st.sampled_from(FAULTS), max_size=2)
    clients = [Client(server, user, data.draw(faults)) for user in users]
    order = data.draw(st.lists(st.integers(0, 1), max_size=30))
    sides = (fewer, entries)
    side_by_side(clients, [lambda who=who: attempt(clients[who], sides[who], headers[who]) for who in (0, 1)], order)
    settle(clients, entries, headers)
    check(server, entries, "people", *users)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_history_of_changes_converges(data: st.DataObject) -> None:
    """Entries appear, settle, change, are corrected; people comment; syncs fail in between."""
    server = Server()
    server.add_issue("someone", "t", "people")
    header = Header()
    entries: list[EntryWanted] = []
    for _ in range(data.draw(st.integers(1, 6))):
        for _ in range(data.draw(st.integers(0, 8))):
            number = len(entries)
            corrected = data.draw(st.sampled_from([None, *(e.id for e in entries)]))
            stage = data.draw(st.sampled_from(["settled", "settled", "settled", "open"]))
            entries.append(entry(number, supersedes=corrected, stage=stage, linked=data.draw(st.booleans())))
        for at in data.draw(st.lists(st.integers(0, max(len(entries) - 1, 0)), max_size=3)):
            if entries:
                old = entries[at]
                entries[at] = replace(old, stage="settled", digest=f"{int(old.digest, 16) + 1:016x}")
        if data.draw(st.booleans()):
            server.add_comment(
                "mallory",
                "I think "
                + data.draw(st.sampled_from(["so", markers.stamped("update", BOOK, {"entries": "MOE-000:1:l"}, "x")])),
            )
        faults = data.draw(st.dictionaries(st.integers(1, 4), st.sampled_from(FAULTS), max_size=2))
        attempt(Client(server, "ada", faults), entries, header)
    settle([Client(server, "ada")], entries, [header])
    check(server, entries, "people", "ada")
    digests = {e.id: e.digest for e in entries}
    for comment in server.comments.values():
        marked = markers.read_comment(comment.body, BOOK)
        if comment.author == "ada" and marked is not None:
            for word in marked.fields["entries"].split(","):
                entry_id, digest, _ = word.split(":")
                assert digest == digests[entry_id], "an update that was not brought up to date"


def posted(number: int = 12, **more: object) -> tuple[Server, Header, list[EntryWanted]]:
    server, header = Server(), Header()
    server.add_issue("someone", "t", "people")
    entries = [entry(n) for n in range(number)]
    sync(Client(server, "ada"), entries, header, **more).run()
    return server, header, entries


def plan_of(server: Server, entries: Sequence[EntryWanted], header: Header, **more: object) -> tuple[Step, ...]:
    return full_plan(server, entries, header, **more).steps


def full_plan(server: Server, entries: Sequence[EntryWanted], header: Header, **more: object):  # type: ignore[no-untyped-def]
    texts = Texts({e.id: e for e in entries})
    return make_plan(wanted_of(entries, header, **more), texts, server.issues[1], list(server.comments.values()))


def edit_comment(server: Server, number: int, change: Callable[[str], str]) -> None:
    comment = server.comments[number]
    server.comments[number] = replace(comment, body=change(comment.body))


def test_nothing_new_is_three_reads_and_no_write() -> None:
    server, header, entries = posted()
    client = Client(server, "ada")
    assert sync(client, entries, header).run().steps == ()
    assert (client.reads, client.sent) == (2, 0)


def test_unsettled_entries_wait_and_chosen_ones_do_not() -> None:
    server, header, entries = posted(2)
    later = [*entries, entry(2, stage="open"), entry(3)]
    [written, new] = plan_of(server, later, header)
    assert isinstance(written, WriteBlock)
    assert isinstance(new, Post)
    assert new.about == ("MOE-003",)
    client = Client(server, "ada")
    sync(client, later, header, chosen=("MOE-002",)).run()
    assert told(server, "ada") == ["MOE-000", "MOE-001", "MOE-002"]
    assert plan_of(server, later, header, chosen=("MOE-002",)) == ()
    done = [*entries, entry(2, 1), entry(3)]
    sync(client, done, header).run()
    assert told(server, "ada") == ["MOE-000", "MOE-001", "MOE-002", "MOE-002", "MOE-003"]
    assert plan_of(server, done, header) == ()


def test_a_correction_edits_the_comment_that_it_corrects() -> None:
    server, header, entries = posted()
    corrected = [
        *entries[:3],
        entry(3, 1),
        *entries[4:],
        entry(12, supersedes="MOE-003"),
        entry(13, supersedes="MOE-012"),
    ]
    steps = plan_of(server, corrected, header)
    [change] = [s for s in steps if isinstance(s, Edit)]
    assert change.about[3:6] == ("MOE-003", "MOE-012", "MOE-013")
    assert not [s for s in steps if isinstance(s, Post)]
    sync(Client(server, "ada"), corrected, header).run()
    assert plan_of(server, corrected, header) == ()


def test_links_come_once_an_entry_was_pushed_and_stay() -> None:
    server, header, entries = posted(2)
    pushed = [replace(e, linked=True) for e in entries]
    [change] = plan_of(server, pushed, header)
    assert isinstance(change, Edit)
    sync(Client(server, "ada"), pushed, header).run()
    assert plan_of(server, entries, header) == (), "a clone that does not know what is pushed takes no links away"


def test_an_entry_that_runs_again_is_told_anew_when_it_has_ended() -> None:
    server, header, _ = posted(1)
    assert not [s for s in plan_of(server, [entry(0, 1, stage="open")], header) if isinstance(s, Edit)]
    assert [s for s in plan_of(server, [entry(0, 2)], header) if isinstance(s, Edit)]


def test_a_comment_that_a_person_edited_is_left_alone() -> None:
    server, header, entries = posted(2)
    edit_comment(server, 1, lambda body: body + "\n\nI doubt it.")
    plan = full_plan(server, [entry(0, 1), entries[1], entry(2, supersedes="MOE-001")], header)
    assert [type(s) for s in plan.steps] == [WriteBlock, Post]
    assert "edited by hand" in plan.warnings[0]
    assert "MOE-000" in plan.warnings[0]


def test_line_ends_and_blanks_of_a_browser_are_no_edit() -> None:
    server, header, entries = posted(2)
    edit_comment(server, 1, lambda body: body.replace("\n", "\r\n") + "  \r\n")
    issue = server.issues[1]
    server.issues[1] = replace(issue, body=issue.body.replace("\n", "\r\n"))
    assert full_plan(server, entries, header) == full_plan(server, entries, header)
    assert plan_of(server, entries, header) == ()
    assert full_plan(server, entries, header).warnings == ()


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body.split("\n", 1)[1],
        lambda body: body.replace("MOE-000:", "MOE-009:"),
        lambda body: "> " + body,
        lambda body: "See below.\n" + body,
    ],
)
def test_a_marker_that_was_removed_or_changed_is_none(change: Callable[[str], str]) -> None:
    server, header, entries = posted(2)
    edit_comment(server, 1, change)
    [new] = plan_of(server, entries, header)
    assert isinstance(new, Post)
    assert new.about == ("MOE-000", "MOE-001")


def test_a_marker_of_somebody_else_counts_for_nothing() -> None:
    server, header, entries = posted(2)
    later = [*entries, entry(2)]
    planted = markers.stamped("update", BOOK, {"entries": f"MOE-002:{entry(2).digest}:l"}, "x")
    server.add_comment("mallory", planted)
    assert [s.about for s in plan_of(server, later, header) if isinstance(s, Post)] == [("MOE-002",)]
    server.add_comment("ada", planted)
    assert [s for s in plan_of(server, later, header) if isinstance(s, Post)] == []


def test_a_marker_of_another_logbook_counts_for_nothing() -> None:
    server, header, _ = posted(2)
    other = Wanted(book="MOE.87654321", entries=(entry(0),), trusted=frozenset({"ada"}))
    plan = make_plan(other, Texts({"MOE-000": entry(0)}), server.issues[1], list(server.comments.values()))
    assert [type(s) for s in plan.steps] == [WriteBlock, Post]
    assert header.trusted == {"ada"}


def test_a_marker_of_a_newer_version_stops_the_sync() -> None:
    server, header, entries = posted(2)
    edit_comment(server, 1, lambda body: body.replace("logbook:update 1 ", "logbook:update 2 "))
    with pytest.raises(MarkersDamaged, match="newer logbook-agent"):
        plan_of(server, entries, header)


def test_of_duplicates_the_oldest_is_kept() -> None:
    server, header, entries = posted(2)
    copy = server.add_comment("ada", server.comments[1].body)
    assert plan_of(server, entries, header) == (Delete(comment=copy.id, of=1),)
    edit_comment(server, copy.id, lambda body: body + "\nSee?")
    plan = full_plan(server, entries, header)
    assert plan.steps == ()
    assert "edited by hand" in plan.warnings[0]


def test_a_clone_that_lacks_an_entry_leaves_its_comment_alone() -> None:
    server, header, entries = posted(3)
    plan = full_plan(server, [entry(0, 1), entries[1]], header)
    assert [type(s) for s in plan.steps] == [WriteBlock]
    assert "MOE-002, which is not in this clone" in plan.warnings[0]


def broken(body: str, how: str) -> str:
    begin, end = [line for line in body.split("\n") if line.startswith("<!-- logbook:")]
    return {
        "both missing": body.replace(begin, "").replace(end, ""),
        "begin missing": body.replace(begin, ""),
        "end missing": body.replace(end, ""),
        "begin twice": body.replace(begin, f"{begin}\n{begin}"),
        "end twice": body.replace(end, f"{end}\n{end}"),
        "reversed": body.replace(begin, "@").replace(end, begin).replace("@", end),
        "block twice": f"{body}\n{body}",
        "begin cut": body.replace(begin, begin[:40]),
    }[how]


@pytest.mark.parametrize(
    "how",
    [
        "both missing",
        "begin missing",
        "end missing",
        "begin twice",
        "end twice",
        "reversed",
        "block twice",
        "begin cut",
    ],
)
@pytest.mark.parametrize("knows", ["header", "comments"])
def test_damaged_markers_stop_the_sync(how: str, knows: str) -> None:
    server, header, entries = posted(2)
    if knows == "header":
        server.comments.clear()
    else:
        header.managed = False
    issue = server.issues[1]
    server.issues[1] = replace(issue, body=broken(issue.body, how))
    writes = server.writes
    with pytest.raises(MarkersDamaged):
        sync(Client(server, "ada"), [*entries, entry(2)], header).run()
    assert server.writes == writes


def test_a_new_block_on_request() -> None:
    server, header, entries = posted(2)
    issue = server.issues[1]
    server.issues[1] = replace(issue, body="people")
    sync(Client(server, "ada"), entries, header, new_block=True).run()
    check(server, entries, "people", "ada")


def test_a_ticked_box_is_told_and_follows_the_logbook() -> None:
    server, header, entries = posted(2)
    issue = server.issues[1]
    server.issues[1] = replace(issue, body=issue.body.replace("block: ", "block: [x] "))
    plan = full_plan(server, entries, header)
    assert [type(s) for s in plan.steps] == [WriteBlock]
    assert "ticked box" in plan.warnings[0]


def test_text_of_people_that_leaves_no_room_is_an_error() -> None:
    server, header, entries = posted(2)
    issue: Issue = server.issues[1]
    server.issues[1] = replace(issue, body="x" * 65_000 + "\n" + issue.body)
    with pytest.raises(LogbookError, match=r"leaves \d+ bytes"):
        plan_of(server, entries, header)


def test_snapshots_and_the_end_are_told_once() -> None:
    server, header, entries = posted(1)
    more = {"snapshots": (("v1", "a" * 40),), "final": "f1"}
    client = Client(server, "ada")
    sync(client, entries, header, **more).run()
    assert server.issues[1].state == "closed"
    kinds = [m.kind for c in server.comments.values() if (m := markers.read_comment(c.body, BOOK))]
    assert kinds == ["update", "snapshot", "final"]
    server.issues[1] = replace(server.issues[1], state="open")
    assert plan_of(server, entries, header, **more) == (), "who opens it again means it"


def test_an_account_that_is_not_told_its_name_is_known_by_what_it_posted() -> None:
    server, header = Server(), Header()
    server.add_issue("someone", "t", "")
    entries = [entry(n) for n in range(3)]
    client = Client(server, "app", {2: "after"}, knows_itself=False)
    sync(client, entries, header).run()
    assert told(server, "app") == ["MOE-000", "MOE-001", "MOE-002"]
    assert header.trusted == {"app"}


def test_a_limit_that_does_not_end_leaves_the_rest_in_the_plan() -> None:
    server, header = Server(), Header()
    server.add_issue("someone", "t", "")
    entries = [entry(n) for n in range(30)]
    client = Client(server, "ada", dict.fromkeys(range(3, 100), "limited"))
    with pytest.raises(RateLimited) as caught:
        sync(client, entries, header).run()
    assert "2 writes were made" in caught.value.cause
    assert len(server.comments) == 1
    settle([Client(server, "ada")], entries, [header])
    check(server, entries, "", "ada")


def test_comments_that_a_list_lags_behind_are_not_posted_again() -> None:
    server, header, entries = posted(0)

    class Lagging(Client):
        def comments(self, number: int) -> tuple[Comment, ...]:
            return super().comments(number)[:1]

    sync(Lagging(server, "ada"), [entry(n) for n in range(30)], header).run()
    assert len(server.comments) == 3
    assert entries == []
