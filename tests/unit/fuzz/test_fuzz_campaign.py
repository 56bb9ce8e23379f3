"""A short campaign with every run of the tests, and whether one would notice what it looks for."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.breadth import wide
from tools.fuzz.arena import REPOSITORY
from tools.fuzz.harness import Answer, judged
from tools.fuzz.known import KNOWN
from tools.fuzz.mutations import CANARY, SECRET
from tools.fuzz.values import Words


def fuzz(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tools.fuzz", *words],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("documents", [40, wide(250)])
def test_a_short_campaign(tmp_path: Path, documents: int) -> None:
    """All that once failed, then documents of one seed. `python -m tools.fuzz` goes on from there."""
    done = fuzz("--documents", str(documents), "--seed", "1", "--out", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"fuzz: {documents} documents" in done.stdout
    assert f"next {documents}" in done.stdout
    commands = re.search(r"(\d+) commands", done.stdout)
    assert commands is not None
    assert int(commands[1]) > sum(len(document.commands) for document in KNOWN)
    assert list(tmp_path.iterdir()) == []


def answer(code: int = 0, out: bytes = b"", err: bytes = b"", cpu_s: float = 0.0, crash: str | None = None) -> Answer:
    return Answer(code=code, out=out, err=err, cpu_s=cpu_s, crash=crash)


SOUND = b"error: a\n  cause: b\n  next:  c\n"
JSON_ERROR = b'{"schema": "logbook/error/1", "error": {"code": "a", "message": "b", "cause": "c", "hint": ""}}'


@pytest.mark.parametrize(
    ("words", "given", "problem"),
    [
        (("list",), answer(crash="KeyError: 'x' at a.py:1 f"), "KeyError: 'x' at a.py:1 f"),
        (("list",), answer(139), "exit code 139"),
        (("list",), answer(cpu_s=2.5), "2.5 s of processor time"),
        (("list",), answer(out=SECRET.encode()), "shows a secret"),
        (("list",), answer(err=CANARY.encode()), "shows a file outside"),
        (("list",), answer(3, err=b"Traceback (most recent call last):\n" + SOUND), "a traceback on stderr"),
        (("list",), answer(3, err=b"error: a\n  cause: b\n"), "an error without its three parts: "),
        (("list",), answer(out=b"\x1b[2J"), "stdout holds '\\x1b'"),
        (("list", "--json"), answer(out=b"{"), "stdout is not JSON (JSONDecodeError): b'{'"),
        (("list", "--json"), answer(out=b'{"schema": NaN}'), "stdout is not JSON (ValueError): "),
        (("list", "--json"), answer(3, out=JSON_ERROR), "an error without its three parts: "),
        (("list", "--json"), answer(3, out=b'{"schema": "logbook/list/1"}'), "exit code 3 with an answer"),
    ],
)
def test_what_is_wrong_with_an_answer(words: Words, given: Answer, problem: str) -> None:
    found = list(judged(words, given))
    assert found
    assert found[0].startswith(problem)
