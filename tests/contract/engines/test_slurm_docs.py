"""The section about Slurm of docs/how-to/clusters.md does what it says, with a real one."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.contract.engines.slurm_engine import Slurm


def test_the_page_about_slurm(slurm: Slurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(REPOSITORY / "tests/contract/docs")
    page = REPOSITORY / "docs/how-to/clusters.md"
    wrong = importlib.import_module("docs_runner").disagreements(page, tmp_path, "slurm")
    assert not wrong, "\n\n".join(wrong)
