"""Prior and related issues are linked both ways: a comment there, once, and a link here."""

from __future__ import annotations

import pytest

from tests.contract.issue.pushed_support import link, refused
from tests.contract.issue.sync_support import Bench
from tests.emulator import faults

pytestmark = pytest.mark.slow


def test_a_link_both_ways_once(told: Bench, other: tuple[str, int, str]) -> None:
    repo, number, url = other
    data = link(told, f"{repo}#{number}", "--as", "Prior issue")
    assert (data["url"], data["label"]) == (url, "Prior issue")
    assert f"- Prior issue: {url}" in told.book.view_path.read_text()
    dry = told.sync("--dry-run")
    assert dry["steps"][-1]["step"] == f"comment on {url} (Prior issue): link back"
    assert told.github.comments(repo, number) == []
    told.sync()
    [back] = told.of_kind("link", repo, number)
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
    assert len(told.sync()["steps"]) == 1
    assert len(told.of_kind("link", repo, number)) == 1
    assert [link.label for link in told.book.header.links] == ["Related issue"]
    assert f"- [Related issue]({url})" in told.block
    assert len(told.github.writes) == writes + 1, "the block alone"


def test_one_way(told: Bench, other: tuple[str, int, str]) -> None:
    repo, number, url = other
    link(told, url, "--as", "Related issue", "--one-way")
    told.sync()
    assert told.github.comments(repo, number) == []
    assert f"- [Related issue]({url})" in told.block


def test_a_lost_answer_links_back_once(told: Bench, other: tuple[str, int, str]) -> None:
    repo, number, url = other
    link(told, url, "--as", "Prior issue")
    rule = told.github.rules.add("POST", f"{repo}/issues/{number}/comments$", faults.bad_gateway(), times=1)
    told.sync()
    assert rule.met == 1
    [back] = told.of_kind("link", repo, number)
    assert told.book.header.links[0].back == back["html_url"]
    assert told.sync()["steps"] == []


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
    assert len(told.of_kind("link", repo, second)) == 1
    assert told.of_kind("link", repo, number) == []
    writes = len(told.github.writes)
    refused(told, 4, "sync")
    assert len(told.github.writes) == writes
    link(told, url, "--as", "Bob's issue", "--one-way")
    assert told.sync()["steps"] == []


TAKES_NONE = {"410": (faults.gone(), "issue_missing"), "403": (faults.forbidden(), "forbidden")}


@pytest.mark.parametrize(("fault", "code"), TAKES_NONE.values(), ids=TAKES_NONE)
@pytest.mark.sample(1)
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
    assert len(told.of_kind("link", repo, number)) == 1


# -- going on in another issue ---------------------------------------------------------------------------


def test_links_back_follow_to_another_issue(told: Bench, other: tuple[str, int, str]) -> None:
    repo, number, url = other
    old = told.book.header.issue
    one_way = told.github.open_issue_as("bob", repo)
    link(told, url, "--as", "Prior issue")
    link(told, f"{repo}#{one_way}", "--as", "Related issue", "--one-way")
    told.sync()
    [back] = told.of_kind("link", repo, number)
    new = told.github.open_issue_as("bob", told.repo)
    assert old.url in told.ok("link", f"#{new}", "--replace").err
    told.sync()
    [after] = told.of_kind("link", repo, number)
    assert after["id"] == back["id"]
    assert f"/issues/{new}" in after["body"]
    assert old.url not in after["body"]
    assert told.github.comments(repo, one_way) == []
    assert told.book.header.links[0].back == after["html_url"]
    assert told.sync()["steps"] == []
    # Said again, or before anything was written there, it is no change.
    assert told.ok("link", f"#{new}", "--replace").err == ""
