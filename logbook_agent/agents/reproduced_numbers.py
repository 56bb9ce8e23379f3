"""A run that was made again, compared with its record against the noise of the recorded runs that repeat it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct, structs, to_builtins

from logbook_agent.findings.case_repeats import repeats
from logbook_agent.findings.cases import Case, cases, value_of
from logbook_agent.findings.comparison.words import percent, signed
from logbook_agent.findings.identity import COMMAND, residue
from logbook_agent.model.comparison import MINIMUM_EFFECT
from logbook_agent.model.record import Record, RunStatus
from logbook_agent.model.run import Run
from logbook_agent.model.stats import median, noise_floor
from logbook_agent.model.units import with_unit
from logbook_agent.model.values import Scalar, is_digest_name
from logbook_agent.model.worker_report import Exit
from logbook_agent.text.phrases import assignments, counted, listed

_FINISHED = "finished"
# A change of so many standard deviations of the recorded runs is more than their noise.
_DEVIATIONS = 3.0


class ReproducedNumber(Struct, frozen=True, kw_only=True):
    """A metric of a case: what is `recorded`, how many `runs` of the record repeat it, the `value` that came now, and
    whether it is the `same`. `change` is a fraction, `scatter` the standard deviation of the logs of the recorded runs;
    None: not known."""

    metric: str
    unit: str | None
    case: dict[str, Scalar]
    recorded: float
    runs: int
    value: float
    change: float | None
    scatter: float | None
    same: bool

    @property
    def text(self) -> str:
        """`tflops topk=2: 12.5 TF/s, in the record 12.4 TF/s (+0.8%; 3 runs scatter by 0.5%)`."""
        (now, before), unit = with_unit([self.value, self.recorded], self.unit, self.metric)
        of = f" {unit}" if unit else ""
        noise = "the noise of 1 run is not known" if self.runs == 1 else f"{self.runs} runs"
        noise += f" scatter by {percent(self.scatter)}%" if self.scatter is not None else ""
        name = " ".join([self.metric, *filter(None, [assignments(self.case)])])
        return f"{name}: {now}{of}, in the record {before}{of} ({signed(self.change)}; {noise})"


class ReproducedLabel(Struct, frozen=True, kw_only=True):
    """A label of a case that has another value now."""

    label: str
    case: dict[str, Scalar]
    recorded: str | None
    value: str | None

    @property
    def text(self) -> str:
        name = " ".join([self.label, *filter(None, [assignments(self.case)])])
        return f"{name}: {self.value or 'not reported'}, in the record {self.recorded or 'not reported'}"


class Reproduction(Struct, frozen=True, kw_only=True):
    """Whether a run came again. `missing` says why it could not be made, or is not like its record; `differs` in what
    it is other."""

    id: str
    run: int
    outcome: Literal["reproduced", "differs", "cannot"]
    missing: tuple[str, ...] = ()
    differs: tuple[str, ...] = ()
    numbers: tuple[ReproducedNumber, ...] = ()
    labels: tuple[ReproducedLabel, ...] = ()

    def data(self) -> dict[str, object]:
        return dict(to_builtins(self, enc_hook=str))

    def lines(self) -> list[str]:
        """The outcome, then a line for each reason and number."""
        said = {"reproduced": "reproduced", "differs": "differs from its record", "cannot": "cannot be reproduced here"}
        reasons = [*(f"missing: {text}" for text in self.missing), *self.differs]
        values = [*(number.text for number in self.numbers), *(label.text for label in self.labels)]
        return [f"{self.id}/{self.run}: {said[self.outcome]}", *(f"  {text}" for text in (*reasons, *values))]


def held_against(record: Record, recorded: Run, made: Run, *, primary: Sequence[str], alone: bool) -> Reproduction:
    """The run that was `made`, compared like for like; `primary` metrics come first. It is compared with the median of
    the recorded runs that repeat it, or with the `recorded` run `alone`."""
    # Numbered apart from the recorded ones.
    number = max(status.run.run for status in record.runs) + 1
    state = next(status.state for status in record.runs if status.run.run == recorded.run)
    status = RunStatus(run=structs.replace(made, run=number), state=state)
    after = cases(Record(entry=record.entry, runs=(status,), state=record.state))
    before = [c for c in cases(record) if c.state in (_FINISHED, None) or c.run == recorded.run]
    own_rows = [c for c in before if c.run == recorded.run]
    numbers, labels, matched = list[ReproducedNumber](), list[ReproducedLabel](), 0
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
    differs = [
        *_ends(made.exit, recorded.exit),
        *([] if matched == len(own_rows) == len(after) else [_unmatched(own_rows, after)]),
        *(f"{n.metric} is not the same" for n in numbers if not n.same),
        *(f"{one.label} is not the same" for one in labels if is_digest_name(one.label)),
    ]
    return Reproduction(
        id=record.id,
        run=recorded.run,
        outcome="differs" if differs else "reproduced",
        differs=tuple(differs),
        numbers=tuple(numbers),
        labels=tuple(labels),
    )


def _ends(made: Exit | None, recorded: Exit | None) -> list[str]:
    """In what the end of a run differs."""

    def end(of: Exit | None) -> str:
        if of is None or of.stalled:
            return "no end" if of is None else "silence"
        return "its time limit" if of.timeout else f"signal {of.signal}" if of.signal else f"exit code {of.code}"

    now, before = end(made), end(recorded)
    return [f"it ended with {now}, in the record with {before}"] if now != before else []


def _unmatched(own: Sequence[Case], after: Sequence[Case]) -> str:
    """Why rows have no partner."""
    if len(own) != len(after):
        return f"it reported {counted(len(after), 'row')}, in the record {len(own)}"
    unlike = [name for name in residue([*own, *after]) if name != COMMAND]
    return f"its rows differ from the recorded ones in {listed(unlike, 4) or 'their order'}"


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
    for name, metric in row.metrics.items():
        values, now, all_values = (
            [v for c in rows if (v := value_of(c.row, name)) is not None] for rows in (recorded, made, noise)
        )
        if not values or not now:
            continue
        before, value, scatter = median(values), median(now), noise_floor([[v] for v in all_values])
        change = value / before - 1 if before > 0 < value and math.isfinite(value / before) else None
        limit = max(MINIMUM_EFFECT, _DEVIATIONS * (scatter or 0.0))
        found.append(
            ReproducedNumber(
                metric=name,
                unit=metric.unit,
                case=dict(row.config),
                recorded=before,
                runs=len(all_values),
                value=value,
                change=change,
                scatter=scatter,
                same=value == before if change is None else abs(math.log1p(change)) <= math.log1p(limit),
            )
        )
    return found
