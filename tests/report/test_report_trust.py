"""The confidence in an entry: from verdicts, from repeats, and as a person states it."""

from __future__ import annotations

import dataclasses

import pytest

from logbook_agent.findings.trust import Trust, trust_of
from logbook_agent.model.entry import Comparison, Confidence, Entry
from logbook_agent.model.header import Metric
from logbook_agent.model.record import Record, record_of
from logbook_agent.model.run import Exit, Measurement, Row, Run

METRICS = (Metric(name="tflops", direction="max"),)
AB = Comparison(references=("X-000",), axis="mode", base_value="old")


BEGAN = "2026-02-10T10:43:00+00:00"
ANOTHER = "in one sitting: another, 10 minutes or more later, may replicate it"


def run(number: int, value: float, *, code: int = 0, sitting: int = 0, **config: object) -> Run:
    """A run of a second or less; sittings are an hour apart."""
    started = f"2026-02-10T{10 + sitting}:43:00+00:00"
    row = Row(config=dict(config), metrics={"tflops": Measurement(samples=(value,))})  # type: ignore[arg-type]
    return Run(
        entry="X-000", run=number, argv=("bench",), started=started, ended=started,
        exit=Exit(code=code), rows=(row,)
    )  # fmt: skip


def record(*runs: Run, **entry: object) -> Record:
    made = Entry(id="X-000", title="t", opened="2026-02-10T10:43:00+00:00", **entry)  # type: ignore[arg-type]
    return record_of(made, runs, lambda _: "gone")


def turns(shape: int, *, first: int, gain: float = 1.06) -> list[Run]:
    """Six pairs AB BA of one shape, the last two in another sitting; the new mode is faster by `gain`."""
    order = ["old", "new", "new", "old"] * 3
    return [
        run(first + n, (100 if mode == "old" else 100 * gain) + n % 3 / 10, sitting=n // 8, mode=mode, tokens=shape)
        for n, mode in enumerate(order)
    ]


def found(record: Record) -> Trust:
    trust = trust_of(record, METRICS)
    assert trust is not None
    return trust


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ([run(1, 5.0)], "exploratory (computed: one run)"),
        ([run(1, 5.0, code=1)], "exploratory (computed: no run finished)"),
        ([run(1, 5.0), run(2, 5.0, code=1)], "exploratory (computed: one run)"),
        ([run(1, 5.0, k=1), run(2, 6.0, k=2)], "exploratory (computed: one run of each case)"),
        (
            [run(n, 5.0 + n % 2 / 50, sitting=n // 2) for n in range(4)],
            "replicated (computed: 4 runs scatter by 0.23%, within the minimum effect (1.00%))",
        ),
        # One sitting, or one run of another, replicates nothing.
        *(
            (
                [run(n, 5.0 + n % 2 / 50, sitting=n // 3 * later) for n in range(4)],
                f"exploratory (computed: 4 runs scatter by 0.23%, within the minimum effect (1.00%), {ANOTHER})",
            )
            for later in (0, 1)
        ),
        (
            [run(1, 5.0), run(2, 6.0)],
            "exploratory (computed: 2 runs scatter by 12.89%, more than the minimum effect (1.00%))",
        ),
        # As sure as the case that is borne out the least.
        (
            [*(run(n, 5.0 + n % 2 / 50, sitting=n // 2, k=1) for n in range(4)), run(4, 7.0, k=2)],
            "exploratory (computed: one run at k=2)",
        ),
        (
            [run(n + 4 * k, 5.0 + n % 2 / 100 * k, sitting=n // 2, k=k) for k in (1, 2) for n in range(4)],
            "replicated (computed: the runs of each of 2 cases agree;"
            " 4 runs at k=2 scatter by 0.23%, within the minimum effect (1.00%))",
        ),
    ],
)
def test_repeats_that_nothing_is_compared_with(runs: list[Run], expected: str) -> None:
    assert found(record(*runs)).text == expected


def test_verdicts_on_the_entrys_own_rows() -> None:
    one = record(*turns(128, first=1), comparisons=(AB,))
    assert found(one).text == "replicated (computed: old → new: beneficial in 6 runs against the base)"
    two = record(*turns(128, first=1), *turns(512, first=13), comparisons=(AB,))
    assert found(two).text == (
        "stable (computed: old → new: it also holds with another shape;"
        " beneficial in 6 runs against the base at tokens=128; beneficial in 6 runs against the base at tokens=512)"
    )
    against = record(*turns(128, first=1), *turns(512, first=13, gain=0.9), comparisons=(AB,))
    assert found(against).word == "replicated"
    assert found(against).reasons[0] == "old → new: the verdict depends on the setting"
    once = [dataclasses.replace(r, started=BEGAN, ended=BEGAN) for r in turns(128, first=1)]
    assert found(record(*once, comparisons=(AB,))).text == (
        f"exploratory (computed: old → new: beneficial in 6 runs against the base, {ANOTHER})"
    )
    few = record(*turns(128, first=1)[:4], comparisons=(AB,))
    assert found(few).text == "exploratory (computed: old → new: 2 runs do not settle a verdict)"
    # With the rows of another entry it is not the entry's own evidence: its repeats are.
    other = record(*turns(128, first=1), comparisons=(dataclasses.replace(AB, references=("X-000", "X-001")),))
    assert found(other).reasons[0] == "the runs of each of 2 cases agree"


@pytest.mark.parametrize(
    ("word", "reason", "expected"),
    [
        ("stable", "seen on three hosts", "stable (stated by hand: seen on three hosts; computed: replicated)"),
        ("stable", None, "stable (stated by hand without a reason; computed: replicated)"),
        ("replicated", None, "replicated (stated by hand; computed: replicated)"),
        ("exploratory", None, "exploratory (stated by hand; computed: replicated)"),
    ],
)
def test_what_a_person_states_counts_and_is_marked(word: Confidence, reason: str | None, expected: str) -> None:
    repeats = [run(n, 5.01, sitting=n // 2) for n in range(4)]
    assert found(record(*repeats, confidence=word, confidence_reason=reason)).text == expected


def test_what_was_printed_too_coarsely_is_no_replication() -> None:
    """0.10 may be 0.096 and 0.104: that four runs print the same says nothing of 1%."""
    repeats = [run(n, 0.10, sitting=n // 2) for n in range(4)]
    said = "4 runs scatter by 0.00%, within the minimum effect (1.00%), but their values come in steps of 100%"
    assert found(record(*repeats)).text == f"exploratory (computed: {said}: print more digits)"


def test_what_claims_nothing_has_none() -> None:
    assert trust_of(record(kind="note"), METRICS) is None
    assert trust_of(record(), METRICS) is None
    assert found(record(kind="decision", confidence="stable")).word == "stable"
