"""Rows with any numbers, through every command that reads them: none fails, and each says what it leaves out."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

from logbook_agent.model.comparison import Comparison, Design, Part, Question
from logbook_agent.model.entry import Entry
from logbook_agent.model.header import Header, Metric
from logbook_agent.model.run import Exit, Host, Measurement, Row, Run
from logbook_agent.store.book import Book
from logbook_agent.store.root import create
from tests.breadth import examples
from tests.conftest import Cli

VALUES = st.sampled_from((0.0, -0.0, -1.5, 1.0, 1.25, 3e7, 1e308, -1e308, 1e-308, 5e-324))
# Of one run: a few values, and how often they come: once, or thousands of times.
SAMPLES = st.tuples(st.lists(VALUES, min_size=1, max_size=3), st.sampled_from((1, 1, 1000)))
SIDES = st.lists(st.tuples(SAMPLES, SAMPLES), min_size=1, max_size=7)
READERS = (
    "list", "status", "show N-000", "table", "table N-000 --csv", "compare N-000 --axis mode", "criteria",
    "list --tried", "list none", "render", "plot", "plot N-000 --json", "report",
    "export --as csv", "export --as json", "export --as parquet", "sync --offline out", "doctor",
)  # fmt: skip


def filled(root: Path, pairs: list[tuple[list[float], list[float]]]) -> Book:
    """A logbook with an A/B of two modes, a case of its own, and a further metric without a direction."""
    metrics = (Metric(name="tflops", direction="max", unit="TF/s"), Metric(name="time_s", direction="min", unit="s"))
    opened = "2026-02-10T10:00:00+00:00"
    header = Header(topic="numbers", title="Numbers", prefix="N", opened=opened, metrics=metrics)
    book = create(root, header, durable=False)
    asked = Question(axis="mode", base="none", sides=("int8",))
    stated = Comparison(question=asked, design=Design(seed=1, budget_pairs=len(pairs)))
    book.write_entry(Entry(id="N-000", title="A/B", opened=opened, comparison=stated))
    book.write_entry(Entry(id="N-001", title="Runs", opened=opened))
    order, number = random.Random(1), {"N-000": 0, "N-001": 0}
    for at, (base, other) in enumerate(pairs):
        sides = [("N-000", "none", base), ("N-000", "int8", other)]
        order.shuffle(sides)
        for entry, mode, samples in [*sides, ("N-001", "none", base)]:
            number[entry] += 1
            book.run_folder(entry, number[entry]).mkdir(parents=True)
            book.write_run(run(entry, number[entry], at, mode, samples))
    return book


def run(entry: str, number: int, repeat: int, mode: str, samples: list[float]) -> Run:
    measured = {
        "tflops": Measurement(samples=tuple(samples), unit="TF/s", direction="max"),
        "time_s": Measurement(samples=tuple(reversed(samples)), unit="s", direction="min"),
        "loss": Measurement(samples=tuple(samples[:1])),
    }
    when = f"2026-02-10T{10 + number // 60:02d}:{number % 60:02d}"
    return Run(
        entry=entry,
        run=number,
        repeat=repeat + 1,
        argv=("bench", "--mode", mode),
        cwd=".",
        host=Host(name="host", os="Linux", cpu="cpu", cores=2, memory_bytes=10**10),
        config={"mode": mode},
        started=f"{when}:00+00:00",
        part=Part(pair=repeat + 1, side=mode) if entry == "N-000" else None,
        ended=f"{when}:30+00:00",
        duration_s=30.0,
        exit=Exit(code=0),
        rows=(Row(config={"mode": mode, "tokens": samples[0]}, metrics=measured, observations={"x": samples[-1]}),),
    )


@pytest.mark.slow
@pytest.mark.hypothesis
@examples(8, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None)
@given(pairs=SIDES)
@example(pairs=[(([0.0], 1), ([2.0], 1))] * 6)
@example(pairs=[(([1e308], 1), ([1e-308], 1))] * 6)
@example(pairs=[(([1.0], 1), ([-1.0], 1))] * 2 + [(([1.0], 1), ([1.01], 1))] * 6)
def test_every_reader_and_page_bears_any_numbers(
    cli: Cli, folder: Path, pairs: list[tuple[tuple[list[float], int], tuple[list[float], int]]]
) -> None:
    for left in folder.iterdir():
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    filled(folder / "logbooks", [(base * often, other * as_often) for (base, often), (other, as_often) in pairs])
    for words in READERS:
        answer = cli(*words.split())
        # Of one pair that has no ratio there is no plot, and the command says so.
        assert answer.code in (0, 1) or "nothing to plot" in answer.out + answer.err, (words, answer)
        assert "Traceback" not in answer.err, (words, answer.err)


@pytest.mark.slow
def test_a_page_counts_the_pairs_that_a_zero_leaves_out(cli: Cli, folder: Path) -> None:
    filled(folder / "logbooks", [([0.0], [2.0]), *[([1.0], [2.0])] * 2])
    assert cli("report").code == 0
    page = (folder / "logbooks/.report/numbers.html").read_text()
    assert "int8 against none is open in tflops, +100% so far (2 pairs; needs at least 7 more pairs)" in page
    assert "1 pair: a value is missing, zero or negative" in page


def test_a_page_counts_all_entries_that_it_leaves_out(cli: Cli, folder: Path) -> None:
    book = filled(folder / "logbooks", [([1.0], [2.0])])
    for number in range(2, 40):
        book.entry_path(f"N-{number:03d}").write_text("format: 1\nid: [")
    answer = cli("report")
    assert answer.code == 1
    assert "38 entries of numbers cannot be read" in answer.err
    page = (folder / "logbooks/.report/numbers.html").read_text()
    assert "28 more cannot be read: logbook doctor names them" in page
    assert "<b>38</b> cannot be read" in page
    assert "<b>38</b> cannot be read" in (folder / "logbooks/.report/index.html").read_text()
