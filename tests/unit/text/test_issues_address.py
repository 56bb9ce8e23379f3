from __future__ import annotations

import pytest

from logbook_agent.model.errors import UsageError
from logbook_agent.text.address import (
    IssueAddress,
    RepositoryAddress,
    blob,
    commit,
    parse_issue,
    parse_remote,
    tree,
)

REPOSITORY = RepositoryAddress(owner="o", name="r")
ENTERPRISE = RepositoryAddress(host="ghe.example.org:8443", owner="o", name="r.x")
LOCAL = RepositoryAddress(scheme="http", host="127.0.0.1:4701", owner="o", name="r")


def issue(repository: RepositoryAddress, number: int) -> IssueAddress:
    return IssueAddress(repository=repository, number=number)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" HTTPS://GitHub.com:443/o/r/issues/12/ \n", issue(REPOSITORY, 12)),
        ("https://www.github.com/o/r/issues/12?x=1#issuecomment-1", issue(REPOSITORY, 12)),
        ("https://github.com/o/r/pull/12/files#diff-1", issue(REPOSITORY, 12)),
        ("https://ghe.example.org:8443/o/r.x/issues/1#issuecomment-9", issue(ENTERPRISE, 1)),
        ("http://[::1]:80/o/r/issues/1", issue(RepositoryAddress(scheme="http", host="[::1]", owner="o", name="r"), 1)),
        ("my_corp/.github#7", issue(RepositoryAddress(owner="my_corp", name=".github"), 7)),
    ],
)
def test_an_issue_by_itself(text: str, expected: IssueAddress) -> None:
    assert parse_issue(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("", "#", "0", "#0", "#-1", "o/r", "o/r#", "o/r#0", "o/r#x", "o#1", "o/r/x#1", "/r#1", "o/..#1", "o /r#1"),
        *("-o/r#1", "o/r#12345678901", "#٣", "o/r#٣", "https://github.com/o/r", "https://github.com/o/r/issues"),
        *("https://github.com/o/r/issues/12/edit", "https://github.com/o/r/issues/x", "https://github.com//r/issues/1"),
        *("https://github.com:99999/o/r/issues/1", "https://github.com:x/o/r/issues/1", "https:///o/r/issues/1"),
        *("ftp://github.com/o/r/issues/1", "https://[::2]/o/r/issues/1", "https://exa mple.org/o/r/issues/1"),
        *("https://-x.org/o/r/issues/1", "https://[x/o/r/issues/1", "https://github.com/o%2Fr/r/issues/1"),
    ],
)
def test_what_is_no_issue(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_issue(text, default=REPOSITORY)
    assert caught.value.message
    assert caught.value.cause
    assert caught.value.hint.startswith("write: ")


@pytest.mark.parametrize(
    "host", ["ghe.example.org", "github.com", "127.0.0.1.evil.org", "localhost.evil.org", "10.0.0.1"]
)
def test_without_tls_only_this_machine(host: str) -> None:
    with pytest.raises(UsageError, match="would send the token in clear text"):
        parse_issue(f"http://{host}/o/r/issues/1")


@pytest.mark.parametrize(
    "text", ["https://github.com:s3cret@evil.org/o/r/issues/1", "https://s3cret@github.com/o/r/issues/1"]
)
def test_credentials_in_an_address_are_refused_and_not_shown(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_issue(text)
    assert "s3cret" not in f"{caught.value.message} {caught.value.cause} {caught.value.hint}"


@pytest.mark.parametrize(
    ("url", "web"),
    [
        ("git@github.com:o/r.git", "https://github.com/o/r"),
        ("github.com:o/r", "https://github.com/o/r"),
        ("ssh://git@ghe.example.org:22/o/r.git", "https://ghe.example.org/o/r"),
        ("ssh://git@ssh.github.com:443/o/r.git", "https://github.com/o/r"),
        ("https://user:token@GHE.example.org/o/r.git", "https://ghe.example.org/o/r"),
        ("https://ghe.example.org:8443/o/r/", "https://ghe.example.org:8443/o/r"),
        ("http://127.0.0.1:4701/o/r.git", "http://127.0.0.1:4701/o/r"),
    ],
)
def test_where_a_git_remote_leads(url: str, web: str) -> None:
    found = parse_remote(url)
    assert found is not None
    assert found.web == web
    assert "token" not in repr(found)


@pytest.mark.parametrize(
    "url",
    [
        *("", "/srv/git/r.git", "./r.git", "../o/r.git", "~/o/r.git", "file:///o/r.git", "C:\\o\\r", "C:/o/r", "o/r"),
        *("git@github.com:r.git", "https://gitlab.com/group/sub/r.git", "work-alias:o/r.git", "https://x:y/o/r.git"),
        *("ssh://git@alias/o/r.git", "https://github.com/o/.git", "https://github.com/o/..", "codecommit::eu://r"),
    ],
)
def test_a_remote_that_leads_to_no_repository_of_a_github(url: str) -> None:
    assert parse_remote(url) is None


def test_addresses() -> None:
    assert (REPOSITORY.web, REPOSITORY.slug, REPOSITORY.api) == (
        "https://github.com/o/r",
        "o/r",
        "https://api.github.com",
    )
    assert ENTERPRISE.api == "https://ghe.example.org:8443/api/v3"
    assert LOCAL.api == "http://127.0.0.1:4701/api/v3"
    assert RepositoryAddress(host="corp.ghe.com", owner="o", name="r").api == "https://api.corp.ghe.com"
    assert RepositoryAddress(host="notghe.com", owner="o", name="r").api == "https://notghe.com/api/v3"
    one = issue(ENTERPRISE, 5)
    assert one.web == f"{ENTERPRISE.web}/issues/5"
    assert parse_issue(one.web) == one


def test_permalinks() -> None:
    sha = "a" * 40
    assert blob(REPOSITORY, sha, "logbooks/moe.md") == f"https://github.com/o/r/blob/{sha}/logbooks/moe.md"
    assert blob(REPOSITORY, sha, "my logs/a#b?c%é\udcff.md", 7) == (
        f"https://github.com/o/r/blob/{sha}/my%20logs/a%23b%3Fc%25%C3%A9%FF.md?plain=1#L7"
    )
    assert tree(REPOSITORY, "moe/v1 #2") == "https://github.com/o/r/tree/moe/v1%20%232"
    assert commit(REPOSITORY, sha) == f"https://github.com/o/r/commit/{sha}"
