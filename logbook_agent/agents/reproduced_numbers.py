"""A run beside its record: whether each number came again, against the noise of the runs that the record has of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal

from logbook_agent.findings.case_repeats import repeats
from logbook_agent.findings.cases import Case, cases, value_of
from logbook_agent.findings.comparison.words import percent, signed
from logbook_agent.findings.identity import COMMAND, residue
from logbook_agent.model.codec import encode
from logbook_agent.model.comparison import MINIMUM_EFFECT
from logbook_agent.model.record import Record, RunStatus
from logbook_agent.model.run import Exit, Run
from logbook_agent.model.stats import median, noise_floor
from logbook_agent.model.units import with_unit
from logbook_agent.model.values import Scalar, is_digest_name
from logbook_agent.text.phrases import counted, listed
from logbook_agent.text.shell_words import assignments

ReproductionOutcome = Literal["reproduced", "differs", "cannot"]
_FINISHED = "finished"
# A change of so many standard deviations of the recorded runs is more than their noise.
_DEVIATIONS = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReproducedNumber:
    """A metric of a case: what is `recorded`, how many `runs` of the record repeat it, and the `value` that came now.
    `change` is a fraction, `scatter` the standard deviation of the logs of the recorded runs; None: not known."""

    metric: str
    unit: str | None
    case: dict[str, Scalar]
    recorded: float
    runs: int
    value: float
    change: float | None
    scatter: float | None

    @property
    def limit(self) -> float:
        """The largest change that counts as none: 1%, or three times the scatter where that is more."""
        return max(MINIMUM_EFFECT, _DEVIATIONS * (self.scatter or 0.0))

    @property
    def is_same(self) -> bool:
        if self.change is None:
            return self.value == self.recorded
        return abs(math.log1p(self.change)) <= math.log1p(self.limit)

    @property
    def text(self) -> str:
        """`tflops topk=2: 12.5 TF/s, in the record 12.4 TF/s (+0.8%; 3 runs scatter by 0.5%)`."""
        (now, before), unit = with_unit([self.value, self.recorded], self.unit, self.metric)
        of = f" {unit}" if unit else ""
        case = f" {assignments(self.case)}" if self.case else ""
        noise = "the noise of 1 run is not known" if self.runs == 1 else f"{self.runs} runs"
        noise += f" scatter by {percent(self.scatter)}%" if self.scatter is not None else ""
        return f"{self.metric}{case}: {now}{of}, in the record {before}{of} ({signed(self.change)}; {noise})"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReproducedLabel:
    """A label of a case that has another value now."""

    label: str
    case: dict[str, Scalar]
    recorded: str | None
    value: str | None

    @property
    def text(self) -> str:
        case = f" {assignments(self.case)}" if self.case else ""
        return f"{self.label}{case}: {self.value or 'not reported'}, in the record {self.recorded or 'not reported'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """What came of making a run again. `missing` says why it could not be made, or is not like its record; `differs` in
    what it is other."""

    entry: str
    run: int
    outcome: ReproductionOutcome
    numbers: tuple[ReproducedNumber, ...] = ()
    labels: tuple[ReproducedLabel, ...] = ()
    missing: tuple[str, ...] = ()
    differs: tuple[str, ...] = ()

    def data(self) -> dict[str, object]:
        return {
            "id": self.entry,
            "run": encode(self.run),
            "outcome": self.outcome,
            "missing": list(self.missing),
            "differs": list(self.differs),
            "numbers": [
                {
                    "metric": n.metric,
                    "unit": n.unit,
                    "case": n.case,
                    "recorded": n.recorded,
                    "runs": n.runs,
                    "value": n.value,
                    "change": n.change,
                    "scatter": n.scatter,
                    "same": n.is_same,
                }
                for n in self.numbers
            ],
            "labels": [asdict(label) for label in self.labels],
        }

    def lines(self) -> list[str]:
        """The outcome, then a line for each reason and number."""
        said = {"reproduced": "reproduced", "differs": "differs from its record", "cannot": "cannot be reproduced here"}
        head = f"{self.entry}/{self.run}: {said[self.outcome]}"
        reasons = [*(f"missing: {text}" for text in self.missing), *self.differs]
        values = [*(number.text for number in self.numbers), *(label.text for label in self.labels)]
        return [head, *(f"  {text}" for text in (*reasons, *values))]


def held_against(record: Record, recorded: Run, made: Run, *, primary: Sequence[str], alone: bool) -> Reproduction:
    """The run that was `made` beside its record, like for like; `primary` metrics come first. It is compared with the
    median of the recorded runs that repeat it, or with the recorded run `alone`."""
    differs = []
    if _end(made.exit) != _end(recorded.exit):
        differs.append(f"it ended with {_end(made.exit)}, in the record with {_end(recorded.exit)}")
    before = [c for c in cases(record) if c.state in (_FINISHED, None) or c.run == recorded.run]
    # Numbered apart from the recorded ones.
    number = max(status.run.run for status in record.runs) + 1
    state = next(status.state for status in record.runs if status.run.run == recorded.run)
    status = RunStatus(run=replace(made, run=number), state=state)
    after = cases(Record(entry=record.entry, runs=(status,), state=record.state))
    numbers: list[ReproducedNumber] = []
    labels: list[ReproducedLabel] = []
    matched = 0
    for group in repeats([*before, *after]):
        mine = [c for c in group.cases if c.run == number]
        own = [c for c in group.cases if c.run == recorded.run]
        if mine and own:
            matched += 1
            others = [c for c in group.cases if c.run != number]
            numbers += _numbers(own if alone else others, mine, noise=others)
            labels += _labels(own[0], mine[0], others)
    order = {name: place for place, name in enumerate(primary)}
    numbers.sort(key=lambda n: order.get(n.metric, len(order)))
    own_rows = [c for c in before if c.run == recorded.run]
    missing: list[str] = []
    if matched < len(own_rows) or len(after) != len(own_rows):
        missing, more = _unmatched(own_rows, after)
        differs += more
    differs += [f"{n.metric} is not the same" for n in numbers if not n.is_same]
    differs += [f"{one.label} is not the same" for one in labels if is_digest_name(one.label)]
    outcome: ReproductionOutcome = "cannot" if missing else "differs" if differs else "reproduced"
    return Reproduction(
        entry=record.id,
        run=recorded.run,
        outcome=outcome,
        numbers=tuple(numbers),
        labels=tuple(labels),
        missing=tuple(missing),
        differs=tuple(differs),
    )


def _end(end: Exit | None) -> str:
    if end is None:
        return "no end"
    if end.stalled:
        return "silence"
    return "its time limit" if end.timeout else f"signal {end.signal}" if end.signal else f"exit code {end.code}"


def _unmatched(own: Sequence[Case], after: Sequence[Case]) -> tuple[list[str], list[str]]:
    """Why rows have no partner: facts of the machine that differ, and what else does."""
    if not after or not own or len(own) != len(after):
        return [], [f"it reported {counted(len(after), 'row')}, in the record {len(own)}"]
    found, known = residue([*own, *after]), {name for case in (*own, *after) for name in case.row.config}
    config = [name for name in found if name in known]
    facts = [name for name in found if name not in known and name != COMMAND]
    said = [f"its rows differ from the recorded ones in {listed(config or ['their order'], 4)}"]
    return [f"{name}: not that of the record" for name in facts], said if config or not facts else []


def _labels(own: Case, made: Case, recorded: Sequence[Case]) -> list[ReproducedLabel]:
    """The labels that are other now, but for those that vary from run to run in the record, too."""
    before, now = own.row.labels, made.row.labels
    return [
        ReproducedLabel(label=name, case=dict(own.row.config), recorded=before.get(name), value=now.get(name))
        for name in dict.fromkeys((*before, *now))
        if before.get(name) != now.get(name) and len({c.row.labels.get(name) for c in recorded}) == 1
    ]


def _numbers(recorded: Sequence[Case], made: Sequence[Case], *, noise: Sequence[Case]) -> list[ReproducedNumber]:
    row = recorded[0].row
    found = []
    for name in row.metrics:
        values = [v for c in recorded if (v := value_of(c.row, name)) is not None]
        scatter = [v for c in noise if (v := value_of(c.row, name)) is not None]
        now = [v for c in made if (v := value_of(c.row, name)) is not None]
        if values and now:
            before, value = median(values), median(now)
            found.append(
                ReproducedNumber(
                    metric=name,
                    unit=row.metrics[name].unit,
                    case=dict(row.config),
                    recorded=before,
                    runs=len(scatter),
                    value=value,
                    change=value / before - 1 if before > 0 < value and math.isfinite(value / before) else None,
                    scatter=noise_floor([[v] for v in scatter]),
                )
            )
    return found
