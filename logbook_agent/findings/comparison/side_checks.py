"""What the two sides of a pair must agree in, and what tells them apart beside their metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from logbook_agent.findings.comparison.answer import EntrySeries
from logbook_agent.model.gates import GATE, SAME, Gate, values_of
from logbook_agent.model.run import Row, Run
from logbook_agent.model.values import Scalar, is_digest_name
from logbook_agent.text.phrases import listed

_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class PairRows:
    """A row of the base and its partner of the other side, with their runs. `at`: conditions, side, case, and what
    tells the row from the others of its run; `config` is what both report but the axis."""

    at: tuple[tuple[tuple[str, str], ...], str, str, str]
    runs: tuple[Run, Run]
    rows: tuple[Row, Row]
    config: Mapping[str, Scalar]


def void_gates(found: Sequence[PairRows], gates: Sequence[Gate]) -> dict[tuple[Gate, tuple[str, str]], str]:
    """The gates that ask for the same value, by the cases in which the base's own runs disagree, with what is said."""
    void = {}
    for gate in (gate for gate in gates if gate.op == SAME):
        said: dict[tuple[str, str], dict[str, None]] = {}
        for one in found:
            said.setdefault(one.at[2:], {}).update(dict.fromkeys(values_of(one.rows[0], gate.name)))
        for case, values in said.items():
            if len(values) > 1:
                void[gate, case] = f"gate {gate} is void: runs of the base have {listed([*values], _SHOWN)}"
    return void


def broken_gate(one: PairRows, gates: Sequence[Gate]) -> str:
    """Which gate the other side breaks by another value than that of the base; empty where it breaks none."""
    for gate in (gate for gate in gates if gate.op == SAME):
        base, other = ({*values_of(row, gate.name)} for row in one.rows)
        if base != other:
            said = f"it is {listed(sorted(other), _SHOWN)}, not {listed(sorted(base), _SHOWN)}"
            return f"{GATE} {gate}: {said if base and other else 'it is not reported'}"
    return ""


def report(series: EntrySeries, one: PairRows) -> None:
    """Note what is wrong with the runs, the labels that name an output, the numbers that nobody declared, and the
    metrics without a ratio."""
    series.reports += 1
    notes = dict.fromkeys((*series.cautions, *(str(p) for run in one.runs for p in run.problems)))
    series.cautions = [*notes][:_SHOWN]
    base, other = one.rows
    names = [name for name in base.labels if is_digest_name(name)] + [*base.observations]
    names += [n for n in base.metrics if any(n in row.metrics and min(row.metrics[n].samples) <= 0 for row in one.rows)]
    for name in dict.fromkeys(names):
        mine, theirs = values_of(base, name), values_of(other, name)
        if mine and theirs:
            series.report(name, mine[0], theirs[0])
