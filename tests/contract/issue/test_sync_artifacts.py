"""Files that runs left, in the issue: named with their digest, and shown where they are pushed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.contract.artifacts.left_files import PNG, script
from tests.contract.issue.pushed_support import Pushed
from tests.stored import at

RECORD = Path("logbooks/moe/runs/MOE-000/01/run.json")
COPIES = RECORD.parent / "artifacts"


@pytest.mark.slow
def test_the_issue_names_them_and_shows_what_is_pushed(pushed: Pushed) -> None:
    bench = pushed.bench
    pushed.commit("The code", "logbook.toml")
    bench.cli("run", "--keep", "out/*.png", "--", *script(bench.folder))
    bench.sync("--create")
    digest = json.loads(at(bench.folder / RECORD).read_text())["artifacts"][1]["sha256"]
    assert f"out/loss.png ({len(PNG)} B, image/png, run 1, sha256 {digest[:16]})" in bench.comments[0]["body"]
    pushed.publish()
    bench.sync()
    assert "![" not in bench.comments[0]["body"], "git does not have it"
    copies = at(bench.folder / COPIES).relative_to(bench.folder).as_posix()
    pushed.git("add", "-f", copies)
    sha = pushed.publish("The files")
    bench.sync()
    address = pushed.blob(sha, f"{copies}/{digest[:16]}.png?raw=true")
    assert f"![out/loss.png]({address})" in bench.comments[0]["body"]
    assert bench.sync()["steps"] == []
    assert f"{digest[:16]}.png" in pushed.git("ls-tree", "-r", "--name-only", sha)
