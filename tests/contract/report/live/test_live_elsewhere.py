"""The last lines of a run on another machine, while it goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.cluster.test_executors_command import SECRET, TYPED, iris, quick, sh  # noqa: F401
from tests.contract.report.live.live_support import running, whole


@pytest.mark.slow
def test_lines_of_a_job(iris: Cli, folder: Path, tmp_path: Path, quick: None) -> None:  # noqa: F811
    go = tmp_path / "go"
    script = "echo one; echo I have $WANDB_API_KEY; until [ -e $GO ]; do sleep 0.02; done; echo three"
    words = (*TYPED, "-e", "WANDB_API_KEY", SECRET, "-e", "GO", str(go), "--", *sh(script))
    assert iris("run", "--", *words).code == 0

    before = whole(folder / "logbooks")
    with running("watch", "--json", cwd=folder) as process:
        assert process.stdout is not None

        def shown(last: str) -> list[str]:
            """The lines of the job, once this one is the last."""
            assert process.stdout is not None
            while True:
                text = process.stdout.readline().decode()
                assert SECRET not in text
                for one in json.loads(text)["data"]["running"]:
                    if one["lines"] and one["lines"][-1].startswith(last):
                        return list(one["lines"])

        assert shown("I have")[0] == "one"
        go.touch()
        shown("three")
        assert whole(folder / "logbooks") == before
    assert iris("wait", "MOE-000").code == 0
