"""Rows with any numbers, through every command that reads them: none fails, and each says what it leaves out."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

from tests.breadth import examples
from tests.conftest import Cli
from tests.seams import Store

VALUES = st.sampled_from((0.0, -0.0, -1.5, 1.0, 1.25, 3e7, 1e308, -1e308, 1e-308, 5e-324))
# Of one run: a few values, and how often they come: once, or thousands of times.
SAMPLES = st.tuples(st.lists(VALUES, min_size=1, max_size=3), st.sampled_from((1, 1, 1000)))
SIDES = st.lists(st.tuples(SAMPLES, SAMPLES), min_size=1, max_size=7)
READERS = (
    "list", "status", "show N-000", "table", "table N-000 --csv", "compare N-000 --axis mode", "criteria",
    "list --tried", "list none", "render", "plot", "report",
    "export --as csv", "export --as json", "export --as parquet", "sync --offline out", "doctor",
)  # fmt: skip
OPENED = "2026-02-10T10:00:00+00:00"


def filled(folder: Path, pairs: list[tuple[list[float], list[float]]]) -> Store:
    """A logbook with an A/B of two modes, a case of its own, and a further metric without a direction."""
    store = Store(folder, "numbers")
    metrics = ["tflops:max:TF/s", "time_s:min:s"]
    named = {"topic": "numbers", "title": "Numbers", "prefix": "N", "opened": OPENED}
    parts = [dict(zip(("name", "direction", "unit"), metric.split(":"), strict=True)) for metric in metrics]
    store.write(store.header_path, {**named, "metrics": parts})
    question = {"axis": "mode", "base": "none", "sides": ["int8"]}
    asked = {"question": question, "design": {"seed": 1, "budget_pairs": len(pairs)}}
    for entry, more in (("N-000", {"comparison": asked}), ("N-001", {})):
        store.write(store.entry_path(entry), {"id": entry, "title": entry, "opened": OPENED, **more})
    order, number = random.Random(1), {"N-000": 0, "N-001": 0}
    for pair, (base, other) in enumerate(pairs, 1):
        sides = [("N-000", "none", base), ("N-000", "int8", other)]
        order.shuffle(sides)
        for entry, mode, samples in [*sides, ("N-001", "none", base)]:
            number[entry] += 1
            store.write(store.run_path(entry, number[entry]), run(entry, number[entry], pair, mode, samples))
    return store


def run(entry: str, number: int, pair: int, mode: str, samples: list[float]) -> dict[str, Any]:
    measured = {
        "tflops": {"samples": samples, "unit": "TF/s", "direction": "max"},
        "time_s": {"samples": samples[::-1], "unit": "s", "direction": "min"},
        "loss": {"samples": samples[:1]},
    }
    config = {"mode": mode, "tokens": samples[0]}
    when = f"2026-02-10T{10 + number // 60:02d}:{number % 60:02d}"
    return {
        "entry": entry, "run": number, "repeat": pair, "argv": ["bench", "--mode", mode], "cwd": ".",
        "host": {"name": "host", "os": "Linux", "cpu": "cpu", "cores": 2, "memory_bytes": 10**10},
        "config": {"mode": mode}, "started": f"{when}:00+00:00", "ended": f"{when}:30+00:00", "duration_s": 30.0,
        "exit": {"code": 0}, "rows": [{"config": config, "metrics": measured, "observations": {"x": samples[-1]}}],
        **({"part": {"pair": pair, "side": mode}} if entry == "N-000" else {}),
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.hypothesis
@examples(8, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None)
@given(pairs=SIDES)
@example(pairs=[(([0.0], 1), ([2.0], 1))] * 2 + [(([1.0], 1), ([-1.0], 1))] * 2 + [(([1.0], 1), ([1.01], 1))] * 6)
@example(pairs=[(([1e308], 1), ([1e-308], 1))] * 6)
def test_every_reader_and_page_bears_any_numbers(
    cli: Cli, folder: Path, pairs: list[tuple[tuple[list[float], int], tuple[list[float], int]]]
) -> None:
    for left in folder.iterdir():
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    filled(folder, [(base * often, other * as_often) for (base, often), (other, as_often) in pairs])
    for words in READERS:
        answer = cli(*words.split())
        # Of one pair that has no ratio there is no plot.
        assert answer.code in (0, 1) or (words, answer.code) == ("plot", 2), (words, answer)
        assert "Traceback" not in answer.err, (words, answer.err)


@pytest.mark.slow
def test_a_page_counts_what_it_leaves_out(cli: Cli, folder: Path) -> None:
    """Pairs without a ratio, and entries that cannot be read."""
    store = filled(folder, [([0.0], [2.0]), *[([1.0], [2.0])] * 2])
    for number in range(2, 40):
        store.entry_path(f"N-{number:03d}").write_text("format: 1\nid: [")
    answer = cli("report")
    assert answer.code == 1
    assert "38 entries" in answer.err
    page = (folder / "logbooks/.report/numbers.html").read_text()
    answer = cli("compare", "N-000", "--json").data["answer"]
    finding = answer["findings"][0]
    assert (finding["outcome"], finding["pairs"]) == ("open", 2)
    assert finding["sentence"] in page
    assert answer["first"][0] in page, "a rate of 0 is no rate"
    assert "28 more" in page
    for name in ("numbers", "index"):
        assert "<b>38</b> cannot be read" in (folder / f"logbooks/.report/{name}.html").read_text()
