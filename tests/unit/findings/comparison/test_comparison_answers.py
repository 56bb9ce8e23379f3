"""The answer of an entry from its pairs: what counts, what replicates it, and what stands beside it."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import pytest

from logbook_agent.findings.comparison.answer import Finding, Outcome
from logbook_agent.findings.comparison.answers import confidence
from logbook_agent.findings.comparison.judgement import findings
from logbook_agent.findings.comparison.judgement import sittings as sittings_of
from logbook_agent.findings.comparison.metric_series import MetricSeries, ValuePair
from logbook_agent.model.comparison import Design, Question


def minute(at: float) -> str:
    return f"2026-02-10T{int(at) // 60:02d}:{int(at) % 60:02d}:00+00:00"


def series(pairs: int, effect: float, *, seed: int = 1, start: float = 0, noise: float = 0.01, **more: Any) -> Any:
    """A series of pairs one minute apart, of noise with this standard deviation."""
    rng = random.Random(seed)
    made = []
    for number in range(pairs):
        sign = 1 if Design(seed=seed).order_of(number + 1, 2) == [0, 1] else -1
        base, other = (math.exp(rng.gauss(0, noise)) for _ in range(2))
        at = minute(start + number)
        made.append([at, at, sign, base, other * math.exp(effect), number // 10])
    plain = {"metric": "time_ms", "unit": "ms", "direction": "min", "pairs": made, "finished": pairs // 10}
    return {**plain, **more}


def judged(*of: Any) -> tuple[Sequence[Finding], int, str, tuple[str, ...]]:
    """The findings of an entry with these series, its sittings, its confidence and the reasons."""
    asked = Question(axis="variant", base="old", sides=("new",), metrics=tuple(one["metric"] for one in of))
    series = []
    for one in of:
        pairs = sorted((ValuePair(*p, p[5] < one["finished"]) for p in one["pairs"]), key=lambda p: (p.block, p[:2]))
        kept = {name: one[name] for name in ("metric", "unit", "direction")}
        series.append(MetricSeries(side="new", name="", pairs=pairs, **kept))
    found = findings(asked, series, (), 0)
    return found, len(sittings_of(sorted({p[:2] for one in series for p in one.pairs}))), *confidence(found)


def sittings(first: Any, second: Any) -> Any:
    """A series whose first blocks were made in one sitting, and the others in a later one."""
    done = first["finished"]
    later = [[*pair[:5], pair[5] + done] for pair in second["pairs"]]
    return first | {"pairs": [*first["pairs"], *later], "finished": done + second["finished"]}


def test_a_settled_answer_stays_and_a_later_sitting_replicates_or_contradicts_it() -> None:
    first = series(10, -0.05)
    [settled], *_ = judged(first)
    assert settled.is_replicated is None
    for effect, expected, reason in (
        (-0.05, "replicated", "settled in two sittings"),
        (0.05, "exploratory", "a second sitting settled it otherwise"),
        (0.0, "exploratory", "settled in one sitting"),
    ):
        second = series(10, effect, seed=3, start=60, noise=0.01 if effect else 0.2)
        [finding], *found = judged(sittings(first, second))
        assert found == [2, expected, (reason,)]
        assert (finding.outcome, finding.change, finding.low) == (settled.outcome, settled.change, settled.low)


def test_a_block_that_two_sittings_share_belongs_to_neither() -> None:
    first, second = series(14, -0.05), series(16, -0.05, seed=3, start=60)
    pairs = [*first["pairs"], *([*p[:5], (14 + at) // 10] for at, p in enumerate(second["pairs"]))]
    [finding], count, word, _ = judged(first | {"pairs": pairs, "finished": 3})
    assert (finding.pairs, count, word) == (30, 2, "replicated")
    pairs = [[*p[:5], at // 10] for at, p in enumerate([*first["pairs"][:5], *second["pairs"][:15]])]
    _, count, _, reasons = judged(first | {"pairs": pairs, "finished": 2})
    assert (count, reasons) == (2, ("settled in one sitting",))


def test_metrics_of_one_timing_count_once() -> None:
    """A time and its rates change alike, so together they settle as soon as the time alone."""
    one = series(10, -0.05, noise=0.003)
    alike = [one | {"metric": "time_ms"}]
    for name, power in (("tokens_per_s", -1), ("tflops", -1), ("mfu", -1)):
        pairs = [[*p[:3], p[3] ** power, round(p[4] ** power, 5), *p[5:]] for p in one["pairs"]]
        alike.append(one | {"metric": name, "pairs": pairs, "direction": "max"})
    assert [f.outcome for f in judged(*alike)[0]] == [Outcome.BETTER] * 4
    others = [series(10, -0.05, noise=0.003, seed=n, metric=f"m{n}", direction="min") for n in range(4)]
    assert [f.outcome for f in judged(*others)[0]] == [Outcome.OPEN] * 4


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.sample(3)
def test_what_a_coarse_clock_settled_stays_settled(seed: int) -> None:
    rng = random.Random(seed)
    start, made = rng.uniform(1, 2), []
    for number in range(30):
        base, other = (math.ceil(64 * start * math.exp(rng.gauss(effect, 0.05))) / 64 for effect in (0, -0.04))
        made.append([minute(number), minute(number), rng.choice((-1, 1)), base, other, number // 10])
    settled = None
    for count in (10, 20, 30):
        one = series(0, 0, unit="s") | {"pairs": made[:count], "finished": count // 10}
        [finding], *_ = judged(one)
        now = (finding.outcome, finding.change, finding.low, finding.judged)
        assert settled in (None, now)
        settled = now if finding.is_settled else None
