"""The measured rows of the published logbooks, and what is kept of their programs as the compiler scheduled them."""

import csv
import functools
import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench_core.accounting import count_flops
from bench_core.accounting.chips import Arithmetic
from bench_core.accounting.prediction import Prediction
from bench_core.accounting.roofline import Work
from bench_core.aot.targets import choose_target
from bench_core.cli import hillclimb
from bench_core.cli.flags import read_words
from bench_core.harness.case import Case
from bench_core.predict.model import Calibration, calibration
from bench_core.predict.predicting import Costs, Predictor
from bench_core.predict.scheduled import PUBLISHED_TILE
from bench_core.predict.terms import Terms

DATA = Path(__file__).parents[1] / "tests/contract/bench_core/data"
ROWS, COSTS = DATA / "seed_measured.tsv", DATA / "seed_costs.json"
TARGET = choose_target("v5p-8")
FORMS = ("command", "published")
"""Of a program: as `bench-core predict` compiles it, and with `--published`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedRow:
    """One measured number. `source` is file:line; `marks` say what kind of row it is:

    one        one chip, though four were visible
    ep         expert parallelism over four chips, with the dispatch of 14:22 and later
    null       with null routing
    vmem       run with a larger limit of scoped VMEM, which changes no schedule
    fit        one of the three rows on which the factors are fitted
    dp_study   of the study of data against expert parallelism, with the path
    """

    source: str
    marks: frozenset[str]
    options: str
    metric: str
    value: float

    @property
    def case(self) -> Case:
        return case_of(self.options)

    @property
    def time_s(self) -> float:
        """Seconds of a call: tokens over tokens/s, or FLOPs, by the formula of `accounting.flops`, over TF/s."""
        case = self.case
        if self.metric == "tokens_per_s":
            return case.shape.tokens / self.value
        return count_flops(case.shape, case.bench_pass).total / (self.value * 1e12)


@functools.cache
def case_of(options: str) -> Case:
    """The case of a row, on the four chips of a v5p-8."""
    return hillclimb.read_request(read_words(hillclimb.command, shlex.split(options))).cases[0].over(TARGET.devices)


@functools.cache
def config_of(options: str) -> Mapping[str, Any]:
    """What the row of that case reports of it."""
    return case_of(options).config()


def case_in_form(options: str, form: str) -> Case:
    """The case of a row as `bench-core predict` has it; published programs have a tile of their own."""
    case = case_of(options)
    return replace(case, tile=PUBLISHED_TILE) if form == "published" and case.backend == "gmm" else case


@functools.cache
def read_rows() -> tuple[SeedRow, ...]:
    with ROWS.open(encoding="utf-8", newline="") as stream:
        return tuple(
            SeedRow(
                source=row["source"],
                marks=frozenset(row["marks"].split()),
                options=row["options"],
                metric=row["metric"],
                value=float(row["value"]),
            )
            for row in csv.DictReader(stream, delimiter="\t")
        )


def options_of(form: str) -> list[str]:
    """Those of every distinct program. The study of data parallelism says nothing of its code: it has no published
    form."""
    rows = (row for row in read_rows() if form == "command" or "dp_study" not in row.marks)
    return list(dict.fromkeys(row.options for row in rows))


@functools.cache
def kept() -> Mapping[str, Any]:
    """The document of `seed_costs.json`."""
    document: Mapping[str, Any] = json.loads(COSTS.read_text(encoding="utf-8"))
    return document


def costs_of_row(row: SeedRow, form: str) -> Costs:
    """The costs of a row's program."""
    return read_costs(kept()[form][row.options], kept()["libtpu"])


def read_costs(document: Mapping[str, Any], libtpu: str) -> Costs:
    terms, work = dict(document["terms"]), dict(document["work"])
    for name in ("sent_bytes", "hidden_bytes"):
        terms[name] = {int(group): size for group, size in terms[name].items()}
    terms["unknown"] = tuple(terms["unknown"])
    work["arithmetic"] = Arithmetic(work["arithmetic"])
    return Costs(
        terms=Terms(**terms),
        work=Work(**work),
        moved_before=document["moved_before"],
        vmem="not checked",
        libtpu=libtpu,
    )


def predicted(row: SeedRow, form: str, fitted: Calibration | None = None) -> Prediction:
    """What `bench-core predict` says of a row's case."""
    predictor = Predictor(target=TARGET, calibration=fitted or calibration(), published=form == "published")
    return predictor.of(case_in_form(row.options, form), costs_of_row(row, form))
