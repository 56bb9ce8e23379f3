"""Nothing but the commands that are about the issue asks anything of a network, and no experiment fails by one."""

from __future__ import annotations

import socket
from typing import NoReturn

import pytest

from tests.issue.sync_support import Bench

LOCAL = [
    ("run", "--title", "A run", "--", "python", "-c", "print('RESULT tflops=2')"),
    ("note", "--title", "A note"),
    ("plan", "--title", "A plan"),
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


@pytest.mark.slow
def test_an_experiment_runs_while_the_host_is_down(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.sync("--create")
    bench.note("Before")
    config = bench.folder / "logbook.toml"
    there = config.read_text()
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        down = f"127.0.0.1:{closed.getsockname()[1]}"
        config.write_text(there.replace(bench.github.host, down))
        header = bench.book.header_path
        kept = header.read_text()
        header.write_text(kept.replace(bench.github.host, down))
        bench.ok("run", "--title", "A run", "--", "python", "-c", "print('RESULT tflops=2')")
        with monkeypatch.context() as patch:
            patch.setenv("GH_HOST", down)
            error = bench.fails("unreachable", "--max-wait", "1m")
    assert f"{down} cannot be reached" in error["cause"]
    assert "logbook sync" in error["hint"]
    config.write_text(there)
    header.write_text(header.read_text().replace(down, bench.github.host))
    bench.sync()
    assert bench.told() == ["MOE-000", "MOE-001"]
