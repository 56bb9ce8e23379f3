"""The pairs that an entry measured for its comparison. The tool made both runs of a pair in the order that the design
drew; each run states its part.

A pair counts when both runs finished and ran the same code (unless code is what is compared). The pairs of one question
share command, config, environment, packages, devices and code: what else differs between the two sides follows from the
axis, and is named.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence

from logbook_agent.findings.cases import value_of
from logbook_agent.findings.comparison.answer import EntryPairs, EntrySeries, RunPair
from logbook_agent.model.codec import encode
from logbook_agent.model.comparison import CASE_AXIS, CODE_AXIS, Part, Question
from logbook_agent.model.entry import VOID
from logbook_agent.model.record import Record, digest
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
    pairs = list(_pairs(record, stated.question))
    asked = _asked(stated.question, [(part.case, base) for base, _, part, why in pairs if why != _OTHER_COMMAND])
    series: dict[tuple[object, ...], EntrySeries] = {}
    codes: dict[object, dict[str, str]] = {}
    for base, other, part, why in pairs:
        key = (_conditions(stated.question, base, other), part.side, part.case)
        codes.setdefault(key[0], {}).update(_labels({stated.question.base: base, part.side: other}))
        if why:
            _series(series, (*key, "", ""), asked, base, {}).leave_out(why)
            continue
        sides = {
            name: [r for r in run.rows if r.failed is None]
            for name, run in ((stated.question.base, base), (part.side, other))
        }
        names = _apart(tuple(sides.values()), stated.question.axis)
        matched, why = _matched(sides, names)
        if why:
            _series(series, (*key, "", ""), asked, base, {}).leave_out(why)
        for place, row, partner in matched:
            if (said := _other_side(stated.question, part.side, row, partner)) is not None:
                _series(series, (*key, "", ""), asked, base, {}).leave_out(said)
                continue
            config = {k: v for k, v in {**row.labels, **row.config}.items() if k in names or k in row.config}
            config.pop(stated.question.axis, None)
            for name in _metrics(stated.question, row, partner):
                one = _series(series, (*key, place, name), asked, base, config)
                _add(one, (base, row), (other, partner), stated.question.axis)
    differed = [one.path for one in stated.evaluator if one.differed]
    for (conditions, *_), one in series.items():
        one.code = codes[conditions]
        if differed:
            one.cautions.append(f"measured with {listed(differed, _SHOWN)} of {stated.question.base} on both sides")
    # Of one case alone, a sweep and an A/B ask the same, however the case is called.
    if len({part.case for _, _, part, _ in pairs}) > 1:
        for one in series.values():
            one.case = one.name
    return EntryPairs(
        entry=record.id,
        question=stated.question,
        seed=stated.design.seed,
        void=record.state == VOID,
        series=list(series.values()),
    )


def _pairs(record: Record, question: Question) -> Iterator[tuple[Run, Run, Part, str]]:
    """Every side's run with the base's run of the same pair and case, in the order of their starts; and why the pair
    does not count, or an empty text. Of a run that was made again the last one counts, where the order of the pair is
    still the one that was drawn."""
    made = [s for s in record.runs if s.run.part is not None and s.counts]
    first = {_place(s.run): s.run for s in reversed(made)}
    good = {_place(s.run): s.run for s in made if s.state == "finished"}
    commands: dict[str, list[str]] = {}
    for (pair, case, side), run in sorted(good.items(), key=lambda item: (item[1].started, item[1].run)):
        base = good.get((pair, case, question.base))
        if side in question.sides and base is not None:
            began = first[pair, case, question.base], first[pair, case, side]
            why = _MADE_AGAIN if _sign(*began) != _sign(base, run) else ""
            if question.axis != CODE_AXIS and _code(base) != _code(run):
                why = _OTHER_CODE
            if [*plain_words(base.command)] != commands.setdefault(case, [*plain_words(base.command)]):
                why = _OTHER_COMMAND
            yield base, run, Part(pair=pair, side=side, case=case), why


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
    question = dataclasses.replace(question, guards=())
    if is_code := question.axis == CODE_AXIS:
        question = dataclasses.replace(question, base="", sides=())
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


# -- rows ----------------------------------------------------------------------------------------------


def _apart(runs: Sequence[Sequence[Row]], axis: str) -> list[str]:
    """The names that tell the rows of one run apart: of config, else of the words that they report."""
    names = [name for name in _varied([[row.config for row in rows] for rows in runs]) if name != axis]
    if any(len(rows) > 1 for run in runs for rows in _by_place(run, names).values()):
        names += _varied([[row.labels for row in rows] for rows in runs])
    return names


def _varied(runs: Sequence[Sequence[Mapping[str, Scalar]]]) -> list[str]:
    """The names whose values differ between the rows of a run."""
    names = dict.fromkeys(name for rows in runs for row in rows for name in row)
    return [n for n in names if any(len({canonical(row.get(n)) for row in rows}) > 1 for rows in runs)]


def _matched(runs: Mapping[str, Sequence[Row]], names: Sequence[str]) -> tuple[list[tuple[str, Row, Row]], str]:
    """The rows of the two sides that are of one case, each with what tells it from the other rows of its run; and why
    some have no partner, or an empty text."""
    (base, first), (other, last) = ((side, _by_place(rows, names)) for side, rows in runs.items())
    found: list[tuple[str, Row, Row]] = []
    why = []
    for place in first:
        rows, partners = first[place], last.get(place, [])
        if len(rows) != len(partners):
            continue
        if _is_moved(rows, partners):
            why.append("rows that only their order tells apart come in another order")
            continue
        marks = [place] if len(rows) == 1 else [f"{place}#{number}" for number in range(1, len(rows) + 1)]
        found += zip(marks, rows, partners, strict=True)
    counts = [len(rows) for rows in runs.values()]
    if counts[0] != counts[1]:
        why.append(f"{counts[0]} rows a run against {counts[1]}")
    for side, mine, theirs in ((base, first, last), (other, last, first)):
        if alone := [place for place in mine if place and place not in theirs]:
            why.append(f"only {side} has {listed(alone, _SHOWN)}")
    return found, "; ".join(why)


def _is_moved(rows: Sequence[Row], partners: Sequence[Row]) -> bool:
    """Whether rows that only their order tells apart report the same numbers in another order."""
    for name in rows[0].observations if len(rows) > 1 else ():
        one, other = ([row.observations.get(name) for row in side] for side in (rows, partners))
        if one != other and len(set(one)) == len(one) and set(one) == set(other):
            return True
    return False


def _other_side(question: Question, side: str, base: Row, other: Row) -> str | None:
    """Why two rows are not of the sides that their runs were made for: one reports another value of the axis; else
    None."""
    for name, row in ((question.base, base), (side, other)):
        said = canonical(row.config.get(question.axis))
        if question.axis in row.config and name != canonical(None) and said != name:
            return f"a run of {question.axis}={name} reported {question.axis}={said}"
    return None


def _by_place(rows: Sequence[Row], names: Sequence[str]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        said = {**row.labels, **row.config}
        place = " ".join(f"{n}={canonical(said[n])}" for n in names if n in said)
        found.setdefault(place, []).append(row)
    return found


def _metrics(question: Question, base: Row, other: Row) -> list[str]:
    if question.metrics:
        return [*question.metrics, *question.guards]
    return list(dict.fromkeys([*base.metrics, *other.metrics, *question.guards]))


def _positive(row: Row, name: str) -> float | None:
    """The value of a row that a ratio can be made of; None where it has none."""
    value = value_of(row, name)
    return value if value is not None and math.isfinite(value) and value > 0 else None


# -- series --------------------------------------------------------------------------------------------


def _series(
    series: dict[tuple[object, ...], EntrySeries],
    at: tuple[tuple[tuple[str, str], ...], str, str, str, str],
    asked: str,
    base: Run,
    config: Mapping[str, Scalar],
) -> EntrySeries:
    conditions, side, case, place, metric = at
    if at not in series:
        series[at] = EntrySeries(
            key=digest(asked, conditions),
            conditions=dict(conditions),
            asks=asked,
            side=side,
            case=place,
            name=" ".join(filter(None, (case, place))),
            config=dict(config),
            device=_device(base),
            metric=metric,
        )
    return series[at]


def _add(one: EntrySeries, base: tuple[Run, Row], other: tuple[Run, Row], axis: str) -> None:
    """Add a pair to a series, with what else differs between its sides. Which way is better is what the base says."""
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
