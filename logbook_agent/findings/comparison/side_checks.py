"""What the two sides of a pair must agree in, and what tells them apart beside their metrics."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from logbook_agent.findings.comparison.answer import EntrySeries
from logbook_agent.model.gates import GATE, Gate, values_of
from logbook_agent.model.run import Row, Run
from logbook_agent.model.values import Scalar, is_digest_name
from logbook_agent.text.phrases import listed

_SHOWN = 3
# What pairs of one question share beside it, each with a digest.
Conditions: TypeAlias = tuple[tuple[str, str], ...]


class PairRows(NamedTuple):
    """A row of the base and its partner of the other side, with their runs. `at`: conditions, side, case, and what
    tells the row from the others of its run; `config` is what both report but the axis."""

    at: tuple[Conditions, str, str, str]
    runs: tuple[Run, Run]
    rows: tuple[Row, Row]
    config: Mapping[str, Scalar]


def void_gates(found: Sequence[PairRows], gates: Sequence[Gate]) -> dict[tuple[str, ...], dict[Gate, str]]:
    """Of each case the gates that ask for the same value, where the base's own runs disagree, with what is said."""
    said: dict[tuple[str, ...], dict[Gate, dict[str, None]]] = {}
    for one, gate in itertools.product(found, gates):
        of_case = said.setdefault(one.at[2:], {}).setdefault(gate, {})
        of_case.update(dict.fromkeys(values_of(one.rows[0], gate.name)))
    text = "gate {} is void: runs of the base have {}"
    return {
        case: {gate: text.format(gate, listed([*values], _SHOWN)) for gate, values in of.items() if len(values) > 1}
        for case, of in said.items()
    }


def broken_gate(one: PairRows, gates: Sequence[Gate]) -> str:
    """Which gate the other side breaks by another value than that of the base; empty where it breaks none."""
    for gate in gates:
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
            said = [mine[0], theirs[0]]
            series.constants[name] = said if series.constants.get(name, said) == said else []
