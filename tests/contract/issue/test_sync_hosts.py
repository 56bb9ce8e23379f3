"""A token goes only to a host that the user named outside of the repository."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.contract.issue.pushed_support import Pushed, refused
from tests.contract.issue.sync_support import Bench
from tests.emulator.faults import Fault, Reply, Request

pytestmark = pytest.mark.slow


@pytest.fixture
def gh(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `gh` on PATH that is logged in to the host of the bench once this file is there."""
    folder, hosts = tmp_path / "gh-bin", tmp_path / "gh-hosts"
    folder.mkdir()
    (folder / "gh").write_text(
        f'#!/bin/sh\n[ -e {hosts} ] && [ "$4" = {bench.github.host} ] && echo {bench.github.token}\n'
    )
    (folder / "gh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{Path(sys.executable).parent}:/usr/bin:/bin")
    return hosts


def unnamed(bench: Bench, *args: str) -> None:
    """A command that ends before anything is asked of the host."""
    before = len(bench.github.requests)
    error = refused(bench, 4, *args)
    assert error["code"] == "no_token", error
    assert bench.github.host in error["message"]
    assert f"GH_HOST={bench.github.host}" in error["hint"]
    assert len(bench.github.requests) == before


def test_a_host_of_the_settings_gets_nothing(bench: Bench, monkeypatch: pytest.MonkeyPatch, gh: Path) -> None:
    bench.note()
    monkeypatch.delenv("GH_HOST")
    unnamed(bench, "sync", "--create")
    assert bench.book.header.issue is None
    gh.touch()
    assert len(bench.sync("--create")["steps"]) == 2, "gh is logged in there"


def test_an_issue_in_the_header_gets_nothing(told: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GH_HOST")
    for words in (("sync", "--dry-run"), ("sync", "--entry", "MOE-000"), ("close", "--conclusion", "It works")):
        unnamed(told, *words)


def test_a_git_remote_gets_nothing(published: Pushed, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = published.bench
    (bench.folder / "logbook.toml").unlink()
    published.publish()
    monkeypatch.delenv("GH_HOST")
    for words in (("sync", "--create"), ("snapshot", "moe-1"), ("snapshot", "moe-1", "--dry-run")):
        unnamed(bench, *words)


def test_an_address_that_was_typed_gets_nothing_either(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.note()
    (bench.folder / "logbook.toml").unlink()
    monkeypatch.delenv("GH_HOST")
    url = f"{bench.github.web}/{bench.repo}"
    unnamed(bench, "sync", "--create", "--repo", url)
    bench.ok("link", f"{url}/issues/1")
    unnamed(bench, "sync")


@pytest.mark.parametrize(
    ("alike", "code"),
    [
        ("localhost:{port}", "no_token"),
        ("127.0.0.1.evil.example.org:{port}", "no_token"),
        ("github.com.evil.example.org", "no_token"),
        ("github.com:8443", "no_token"),
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
    unnamed(bench, "sync", "--create")


def test_the_token_is_not_sent_in_clear_text_to_a_proxy(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without TLS only this machine is spoken to, and a proxy is another one."""
    bench.note()
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    answer = bench.cli("sync", "--create", "--json")
    assert (answer.code, answer.error["code"]) == (2, "usage")
    assert "NO_PROXY=127.0.0.1" in answer.error["hint"]
