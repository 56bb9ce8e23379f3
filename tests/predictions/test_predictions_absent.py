"""The core without the folder `predict`: what was predicted is shown, and nothing is predicted."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.predictions.test_predictions_pages import PREDICT, PREDICTED

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_core_does_without(moe: Cli, folder: Path, tmp_path: Path) -> None:
    assert moe(*PREDICT).code == 0
    package = tmp_path / "without"
    shutil.copytree(
        ROOT / "logbook_agent", package / "logbook_agent", ignore=shutil.ignore_patterns("predict", "__pycache__")
    )
    for name in ("templates", "recipes"):
        (package / name).symlink_to(ROOT / name)

    def logbook(*words: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(package), str(ROOT)))}
        return subprocess.run(
            [sys.executable, "-m", "logbook_agent", *words],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    assert logbook("show", "MOE-000").stdout.endswith(PREDICTED)
    assert "predicted, not measured" in logbook("list").stdout
    assert "error: --predict is not available" in logbook("sweep", "ep-forms", "--predict", "v5p-8").stderr
    assert logbook(*PREDICT).returncode == 2
    assert logbook("run", "--", "echo", "RESULT time_s=1").returncode == 0
