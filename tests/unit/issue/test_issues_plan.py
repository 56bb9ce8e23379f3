"""The plan in the situations that people, other machines and damage bring about, one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from logbook_agent.issue import marking
from logbook_agent.issue.plan import make_plan
from logbook_agent.issue.steps import Comment, Delete, EditStep, EntryWanted, Issue, Post, Step, Wanted, WriteBlock
from logbook_agent.model.errors import LogbookError, MarkersDamaged
from tests.unit.issue.model_server import Client, Server
from tests.unit.issue.model_support import BOOK, Header, Texts, check, entry, sync, told, wanted_of


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


def test_an_entry_that_runs_again_is_told_anew_when_it_has_ended() -> None:
    server, header, _ = posted(1)
    assert not [s for s in plan_of(server, [entry(0, 1, stage="open")], header) if isinstance(s, EditStep)]
    assert [s for s in plan_of(server, [entry(0, 2)], header) if isinstance(s, EditStep)]


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
        lambda body: "See below.\n" + body,
    ],
)
def test_a_marker_that_was_removed_or_changed_is_none(change: Callable[[str], str]) -> None:
    server, header, entries = posted(2)
    edit_comment(server, 1, change)
    [new] = plan_of(server, entries, header)
    assert isinstance(new, Post)
    assert new.about == ("MOE-000", "MOE-001")


def test_a_marker_of_another_logbook_counts_for_nothing() -> None:
    server, _, _ = posted(2)
    other = Wanted(book="MOE.87654321", entries=(entry(0),), login="ada")
    plan = make_plan(other, Texts({"MOE-000": entry(0)}), server.issues[1], list(server.comments.values()))
    assert [type(s) for s in plan.steps] == [WriteBlock, Post]


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


def test_text_of_people_that_leaves_no_room_is_an_error() -> None:
    server, header, entries = posted(2)
    issue: Issue = server.issues[1]
    server.issues[1] = replace(issue, body="x" * 65_000 + "\n" + issue.body)
    with pytest.raises(LogbookError, match=r"leaves \d+ bytes"):
        plan_of(server, entries, header)


def test_an_account_that_only_its_token_vouches_for_posts_once() -> None:
    server, header = Server(), Header()
    server.add_issue("someone", "t", "")
    entries = [entry(n) for n in range(3)]
    client = Client(server, "app[bot]", {2: "after"})
    sync(client, entries, header).run()
    assert sync(client, entries, header).run().steps == ()
    assert told(server, "app[bot]") == ["MOE-000", "MOE-001", "MOE-002"]
    assert client.sent == 2, "nothing is posted twice"


def test_comments_that_a_list_lags_behind_are_not_posted_again() -> None:
    server, header, entries = posted(0)

    class Lagging(Client):
        def comments(self, number: int) -> tuple[Comment, ...]:
            return super().comments(number)[:1]

    sync(Lagging(server, "ada"), [entry(n) for n in range(30)], header).run()
    assert len(server.comments) == 3
    assert entries == []


def test_an_entry_of_another_clone_with_the_same_id_is_not_overwritten() -> None:
    """Two clones gave out one number: markers hold the whole names, before and after they were merged."""
    server, header, _ = posted(1)
    ours, theirs = entry(1, name="MOE-001.aaaaa"), entry(1, 5, name="MOE-001.bbbbb")
    sync(Client(server, "ada"), [entry(0), ours], header).run()
    plan = full_plan(server, [entry(0), theirs], header)
    assert [type(s) for s in plan.steps] == [WriteBlock, Post]
    sync(Client(server, "ada"), [entry(0), theirs], header).run()
    assert told(server, "ada") == ["MOE-000", "MOE-001.aaaaa", "MOE-001.bbbbb"]
    merged = [entry(0), *(replace(one, id=one.name) for one in (ours, theirs))]
    sync(Client(server, "ada"), merged, header).run()
    assert told(server, "ada") == ["MOE-000", "MOE-001.aaaaa", "MOE-001.bbbbb"]
    assert plan_of(server, merged, header) == ()


def test_a_changed_entry_of_another_clone_is_told_of_and_left() -> None:
    server, header, _ = posted(0)
    sync(Client(server, "ada"), [entry(0), entry(1, name="MOE-001.aaaaa")], header).run()
    plan = full_plan(server, [entry(0, 1), entry(1, 5, name="MOE-001.bbbbb")], header)
    assert [type(s) for s in plan.steps] == [WriteBlock, Post]
    [warning] = plan.warnings
    assert "MOE-000 changed, since its MOE-001 is another clone's entry" in warning


def test_while_an_entry_cannot_be_read_nothing_is_counted_or_edited_without_it() -> None:
    server, header, entries = posted(3)
    later = [entry(0, 1), entries[1], entry(3, supersedes="MOE-000"), entry(4)]
    plan = full_plan(server, later, header, unreadable=("MOE-002",))
    assert [s.about for s in plan.steps if isinstance(s, Post)] == [("MOE-004",)]
    assert len(plan.steps) == 1
    waits, changed, block_stays = sorted(plan.warnings)
    assert waits.startswith("MOE-003 waits: it corrects MOE-000")
    assert "is left alone, though MOE-000 changed, since MOE-002 cannot be read" in changed
    assert "the block in the issue.s body stays as it is" in block_stays.replace("'", ".")
    sync(Client(server, "ada"), later, header, unreadable=("MOE-002",)).run()
    mended = [entry(0, 1), entries[1], entries[2], entry(3, supersedes="MOE-000"), entry(4)]
    sync(Client(server, "ada"), mended, header).run()
    assert told(server, "ada") == ["MOE-000", "MOE-003", "MOE-001", "MOE-002", "MOE-004"]
    check(server, mended, "people", "ada")


def test_of_two_summaries_the_older_stays() -> None:
    """Two machines tagged and closed the thread at one time."""
    server, header, entries = posted(1)
    more = {"snapshots": (("v1", "a" * 40),), "final": "f1"}
    sync(Client(server, "ada"), entries, header, **more).run()
    _, snapshot, final = server.comments
    again = [server.add_comment("ada", server.comments[number].body).id for number in (snapshot, final)]
    assert plan_of(server, entries, header, **more) == (
        Delete(comment=again[0], of=snapshot),
        Delete(comment=again[1], of=final),
    )
    sync(Client(server, "ada"), entries, header, **more).run()
    assert list(server.comments)[1:] == [snapshot, final]


def test_an_issue_that_shows_another_logbook_is_not_closed() -> None:
    server, header, entries = posted(1)
    issue = server.issues[1]
    server.issues[1] = replace(issue, body=issue.body + "\n" + marking.wrapped("OTHER.12345678", "theirs"))
    plan = full_plan(server, entries, header, final="f1")
    assert [type(s) for s in plan.steps] == [Post]
    assert "also shows another logbook" in plan.warnings[0]


def test_a_final_summary_follows_the_entries_that_it_counts() -> None:
    server, header, entries = posted(1)
    sync(Client(server, "ada"), entries, header, final="f1", final_of="e1").run()
    server.issues[1] = replace(server.issues[1], state="open")
    sync(Client(server, "ada"), entries, header, final="f1", final_of="e2").run()
    assert [
        m.fields["of"]
        for c in server.comments.values()
        if (m := marking.read_comment(c.body, BOOK)) and m.kind == "final"
    ] == ["e2"]
    assert server.issues[1].state == "open", "the same end is no reason to close it again"
    assert plan_of(server, entries, header, final="f1", final_of="e2") == ()
    edit_comment(server, max(server.comments), lambda body: body + "\nI doubt it.")
    assert plan_of(server, entries, header, final="f1", final_of="e3") == (), "what a person edited stays"


def test_texts_that_count_the_whole_thread_wait_until_it_can_be_read() -> None:
    server, header, entries = posted(2)
    more = {"snapshots": (("v1", "a" * 40),), "final": "f1", "final_of": "e1"}
    plan = full_plan(server, entries, header, unreadable=("MOE-002",), **more)
    assert plan.steps == ()
    assert "snapshots and the final summary wait while MOE-002 cannot be read: logbook doctor" in plan.warnings
    kinds = [s.kind for s in full_plan(server, entries, header, **more).steps if isinstance(s, Post)]
    assert kinds == ["snapshot", "final"]
