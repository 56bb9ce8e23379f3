"""Nothing but the commands that are about the issue asks anything of a network, and no experiment fails by one."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from tests.conftest import Cli
from tests.contract.issue.sync_support import Bench

LOCAL = [
    ("run", "--title", "A run", "--", "python", "-c", "print('RESULT tflops=2')"),
    ("note", "--title", "A note"),
    ("note", "--plan", "--title", "A plan"),
    ("edit", "MOE-000", "--title", "Another title"),
    ("list",),
    ("show", "MOE-000"),
    ("status",),
    ("list", "note"),
    ("table", "MOE-001"),
    ("render",),
    ("doctor",),
    ("status", "--summary", "So far, so good"),
    ("close", "--conclusion", "It works", "--local"),
    ("close", "--reopen", "--local"),
    ("link", "ada/other#3", "--as", "Related issue"),
    ("sync", "--offline", "documents"),
]


@pytest.mark.slow
def test_only_the_sync_asks_anything_of_the_host(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.note()
    bench.sync("--create")
    before = len(bench.github.requests)

    def connect(*_: object) -> NoReturn:
        raise AssertionError("a connection was made")

    monkeypatch.setattr(socket.socket, "connect", connect)
    for args in LOCAL:
        bench.ok(*args)
    assert len(bench.github.requests) == before
    monkeypatch.undo()


def test_offline_documents_are_no_code(git: Callable[..., str], started: Cli, folder: Path) -> None:
    for _ in range(2):
        assert started("sync", "--offline", "out").code == 0
    assert (folder / "out/issue.md").exists()
    assert git("status", "--porcelain", "--untracked-files=all", "--", "out") == ""
    (folder / "notes").mkdir()
    assert started("sync", "--offline", "notes").code == 0
    assert [path.name for path in (folder / "notes").iterdir()] == ["issue.md"], "a folder that is there is its owner's"


def test_a_closed_thread_has_no_nameless_document(started: Cli, folder: Path) -> None:
    assert started("close", "--conclusion", "Done").code == 0
    assert started("sync", "--offline", "out").code == 0
    assert sorted(path.name for path in (folder / "out").glob("*.md")) == ["final-01.md", "issue.md"]
