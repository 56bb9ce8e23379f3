"""What the two sides of a pair must agree in, and what tells them apart beside their metrics."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from logbook_agent.findings.comparison.answer import EntrySeries
from logbook_agent.model.comparison import CASE_AXIS
from logbook_agent.model.gates import GATE, Gate, values_of
from logbook_agent.model.run import Row, Run
from logbook_agent.model.values import Scalar, canonical, finite, is_digest_name, parse_scalar
from logbook_agent.text.phrases import listed

_SHOWN = 3
# A longer label is prose.
_WORD_CHARS = 24
# What bench-core says of its own checks, which fail a row, and of the compiled program: it follows from the axis.
_DIAGNOSTIC = re.compile(
    r"max_abs_error|error_ratio|worst_error|worst_tolerance|tolerance|check_worst_output|flops_inflation"
    r"|(?:model_ring|temporary|argument|output|code|device_peak)_bytes\w*|(?:compiled|device_rows)_\w+"
)
# The label by which a benchmark says what its figures cannot tell.
CAUTION = "caution"


class PairRows(NamedTuple):
    """A row of the base and its partner of the other side, with their runs. `at`: side, case, and what tells the row
    from the others of its run; `config` is what both report but the axis."""

    at: tuple[str, str, str]
    runs: tuple[Run, Run]
    rows: tuple[Row, Row]
    config: Mapping[str, Scalar]


def void_gates(found: Sequence[PairRows], gates: Sequence[Gate]) -> dict[tuple[str, ...], dict[Gate, str]]:
    """Of each case the gates that ask for the same value, where the base's own runs disagree, with what is said."""
    said: dict[tuple[str, ...], dict[Gate, dict[str, None]]] = {}
    for one, gate in itertools.product(found, gates):
        of_case = said.setdefault(one.at[1:], {}).setdefault(gate, {})
        of_case.update(dict.fromkeys(values_of(one.rows[0], gate.name)))
    text = "gate {} is void: runs of the base have {}"
    return {
        case: {gate: text.format(gate, listed([*values], _SHOWN)) for gate, values in of.items() if len(values) > 1}
        for case, of in said.items()
    }


def broken_gate(one: PairRows, gates: Sequence[Gate]) -> tuple[str, str] | None:
    """The label in which the other side has another value than the base, with what is said of that gate; None where it
    breaks none."""
    for gate in gates:
        base, other = ({*values_of(row, gate.name)} for row in one.rows)
        if base != other:
            said = f"it is {listed(sorted(other), _SHOWN)}, not {listed(sorted(base), _SHOWN)}"
            return gate.name, f"{GATE} {gate}: {said if base and other else 'it is not reported'}"
    return None


# What a side says of a name that the other side alone reports, and of a metric that it alone reports.
NOT_REPORTED, A_NUMBER = "not reported", "a number"


def report(series: EntrySeries, one: PairRows, facts: Sequence[Mapping[str, str]], axis: str) -> None:
    """Note what is wrong with the runs, and what each side of a pair reports that the other side reports otherwise:
    only what stays so in every pair is kept. `facts` are the circumstances of both runs."""
    notes = dict.fromkeys((*series.cautions, *(str(p) for run in one.runs for p in run.problems)))
    series.cautions = [*notes][:_SHOWN]
    base, other = (_said(run, row, of, axis) for run, row, of in zip(one.runs, one.rows, facts, strict=True))
    for name in {*one.rows[0].metrics, *one.rows[1].metrics}:
        of = [
            (said, row.metrics[name]) for said, row in zip((base, other), one.rows, strict=True) if name in row.metrics
        ]
        for said, m in of:
            # Which number one side alone has says nothing.
            more = {f"the unit of {name}": m.unit or "none", f"the number of samples of {name}": str(len(m.samples))}
            said.update({name: canonical(m.samples[0]), **more} if len(of) > 1 else {name: A_NUMBER})
    names = dict.fromkeys((*base, *other))
    both = {n: [base.get(n, NOT_REPORTED), other.get(n, NOT_REPORTED)] for n in names}
    _keep(series, both, one.rows[0].observations.keys() & one.rows[1].observations.keys())


def report_alone(series: EntrySeries, row: Row, *, is_base: bool) -> None:
    """Note what one side reports of a case that the other side does not have."""
    _keep(series, {name: [A_NUMBER, NOT_REPORTED][:: 1 if is_base else -1] for name in row.metrics})


def _keep(series: EntrySeries, both: Mapping[str, list[str]], numbers: Collection[str] = ()) -> None:
    """Keep what differs between the sides of a pair as in every pair before, and from where to where the counts among
    the `numbers` go."""
    apart = {name: texts for name, texts in both.items() if texts[0] != texts[1]}
    counts = {name: of for name, texts in both.items() if name in numbers and len(of := _counts(texts)) == 2}
    if series.reports == 0:
        series.constants, series.spans = apart, {name: [[n, n] for n in of] for name, of in counts.items()}
    spans = {name: zip(span, counts[name], strict=True) for name, span in series.spans.items() if name in counts}
    series.spans = {name: [[min(*one, n), max(*one, n)] for one, n in of] for name, of in spans.items()}
    for name, (mine, theirs) in [*series.constants.items()]:
        said = apart.get(name)
        if said is not None and said[0] == mine and said[1] != theirs and is_digest_name(name):
            # That the output of the side is another in each run is no excuse.
            series.constants[name] = [mine, "several"]
        elif said != [mine, theirs]:
            del series.constants[name]
    series.reports += 1


def _counts(texts: Sequence[str]) -> list[float]:
    """Those of the texts that are whole numbers."""
    numbers = (finite(parse_scalar(text)) for text in texts)
    return [number for number in numbers if number is not None and number.is_integer()]


def _said(run: Run, row: Row, facts: Mapping[str, str], axis: str) -> dict[str, str]:
    """What a row reports, what matters most first: config, circumstances, labels, numbers that nobody declared,
    where its curves end, and what is wrong with its run. A label in prose is left out."""
    config = {} if axis == CASE_AXIS else {name: value for name, value in row.config.items() if name != axis}
    labels = {n: v for n, v in row.labels.items() if n != CAUTION and (len(v) <= _WORD_CHARS or is_digest_name(n))}
    ends: dict[str, Scalar] = {
        f"the last {c.over} of {c.name}": c.last_step for c in run.curves if c.config.items() <= row.config.items()
    }
    words: dict[str, Scalar] = {**config, **facts, **labels, **row.observations, **ends}
    found = {n: canonical(v) for n, v in words.items() if v is not None and not _DIAGNOSTIC.fullmatch(n)}
    return {**found, **{f'"{problem.text}"': str(problem.grade) for problem in run.problems}}
