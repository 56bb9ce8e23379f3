"""The pairs that an entry measured for its comparison. The tool made both runs of a pair in the order that the design
drew; each run states its part.

A pair counts when both runs finished and ran the same code (unless code is what is compared). The pairs of one question
share command, config, environment, packages, devices and code: what else differs between the two sides follows from the
axis, and is named.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from logbook_agent.findings.attempts import how_it_failed
from logbook_agent.findings.cases import value_of
from logbook_agent.findings.comparison.answer import EntryPairs, EntrySeries, RunPair
from logbook_agent.findings.comparison.row_pairs import matched_rows, names_apart, other_side
from logbook_agent.findings.comparison.side_checks import PairRows, broken_gate, report, void_gates
from logbook_agent.model.codec import encode
from logbook_agent.model.comparison import CASE_AXIS, CODE_AXIS, Part, Question
from logbook_agent.model.entry import VOID
from logbook_agent.model.gates import fails
from logbook_agent.model.record import Record, RunStatus, digest
from logbook_agent.model.run import Row, Run
from logbook_agent.model.values import Scalar, canonical
from logbook_agent.text.phrases import listed

_OTHER_CODE = "the code changed between the two runs"
_OTHER_COMMAND = "the command is another than that of the first pair"
_MADE_AGAIN = "a run was made again after its partner, so chance did not draw their order"
_TOOL = "logbook-agent"
_ENV = "env:"
_SHOWN = 3


def tried(record: Record) -> EntryPairs | None:
    """What an entry measured of its comparison; None for an entry that states none."""
    stated = record.entry.comparison
    if stated is None:
        return None
    question = stated.question
    pairs = list(_pairs(record, question))
    table = _Table(asked=_asked(question, [(one.part.case, one.base) for one in pairs if one.why != _OTHER_COMMAND]))
    found = [row for pair in pairs for row in _rows_of(pair, question, table)]
    void = void_gates(found, record.gates)
    for one in found:
        if broken := broken_gate(one, [gate for gate in record.gates if (gate, one.at[2:]) not in void]):
            table.beside(one.at[:3], one.runs[0]).fail(one.at[1], broken)
            continue
        report(table.series(*one.at, "", base=one.runs[0], config=one.config), one)
        for name in _metrics(question, *one.rows):
            of = table.series(*one.at, name, base=one.runs[0], config=one.config)
            _add(of, (one.runs[0], one.rows[0]), (one.runs[1], one.rows[1]), question)
            of.cautions += [
                text for (gate, case), text in void.items() if case == one.at[2:] and text not in of.cautions
            ]
    series = table.finished(question)
    differed = [one.path for one in stated.evaluator if one.differed]
    for of in series if differed else ():
        of.cautions.append(f"measured with {listed(differed, _SHOWN)} of {question.base} on both sides")
    # Of one case alone, a sweep and an A/B ask the same, however the case is called.
    if len({pair.part.case for pair in pairs}) > 1:
        for of in series:
            of.case = of.name
    return EntryPairs(
        entry=record.id,
        question=question,
        seed=stated.design.seed,
        void=record.state == VOID,
        known=[*record.free, *(gate.name for gate in record.gates)],
        series=series,
    )


def _rows_of(pair: _Pair, question: Question, table: _Table) -> Iterator[PairRows]:
    """The rows of a pair that are of one case; why others have no partner goes into the table."""
    at = (_conditions(question, pair.base, pair.other), pair.part.side, pair.part.case)
    sides = {question.base: pair.base, pair.part.side: pair.other}
    table.codes.setdefault(at[0], {}).update(_labels(sides))
    if pair.failed:
        table.beside(at, pair.base).fail(pair.failed, pair.why)
    elif pair.why:
        table.beside(at, pair.base).leave_out(pair.why)
    if pair.why:
        return
    good = {name: [row for row in run.rows if row.failed is None] for name, run in sides.items()}
    names = names_apart(tuple(good.values()), question.axis)
    matched, why = matched_rows(good, names)
    broken = [(name, row.failed) for name, run in sides.items() for row in run.rows if row.failed is not None]
    if why and broken:
        table.beside(at, pair.base).fail(broken[0][0], str(broken[0][1]))
    elif why:
        table.beside(at, pair.base).leave_out(why)
    for place, row, partner in matched:
        if (said := other_side(question, pair.part.side, row, partner)) is not None:
            table.beside(at, pair.base).leave_out(said)
            continue
        config = {k: v for k, v in {**row.labels, **row.config}.items() if k in names or k in row.config}
        config.pop(question.axis, None)
        yield PairRows(at=(*at, place), runs=(pair.base, pair.other), rows=(row, partner), config=config)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    """The run of a side with the base's run of the same pair and case. `why` it does not count, or an empty text, and
    which side `failed`, if one did."""

    base: Run
    other: Run
    part: Part
    why: str
    failed: str


def _pairs(record: Record, question: Question) -> Iterator[_Pair]:
    """Every pair, in the order of their starts. Of a run that was made again the last one counts, where the order of
    the pair is still the one that was drawn."""
    made = [s for s in record.runs if s.run.part is not None and s.counts]
    first = {_place(s.run): s.run for s in reversed(made)}
    good = {_place(s.run): s.run for s in made if s.state in ("finished", "failed", "timeout", "stalled")}
    failed = {_place(s.run): text for s in made if (text := _failure(s)) and good.get(_place(s.run)) is s.run}
    commands: dict[str, list[str]] = {}
    for (pair, case, side), run in sorted(good.items(), key=lambda item: (item[1].started, item[1].run)):
        base = good.get((pair, case, question.base))
        if side in question.sides and base is not None:
            began = first[pair, case, question.base], first[pair, case, side]
            why = _MADE_AGAIN if _sign(*began) != _sign(base, run) else ""
            if question.axis != CODE_AXIS and _code(base) != _code(run):
                why = _OTHER_CODE
            which = next((name for name in (question.base, side) if (pair, case, name) in failed), "")
            why = failed[pair, case, which] if which else why
            if [*plain_words(base.command)] != commands.setdefault(case, [*plain_words(base.command)]):
                why = _OTHER_COMMAND
            yield _Pair(base=base, other=run, part=Part(pair=pair, side=side, case=case), why=why, failed=which)


def _failure(status: RunStatus) -> str:
    """Why a run, which has ended, counts for nothing; empty where it counts."""
    failure = fails(status.run)
    if failure is not None:
        return str(failure)
    return how_it_failed(status.run) if status.state != "finished" else ""


def _place(run: Run) -> tuple[int, str, str]:
    if run.part is None:
        raise AssertionError(f"{run.entry}/{run.run} has no part")
    return run.part.pair, run.part.case, run.part.side


def _sign(base: Run, other: Run) -> int:
    """+1 where the other side ran second."""
    return 1 if (other.started, other.run) > (base.started, base.run) else -1


# -- what the pairs of one question share --------------------------------------------------------------


def _asked(question: Question, bases: Sequence[tuple[str, Run]]) -> str:
    """A digest of the question with the command of the base and the config that its rows share in each case. Another
    guard makes no other question. The names of compared codes are left out: one commit has several."""
    question = replace(question, guards=())
    if is_code := question.axis == CODE_AXIS:
        question = replace(question, base="", sides=())
    said = {(tuple(plain_words(run.command)), run.shell, None if is_code else run.cwd) for _, run in bases}
    shared: dict[str, set[tuple[str, str]]] = {}
    for case, run in bases:
        for row in (row for row in run.rows if row.failed is None):
            config = {(name, canonical(value)) for name, value in row.config.items() if name != question.axis}
            shared[case] = shared.get(case, config) & config
    return digest(encode(question), sorted(map(repr, said)), sorted({repr(sorted(one)) for one in shared.values()}))


def plain_words(command: Sequence[str]) -> Iterator[str]:
    """The words of a command, in which `--topk=2` is `--topk 2`."""
    for word in command:
        yield from word.split("=", 1) if word.startswith("--") else (word,)


def _code(run: Run, *, is_axis: bool = False) -> str | None:
    if run.code is None:
        return None
    return run.code.identity if is_axis else run.code.key


def _conditions(question: Question, base: Run, other: Run) -> tuple[tuple[str, str], ...]:
    """What the pairs of one question share beside it, each with a digest: the code of the base, its environment,
    packages and devices; and where code is the axis, that of the other side."""
    is_axis = question.axis == CODE_AXIS
    code = _code(base, is_axis=is_axis), _code(other, is_axis=True) if is_axis else None
    return tuple((name, digest(value)) for name, value in {"code": code, **_facts(base, question.axis)}.items())


def _facts(run: Run, axis: str) -> dict[str, object]:
    """The environment of a run, beside its command and its code: launcher, devices, variables, packages, untracked
    files."""
    variables = {f"{_ENV}{k}": v for k, v in run.env.variables.items() if axis not in (f"{_ENV}{k}", CODE_AXIS)}
    software = {f"package:{k}": v for k, v in run.software.items() if k.lower().replace("_", "-") != _TOOL}
    rows = [encode(d) for row in run.rows[:1] for d in row.devices] or [encode(d) for d in run.own_devices]
    # Where the code is identified, they are a part of it, committed or not.
    is_apart = run.code is not None and run.code.sources is None
    files = {f"file:{f.path}": f.sha256 for f in (run.code.untracked if run.code is not None and is_apart else ())}
    files |= {f"file:{f.path}": f.sha256 for f in run.inputs}
    return {"launcher": run.carrier, "devices": rows, **variables, **software, **files}


def _device(run: Run) -> str:
    """The kinds of devices of a run: `TPU v5p`."""
    devices = [d for row in run.rows[:1] for d in row.devices] or run.own_devices
    return ", ".join(dict.fromkeys(d.kind or d.platform for d in devices))


def _labels(runs: Mapping[str, Run]) -> dict[str, str]:
    """The code of each side, as far as it is known: `3357f54a5`, with `+` where it was changed."""
    codes = {side: run.code for side, run in runs.items()}
    return {s: code.commit[:9] + ("+" if code.dirty else "") for s, code in codes.items() if code and code.commit}


def _metrics(question: Question, base: Row, other: Row) -> list[str]:
    """The metrics that are asked for, and all others: which of these are watched, the header says."""
    return list(dict.fromkeys([*question.metrics, *base.metrics, *other.metrics, *question.guards]))


def _positive(row: Row, name: str) -> float | None:
    """The value of a row that a ratio can be made of; None where it has none."""
    value = value_of(row, name)
    return value if value is not None and math.isfinite(value) and value > 0 else None


# -- series --------------------------------------------------------------------------------------------

# Conditions, side and case of a pair.
_At: TypeAlias = tuple[tuple[tuple[str, str], ...], str, str]


@dataclass(slots=True, kw_only=True)
class _Table:
    """The series of an entry, which ask what `asked` is the digest of, by conditions, side, case, place and metric; and
    the labels of the codes that were compared under each conditions. What is said of whole pairs has no place and no
    metric."""

    asked: str
    found: dict[tuple[object, ...], EntrySeries] = field(default_factory=dict)
    codes: dict[object, dict[str, str]] = field(default_factory=dict)

    def series(
        self,
        conditions: tuple[tuple[str, str], ...],
        side: str,
        case: str,
        place: str,
        metric: str,
        *,
        base: Run,
        config: Mapping[str, Scalar],
    ) -> EntrySeries:
        at = (conditions, side, case, place, metric)
        if at not in self.found:
            self.found[at] = EntrySeries(
                key=digest(self.asked, conditions),
                conditions=dict(conditions),
                asks=self.asked,
                side=side,
                case=place,
                name=" ".join(filter(None, (case, place))),
                config=dict(config),
                device=_device(base),
                metric=metric,
            )
        return self.found[at]

    def beside(self, at: _At, base: Run) -> EntrySeries:
        """What is said of whole pairs of a side and case."""
        return self.series(*at, "", "", base=base, config={})

    def finished(self, question: Question) -> list[EntrySeries]:
        """All series. A side and case without any row has one of each metric that is asked for, so that its answer
        shows."""
        measured = {at[:3] for at in self.found if at[4]}
        for at in [at for at in self.found if at[:3] not in measured and question.metrics]:
            one = self.found.pop(at)
            for name in question.metrics:
                self.found[*at[:4], name] = replace(one, metric=name, left_out={**one.left_out})
                one = replace(one, failed={})
        for (conditions, *_), one in self.found.items():
            one.code = self.codes[conditions]
        return [*self.found.values()]


def _add(one: EntrySeries, base: tuple[Run, Row], other: tuple[Run, Row], question: Question) -> None:
    """Add a pair to a series, with what else differs between its sides. Which way is better is what the base says."""
    axis = question.axis
    measured = [(row.metrics.get(one.metric), row) for _, row in (base, other)]
    for found, row in measured:
        if row.labels.get("caution") not in (None, *one.cautions):
            one.cautions.append(row.labels["caution"])
        one.unit = one.unit or (found.unit if found is not None else None)
    one.direction = one.direction or (measured[0][0].direction if measured[0][0] is not None else None)
    units = {found.unit for found, _ in measured if found is not None and found.unit is not None}
    if len(units) > 1:
        one.leave_out(f"two units: {' and '.join(sorted(units))}")
        return
    rows = () if axis == CASE_AXIS else (base, other)
    config = [{k: canonical(v) for k, v in row.config.items() if k != axis} for _, row in rows] or [{}, {}]
    facts = [_facts(run, axis) for run, _ in (base, other)]
    for mine, theirs in (config, facts):
        names = [n for n in dict.fromkeys((*mine, *theirs)) if mine.get(n) != theirs.get(n)]
        one.differs += [n for n in names if n not in one.differs and (n in mine) == (n in theirs)]
    samples = {len(found.samples) for found, _ in measured if found is not None}
    one.differs += ["samples a run"] if len(samples) > 1 and "samples a run" not in one.differs else []
    runs = [run for run, _ in (base, other)]
    for name, (_, row) in zip((question.base, one.side), (base, other), strict=True):
        if _positive(row, one.metric) is None:
            value = value_of(row, one.metric)
            one.leave_out(f"{name} has no {one.metric}" if value is None else f"no ratio: {name} has {value:g}")
            break
    one.pairs.append(
        RunPair(
            started=min(run.started for run in runs),
            ended=max(run.ended or run.started for run in runs),
            sign=_sign(*runs),
            base=_positive(base[1], one.metric),
            other=_positive(other[1], one.metric),
            runs="-".join(run.spool or "" for run in runs).strip("-") or None,
        )
    )
