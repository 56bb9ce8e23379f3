"""Prior and related issues are linked both ways: a comment there, once, and a link here."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.issue.pushed_support import link, refused
from tests.contract.issue.sync_support import Bench
from tests.emulator import faults
from tests.seams import marking

pytestmark = pytest.mark.slow


def back_links(bench: Bench, repo: str, number: int) -> list[dict[str, Any]]:
    """The comments there that link back here."""
    found = []
    for comment in bench.github.comments(repo, number):
        marked = marking.read_comment(comment["body"], bench.key)
        if marked is not None and marked.kind == marking.LINK:
            found.append(comment)
    return found


def test_a_link_both_ways_once(told: Bench, other: tuple[str, int, str]) -> None:
    repo, number, url = other
    data = link(told, f"{repo}#{number}", "--as", "Prior issue")
    assert (data["url"], data["label"]) == (url, "Prior issue")
    assert f"- Prior issue: {url}" in told.book.view_path.read_text()
    dry = told.sync("--dry-run")
    assert dry["steps"][-1]["step"] == f"comment on {url} (Prior issue): link back"
    assert told.github.comments(repo, number) == []
    told.sync()
    [back] = back_links(told, repo, number)
    here = f"{told.github.web}/{told.repo}/issues/{told.number}"
    assert here in back["body"]
    assert '"Prior issue"' in back["body"]
    assert f"- [Prior issue]({url})" in told.block
    [kept] = told.book.header.links
    assert kept.back == back["html_url"]
    writes = len(told.github.writes)
    assert told.sync()["steps"] == []
    # The same link again, also under another label, asks for no second comment.
    link(told, url, "--as", "Prior issue")
    link(told, url, "--as", "Related issue")
    assert [s["step"] for s in told.sync()["steps"]] == ["write the block of the issue's body"]
    assert len(back_links(told, repo, number)) == 1
    assert [link.label for link in told.book.header.links] == ["Related issue"]
    assert f"- [Related issue]({url})" in told.block
    assert len(told.github.writes) == writes + 1, "the block alone"


def test_one_way(told: Bench, other: tuple[str, int, str]) -> None:
    repo, number, url = other
    link(told, url, "--as", "Related issue", "--one-way")
    told.sync()
    assert told.github.comments(repo, number) == []
    assert f"- [Related issue]({url})" in told.block


def test_links_from_before_there_is_an_issue(bench: Bench, other: tuple[str, int, str]) -> None:
    repo, number, url = other
    link(bench, url, "--as", "Prior issue")
    bench.note()
    assert "once it is open" in "".join(bench.sync("--create", "--dry-run")["steps"][-1]["diff"])
    bench.sync("--create", "--offline", "out")
    assert (bench.folder / "out" / "link-01.md").exists()
    assert bench.github.issues(bench.repo) == []
    bench.sync("--create")
    [back] = back_links(bench, repo, number)
    assert f"{bench.github.web}/{bench.repo}/issues/{bench.number}" in back["body"]
    assert f"- [Prior issue]({url})" in bench.block


@pytest.mark.parametrize("fault", [faults.dropped(), faults.bad_gateway(), faults.server_error()], ids=lambda f: f.name)
@pytest.mark.sample(1)
def test_a_lost_answer_links_back_once(told: Bench, other: tuple[str, int, str], fault: faults.Fault) -> None:
    repo, number, url = other
    link(told, url, "--as", "Prior issue")
    rule = told.github.rules.add("POST", f"{repo}/issues/{number}/comments$", fault, times=1)
    told.sync()
    assert rule.met == 1
    [back] = back_links(told, repo, number)
    assert told.book.header.links[0].back == back["html_url"]
    assert told.sync()["steps"] == []


def test_a_header_that_did_not_learn_of_it_finds_it(told: Bench, other: tuple[str, int, str]) -> None:
    """As in a clone, or after a process that was killed before it could write it down."""
    repo, number, url = other
    link(told, url, "--as", "Prior issue")
    before = told.book.header_path.read_bytes()
    told.sync()
    told.book.header_path.write_bytes(before)
    planted = told.github.comments(repo, number)[0]["body"]
    told.sync()
    assert len(back_links(told, repo, number)) == 1
    # A comment that somebody else planted is not ours.
    told.github.delete_comment(repo, back_links(told, repo, number)[0]["id"])
    told.github.comment_as("mallory", repo, number, planted)
    told.book.header_path.write_bytes(before)
    told.sync()
    assert [c["user"]["login"] for c in back_links(told, repo, number)] == ["mallory", "ada"]


def test_an_issue_that_is_locked_does_not_stop_the_others(told: Bench, other: tuple[str, int, str]) -> None:
    repo, number, url = other
    second = told.github.open_issue_as("bob", repo, "Also")
    link(told, url, "--as", "Bob's issue")
    link(told, f"{repo}#{second}", "--as", "Related issue")
    told.github.lock(repo, number)
    told.note("New")
    error = refused(told, 4, "sync")
    assert error["code"] == "issue_locked"
    assert url in error["message"]
    assert f"""logbook link {url} --as 'Bob'"'"'s issue' --one-way""" in error["hint"]
    assert len(told.told()) == 2, "our own issue was told"
    assert len(back_links(told, repo, second)) == 1
    assert back_links(told, repo, number) == []
    writes = len(told.github.writes)
    refused(told, 4, "sync")
    assert len(told.github.writes) == writes
    link(told, url, "--as", "Bob's issue", "--one-way")
    assert told.sync()["steps"] == []


TAKES_NONE = {
    "404": (faults.missing(), "issue_missing"),
    "410": (faults.gone(), "issue_missing"),
    "403": (faults.forbidden(), "forbidden"),
    "locked": (faults.locked(), "issue_locked"),
}


@pytest.mark.parametrize(("fault", "code"), TAKES_NONE.values(), ids=TAKES_NONE)
@pytest.mark.sample(2)
def test_an_issue_that_takes_no_comment(
    told: Bench, other: tuple[str, int, str], fault: faults.Fault, code: str
) -> None:
    repo, number, url = other
    link(told, url, "--as", "Prior issue")
    told.github.rules.add("POST", f"{repo}/issues/{number}/comments$", fault)
    error = refused(told, 4, "sync")
    assert error["code"] == code
    assert "--one-way" in error["hint"]
    told.github.rules.clear()
    told.sync()
    assert len(back_links(told, repo, number)) == 1


def test_no_token_for_the_host_of_a_link(told: Bench) -> None:
    """The token of one host goes to no other; the thread's own issue is told all the same."""
    link(told, "https://ghe.example.org/acme/moe/issues/7", "--as", "Prior issue", "--one-way")
    told.sync()
    assert "- [Prior issue](https://ghe.example.org/acme/moe/issues/7)" in told.block
    link(told, "https://github.com/acme/moe/issues/8", "--as", "Prior issue")
    told.note("New")
    error = refused(told, 4, "sync")
    assert error["code"] == "no_token"
    assert "--one-way" in error["hint"]
    assert len(told.told()) == 2


