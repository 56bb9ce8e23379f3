"""What `bench-core predict` says of the published rows. The costs of their programs are kept; little is compiled."""

import csv
import os
import sys
from collections import Counter
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest

from tests.breadth import covering
from tests.contract.bench_core.cli_support import Outcome
from tests.contract.bench_core.seed_errors import (
    GROUPS,
    Compared,
    compared,
    errors,
    scored_rows,
    spearman,
    without_move,
)
from tests.contract.bench_core.seed_rows import FORMS, SeedRow, kept, options_of, predicted, read_rows

ROWS = read_rows()


@pytest.fixture(scope="module")
def published() -> list[Compared]:
    return compared(scored_rows(unseen=True), "published")


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
    assert len(marked("fit")) == 3
    assert all(row.marks >= {"one"} for row in marked("fit"))
    for form in FORMS:
        assert set(options_of(form)) == kept()[form].keys()


def test_rows_say_what_the_published_pairs_say() -> None:
    """TF/s become the times that tokens/s of the same lines give."""
    with (Path(__file__).parent / "data" / "seed_pairs.csv").open(encoding="utf-8", newline="") as stream:
        pairs = {pair["source"]: pair for pair in csv.DictReader(stream)}
    both = [row for row in ROWS if row.source in pairs]
    assert len(both) > 20
    for row in both:
        pair = pairs[row.source]
        assert row.value == float(pair["tflops"])
        assert row.time_s == pytest.approx(float(pair["tokens"]) / float(pair["tokens_per_s"]), rel=1e-5)


@pytest.mark.parametrize("group", [group for group in GROUPS if group != "one chip"])
def test_predictions_of_published_programs_meet_their_targets(group: str, published: list[Compared]) -> None:
    """The targets were set before the rows were looked at. On one chip alone, 11 cases of which most take one of three
    times, the rank correlation misses its target; the document shows it."""
    some = [one for one in published if GROUPS[group](one.row.marks)]
    found = errors(some)
    assert found.rank_correlation >= 0.95
    assert found.median <= 0.10
    assert found.claimed > 100
    assert found.right >= 0.97 * found.claimed


def test_a_range_is_printed_for_what_it_was_taken_from(published: list[Compared]) -> None:
    assert all(one.said.low is not None for one in published)
    assert errors(published).inside >= 0.9 * len(published) - 1
    own = compared(scored_rows(unseen=True), "command")
    assert not any(one.said.low or one.said.high for one in own)
    assert all(one.said.cautions[0].startswith("no range: ") for one in own)


def test_move_arguments_is_what_the_output_says(published: list[Compared]) -> None:
    [moved] = {caution for one in published for caution in one.said.cautions if "move_arguments" in caution}
    assert f"without it their median error is {100 * errors(without_move(published)).median:.1f}%" in moved
    assert f"with it {100 * errors(published).median:.1f}%" in moved


@pytest.mark.parametrize("form", FORMS)
def test_no_measurement_is_faster_than_its_bound(form: str) -> None:
    """Of every row, those of ragged_dot and of the other study too, and whatever the tile."""
    rows = [row for row in ROWS if form == "command" or "dp_study" not in row.marks]
    assert len(rows) == {"command": 137, "published": 119}[form]
    for row in rows:
        bound = predicted(row, form).bound
        assert bound is not None
        assert 0 < bound < row.time_s, row.source


def test_data_against_expert_parallelism() -> None:
    """All six directions, and where they cross: expert parallelism wins at the small batch and loses at the large one.
    The sizes and the code of that study are not known: its times are twice those that are predicted."""
    time_of = {row.source: row.time_s for row in marked("dp_study")}
    estimate = {row.source: predicted(row, "command").estimate or 0.0 for row in marked("dp_study")}
    lines = [(38, 39), (42, 43), (67, 68), (71, 72), (96, 97), (100, 101)]
    pairs = [tuple(f"grug_moe_ep_vs_dp_logbook.md:{line}" for line in pair) for pair in lines]
    assert [time_of[ep] < time_of[dp] for dp, ep in pairs] == [True, True, False, False, False, False]
    assert [estimate[ep] < estimate[dp] for dp, ep in pairs] == [True, True, False, False, False, False]


def test_rank_correlation() -> None:
    assert spearman([1, 2, 3], [10, 20, 40]) == pytest.approx(1)
    assert spearman([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    # Ties share their mean rank: ranks 0, 1.5, 1.5, 3 against 0, 1, 2, 3.
    assert spearman([1, 2, 2, 3], [1, 2, 3, 4]) == pytest.approx(4.5 / (4.5 * 5) ** 0.5)


needs_libtpu = pytest.mark.skipif(sys.platform != "linux" or os.uname().machine != "x86_64", reason="no libtpu here")


@pytest.mark.wide
@needs_libtpu
@pytest.mark.parametrize("form", FORMS)
def test_the_command_prints_what_is_scored(bench: Callable[..., Outcome], form: str) -> None:
    """Of a few rows that have every mark and option among them."""
    if metadata.version("libtpu") != kept()["libtpu"] or metadata.version("jax") != kept()["jax"]:
        pytest.skip("the kept costs are those of other versions: python benchmarks/predict_seeds.py --compile")
    rows = {row.options: row for row in ROWS if row.options in kept()[form]}
    marks: dict[str, set[str]] = {}
    for row in rows.values():
        marks.setdefault(row.options, set()).update(row.marks, row.options.split(" --"))
    few = [param.values[0] for param in covering(list(marks), lambda options: marks[options]) if not param.marks]
    assert len(few) < 30
    for options in few:
        words = ["predict", *options.split(), "--aot", "v5p-8", *(["--published"] if form == "published" else [])]
        [row] = bench(*words).rows
        expected = predicted(rows[options], form).json()
        assert {**row["prediction"], "vmem": ""} == {**expected, "vmem": ""}, options
