"""Bytes that are no UTF-8, in arguments, values and names: executed as they are, recorded escaped, shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.stored import at

MOE, VIEW = "logbooks/moe", "logbooks/moe.md"


@pytest.mark.slow
def test_a_run_with_bytes_that_are_no_text(two: Cli, folder: Path) -> None:
    """As argument, value, folder and file: recorded escaped, executed as they are, and shown by every command."""
    (folder / "d\udcfe").mkdir()
    (folder / "d\udcfe/f\udcfd.sh").write_text("printf 'RESULT tflops=2\\n'; printf '%s' \"$1\" | od -An -tx1\n")
    words = [
        "--cwd",
        "d\udcfe",
        "--env",
        "E=\udcff",
        "--config",
        "k=\udcff",
        "--label",
        "l\udcff",
        "--title",
        "t\udcff",
    ]
    answer = two("run", *words, "--json", "--", "sh", "f\udcfd.sh", "a\udcff")
    assert answer.code == 0, answer.err
    assert r"a\\xff" in answer.out
    assert "61 ff" in at(folder / MOE / "runs/MOE-002/01/output.log").read_text()
    for words in (
        ["list"], ["list", "--json"], ["status", "--json"], ["show", "MOE-002"], ["table", "MOE-002"],
        ["show", "MOE-002", "--json", "--full"], ["table", "MOE-002", "--csv"], ["list", "a"], ["render"], ["doctor"],
        ["sync", "--offline", "out"], ["edit", "MOE-002", "--next", "n\udcff"],
        ["run", "--id", "MOE-002", "--", "echo", "\udcff"],
    ):  # fmt: skip
        answer = two(*words)
        assert answer.code == 0, (words, answer.err)
    assert r"a\xff" in (folder / VIEW).read_text()
    assert r"a\\xff" in at(folder / MOE / "runs/MOE-002/01/run.json").read_text()
    assert two("doctor").code == 0
