"""The answer of an entry from its pairs: what counts, what replicates it, and what stands beside it."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import pytest

from logbook_agent.findings.comparison.answer import Answer, EntryPairs, Finding, Outcome
from logbook_agent.findings.comparison.answers import answer_for
from logbook_agent.model.comparison import Design
from logbook_agent.model.header import Metric

METRICS = (Metric(name="time_ms", direction="min", unit="ms"),)


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
    plain = {"side": "new", "config": {}, "metric": "time_ms", "unit": "ms", "case": "", "name": ""}
    rest = {"direction": "min", "cautions": [], "pairs": made, "left_out": {}, "finished": pairs // 10}
    return {**plain, **rest, **more}


def judged(*of: Any) -> tuple[Answer, Sequence[Finding]]:
    """The answer of an entry with these series."""
    asked = {"axis": "variant", "base": "old", "sides": ["new"], "metrics": [one["metric"] for one in of]}
    stated = {"entry": "D-001", "question": asked, "fixed": 0, "asks": "a", "is_void": False, "series": [*of]}
    one = EntryPairs.of(stated)
    answer = answer_for(one, [one], METRICS)
    return answer, answer.findings


def sittings(first: Any, second: Any) -> Any:
    """A series whose first blocks were made in one sitting, and the others in a later one."""
    done = first["finished"]
    later = [[*pair[:5], pair[5] + done] for pair in second["pairs"]]
    return first | {"pairs": [*first["pairs"], *later], "finished": done + second["finished"]}


def test_a_settled_answer_stays_and_a_later_sitting_replicates_or_contradicts_it() -> None:
    first = series(10, -0.05)
    _, [settled] = judged(first)
    assert settled.is_replicated is None
    for effect, confidence, reason in (
        (-0.05, "replicated", "settled in two sittings"),
        (0.05, "exploratory", "a second sitting settled it otherwise"),
        (0.0, "exploratory", "settled in one sitting"),
    ):
        second = series(10, effect, seed=3, start=60, noise=0.01 if effect else 0.2)
        answer, [finding] = judged(sittings(first, second))
        assert (answer.confidence, answer.reasons, answer.sittings) == (confidence, (reason,), 2)
        assert (finding.outcome, finding.change, finding.low) == (settled.outcome, settled.change, settled.low)


def test_a_block_that_two_sittings_share_belongs_to_neither() -> None:
    first, second = series(14, -0.05), series(16, -0.05, seed=3, start=60)
    pairs = [*first["pairs"], *([*p[:5], (14 + at) // 10] for at, p in enumerate(second["pairs"]))]
    answer, [finding] = judged(first | {"pairs": pairs, "finished": 3})
    assert (finding.pairs, answer.sittings, answer.confidence) == (30, 2, "replicated")
    pairs = [[*p[:5], at // 10] for at, p in enumerate([*first["pairs"][:5], *second["pairs"][:15]])]
    answer, _ = judged(first | {"pairs": pairs, "finished": 2})
    assert (answer.sittings, answer.reasons) == (2, ("settled in one sitting",))


def test_metrics_of_one_timing_count_once() -> None:
    """A time and its rates change alike, so together they settle as soon as the time alone."""
    one = series(10, -0.05, noise=0.003)
    alike = [one | {"metric": "time_ms"}]
    for name, power in (("tokens_per_s", -1), ("tflops", -1), ("mfu", -1)):
        pairs = [[*p[:3], p[3] ** power, round(p[4] ** power, 5), *p[5:]] for p in one["pairs"]]
        alike.append(one | {"metric": name, "pairs": pairs, "direction": "max"})
    assert [f.outcome for f in judged(*alike)[1]] == [Outcome.BETTER] * 4
    others = [series(10, -0.05, noise=0.003, seed=n, metric=f"m{n}", direction="min") for n in range(4)]
    assert [f.outcome for f in judged(*others)[1]] == [Outcome.OPEN] * 4


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
        _, [finding] = judged(one)
        now = (finding.outcome, finding.change, finding.low, finding.judged)
        assert settled in (None, now)
        settled = now if finding.is_settled else None
