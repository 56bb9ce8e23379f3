"""What `bench-core predict` says of the published rows. The costs of their programs are kept; little is compiled."""

from collections import Counter
from dataclasses import asdict
from pathlib import Path

import pytest

from bench_core.accounting import count_flops
from bench_core.accounting.prediction import ACROSS, Word, outcome
from bench_core.predict.model import calibration
from tests.contract.bench_core.seed_errors import Compared, against_one_device, compared, likely, scored_rows
from tests.contract.bench_core.seed_rows import FORMS, SeedRow, costs_of_row, read_rows
from tests.contract.bench_core.seed_tables import document_with, tables

ROWS = read_rows()
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def published() -> list[Compared]:
    return compared(scored_rows(unseen=True), "published")


def marked(*marks: str) -> list[SeedRow]:
    return [row for row in ROWS if {*marks} <= row.marks]


def test_the_shipped_calibration_is_that_of_the_rows(
    published: list[Compared], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from predict_seeds import fitted

    assert asdict(calibration()) == asdict(fitted())
    assert (calibration().low, calibration().high) == pytest.approx(likely(published), abs=1e-3)


def test_expert_parallelism_against_one_device() -> None:
    """In every published pair several devices are faster, by less than predicted. What is claimed is right."""
    for form in FORMS:
        pairs = against_one_device(compared(scored_rows(unseen=False), form))
        assert len(pairs) > 50
        assert all(one.time_s > several.time_s for one, several in pairs)
        too_much = max(a.estimate_s / b.estimate_s / (a.time_s / b.time_s) for a, b in pairs)
        assert ACROSS[form == "published"] - 0.1 < too_much <= ACROSS[form == "published"]
        words = Counter(outcome(one.said, several.said).word for one, several in pairs)
        assert set(words) <= {Word.WINS, Word.UNDECIDED}
        assert words[Word.WINS] > 10


def test_the_document_has_these_tables() -> None:
    page = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    assert document_with(page, tables(calibration())) == page, "python benchmarks/predict_seeds.py --document"


def test_terms_are_those_of_the_formula() -> None:
    """FLOPs of the compiled programs of one chip, without tiles, are the model's."""
    for row in marked("one"):
        terms, case = costs_of_row(row, "published").terms, row.case
        flops = terms.matmul_flops + terms.kernel_flops
        assert flops == pytest.approx(count_flops(case.shape, case.bench_pass).total, rel=1e-9), row.options
        assert terms.padded_flops > terms.kernel_flops
        assert terms.sent_bytes == {}
