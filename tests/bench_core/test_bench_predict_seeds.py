"""The measured rows of the published logbooks against the model: nothing is compiled here, the terms are kept."""

import json
import os
import sys
from collections import Counter
from importlib import metadata
from pathlib import Path

import pytest
from seed_errors import GROUPS, Compared, compare_rows, errors, likely, spearman, unseen
from seed_rows import TARGET, SeedRow, parts_of, read_rows, read_terms, terms_of_row
from seed_tables import document_with, tables

from bench_core.accounting import count_flops
from bench_core.aot.targets import choose_target
from bench_core.predict import calibration
from bench_core.predict.calibration import MOST_ROWS, UNKNOWN, fit
from bench_core.predict.model import bound
from bench_core.predict.slice import SliceRates, slice_rates
from tests.breadth import covering

ROWS = read_rows()
TERMS = read_terms()
MEASURED = Path(__file__).parent / "data"


@pytest.fixture(scope="module")
def rates() -> SliceRates:
    found = slice_rates(choose_target(TARGET))
    assert found is not None
    return found


@pytest.fixture(scope="module")
def compared(rates: SliceRates) -> list[Compared]:
    return compare_rows(unseen(ROWS), TERMS, calibration.seeds(), rates)


def marked(*marks: str) -> list[SeedRow]:
    return [row for row in ROWS if {*marks} <= row.marks]


def test_every_measured_row_is_there() -> None:
    # By section of the logbooks, counted by hand: what hillclimb measured from 14:22 on, when the form of expert
    # parallelism became what it is, all rows of one chip, null routing, and the study of data parallelism.
    assert Counter(kind for row in ROWS for kind in row.marks & {"one", "ep", "dp_study"}) == {
        "one": 26,
        "ep": 72 + 18 + 3,
        "dp_study": 18,
    }
    assert len(marked("null")) == 21
    assert len(marked("fit")) == MOST_ROWS
    assert all(row.marks >= {"one"} for row in marked("fit"))
    assert {row.options for row in ROWS} == TERMS["programs"].keys()
    # Of ragged_dot the compiler makes kernels of its own.
    assert all("ragged_dot" in row.options for row in ROWS if terms_of_row(TERMS, row).unknown)


def test_rows_say_what_the_published_pairs_say() -> None:
    """TF/s become the times that tokens/s of the same lines give."""
    import csv

    with (MEASURED / "seed_pairs.csv").open(encoding="utf-8", newline="") as stream:
        pairs = {pair["source"]: pair for pair in csv.DictReader(stream)}
    both = [row for row in ROWS if row.source in pairs]
    assert len(both) > 20
    for row in both:
        pair = pairs[row.source]
        assert row.value == float(pair["tflops"])
        assert row.time_s == pytest.approx(float(pair["tokens"]) / float(pair["tokens_per_s"]), rel=1e-5)


def test_the_factors_are_those_of_three_rows(rates: SliceRates, compared: list[Compared]) -> None:
    fitted, rows = calibration.seeds(), marked("fit")
    factors = fit([parts_of(TERMS, row, rates) for row in rows], [row.time_s for row in rows])
    assert (fitted.matmul_factor, fitted.routed_factor) == pytest.approx(factors, abs=1e-4)
    assert fitted.rows == tuple(f"{row.source}: {row.time_s:.6g} s" for row in rows)
    assert (fitted.libtpu, fitted.measured_with) == (TERMS["libtpu"], UNKNOWN)
    assert fitted.constants == rates.constants()
    assert (fitted.low, fitted.high) == pytest.approx(likely(compared), abs=1e-3)
    assert fitted.shortest == pytest.approx(min(one.time_s for one in compared), abs=1e-4)


