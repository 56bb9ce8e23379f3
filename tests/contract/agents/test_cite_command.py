"""`logbook cite` from the command line."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from tests.conftest import Cli

SOURCE = "It reaches [[MOE-000 tflops]].\n"
FILLED = 'It reaches <abbr title="[[MOE-000 tflops]]">12.500 TF/s</abbr>.\n'


@pytest.mark.slow
def test_a_figure_is_filled_in_and_checked(started: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert started("run", "--", "echo", "METRIC tflops=12.5 TF/s").code == 0
    readme = folder / "README.md"
    readme.write_bytes(SOURCE.replace("\n", "\r\n").encode())
    readme.chmod(0o600)
    assert started("cite", "README.md", "--check").code == 1
    answer = started("cite", "README.md")
    assert (answer.code, answer.out) == (0, "README.md: 1 citation filled in\n")
    assert readme.read_bytes() == FILLED.replace("\n", "\r\n").encode()
    assert readme.stat().st_mode & 0o777 == 0o600
    assert started("cite", "README.md").out == "README.md: 1 citation unchanged\n"
    assert started("cite", "README.md", "--check").code == 0
    readme.write_text(FILLED.replace("12.5", "13.5"))
    answer = started("cite", "README.md", "--check")
    assert answer.code == 1
    wrong = "README.md:1: [[MOE-000 tflops]]: the text says 13.500 TF/s, the record 12.500 TF/s"
    assert answer.err.splitlines() == [wrong]
    problems = started("cite", "README.md", "--check", "--json").data[0]["problems"]
    assert problems == [{"line": 1, "citation": "MOE-000 tflops", "problem": wrong.partition("]]: ")[2]}]
    monkeypatch.setattr("sys.stdin", io.StringIO(SOURCE))
    assert started("cite", "-").out == FILLED
    assert started("edit", "MOE-000", "--state", "void", "--reason", "wrong flag").code == 0
    assert started("cite", "README.md", "--check").err.splitlines() == [
        "README.md:1: [[MOE-000 tflops]]: MOE-000 is void"
    ]
    assert started("cite", "nowhere.md").code == 2
    (folder / "bytes.md").write_bytes(b"\xff")
    assert started("cite", "bytes.md").code == 2
