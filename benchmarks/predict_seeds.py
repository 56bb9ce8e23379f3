"""What `bench-core predict` says of the measured rows of the published logbooks, against their times.

    python benchmarks/predict_seeds.py --compile     schedule every distinct program in both forms, and keep its costs
    python benchmarks/predict_seeds.py --fit         write the calibration that comes with bench_core
    python benchmarks/predict_seeds.py --document    write the tables of benchmarks/README.md
    python benchmarks/predict_seeds.py               print these tables

All of it takes half an hour on two cores. The rows are in
tests/contract/bench_core/data/seed_measured.tsv, each with its place and the options of `bench-core predict`. The two
forms of a program are that of these options, and the same with `--published`. Costs and predictions are made by the
functions that the command calls.
"""

import argparse
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from importlib import metadata
from pathlib import Path
from typing import Any

from seed_errors import compared, errors, likely, scored_rows, without_move
from seed_rows import (
    COSTS,
    FORMS,
    TARGET,
    SeedRow,
    case_in_form,
    costs_of_row,
    kept,
    options_of,
    read_rows,
)
from seed_tables import document_with, tables

from bench_core.predict.model import MODEL, Accuracy, Calibration, Seconds, calibration, seconds, slice_rates
from bench_core.predict.predicting import costs_of
from bench_core.predict.scheduled import NotScheduled, schedule

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = ROOT / "benchmarks" / "README.md"
CALIBRATION = ROOT / "bench_core" / "predict" / "seeds.json"


def compile_all() -> None:
    """Keep the costs of every distinct program, by the options of its case. All are compiled again each time: costs
    that an older reader of programs found must not stand beside those of today's."""
    document: dict[str, Any] = {name: metadata.version(name) for name in ("libtpu", "jax")}
    for form in FORMS:
        every = options_of(form)
        document[form] = {}
        for options, costs in costs_again(every, form):
            document[form][options] = costs
            print(f"{form}, {len(document[form])} of {len(every)}: {options}", flush=True)
    COSTS.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def costs_again(wanted: Sequence[str], form: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The options of each case, and what is kept of its program."""
    cases = [case_in_form(options, form) for options in wanted]
    outcomes = schedule(cases, TARGET, published=form == "published")
    for options, case, found in zip(wanted, cases, outcomes, strict=True):
        if isinstance(found, NotScheduled):
            raise RuntimeError(f"{options}: {found.message}")
        costs = costs_of(case, found)
        plain = {"terms": asdict(costs.terms), "work": asdict(costs.work), "moved_before": costs.moved_before}
        yield options, {**json.loads(json.dumps(plain)), "processor_s": round(found.processor_s, 2)}


def fitted() -> Calibration:
    """The factors of the rows that are marked for it, and the errors of the others."""
    marked = [row for row in read_rows() if "fit" in row.marks]
    matmul, routed = fit([_parts(row) for row in marked], [row.time_s for row in marked])
    none = Accuracy(rows=0, rank_correlation=0.0, median_error=0.0, inside=0)
    found = Calibration(
        name="three rows of one v5p chip in the published logbooks",
        model=MODEL,
        libtpu=kept()["libtpu"],
        device_kind=TARGET.device_kind,
        matmul_factor=round(matmul, 4),
        routed_factor=round(routed, 4),
        low=1.0,
        high=1.0,
        shortest=0.0,
        most_sent=1.0,
        published=none,
        command=none,
        without_move=0.0,
    )
    some = compared(scored_rows(unseen=True), "published", found)
    low, high = likely(some)
    found = replace(
        found,
        low=math.floor(1e3 * low) / 1e3,
        high=math.ceil(1e3 * high) / 1e3,
        shortest=math.floor(1e4 * min(one.estimate_s for one in some)) / 1e4,
        most_sent=math.ceil(1e3 * max(one.said.terms["send"] / one.estimate_s for one in some)) / 1e3,
    )
    rows = scored_rows(unseen=True)
    return replace(
        found,
        published=errors(compared(rows, "published", found)).accuracy,
        command=errors(compared(rows, "command", found)).accuracy,
        without_move=round(errors(without_move(some)).median, 4),
    )


def _parts(row: SeedRow) -> Seconds:
    costs, rates = costs_of_row(row, "published"), slice_rates(TARGET)
    assert rates is not None
    return seconds(costs.terms, rates, moved_before=costs.moved_before)


def fit(parts: Sequence[Seconds], measured_s: Sequence[float]) -> tuple[float, float]:
    """The two factors with the least squares of relative errors."""
    xx = xy = yy = xt = yt = 0.0
    for part, time_s in zip(parts, measured_s, strict=True):
        x, y, t = part.matmul / time_s, part.routed / time_s, 1 - part.unscaled / time_s
        xx, xy, yy, xt, yt = xx + x * x, xy + x * y, yy + y * y, xt + x * t, yt + y * t
    area = xx * yy - xy * xy
    return (xt * yy - yt * xy) / area, (yt * xx - xt * xy) / area


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--document", action="store_true")
    options = parser.parse_args()
    if options.compile:
        compile_all()
    if options.fit:
        CALIBRATION.write_text(json.dumps(asdict(fitted()), indent=2) + "\n", encoding="utf-8")
    text = tables(calibration())
    if options.document:
        DOCUMENT.write_text(document_with(DOCUMENT.read_text(encoding="utf-8"), text), encoding="utf-8")
    if not (options.compile or options.fit or options.document):
        print(text)


if __name__ == "__main__":
    main()
