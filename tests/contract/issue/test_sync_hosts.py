"""A token goes only to a host that the user named outside of the repository."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.contract.issue.pushed_support import Pushed, refused
from tests.contract.issue.sync_support import Bench
from tests.emulator.faults import Fault, Reply, Request

pytestmark = pytest.mark.slow


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which a `gh` on PATH notes each call; it knows a token for every host."""
    folder = tmp_path / "gh-bin"
    folder.mkdir()
    calls = tmp_path / "gh-calls"
    (folder / "gh").write_text(f'#!/bin/sh\necho "$@" >> {calls}\necho token-from-gh\n')
    (folder / "gh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{Path(sys.executable).parent}:/usr/bin:/bin")
    return calls


def unconfirmed(bench: Bench, *args: str) -> dict[str, str]:
    """The error of a command that asks nothing of the host or of gh."""
    before = len(bench.github.requests)
    error = refused(bench, 4, *args)
    assert error["code"] == "host_not_confirmed", error
    assert bench.github.host in error["message"]
    assert f"GH_HOST={bench.github.host}" in error["hint"]
    assert len(bench.github.requests) == before
    return error


def test_a_host_of_the_settings_gets_nothing(bench: Bench, monkeypatch: pytest.MonkeyPatch, asked: Path) -> None:
    bench.note()
    monkeypatch.delenv("GH_HOST")
    error = unconfirmed(bench, "sync", "--create")
    assert "logbook.toml" in error["cause"]
    assert "logbook sync --create" in error["hint"]
    assert not asked.exists()
    assert bench.book.header.issue is None


def test_an_issue_in_the_header_gets_nothing(told: Bench, monkeypatch: pytest.MonkeyPatch, asked: Path) -> None:
    monkeypatch.delenv("GH_HOST")
    for words in (("sync", "--dry-run"), ("sync", "--entry", "MOE-000"), ("close", "--conclusion", "It works")):
        assert "logbook.yaml" in unconfirmed(told, *words)["cause"]
    assert not asked.exists()


def test_a_git_remote_gets_nothing(published: Pushed, monkeypatch: pytest.MonkeyPatch, asked: Path) -> None:
    bench = published.bench
    (bench.folder / "logbook.toml").unlink()
    published.publish()
    monkeypatch.delenv("GH_HOST")
    for words in (("sync", "--create"), ("snapshot", "moe-1"), ("snapshot", "moe-1", "--dry-run")):
        assert "remote" in unconfirmed(bench, *words)["cause"]
    assert not asked.exists()


def test_an_address_that_was_typed_gets_nothing_either(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.note()
    (bench.folder / "logbook.toml").unlink()
    monkeypatch.delenv("GH_HOST")
    url = f"{bench.github.web}/{bench.repo}"
    assert "--repo" in unconfirmed(bench, "sync", "--create", "--repo", url)["cause"]
    bench.ok("link", f"{url}/issues/1")
    unconfirmed(bench, "sync")
    bench.ok("link", "--confirm-host", bench.github.web)
    bench.github.open_issue_as("bob", bench.repo)
    assert len(bench.sync()["steps"]) == 2
    bench.ok("link", "--forget-host", bench.github.host)
    unconfirmed(bench, "sync")


@pytest.mark.parametrize(
    ("alike", "code"),
    [
        ("localhost:{port}", "host_not_confirmed"),
        ("127.0.0.1.evil.example.org:{port}", "host_not_confirmed"),
        ("github.com.evil.example.org", "host_not_confirmed"),
        ("github.com:8443", "host_not_confirmed"),
        ("gіthub.com", "usage"),
        ("github.com.", "usage"),
        ("127.0.0.1:{port}@evil.example.org", "usage"),
        ("https://127.0.0.1:{port}\\\\@evil.example.org", "usage"),
        ("//evil.example.org", "usage"),
    ],
)
@pytest.mark.sample(4)
def test_a_name_that_looks_alike_gets_nothing(bench: Bench, alike: str, code: str) -> None:
    bench.note()
    port = bench.github.host.rsplit(":", 1)[1]
    (bench.folder / "logbook.toml").write_text(f'[github]\nrepository = "a/b"\nhost = "{alike.format(port=port)}"\n')
    answer = bench.cli("sync", "--create", "--json")
    assert answer.error["code"] == code, answer
    assert bench.github.requests == []


def test_the_answer_of_a_host_names_no_other_one(bench: Bench) -> None:
    bench.note()

    def astray(_: Request, true: Reply | None) -> Reply:
        assert true is not None
        return Reply(status=201, content=true.content.replace(f"{bench.github.web}/".encode(), b"https://evil.org/"))

    bench.github.rules.add("POST", "/issues$", Fault(name="astray", applied=True, answers=astray), times=1)
    bench.sync("--create")
    assert bench.book.header.issue.url == f"{bench.github.web}/{bench.repo}/issues/1"


@pytest.mark.parametrize("form", ["{host}", "HTTP://{host}/"])
def test_gh_host_names_a_host(bench: Bench, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    bench.note()
    monkeypatch.setenv("GH_HOST", form.format(host=bench.github.host, web=bench.github.web))
    assert len(bench.sync("--create")["steps"]) == 2


@pytest.mark.parametrize("named", ["", "github.com", "127.0.0.1", "127.0.0.1:1", "no host"])
def test_gh_host_names_no_other_host(bench: Bench, monkeypatch: pytest.MonkeyPatch, named: str) -> None:
    bench.note()
    monkeypatch.setenv("GH_HOST", named)
    unconfirmed(bench, "sync", "--create")


def test_the_token_is_not_sent_in_clear_text_to_a_proxy(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without TLS only this machine is spoken to, and a proxy is another one."""
    bench.note()
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    answer = bench.cli("sync", "--create", "--json")
    assert (answer.code, answer.error["code"]) == (2, "usage")
    assert "NO_PROXY=127.0.0.1" in answer.error["hint"]


def test_a_host_of_github_itself_needs_no_settings_of_the_user(
    bench: Bench, git: Callable[..., str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """They are not even read: nothing in them is about it."""
    (tmp_path / "config").write_text("a file where a folder is expected")
    (bench.folder / "logbook.toml").write_text('[github]\nrepository = "a/b"\n')
    bench.note()
    answer = bench.cli("sync", "--create", "--json")
    assert answer.error["code"] == "no_token"
    assert "github.com" in answer.error["message"]