@pytest.mark.parametrize("group", [group for group in GROUPS if group != "one chip"])
def test_predictions_meet_their_targets(group: str, compared: list[Compared]) -> None:
    """The targets were set before the rows were looked at. On one chip alone, 11 cases of which most take one of three
    times, the rank correlation misses its target; the document shows it."""
    found = errors([one for one in compared if GROUPS[group](one.row.marks)])
    assert found.rank_correlation >= 0.95
    assert found.median <= 0.10
    assert found.claimed > 100
    assert found.right >= 0.97 * found.claimed


def test_no_measurement_is_faster_than_its_bound(rates: SliceRates) -> None:
    """Rows with ragged_dot are left out: the libtpu that ran them compiled another program."""
    bounded = [row for row in ROWS if "ragged_dot" not in row.options and "baseline_dp" not in row.marks]
    assert len(bounded) == 129
    for row in bounded:
        assert bound(terms_of_row(TERMS, row), rates) < row.time_s, row.source


def test_data_against_expert_parallelism(rates: SliceRates) -> None:
    """All six directions, and where they cross: expert parallelism wins at the small batch and loses at the large one.
    The sizes and the code of that study are not known: its times are twice those that are predicted."""
    fitted = calibration.seeds()
    time_of = {row.source: row.time_s for row in marked("dp_study")}
    estimate = {row.source: fitted.estimate(parts_of(TERMS, row, rates)) for row in marked("dp_study")}
    lines = [(38, 39), (42, 43), (67, 68), (71, 72), (96, 97), (100, 101)]
    pairs = [tuple(f"grug_moe_ep_vs_dp_logbook.md:{line}" for line in pair) for pair in lines]
    assert [time_of[ep] < time_of[dp] for dp, ep in pairs] == [True, True, False, False, False, False]
    assert [estimate[ep] < estimate[dp] for dp, ep in pairs] == [True, True, False, False, False, False]


def test_rank_correlation() -> None:
    assert spearman([1, 2, 3], [10, 20, 40]) == pytest.approx(1)
    assert spearman([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    # Ties share their mean rank: ranks 0, 1.5, 1.5, 3 against 0, 1, 2, 3.
    assert spearman([1, 2, 2, 3], [1, 2, 3, 4]) == pytest.approx(4.5 / (4.5 * 5) ** 0.5)


def test_the_document_has_these_tables(rates: SliceRates) -> None:
    page = (Path(__file__).parents[2] / "docs" / "explanation" / "prediction.md").read_text(encoding="utf-8")
    assert document_with(page, tables(ROWS, TERMS, calibration.seeds(), rates)) == page, "make predict-seeds"


@pytest.mark.wide
@pytest.mark.skipif(sys.platform != "linux" or os.uname().machine != "x86_64", reason="no libtpu here")
def test_the_compiler_gives_the_same_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a few programs that have every mark and option among them."""
    if metadata.version("libtpu") != TERMS["libtpu"] or metadata.version("jax") != TERMS["jax"]:
        pytest.skip("the kept terms are those of other versions: make predict-seeds")
    benchmarks = Path(__file__).parents[2] / "benchmarks"
    monkeypatch.syspath_prepend(str(benchmarks))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(benchmarks.parent), str(benchmarks)]))
    from predict_seeds import terms_again

    marks: dict[str, set[str]] = {}
    for row in ROWS:
        marks.setdefault(row.options, set()).update(row.marks, row.options.split(" --"))
    few = [param.values[0] for param in covering(list(marks), lambda options: marks[options]) if not param.marks]
    assert len(few) < 30
    for options, program in terms_again(few):
        kept = TERMS["programs"][options]
        assert {**program, "processor_s": 0} == {**kept, "processor_s": 0}, options


def test_terms_are_those_of_the_formula(rates: SliceRates) -> None:
    """FLOPs of the compiled programs of one chip, without tiles, are the model's."""
    for row in marked("one"):
        terms, case = terms_of_row(TERMS, row), row.case
        assert terms.flops == pytest.approx(count_flops(case.shape, case.bench_pass).total, rel=1e-9), row.options
        assert terms.padded_flops > terms.kernel_flops
        assert json.loads(json.dumps(terms.json()))["sent_bytes"] == {}
