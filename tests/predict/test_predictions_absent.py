"""The core without the folder `predict`: what was predicted is shown, and nothing is predicted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.predict.test_predictions_pages import PREDICT, PREDICTED
from tests.predict.without import without


@pytest.mark.slow
def test_the_core_does_without(moe: Cli, folder: Path, tmp_path: Path) -> None:
    assert moe(*PREDICT).code == 0
    logbook = without("predict", tmp_path, folder)
    assert logbook("show", "MOE-000").stdout.endswith(PREDICTED)
    assert "predicted, not measured" in logbook("list").stdout
    assert "error: --predict is not available" in logbook("sweep", "ep-forms", "--predict", "v5p-8").stderr
    assert logbook(*PREDICT).returncode == 2
    assert logbook("run", "--", "echo", "RESULT time_s=1").returncode == 0
