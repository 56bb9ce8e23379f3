"""What `benchmarks/predict_seeds.py` makes of the published rows is what is shipped and documented."""

from dataclasses import asdict
from pathlib import Path

import pytest

from bench_core.predict.model import calibration

ROOT = Path(__file__).parents[3]


def test_the_calibration_and_the_tables_are_those_of_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from predict_seeds import document_with, fitted, tables

    assert asdict(calibration()) == asdict(fitted())
    page = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    assert document_with(page, tables(calibration())) == page, "python benchmarks/predict_seeds.py --document"
