"""docs/how-to/slurm.md does what it says, with a real Slurm."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from tests.cluster.slurm_engine import Slurm
from tests.conftest import REPOSITORY


def test_the_page_about_slurm(slurm: Slurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(REPOSITORY / "tests/docs")
    wrong = importlib.import_module("docs_runner").disagreements(REPOSITORY / "docs/how-to/slurm.md", tmp_path)
    assert not wrong, "\n\n".join(wrong)
