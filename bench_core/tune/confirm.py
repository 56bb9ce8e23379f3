"""Hold the fastest candidate against the default in fresh processes: what won may only have been lucky."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench_core.harness.case import Case
from bench_core.harness.record import RESULT_FILE_VARIABLE
from bench_core.studies.ratios import Ratio
from bench_core.tune.candidates import Candidate, times_as_fast, words_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """How many times as fast as the default a candidate was, in each process. `problem`: why one does not say."""

    ratios: tuple[Ratio, ...]
    problem: str | None = None

    @property
    def holds(self) -> bool:
        """Every process says that the candidate is faster."""
        return self.problem is None and bool(self.ratios) and all(one.side > 0 for one in self.ratios)

    @property
    def together(self) -> Ratio | None:
        """The median of the ratios, and an interval that holds the intervals of all; None without ratios."""
        if not self.ratios:
            return None
        lows, highs = [one.low for one in self.ratios], [one.high for one in self.ratios]
        known = not (None in lows or None in highs)
        return Ratio(
            value=statistics.median(one.value for one in self.ratios),
            low=min(low for low in lows if low is not None) if known else None,
            high=max(high for high in highs if high is not None) if known else None,
        )


def command_of(case: Case, grid: Sequence[Candidate], *, seed: int) -> list[str]:
    """The words behind `bench-core` that time these candidates beside the default, name none and keep nothing."""
    words = ["tune", *words_of(case), "--rounds", str(case.iters), "--warmup", str(case.warmup)]
    for candidate in grid:
        words += ["--grid", str(candidate)]
    return [*words, "--no-prune", "--confirm", "0", "--order-seed", str(seed)]


def confirm(case: Case, candidate: Candidate, *, processes: int, seed: int) -> Confirmation:
    """Time the candidate against the default in so many processes, one after another, each with an order of its own."""
    found: list[Ratio] = []
    for number in range(1, processes + 1):
        outcome = _fresh(command_of(case, [candidate], seed=seed + number))
        if isinstance(outcome, str):
            return Confirmation(ratios=tuple(found), problem=outcome)
        found.append(outcome)
    return Confirmation(ratios=tuple(found))


def _fresh(words: list[str]) -> Ratio | str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.json"
        environment = os.environ | {RESULT_FILE_VARIABLE: str(path)}
        command = [sys.executable, "-m", "bench_core", *words]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        rows = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else []
    failed = [row["failed"]["message"] for row in rows if "failed" in row]
    if done.returncode or failed or len(rows) != 2:
        said = failed or done.stderr.strip().splitlines()[-3:]
        return f"a fresh process ended with exit code {done.returncode}: {' '.join(said)}"
    default, other = (row["metrics"]["time_s"]["samples"] for row in rows)
    return times_as_fast(default, other)
