"""What others change while a command runs: it stays, wherever it is told."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from tests.conftest import Cli

LOGBOOK = f"{shlex.quote(sys.executable)} -m logbook_agent"


@pytest.mark.slow
def test_a_run_leaves_what_others_said_of_the_thread(cli: Cli, folder: Path) -> None:
    cli("start", "moe", "--prefix", "MOE", "--metric", "tflops:max:TF/s", "--stop", "all measured", "--stop", "fast")
    assert cli("criteria", "--met", "2", "--evidence", "https://example.org/1").code == 0
    changes = (
        "criteria --met 1 --evidence MOE-000",
        "baseline --config topk=2 --number tflops=4 --reason first",
        "close --conclusion 'It was fast.'",
    )
    said = "; ".join(f"{LOGBOOK} {words} >&2" for words in changes)
    answer = cli("run", "--", "sh", "-c", f"{said}; echo RESULT tflops=4")
    assert answer.code == 0, answer.err
    assert "moe was closed" in answer.err
    view = (folder / "logbooks/moe.md").read_text()
    for text in ("- [x] all measured", "topk=2", "It was fast."):
        assert text in view, text
    assert cli("doctor").code == 0
