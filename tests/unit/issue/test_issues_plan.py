"""The plan in the situations that people, other machines and damage bring about, one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from logbook_agent.issue import marking
from logbook_agent.issue.plan import make_plan
from logbook_agent.issue.values import Comment, Issue, SyncedEntry, SyncPlan, Wanted, Write
from logbook_agent.model.errors import LogbookError, MarkersDamaged
from tests.unit.issue.model_server import Client, Server
from tests.unit.issue.model_support import BOOK, Texts, check, entry, sync, told, wanted_of


def posted(number: int = 12, **more: object) -> tuple[Server, list[SyncedEntry]]:
    server = Server()
    server.add_issue("someone", "t", "people")
    entries = [entry(n) for n in range(number)]
    sync(Client(server, "ada"), entries, **more).run()
    return server, entries


def plan_of(server: Server, entries: Sequence[SyncedEntry], **more: object) -> tuple[Write, ...]:
    return full_plan(server, entries, **more).writes


def again(client: Client, entries: Sequence[SyncedEntry]) -> list[Write]:
    """What another sync writes."""
    last = sync(client, entries)
    last.run()
    return last.done


def kinds(writes: Sequence[Write]) -> list[str]:
    return [write.kind for write in writes]


def full_plan(server: Server, entries: Sequence[SyncedEntry], **more: object) -> SyncPlan:
    texts = Texts({e.id: e for e in entries})
    return make_plan(wanted_of(entries, **more), texts, server.issues[1], list(server.comments.values()))


def edit_comment(server: Server, number: int, change: Callable[[str], str]) -> None:
    comment = server.comments[number]
    server.comments[number] = replace(comment, body=change(comment.body))


def test_unsettled_entries_wait_and_chosen_ones_do_not() -> None:
    server, entries = posted(2)
    later = [*entries, entry(2, stage="open"), entry(3)]
    [written, new] = plan_of(server, later)
    assert (written.kind, new.kind) == ("block", "post")
    assert new.about == ("MOE-003",)
    client = Client(server, "ada")
    sync(client, later, chosen=("MOE-002",)).run()
    assert told(server, "ada") == ["MOE-000", "MOE-001", "MOE-002"]
    assert plan_of(server, later, chosen=("MOE-002",)) == ()
    done = [*entries, entry(2, 1), entry(3)]
    sync(client, done).run()
    assert told(server, "ada") == ["MOE-000", "MOE-001", "MOE-002", "MOE-003"], "its comment follows it"
    assert plan_of(server, done) == ()


def test_an_entry_that_runs_again_is_told_anew_when_it_has_ended() -> None:
    server, _ = posted(1)
    assert "edit" not in kinds(plan_of(server, [entry(0, 1, stage="open")]))
    assert "edit" in kinds(plan_of(server, [entry(0, 2)]))


def test_line_ends_and_blanks_of_a_browser_are_no_edit() -> None:
    server, entries = posted(2)
    edit_comment(server, 1, lambda body: body.replace("\n", "\r\n") + "  \r\n")
    issue = server.issues[1]
    server.issues[1] = replace(issue, body=issue.body.replace("\n", "\r\n"))
    assert full_plan(server, entries) == full_plan(server, entries)
    assert plan_of(server, entries) == ()
    assert full_plan(server, entries).warnings == ()


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body.split("\n", 1)[1],
        lambda body: body.replace("MOE-000,", "MOE-009,"),
        lambda body: "See below.\n" + body,
    ],
)
def test_a_marker_that_was_removed_or_changed_is_none(change: Callable[[str], str]) -> None:
    server, entries = posted(2)
    edit_comment(server, 1, change)
    [new] = plan_of(server, entries)
    assert new.kind == "post"
    assert new.about == ("MOE-000", "MOE-001")


def test_a_marker_of_another_logbook_counts_for_nothing() -> None:
    server, _ = posted(2)
    other = Wanted(book="MOE.87654321", entries=(entry(0),), login="ada")
    plan = make_plan(other, Texts({"MOE-000": entry(0)}), server.issues[1], list(server.comments.values()))
    assert kinds(plan.writes) == ["block", "post"]


def test_a_marker_of_a_newer_version_stops_the_sync() -> None:
    server, entries = posted(2)
    edit_comment(server, 1, lambda body: body.replace("logbook:update 2 ", "logbook:update 3 "))
    with pytest.raises(MarkersDamaged, match="newer logbook-agent"):
        plan_of(server, entries)


def test_of_duplicates_the_oldest_is_kept() -> None:
    server, entries = posted(2)
    copy = server.add_comment("ada", server.comments[1].body)
    assert [(w.kind, w.comment) for w in plan_of(server, entries)] == [("delete", copy.id)]
    edit_comment(server, copy.id, lambda body: body + "\nSee?")
    plan = full_plan(server, entries)
    assert plan.writes == ()
    assert "edited by hand" in plan.warnings[0]


def test_a_marker_of_the_first_version_says_what_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    server, entries = posted(2)
    fields = {"entries": ",".join(f"{e.name}:{e.digest}:n" for e in entries)}
    with monkeypatch.context() as first:
        first.setattr(marking, "VERSION", 1)
        edit_comment(server, 1, lambda body: marking.stamped("update", BOOK, fields, body) + "\nbob: so it is")
    assert full_plan(server, entries) == SyncPlan(writes=())
    assert "though MOE-000, MOE-001 changed" in full_plan(server, [entry(0, 1), entries[1]]).warnings[0]


def test_a_clone_that_lacks_an_entry_leaves_its_comment_alone() -> None:
    server, entries = posted(3)
    plan = full_plan(server, [entry(0, 1), entries[1]])
    assert kinds(plan.writes) == ["block"]
    assert "MOE-002, which is not in this clone" in plan.warnings[0]


def broken(body: str, how: str) -> str:
    begin, end = [line for line in body.split("\n") if line.startswith("<!-- logbook:")]
    return {
        "both missing": body.replace(begin, "").replace(end, ""),
        "end missing": body.replace(end, ""),
        "end twice": body.replace(end, f"{end}\n{end}"),
        "reversed": body.replace(begin, "@").replace(end, begin).replace("@", end),
        "begin cut": body.replace(begin, begin[:40]),
    }[how]


@pytest.mark.parametrize(
    "how",
    [
        "both missing",
        "end missing",
        "end twice",
        "reversed",
        "begin cut",
    ],
)
def test_damaged_markers_stop_the_sync(how: str) -> None:
    server, entries = posted(2)
    issue = server.issues[1]
    server.issues[1] = replace(issue, body=broken(issue.body, how))
    writes = server.writes
    with pytest.raises(MarkersDamaged):
        sync(Client(server, "ada"), [*entries, entry(2)]).run()
    assert server.writes == writes


def test_text_of_people_that_leaves_no_room_is_an_error() -> None:
    server, entries = posted(2)
    issue: Issue = server.issues[1]
    server.issues[1] = replace(issue, body="x" * 65_000 + "\n" + issue.body)
    with pytest.raises(LogbookError, match=r"leaves \d+ bytes"):
        plan_of(server, entries)


def test_an_account_that_only_its_token_vouches_for_posts_once() -> None:
    server = Server()
    server.add_issue("someone", "t", "")
    entries = [entry(n) for n in range(3)]
    client = Client(server, "app[bot]", {2: "after"})
    sync(client, entries).run()
    assert again(client, entries) == []
    assert told(server, "app[bot]") == ["MOE-000", "MOE-001", "MOE-002"]
    assert client.sent == 2, "nothing is posted twice"


def test_comments_that_a_list_lags_behind_are_not_posted_again() -> None:
    server, entries = posted(0)

    class Lagging(Client):
        def comments(self, number: int) -> tuple[Comment, ...]:
            return super().comments(number)[:1]

    sync(Lagging(server, "ada"), [entry(n) for n in range(30)]).run()
    assert len(server.comments) == 3
    assert entries == []


def test_an_entry_of_another_clone_with_the_same_id_is_not_overwritten() -> None:
    """Two clones gave out one number: markers hold the whole names, before and after they were merged."""
    server, _ = posted(1)
    ours, theirs = entry(1, name="MOE-001.aaaaa"), entry(1, 5, name="MOE-001.bbbbb")
    sync(Client(server, "ada"), [entry(0), ours]).run()
    plan = full_plan(server, [entry(0), theirs])
    assert kinds(plan.writes) == ["block", "post"]
    sync(Client(server, "ada"), [entry(0), theirs]).run()
    assert told(server, "ada") == ["MOE-000", "MOE-001.aaaaa", "MOE-001.bbbbb"]
    merged = [entry(0), *(replace(one, id=one.name) for one in (ours, theirs))]
    sync(Client(server, "ada"), merged).run()
    assert told(server, "ada") == ["MOE-000", "MOE-001.aaaaa", "MOE-001.bbbbb"]
    assert plan_of(server, merged) == ()


def test_a_changed_entry_of_another_clone_is_told_of_and_left() -> None:
    server, _ = posted(0)
    sync(Client(server, "ada"), [entry(0), entry(1, name="MOE-001.aaaaa")]).run()
    plan = full_plan(server, [entry(0, 1), entry(1, 5, name="MOE-001.bbbbb")])
    assert kinds(plan.writes) == ["block", "post"]
    [warning] = plan.warnings
    assert "it names MOE-001.aaaaa, which is not in this clone" in warning


def test_while_an_entry_cannot_be_read_nothing_is_counted_or_edited_without_it() -> None:
    server, entries = posted(3)
    later = [entry(0, 1), entries[1], entry(4)]
    plan = full_plan(server, later, unreadable=("MOE-002",))
    assert [w.about for w in plan.writes] == [("MOE-004",)]
    [warning] = plan.warnings
    assert "while MOE-002 cannot be read, the issue's body" in warning
    sync(Client(server, "ada"), later, unreadable=("MOE-002",)).run()
    mended = [entry(0, 1), entries[1], entries[2], entry(4)]
    sync(Client(server, "ada"), mended).run()
    assert told(server, "ada") == ["MOE-000", "MOE-001", "MOE-002", "MOE-004"]
    check(server, mended, "people", "ada")


def test_of_two_summaries_the_older_stays() -> None:
    """Two machines tagged and closed the thread at one time."""
    server, entries = posted(1)
    more = {"snapshots": (("v1", "a" * 40),), "final": "f1"}
    sync(Client(server, "ada"), entries, **more).run()
    _, snapshot, final = server.comments
    again = [server.add_comment("ada", server.comments[number].body).id for number in (snapshot, final)]
    found = [(w.what, w.comment) for w in plan_of(server, entries, **more)]
    assert found == [
        (f"delete comment {copy}, a duplicate of {of}", copy) for copy, of in zip(again, (snapshot, final), strict=True)
    ]
    sync(Client(server, "ada"), entries, **more).run()
    assert list(server.comments)[1:] == [snapshot, final]


def test_an_issue_that_shows_another_logbook_is_not_closed() -> None:
    server, entries = posted(1)
    issue = server.issues[1]
    server.issues[1] = replace(issue, body=issue.body + "\n" + marking.wrapped("OTHER.12345678", "theirs"))
    plan = full_plan(server, entries, final="f1")
    assert kinds(plan.writes) == ["post"]
    assert "also shows another logbook" in plan.warnings[0]


def test_a_final_summary_follows_the_entries_that_it_counts() -> None:
    server, entries = posted(1)
    sync(Client(server, "ada"), entries, final="f1", final_of="e1").run()
    server.issues[1] = replace(server.issues[1], state="open")
    sync(Client(server, "ada"), entries, final="f1", final_of="e2").run()
    assert [
        m.fields["of"]
        for c in server.comments.values()
        if (m := marking.read_comment(c.body, BOOK)) and m.kind == "final"
    ] == ["e2"]
    assert server.issues[1].state == "open", "the same end is no reason to close it again"
    assert plan_of(server, entries, final="f1", final_of="e2") == ()
    edit_comment(server, max(server.comments), lambda body: body + "\nI doubt it.")
    assert plan_of(server, entries, final="f1", final_of="e3") == (), "what a person edited stays"


def test_texts_that_count_the_whole_thread_wait_until_it_can_be_read() -> None:
    server, entries = posted(2)
    more = {"snapshots": (("v1", "a" * 40),), "final": "f1", "final_of": "e1"}
    plan = full_plan(server, entries, unreadable=("MOE-002",), **more)
    assert plan.writes == ()
    assert len(plan.warnings) == 1
    assert [w.document for w in plan_of(server, entries, **more) if w.kind == "post"] == ["snapshot", "final"]