def test_a_label_is_text(told: Bench, other: tuple[str, int, str]) -> None:
    repo, number, url = other
    link(told, url, "--as", " @bob's [prior](x)\nfixes #1 <b> ")
    told.sync()
    [back] = back_links(told, repo, number)
    for text in (told.block, back["body"]):
        assert "@bob" not in text
        assert "fixes #1" not in text
        assert "<b>" not in text
    assert url in told.block


# -- going on in another issue ---------------------------------------------------------------------------


def test_links_back_follow_to_another_issue(told: Bench, other: tuple[str, int, str]) -> None:
    repo, number, url = other
    old = told.book.header.issue
    assert old is not None
    one_way = told.github.open_issue_as("bob", repo)
    link(told, url, "--as", "Prior issue")
    link(told, f"{repo}#{one_way}", "--as", "Related issue", "--one-way")
    told.sync()
    [back] = back_links(told, repo, number)
    new = told.github.open_issue_as("bob", told.repo)
    answer = told.ok("link", f"#{new}", "--replace")
    assert f"warning: the block and the comments in {old.url} stay as they are" in answer.err
    assert [step["step"] for step in told.sync("--dry-run")["steps"]][
        -1
    ] == f"comment on {url} (Prior issue): link back"
    told.sync()
    [after] = back_links(told, repo, number)
    assert after["id"] == back["id"]
    assert f"/issues/{new}" in after["body"]
    assert old.url not in after["body"]
    assert told.github.comments(repo, one_way) == []
    assert told.book.header.links[0].back == after["html_url"]
    assert told.sync()["steps"] == []
    # Said again, or before anything was written there, it is no change.
    assert told.ok("link", f"#{new}", "--replace").err == ""


def test_a_link_back_that_a_person_edited_is_left_alone(told: Bench, other: tuple[str, int, str]) -> None:
    repo, number, url = other
    link(told, url, "--as", "Prior issue")
    told.sync()
    [back] = back_links(told, repo, number)
    told.github.edit_comment_as("bob", repo, back["id"], back["body"] + "\n\nBob: thanks")
    link(told, f"#{told.github.open_issue_as('bob', told.repo)}", "--replace")
    answer = told.ok("sync")
    assert f"warning: {back['html_url']} links back, and was edited by hand: left alone" in answer.err
    [after] = told.github.comments(repo, number)
    assert after["body"].endswith("Bob: thanks")
    assert told.sync()["steps"] == []
