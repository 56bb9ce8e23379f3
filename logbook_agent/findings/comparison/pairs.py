"""The pairs that an entry measured for its comparison. The tool made both runs of a pair in the order that the design
drew; each run states its part.

A pair counts when both runs finished and ran the same code (unless code is what is compared). The pairs of one question
share command, config, environment, packages, devices and code: what else differs between the two sides follows from the
axis, and is named.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from logbook_agent.findings.attempts import how_it_failed
from logbook_agent.findings.case_repeats import keys_of
from logbook_agent.findings.cases import cases, value_of
from logbook_agent.findings.comparison.answer import EntryPairs, EntrySeries, RunPair
from logbook_agent.findings.comparison.conditions import (
    circumstances,
    code_labels,
    conditions,
    device_kinds,
    is_alike,
    question_digest,
)
from logbook_agent.findings.comparison.row_pairs import matched_rows, names_apart, other_side, place_of, rows_alone
from logbook_agent.findings.comparison.side_checks import PairRows, broken_gate, report, report_alone, void_gates
from logbook_agent.model.comparison import BLOCK_PAIRS, CODE_AXIS, Comparison, Part, Question
from logbook_agent.model.entry import VOID
from logbook_agent.model.gates import GATE, SAME, fails
from logbook_agent.model.record import SETUP, WARM_UP, Record, RunStatus, ended_badly, is_own
from logbook_agent.model.run import Row, Run
from logbook_agent.model.values import Scalar, canonical
from logbook_agent.text.phrases import counted, listed
from logbook_agent.text.shell_words import command_line

_OTHER_CODE = "the code changed between the two runs"
_OTHER_COMMAND = "the command is another than that of the first pair"
_MADE_AGAIN = "a run was made again after its partner, so chance did not draw their order"
_TOOL = "logbook-agent"
_CUT_OFF = ("interrupted", "lost")
_ENDED_BADLY = ("failed", "timeout", "stalled")
_ENV = "env:"
_SHOWN = 3


def tried(record: Record) -> EntryPairs | None:
    """What an entry measured of its comparison; None for an entry that states none."""
    stated = record.entry.comparison
    if stated is None:
        return None
    question = stated.question
    pairs = list(_pairs(record, question))
    blocks, done = _blocks(record, stated)
    table = _Table(blocks=blocks, done=done)
    env = stated.run.env if stated.run is not None else {}
    found = list(_counting(pairs, question, env, table))
    gates = [gate for gate in record.gates if gate.op == SAME]
    void = void_gates(found, gates)
    for one in found:
        beside = void.get(one.at[1:], {})
        if broken := broken_gate(one, [gate for gate in gates if gate not in beside]):
            label, why = broken
            table.leave_out(one.at[:2], one.runs[0], why, one.at[0], label)
            continue
        facts = [circumstances(run, row, question.axis) for run, row in zip(one.runs, one.rows, strict=True)]
        report(table.series((*one.at, ""), one.runs[0], one.config), one, facts, question.axis)
        for name in dict.fromkeys([*question.metrics, *one.rows[0].metrics, *one.rows[1].metrics]):
            of = table.series((*one.at, name), one.runs[0], one.config)
            _add(of, one, question, table.blocks)
            of.cautions += [text for text in beside.values() if text not in of.cautions]
    table.add_runs(record, found)
    series = table.finished(question)
    bases = [one.base for one in pairs if not one.why]
    for of in series:
        of.cautions += _late_gates(record, of, question, bases) if of.metric else _cautions(record, bases)
    said = [(one.case, one.base) for one in pairs if one.why != _OTHER_COMMAND]
    # Of one case alone, a sweep and an A/B ask the same, however the case is called.
    if len({pair.case for pair in pairs}) > 1:
        for of in series:
            of.case = of.name
    return EntryPairs(
        entry=record.id,
        question=question,
        fixed=stated.design.budget_pairs if stated.design.fixed else 0,
        is_typed=stated.run is not None and not stated.run.in_process and not stated.design.fixed,
        is_void=record.state == VOID,
        asks=question_digest(question, said, env) if pairs else "",
        code=table.code,
        known=[gate.name for gate in record.gates],
        free=list(record.free),
        evaluator=[one.path for one in stated.evaluator if one.differed],
        stopped=_stopped(record, question, is_begun=bool(pairs)) if stated.run is not None or not pairs else [],
        series=series,
    )


def _stopped(record: Record, question: Question, *, is_begun: bool) -> list[str]:
    """The side and the reason of the last run, of a pair or to warm up, that failed, or `setup` where that failed;
    empty where none did, or a later one of that name finished. Once pairs are `is_begun`, a broken gate stops none."""
    last: dict[str, str] = {}
    for status in record.runs:
        why, name = _failure(status), _side(status, question)
        why = "" if is_begun and not ended_badly(status.run) else why
        if name and (why or status.state in ("finished", "failed")):
            last.pop(name, None)
            last[name] = why
    return next(([name, why] for name, why in reversed(last.items()) if why), [])


def _side(status: RunStatus, question: Question) -> str:
    """The side that a run was made for, also one to warm up; `setup` where it prepared the folders; empty for others,
    and where it was left out."""
    run = status.run
    if is_own(run, SETUP):
        return SETUP
    if status.discarded_as != WARM_UP:
        return run.part.side if run.part is not None and status.counts else ""
    typed = {canonical(run.config.get(question.axis)), run.env.variables.get(question.axis.removeprefix(_ENV))}
    return next((value for value in question.values if value in typed), question.base)


def _late_gates(record: Record, of: EntrySeries, question: Question, bases: Sequence[Run]) -> Iterator[str]:
    """Gates on what decides that came after the first pairs."""
    began = min((run.started for run in bases), default="")
    late = [f"{str(gate)!r}" for gate in record.gates if gate.limits(question.metrics) and gate.since > began]
    if late and of.metric in question.metrics:
        yield f"the gate {listed(late)} came after the first pairs, and can choose the answer"


def _cautions(record: Record, bases: Sequence[Run]) -> Iterator[str]:
    """What the figures of a comparison cannot tell."""
    versions = Counter(name for name, _ in {one for run in bases for one in run.software.items()} if name != _TOOL)
    if packages := sorted(name for name, count in versions.items() if count > 1):
        yield f"between pairs, other versions of {listed(packages, _SHOWN)}"
    codes = [run.code for run in bases if run.code is not None]
    if len({code.identity for code in codes}) > len({code.key for code in codes}):
        yield "between pairs, tracked files changed that are no code"
    builds = Counter(_setups(record, {run.run for run in bases}))
    if len(builds) > 1:
        texts = [f"{counted(n, 'pair')} {f'after {of}' if of else 'without a setup'}" for of, n in builds.items()]
        yield f"not all pairs had one build: {listed(texts, _SHOWN)}"
    cut = sum(s.state in _CUT_OFF for s in record.runs if s.run.part is not None and s.counts)
    if cut > 1:  # whoever cuts off the slow ones chooses
        yield f"{cut} runs were cut off, and made again"


def _setups(record: Record, numbers: Container[int]) -> Iterator[str]:
    """The setup that precedes each of these runs; empty where none does. One is kept once a pair was made after it; a
    run that failed before that ends its use."""
    setup = ""
    for s in sorted(record.runs, key=lambda s: (s.run.started, s.run.run)):
        if is_own(s.run, SETUP):
            setup = command_line(s.run.argv, shell=s.run.shell)
        elif s.run.run in numbers:
            yield setup
        elif s.state in _ENDED_BADLY:
            setup = ""


def _counting(
    pairs: Sequence[_Pair], question: Question, typed: Mapping[str, str], table: _Table
) -> Iterator[PairRows]:
    """The rows of all pairs that are of one case. Why others have no partner, and which pairs were made under other
    conditions than the first, goes into the table. `typed` are the variables that the entry states."""
    first: dict[str, str] = {}
    for pair in pairs:
        own = conditions(question, pair.base, pair.other, typed)
        # Whoever could choose the conditions that answer would choose lucky ones.
        if first and own != first:
            unlike = [name.partition(":")[2] or name for name, _ in sorted(own.items() ^ first.items())]
            why = f"under other conditions ({listed([*dict.fromkeys(unlike)], _SHOWN)})"
            table.leave_out((pair.side, pair.case), pair.base, why)
            continue
        table.code.update(code_labels({question.base: pair.base, pair.side: pair.other}))
        found = list(_rows_of(pair, question, table))
        first = first or (own if found else {})
        yield from found


def _rows_of(pair: _Pair, question: Question, table: _Table) -> Iterator[PairRows]:
    """The rows of a pair that are of one case; why others have no partner goes into the table."""
    at, base = (pair.side, pair.case), pair.base
    sides = {question.base: base, pair.side: pair.other}
    for name, why in pair.again:
        table.series((*at, "", ""), base, {}).leave_out(why, name)
    if pair.why:
        table.leave_out(at, base, pair.why, pair.failed)
        return
    if silent := next(((name, run) for name, run in sides.items() if not run.rows), None):
        name, run = silent
        table.leave_out(at, base, ": ".join([f"{name} reported nothing", *(p.text for p in run.problems[:1])]))
        return
    good = {name: [row for row in run.rows if row.failed is None] for name, run in sides.items()}
    names = names_apart(tuple(good.values()), question.axis)
    matched, why = matched_rows(good, names)
    broken = [(name, row) for name, run in sides.items() for row in run.rows if row.failed is not None]
    if broken:
        # A row that counts in the place of one that failed was chosen by that.
        name, row = broken[0]
        table.leave_out(at, base, str(row.failed), name)
        spoilt = {place_of(row, names) for _, row in broken}
        matched = [one for one in matched if place_of(one[1], names) not in spoilt]
    elif why:
        table.leave_out(at, base, why)
    for side, place, row in () if broken else rows_alone(good, names):
        report_alone(table.series((*at, place, ""), base, row.config), row, is_base=side == question.base)
    for place, row, partner in matched:
        if (said := other_side(question, pair.side, row, partner)) is not None:
            table.leave_out(at, base, said)
            continue
        config = {k: v for k, v in {**row.labels, **row.config}.items() if k in names or k in row.config}
        config.pop(question.axis, None)
        yield PairRows(at=(*at, place), runs=(base, pair.other), rows=(row, partner), config=config)


class _Pair(NamedTuple):
    """The run of a side with the base's run of the same pair and case. `why` it does not count, or an empty text, and
    which side `failed`, if one did; `again` are the failures of sides that were run again."""

    base: Run
    other: Run
    side: str
    case: str
    why: str
    failed: str
    again: tuple[tuple[str, str], ...]


def _pairs(record: Record, question: Question) -> Iterator[_Pair]:
    """Every pair, in the order of their starts. Of a run that was made again the last one counts, where the order of
    the pair is still the one that was drawn."""
    made = [s for s in record.runs if s.run.part is not None and s.counts]
    first = {_place(s.run): s.run for s in reversed(made)}
    ended = {_place(s.run): s for s in made if s.state in ("finished", *_ENDED_BADLY)}
    replaced: dict[tuple[tuple[str, int], str, str], list[tuple[str, str]]] = {}
    for s in made:
        if ended.get(_place(s.run)) is not s and (text := _failure(s)):
            replaced.setdefault(_place(s.run), []).append((_place(s.run)[2], text))
    commands: dict[str, tuple[str, ...]] = {}
    for (pair, case, side), status in sorted(ended.items(), key=lambda item: (item[1].run.started, item[1].run.run)):
        if side not in question.sides or (pair, case, question.base) not in ended:
            continue
        of_base = ended[pair, case, question.base]
        base, other = of_base.run, status.run
        began = first[pair, case, question.base], first[pair, case, side]
        why = _MADE_AGAIN if _sign(*began) != _sign(base, other) else ""
        if question.axis != CODE_AXIS and (base.code and base.code.key) != (other.code and other.code.key):
            why = _OTHER_CODE
        failures = ((text, name) for name, s in ((question.base, of_base), (side, status)) if (text := _failure(s)))
        why, failed = next(failures, (why, ""))
        if not is_alike(base.command, commands.setdefault(case, base.command)):
            why = _OTHER_COMMAND
        again = tuple(found for name in (question.base, side) for found in replaced.get((pair, case, name), ()))
        yield _Pair(base, other, side, case, why, failed, again)


def _blocks(record: Record, stated: Comparison) -> tuple[dict[tuple[str, int], int], int]:
    """The place of each block, and how many are finished: those come first, in the order of their first runs. Each
    working copy has blocks of its own."""
    began: dict[tuple[str, int], str] = {}
    ran: dict[tuple[str, int], set[tuple[int, str, str]]] = {}
    is_sweep = record.entry.recipe is not None
    for s in record.runs:
        # A sweep goes on where a case failed, and is judged once all were tried.
        is_made = _is_made(s) or (is_sweep and ended_badly(s.run))
        if (part := s.run.part) is not None and s.counts and is_made:
            began[part.block] = min(began.get(part.block, s.run.started), s.run.started)
            ran.setdefault(part.block, set()).add((part.pair, part.case, part.side))
    cases = {case for parts in ran.values() for _, case, _ in parts}
    a_pair = len(cases) * len(stated.question.values)
    made = {at: sum(n == a_pair for n in Counter(pair for pair, _, _ in of).values()) for at, of in ran.items()}
    design = stated.design
    is_whole = design.fixed and sum(made.values()) >= design.budget_pairs
    done = {at for at, pairs in made.items() if is_whole or (not design.fixed and pairs == BLOCK_PAIRS)}
    order = sorted(began, key=lambda block: (block not in done, began[block], block[1]))
    return {block: at for at, block in enumerate(order)}, len(done)


def _is_made(status: RunStatus) -> bool:
    """Whether the run of a side is not made again: it finished, also where it broke a gate."""
    failure = fails(status.run)
    is_judged = failure is not None and failure.reason.startswith(GATE) and not ended_badly(status.run)
    return status.state == "finished" or is_judged


def _failure(status: RunStatus) -> str:
    """Why a run counts for nothing; empty where it counts, and where it was cut off: that says nothing of its side."""
    failure = fails(status.run)
    if failure is not None:
        return str(failure)
    return how_it_failed(status.run) if status.state in _ENDED_BADLY else ""


def _place(run: Run) -> tuple[tuple[str, int], str, str]:
    """The pair, by the working copy and its number there, case and side."""
    part = _part(run)
    return (part.copy, part.pair), part.case, part.side


def _part(run: Run) -> Part:
    if run.part is None:
        raise AssertionError(f"{run.entry}/{run.run} has no part")
    return run.part


def _sign(base: Run, other: Run) -> int:
    """+1 where the other side ran second."""
    return 1 if (other.started, other.run) > (base.started, base.run) else -1


# -- series --------------------------------------------------------------------------------------------


@dataclass(slots=True, kw_only=True)
class _Table:
    """The series of an entry, by side, case, place and metric, and the labels of the codes that were compared. What is
    said of whole pairs has no place and no metric. `blocks` have a place each; the first `done` are finished."""

    blocks: Mapping[tuple[str, int], int]
    done: int
    found: dict[tuple[str, str, str, str], EntrySeries] = field(default_factory=dict)
    code: dict[str, str] = field(default_factory=dict)

    def series(self, at: tuple[str, str, str, str], base: Run, config: Mapping[str, Scalar]) -> EntrySeries:
        """The series of this place, which the first pair adds."""
        side, case, place, metric = at
        if at not in self.found:
            self.found[at] = EntrySeries(
                side=side,
                case=place,
                name=" ".join(filter(None, (case, place))),
                config=dict(config),
                device=device_kinds(base),
                metric=metric,
                finished=self.done,
            )
        return self.found[at]

    def leave_out(self, at: tuple[str, str], base: Run, why: str, failed: str = "", label: str = "") -> None:
        """Count a pair that does not count, beside the series of its side and case."""
        self.series((*at, "", ""), base, {}).leave_out(why, failed, label)

    def add_runs(self, record: Record, found: Sequence[PairRows]) -> None:
        """Give each series what all finished runs of its two cases measured: the set of which every reader takes the
        median."""
        measured = cases(record)
        keys = keys_of(measured)
        key_of = dict(zip((id(row) for s in record.runs for row in s.run.rows), keys, strict=True))
        values: dict[str, list[Row]] = {}
        for case, key in zip(measured, keys, strict=True):
            if case.state == "finished" and case.row.failed is None:
                values.setdefault(key, []).append(case.row)
        sides: dict[tuple[str, ...], list[dict[str, None]]] = {}
        for one in found:
            for row, own in zip(one.rows, sides.setdefault(one.at, [{}, {}]), strict=True):
                own[key_of[id(row)]] = None
        for (*at, metric), series in self.found.items():
            both = sides.get(tuple(at), []) if metric else []
            of = ([value_of(row, metric) for key in own for row in values.get(key, ())] for own in both)
            series.runs = [[value for value in own if value is not None] for own in of] or [[], []]

    def finished(self, question: Question) -> list[EntrySeries]:
        """All series. A side and case without any row has one of each metric that is asked for, so that its answer
        shows."""
        measured = {at[:2] for at in self.found if at[3]}
        for at, one in [*self.found.items()]:
            if question.metrics and at[:2] not in measured:
                for name in question.metrics:
                    self.found[*at[:3], name] = replace(one, metric=name, failed=[], cautions=[])
                one.left_out = {}
        return [*self.found.values()]


def _add(series: EntrySeries, one: PairRows, question: Question, blocks: Mapping[tuple[str, int], int]) -> None:
    """Add a pair to a series. Which way is better is what the base says."""
    metric = series.metric
    measured = [row.metrics[metric] for row in one.rows if metric in row.metrics]
    cautions = dict.fromkeys(row.labels["caution"] for row in one.rows if "caution" in row.labels)
    series.cautions += [text for text in cautions if text not in series.cautions]
    series.unit = series.unit or next((found.unit for found in measured if found.unit), None)
    if metric in one.rows[0].metrics:
        series.direction = series.direction or measured[0].direction
    # A unit that one side alone states may be another one.
    units = {found.unit or "none" for found in measured}
    if len(units) > 1:
        series.leave_out(f"two units: {' and '.join(sorted(units))}")
        return
    values = [value_of(row, metric) for row in one.rows]
    ratio = [value if value is not None and 0 < value < math.inf else None for value in values]
    for name, value, usable in zip((question.base, series.side), values, ratio, strict=True):
        if usable is None:
            series.leave_out(f"{name} has no {metric}" if value is None else f"no ratio: {name} has {value:g}")
            break
    started, ended = min(run.started for run in one.runs), max(run.ended or run.started for run in one.runs)
    block = blocks[_part(one.runs[0]).block]
    series.pairs.append(RunPair(started, ended, _sign(*one.runs), ratio[0], ratio[1], block))
