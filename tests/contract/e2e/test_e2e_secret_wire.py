"""Secrets on the way to a server and back: no request holds one, and nothing of an answer or of what people wrote there
is kept or said."""

from __future__ import annotations

import json
from urllib.parse import unquote_plus

import pytest

from tests.contract.e2e.secret_matrix_support import Matrix, in_git
from tests.contract.e2e.test_e2e_secret_matrix import matrix
from tests.contract.issue.conftest import bench
from tests.contract.issue.pushed_support import Pushed, other, pushed
from tests.contract.issue.sync_support import WRITE, Bench
from tests.emulator import faults
from tests.emulator.fixtures import github, github_server

__all__ = ["bench", "github", "github_server", "matrix", "other", "pushed"]

pytestmark = pytest.mark.slow


def _sent(matrix: Matrix, bench: Bench) -> list[str]:
    """Leaks in what reached the server, however it is escaped."""
    sent = [part for r in bench.github.requests for part in (r.path, r.query, unquote_plus(r.query), r.body)]
    sent += [json.dumps(json.loads(r.body), ensure_ascii=False) for r in bench.github.requests if r.body]
    return matrix.leaks("\n".join(sent).encode())


def test_what_is_sent(pushed: Pushed, matrix: Matrix, other: tuple[str, int, str]) -> None:
    bench = pushed.bench

    def ok(*words: str) -> None:
        assert matrix.hear(words[0], bench.cli(*words)).code == 0, words[0]

    header = bench.book.header_path
    header.write_text(header.read_text().replace("title: ", f"title: {' '.join(matrix.plant('title', matrix.words))} "))
    ok("note", "--title", matrix.one("note title"), "--field", f"Notes={matrix.one('note')}")
    row = " ".join(f"a{n}={text}" for n, text in enumerate(matrix.plant("RESULT", matrix.words)))
    # What the command prints, a terminal shows as it is.
    ran = bench.cli(
        "run", "--title", "a run", "--hypothesis", matrix.one("run"), "--", "echo", f"RESULT tflops=1 {row}"
    )
    assert ran.code == 0
    pushed.publish()
    ok("sync", "--create", "--json")
    for text in matrix.plant("--label", matrix.words[:3]):
        matrix.hear("sync --label", bench.cli("sync", "--create", "--label", text))
    ok("link", other[2], "--as", " ".join(matrix.plant("link --as", matrix.words)))
    ok("edit", "MOE-001", "--interpretation", matrix.one("edit"))
    pushed.publish()
    ok("sync", "--dry-run")
    ok("sync")
    pushed.publish()
    ok("snapshot", "moe-20260210", "--message", matrix.one("snapshot --message"))
    for text in matrix.plant("snapshot", matrix.words):
        assert matrix.hear("snapshot", bench.cli("snapshot", text)).code == 2
    ok("close", "--conclusion", matrix.one("--conclusion"), "--limitation", matrix.one("--limitation"),
       "--next", matrix.one("close --next"))  # fmt: skip
    ok("close", "--reopen")
    assert len(bench.github.writes) > 4
    assert _sent(matrix, bench) == []
    assert in_git(matrix, bench.folder, "for-each-ref", "--format=%(refname) %(contents)") == []
    assert in_git(matrix, bench.folder, "log", "--format=%B") == []
    matrix.nothing_leaked(bench.folder)


def test_what_people_wrote(bench: Bench, matrix: Matrix) -> None:
    """It stays theirs: in the issue it stands as before, and here it is neither kept nor said."""
    words = matrix.one("people")
    bench.adopt(words)
    bench.note()
    assert matrix.hear("sync", bench.cli("sync")).code == 0
    comments = f"/repos/{bench.repo}/issues/{bench.number}/comments"
    bench.github.ask("POST", comments, {"body": matrix.one("comment")}, user="bob")
    bench.note("Another")
    for more in (["--dry-run"], ["--dry-run", "--json"], ["--json"]):
        assert matrix.hear("sync", bench.cli("sync", *more)).code == 0
    assert all(line in bench.body for line in words.split("\n"))
    matrix.nothing_leaked(bench.folder)


def test_a_token_for_the_server_is_never_printed(bench: Bench) -> None:
    """A server that repeats it in an answer, within words or cut."""
    bench.note()
    bench.github.rules.add(WRITE, ".", faults.invalid(f"{'x' * 280} {bench.github.token} is not welcome"))
    answer = bench.cli("sync", "--create")
    assert answer.code == 4
    assert "[token]" in answer.err, answer.err
    assert bench.github.token[:8] not in answer.out + answer.err
