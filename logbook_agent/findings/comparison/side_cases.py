"""What an entry measured of each side of its comparison in each case: the rows of the pairs that count, and why other
pairs do not."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct, field

from logbook_agent.findings.case_repeats import keys_of
from logbook_agent.findings.cases import cases
from logbook_agent.findings.comparison.conditions import code_labels, conditions, device_kinds
from logbook_agent.findings.comparison.row_pairs import matched_rows, other_side, place_of
from logbook_agent.findings.comparison.run_pairs import RunPair, run_pairs
from logbook_agent.model.comparison import Comparison, Question
from logbook_agent.model.gates import GATE, SAME, Gate, values_of
from logbook_agent.model.record import Record
from logbook_agent.model.run import Row, Run
from logbook_agent.model.values import Scalar
from logbook_agent.text.phrases import listed

_SHOWN = 3


class RowPair(NamedTuple):
    """A row of the base and its partner of the other side, with their runs; `config` is what both report but the
    axis."""

    runs: tuple[Run, Run]
    rows: tuple[Row, Row]
    config: Mapping[str, Scalar]


class SideCase(Struct, kw_only=True):
    """What was measured of a side in a case of the plan, and at a place that tells a row from the others of its run:
    the `pairs` that count, in the order of their first runs, and the rows that one side reports `alone`, with whether
    that is the base.

    `device` has the kinds of its devices. `left_out` counts the pairs that do not count, by reason; `failed` has a side
    and the reason for each pair that lacks it because it failed, and the label whose gate `same` it broke, if that is
    all. `void` says which gates hold for no pair. `rows` are all of both sides that finished, also those whose pair
    does not count: the set of which every reader takes the median.
    """

    side: str
    plan: str
    place: str
    device: str
    pairs: list[RowPair] = field(default_factory=list)
    alone: list[tuple[Row, bool]] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    failed: list[tuple[str, str, str]] = field(default_factory=list)
    void: list[str] = field(default_factory=list)
    rows: tuple[Sequence[Row], Sequence[Row]] = ((), ())

    @property
    def name(self) -> str:
        return " ".join(filter(None, (self.plan, self.place)))

    @property
    def config(self) -> Mapping[str, Scalar]:
        """What its rows report but the axis."""
        return self.pairs[0].config if self.pairs else {}

    def leave_out(self, why: str, failed: str = "", label: str = "") -> None:
        """Count a pair that does not count: as one of its sides `failed`, with another `label`, or for another
        reason."""
        if failed:
            self.failed.append((failed, why, label))
        else:
            self.left_out[why] += 1


class Measured(Struct, kw_only=True):
    """What an entry measured of its comparison, by side, case of its plan, and what tells a row from others of its run.
    What is said of whole pairs has no such place. `pairs` are all pairs of runs; `code` labels the code of each side in
    the latest one."""

    pairs: Sequence[RunPair]
    code: dict[str, str] = field(default_factory=dict)
    by_place: dict[tuple[str, str, str], SideCase] = field(default_factory=dict)

    @property
    def sides(self) -> list[SideCase]:
        """The sides and cases of which there is something to say."""
        return [of for of in self.by_place.values() if of.pairs or of.alone or of.left_out or of.failed]

    def at(self, pair: RunPair, place: str = "") -> SideCase:
        """The side and case of a pair, which its first pair adds."""
        at = pair.side, pair.case, place
        if at not in self.by_place:
            self.by_place[at] = SideCase(side=pair.side, plan=pair.case, place=place, device=device_kinds(pair.base))
        return self.by_place[at]


def measured(record: Record, stated: Comparison) -> Measured:
    """What an entry measured of the comparison that it states. Pairs that were made under other conditions than the
    first one do not count."""
    question = stated.question
    found = Measured(pairs=[*run_pairs(record, question)])
    env = stated.run.env if stated.run is not None else {}
    first: dict[str, str] = {}
    for pair in found.pairs:
        own = conditions(question, pair.base, pair.other, env)
        # Whoever could choose the conditions that answer would choose lucky ones.
        if first and own != first:
            unlike = [name.partition(":")[2] or name for name, _ in sorted(own.items() ^ first.items())]
            found.at(pair).leave_out(f"under other conditions ({listed([*dict.fromkeys(unlike)], _SHOWN)})")
            continue
        found.code |= code_labels({question.base: pair.base, pair.side: pair.other})
        if _add(found, pair, question):
            first = first or own
    _judge(found, [gate for gate in record.gates if gate.op == SAME])
    _add_rows(found, record, question.base)
    return found


def _add(found: Measured, pair: RunPair, question: Question) -> bool:
    """Add the rows of a pair that are of one case, and why others have no partner; whether there are some."""
    sides = {question.base: pair.base, pair.side: pair.other}
    for name, why in pair.again:
        found.at(pair).leave_out(why, name)
    if pair.why:
        found.at(pair).leave_out(pair.why, pair.failed)
        return False
    if silent := next(((name, run) for name, run in sides.items() if not run.rows), None):
        name, run = silent
        found.at(pair).leave_out(": ".join([f"{name} reported nothing", *(p.text for p in run.problems[:1])]))
        return False
    good = {name: [row for row in run.rows if row.failed is None] for name, run in sides.items()}
    names, matched, alone, why = matched_rows(good, question.axis)
    broken = [(name, row) for name, run in sides.items() for row in run.rows if row.failed is not None]
    if broken:
        # A row that counts in the place of one that failed was chosen by that.
        name, row = broken[0]
        found.at(pair).leave_out(str(row.failed), name)
        spoilt = {place_of(row, names) for _, row in broken}
        matched, alone = [one for one in matched if place_of(one[1], names) not in spoilt], ()
    elif why:
        found.at(pair).leave_out(why)
    for side, place, row in alone:
        found.at(pair, place).alone.append((row, side == question.base))
    is_added = False
    for place, row, partner in matched:
        if (said := other_side(question, pair.side, row, partner)) is not None:
            found.at(pair).leave_out(said)
            continue
        config = {k: v for k, v in {**row.labels, **row.config}.items() if k in names or k in row.config}
        config.pop(question.axis, None)
        found.at(pair, place).pairs.append(RowPair((pair.base, pair.other), (row, partner), config))
        is_added = True
    return is_added


def _judge(found: Measured, gates: Sequence[Gate]) -> None:
    """Leave out the pairs whose sides do not agree as `gates` ask for. A gate is void in a case where the base's own
    runs disagree."""
    values: dict[tuple[str, str, Gate], dict[str, None]] = {}
    for ((_, plan, place), of), gate in itertools.product(found.by_place.items(), gates):
        own = (value for one in of.pairs for value in values_of(one.rows[0], gate.name))
        values.setdefault((plan, place, gate), {}).update(dict.fromkeys(own))
    text = "gate {} is void: runs of the base have {}"
    for (side, plan, place), of in [*found.by_place.items()]:
        void = {gate: said for gate in gates if len(said := values[plan, place, gate]) > 1}
        of.void = [text.format(gate, listed([*said], _SHOWN)) for gate, said in void.items()]
        pairs, of.pairs = of.pairs, []
        for one in pairs:
            broken = _broken(one, [gate for gate in gates if gate not in void])
            if broken is None:
                of.pairs.append(one)
            else:
                label, why = broken
                found.at(RunPair(*one.runs, side, plan)).leave_out(why, side, label)


def _broken(one: RowPair, gates: Sequence[Gate]) -> tuple[str, str] | None:
    """The label in which the other side has another value than the base, with what is said of that gate; None where it
    breaks none."""
    for gate in gates:
        base, other = ({*values_of(row, gate.name)} for row in one.rows)
        if base != other:
            said = f"it is {listed(sorted(other), _SHOWN)}, not {listed(sorted(base), _SHOWN)}"
            return gate.name, f"{GATE} {gate}: {said if base and other else 'it is not reported'}"
    return None


def _add_rows(found: Measured, record: Record, base: str) -> None:
    """Give each side and case all finished rows of pairs of its two cases, also where these are one, as two codes are
    that differ in files of data alone. What a sweep measured before it compared is a row of its own in a table."""
    all_ = cases(record)
    keys = keys_of(all_)
    key_of = dict(zip((id(row) for s in record.runs for row in s.run.rows), keys, strict=True))
    finished: dict[str, list[tuple[str, Row]]] = {}
    for case, key in zip(all_, keys, strict=True):
        if case.state == "finished" and case.row.failed is None:
            finished.setdefault(key, []).append((case.part.side if case.part is not None else "", case.row))
    for of in found.by_place.values():
        own = (dict.fromkeys(key_of[id(one.rows[at])] for one in of.pairs) for at in (0, 1))
        first, second = (
            [row for key in keys for by, row in finished.get(key, ()) if by == side]
            for keys, side in zip(own, (base, of.side), strict=True)
        )
        of.rows = first, second
