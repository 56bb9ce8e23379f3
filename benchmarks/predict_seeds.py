"""The measured rows of the published logbooks against the model of `bench-core predict`.

    python benchmarks/predict_seeds.py --compile          schedule every distinct program and keep its terms
    python benchmarks/predict_seeds.py --fit              write the calibration that comes with bench_core
    python benchmarks/predict_seeds.py --document         write the tables of docs/explanation/prediction.md
    python benchmarks/predict_seeds.py                    print these tables

`make predict-seeds` does all of it (ten minutes). The rows are in tests/bench_core/data/seed_measured.tsv, each with
its place. Their programs are those of `seed_programs`; the study of data against expert parallelism says nothing of its
code, so the programs of `bench-core compare` stand for it, with the same tiles.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

from bench_core.aot.targets import choose_target
from bench_core.gmm.tile import Tile
from bench_core.harness.case import Case
from bench_core.predict.calibration import UNKNOWN, Calibration, fit, seeds
from bench_core.predict.model import MODEL
from bench_core.predict.scheduled import LOWER, NotScheduled, schedule
from bench_core.predict.slice import slice_rates
from bench_core.predict.terms import terms_of

ROOT = Path(__file__).resolve().parents[1]
sys.path += [str(ROOT / "tests" / "bench_core"), str(ROOT / "benchmarks")]
# The process that compiles imports `seed_programs`.
os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "benchmarks")])

from seed_errors import compare_rows, likely, unseen  # noqa: E402
from seed_rows import TARGET, TERMS, SeedRow, case_of, parts_of, read_rows, read_terms  # noqa: E402
from seed_tables import document_with, tables  # noqa: E402

DOCUMENT = ROOT / "docs" / "explanation" / "prediction.md"
CALIBRATION = ROOT / "bench_core" / "predict" / "seeds.json"
SEED_TILE = Tile(m=512, k=1024, n=1024)


def compile_all(rows: list[SeedRow]) -> None:
    """Keep the terms of every distinct program, by the options of its case. All are compiled again each time: terms
    that an older reader of programs found must not stand beside those of today's."""
    versions = {"libtpu": metadata.version("libtpu"), "jax": metadata.version("jax")}
    every = list(dict.fromkeys(row.options for row in rows))
    programs: dict[str, Any] = {}
    for options, program in terms_again(every):
        programs[options] = program
        print(f"{len(programs)} of {len(every)}: {program['processor_s']} processor-seconds, {options}", flush=True)
    TERMS.write_text(json.dumps({**versions, "programs": programs}, indent=1) + "\n", encoding="utf-8")


def terms_again(wanted: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The options of each case, and what is kept of its program."""
    import seed_programs

    studies = {row.options for row in read_rows() if "dp_study" in row.marks}
    for lower in ("seed_programs:lower_seed", LOWER):
        own = [options for options in wanted if (options in studies) == (lower == LOWER)]
        cases = [_with_tile(case_of(options)) for options in own]
        found = schedule(cases, choose_target(TARGET), lower=lower)
        for options, case, outcome in zip(own, cases, found, strict=True):
            if isinstance(outcome, NotScheduled):
                raise RuntimeError(f"{options}: {outcome.message}")
            terms = terms_of(outcome.hlo, buffer_bytes=outcome.buffer_bytes, tile=case.tile)
            moved = 0 if lower == LOWER else seed_programs.moved_bytes(case)
            plain = json.loads(json.dumps(terms.json()))
            yield options, {"terms": plain, "moved_before": moved, "processor_s": round(outcome.processor_s, 2)}


def _with_tile(case: Case) -> Case:
    return replace(case, tile=SEED_TILE) if case.backend == "gmm" else case


def fitted(rows: list[SeedRow]) -> Calibration:
    """The factors of the rows that are marked for it, and the range of the errors of the others."""
    document, rates = read_terms(), slice_rates(choose_target(TARGET))
    assert rates is not None
    marked = [row for row in rows if "fit" in row.marks]
    matmul, routed = fit([parts_of(document, row, rates) for row in marked], [row.time_s for row in marked])
    found = Calibration(
        name="the published logbooks (3 rows of one v5p chip, libtpu unknown)",
        model=MODEL,
        libtpu=document["libtpu"],
        measured_with=UNKNOWN,
        device_kind=choose_target(TARGET).device_kind,
        constants=rates.constants(),
        matmul_factor=round(matmul, 4),
        routed_factor=round(routed, 4),
        low=1.0,
        high=1.0,
        range_of="",
        shortest=0.0,
        most_sent=1.0,
        tiles=(str(SEED_TILE),),
        rows=tuple(f"{row.source}: {row.time_s:.6g} s" for row in marked),
    )
    compared = compare_rows(unseen(rows), document, found, rates)
    low, high = likely(compared)
    return replace(
        found,
        low=round(low, 3),
        high=round(high, 3),
        range_of=f"{len(compared)} rows of the same logbooks",
        shortest=round(min(one.time_s for one in compared), 4),
        most_sent=round(max(one.send_s / one.estimate_s for one in compared), 3),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--document", action="store_true")
    options = parser.parse_args()
    rows = read_rows()
    if options.compile:
        compile_all(rows)
    rates = slice_rates(choose_target(TARGET))
    assert rates is not None
    if options.fit:
        CALIBRATION.write_text(json.dumps(fitted(rows).json(), indent=2) + "\n", encoding="utf-8")
    if options.document:
        text = tables(rows, read_terms(), seeds(), rates)
        DOCUMENT.write_text(document_with(DOCUMENT.read_text(encoding="utf-8"), text), encoding="utf-8")
    if not (options.compile or options.fit or options.document):
        print(tables(rows, read_terms(), seeds(), rates))


if __name__ == "__main__":
    main()
