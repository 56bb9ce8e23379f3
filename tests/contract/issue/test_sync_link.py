"""`logbook link`: an issue that exists becomes the thread's own; what cannot be linked is refused."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.conftest import Cli
from tests.contract.issue.pushed_support import link, refused
from tests.contract.issue.sync_support import Bench
from tests.seams import Store

# -- the experiment issue ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "form", ["{url}", "{url}/", "{url}#issuecomment-12", "{web}/{repo}/pull/{n}", "{repo}#{n}", "#{n}", "{n}"]
)
def test_an_issue_is_adopted(bench: Bench, form: str) -> None:
    number = bench.github.open_issue_as("bob", bench.repo, "Int8", "People's text\n\n- [ ] their box")
    url = f"{bench.github.web}/{bench.repo}/issues/{number}"
    words = form.format(url=url, web=bench.github.web, repo=bench.repo, n=number)
    requests = len(bench.github.requests)
    data = link(bench, words)
    assert (data["url"], data["label"]) == (url, None)
    assert len(bench.github.requests) == requests, "nothing is asked of the network"
    assert bench.number == number
    assert f"- Experiment issue: {url}" in bench.book.view_path.read_text()


def test_the_block_goes_below_what_people_wrote(bench: Bench) -> None:
    text = "People's text\r\n\r\n- [ ] their box   "
    bench.github.open_issue_as("bob", bench.repo, "Int8", text)
    bench.note()
    link(bench, "#1")
    assert len(bench.sync()["steps"]) == 2
    assert bench.body.startswith("People's text")
    assert bench.body.index("their box") < bench.body.index("<!-- logbook:begin")
    assert bench.github.issue(bench.repo, 1)["title"] == "Int8"
    assert bench.sync()["steps"] == []
    assert refused(bench, 2, "sync", "--label", "x")["hint"].startswith("logbook sync")
    bench.ok("sync", "--create")
    assert len(bench.github.issues(bench.repo)) == 1


def test_another_one_only_with_replace(told: Bench, other: tuple[str, int, str]) -> None:
    repo, number, url = other
    first = told.book.header.issue
    error = refused(told, 2, "link", url)
    assert error["code"] == "taken"
    assert first.url in error["message"]
    assert f"logbook link {url} --replace" in error["hint"]
    assert told.book.header.issue == first
    link(told, first.url)
    assert told.book.header.issue == first, "linked again, it stays as it is"
    link(told, url, "--replace")
    told.sync()
    assert [c["user"]["login"] for c in told.github.comments(repo, number)] == ["ada"]
    assert "<!-- logbook:begin" in told.github.issue(repo, number)["body"]
    assert len(told.github.comments(told.repo, 1)) == 1, "the old one is left as it is"
    assert told.sync()["steps"] == []
    text = told.book.view_path.read_text()
    assert url in text
    assert first.url not in text


def test_the_link_that_start_was_given_is_the_one(bench: Bench) -> None:
    number = bench.github.open_issue_as("bob", bench.repo)
    url = f"{bench.github.web}/{bench.repo}/issues/{number}"
    bench.ok("start", "two", "--prefix", "TWO", "--link", f"Experiment issue={url}")
    error = refused(bench, 2, "-L", "two", "sync", "--create")
    assert f"logbook link {url}" in error["hint"]
    bench.ok("-L", "two", "link", url)
    view = Store(bench.folder, "two").view_path.read_text()
    assert view.count(url) == 1
    bench.ok("-L", "two", "sync")
    assert len(bench.github.issues(bench.repo)) == 1


def test_names_without_a_host_are_where_the_git_remote_leads(cli: Cli, git: Callable[..., str]) -> None:
    git("remote", "add", "origin", "git@ghe.example.org:acme/moe.git")
    for n, (words, url) in enumerate(
        {
            "7": "https://ghe.example.org/acme/moe/issues/7",
            "acme/other#7": "https://ghe.example.org/acme/other/issues/7",
            "https://github.com/acme/moe/issues/7": "https://github.com/acme/moe/issues/7",
        }.items()
    ):
        assert cli("start", f"t{n}", "--prefix", f"T{n}").code == 0
        assert cli("-L", f"t{n}", "link", words, "--json").data["url"] == url


def test_accounts_that_sync_too(told: Bench) -> None:
    """What bob posted counts once he writes in the repository: it is not told again."""
    [comment] = told.comments
    told.github.delete_comment(told.repo, comment["id"])
    told.github.comment_as("bob", told.repo, 1, comment["body"])
    assert len(told.sync("--dry-run")["steps"]) == 1
    told.github.let_in("bob", told.repo)
    assert told.sync()["steps"] == []
    assert told.told(("ada",)) == []


def test_a_related_issue_is_named_and_left_alone(told: Bench, other: tuple[str, int, str]) -> None:
    repo, number, url = other
    data = link(told, f"{repo}#{number}", "--as", "Prior issue")
    assert (data["url"], data["label"]) == (url, "Prior issue")
    assert f"- Prior issue: {url}" in told.book.view_path.read_text()
    before = told.github.issue(repo, number)
    told.sync()
    assert f"- [Prior issue]({url})" in told.block
    # Linked again, also under another label, it stands there once.
    link(told, url, "--as", "Related issue")
    assert len(told.sync()["steps"]) == 1
    assert [link.label for link in told.book.header.links] == ["Related issue"]
    assert told.github.issue(repo, number) == before
    assert told.github.comments(repo, number) == []


def test_the_issue_before_is_named_when_it_is_replaced(told: Bench) -> None:
    old = told.book.header.issue
    new = told.github.open_issue_as("bob", told.repo)
    assert old.url in told.ok("link", f"#{new}", "--replace").err
    told.sync()
    assert told.ok("link", f"#{new}", "--replace").err == "", "said again, it is no change"


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["nonsense"], "nonsense"),
        (["acme/moe"], "acme/moe"),
        (["acme/moe#0"], "acme/moe#0"),
        (["http://github.com/acme/moe/issues/1"], "http"),
        (["https://user:hunter2@github.com/acme/moe/issues/1"], "password"),
        (["acme/moe#1", "--as", "x", "--replace"], "--as"),
        (["acme/moe#1", "--as", " "], "label"),
    ],
)  # fmt: skip
@pytest.mark.sample(5)
def test_what_cannot_be_read(bench: Bench, words: list[str], names: str) -> None:
    before = bench.book.header_path.read_bytes()
    error = refused(bench, 2, "link", *words)
    assert names in error["message"]
    assert "hunter2" not in json.dumps(error)
    assert bench.book.header_path.read_bytes() == before
