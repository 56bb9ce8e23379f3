"""The measured rows of the published logbooks, and the terms of their programs as the compiler gave them."""

import csv
import functools
import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench_core.accounting import count_flops
from bench_core.cli import hillclimb
from bench_core.cli.flags import read_words
from bench_core.harness.case import Case
from bench_core.predict.model import Seconds, seconds
from bench_core.predict.slice import SliceRates
from bench_core.predict.terms import Terms

DATA = Path(__file__).parent / "data"
ROWS, TERMS = DATA / "seed_measured.tsv", DATA / "seed_terms.json"
TARGET = "v5p-8"


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
    return hillclimb.read_request(read_words(hillclimb.command, shlex.split(options))).cases[0].over(4)


def read_rows() -> list[SeedRow]:
    with ROWS.open(encoding="utf-8", newline="") as stream:
        return [
            SeedRow(
                source=row["source"],
                marks=frozenset(row["marks"].split()),
                options=row["options"],
                metric=row["metric"],
                value=float(row["value"]),
            )
            for row in csv.DictReader(stream, delimiter="\t")
        ]


def read_terms() -> Mapping[str, Any]:
    """The document of `seed_terms.json`."""
    document: Mapping[str, Any] = json.loads(TERMS.read_text(encoding="utf-8"))
    return document


def parts_of(document: Mapping[str, Any], row: SeedRow, rates: SliceRates) -> Seconds:
    """The parts of a row's estimate."""
    return seconds(terms_of_row(document, row), rates, moved_before=document["programs"][row.options]["moved_before"])


def terms_of_row(document: Mapping[str, Any], row: SeedRow) -> Terms:
    """The terms of a row's program."""
    return Terms.of_json(document["programs"][row.options]["terms"])
