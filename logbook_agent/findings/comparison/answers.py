"""The answer to each comparison of a thread, from what its entry measured (`side_cases`) by the rule (`rule`).

A question has one entry, and an entry one answer: nothing outside of the entry changes it. A second sitting that
settles it the same way by its own test replicates it.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Collection, Container, Iterator, Mapping, Sequence

from msgspec import structs

from logbook_agent.findings.comparison.answer import Answer, Apart, Finding, Lacks, Outcome
from logbook_agent.findings.comparison.conditions import asks, codes_of
from logbook_agent.findings.comparison.judgement import findings, frozen, pairs_left_out, sittings
from logbook_agent.findings.comparison.metric_series import MetricSeries, series_of
from logbook_agent.findings.comparison.run_pairs import ENDED_BADLY, blocks_of, stopped
from logbook_agent.findings.comparison.side_cases import SideCase, measured
from logbook_agent.findings.comparison.side_differences import differences
from logbook_agent.model.comparison import CODE_AXIS, Comparison, Question, code_name
from logbook_agent.model.entry import VOID, Confidence
from logbook_agent.model.header import Metric
from logbook_agent.model.record import SETUP, Record, is_own
from logbook_agent.model.run import Run
from logbook_agent.model.values import varied
from logbook_agent.text.phrases import counted, listed
from logbook_agent.text.shell_words import command_line

_TOOL = "logbook-agent"
_CUT_OFF = ("interrupted", "lost")
_SHOWN = 3


def answer_of(record: Record, declared: Sequence[Metric] = ()) -> Answer | None:
    """The answer of an entry, as its record alone gives it; None for an entry that states no comparison."""
    stated = record.entry.comparison
    if stated is None:
        return None
    question, made, is_void = stated.question, measured(record, stated), record.state == VOID
    sides = [] if is_void else made.sides
    bases = [pair.base for pair in made.pairs if not pair.why]
    fixed = stated.design.budget_pairs if stated.design.fixed else 0
    series, left_out = _series(record, stated, sides, declared, [*_late_gates(record, question, bases)])
    judged = findings(question, series, declared, fixed)
    apart = differences(sides, question.axis, declared, record, {f.metric for f in judged})
    lost: dict[str, list[tuple[str, str]]] = {}
    for side, why, label in (one for of in sides for one in of.failed):
        lost.setdefault(side, []).append((why, label))
    labels = {side: {label for _, label in of} for side, of in lost.items()}
    found = tuple(_failed(_opened(f, apart), question.base, labels) for f in judged)
    times = sorted({one[:2] for p in series for one in p.pairs})
    borne_out, reasons = confidence(found, len(sittings(times)))
    first = {pair.case: pair.base for pair in reversed(made.pairs) if pair.asks_the_same}
    return Answer(
        entry=record.id,
        question=question,
        findings=found,
        pairs=max((f.pairs for f in found), default=0),
        sittings=len(sittings(times)),
        confidence=borne_out,
        reasons=reasons,
        code=made.code,
        last=times[-1][0] if times else "",
        ended=max((ended for _, ended in times), default=""),
        asks=asks(stated, [*first.values()]),
        codes=codes_of(stated),
        fixed=fixed,
        is_typed=stated.run is not None and not stated.run.in_process and not fixed,
        is_void=is_void,
        left_out=pairs_left_out(left_out),
        apart=tuple(apart),
        failed={side: dict(Counter(why for why, _ in of)) for side, of in lost.items()},
        evaluator=tuple(one.path for one in stated.evaluator if one.differed),
        stopped=stopped(record, question, is_begun=bool(made.pairs)) if stated.run or not made.pairs else (),
        first=tuple(dict.fromkeys(text for f in found if not f.is_watched for text in frozen(f, question.base))),
        notes=tuple(dict.fromkeys(_notes(record, sides, bases))),
    )


def _series(
    record: Record, stated: Comparison, sides: Sequence[SideCase], declared: Sequence[Metric], late: Sequence[str]
) -> tuple[list[MetricSeries], Counter[str]]:
    """The series of the metrics that decide or are declared, and how many pairs count in none. A side and case of which
    nothing was measured has one of each metric that is asked for, so that its answer shows. `late` is said of what
    decides."""
    question, blocks = stated.question, blocks_of(record, stated)
    measured = {(of.side, of.plan) for of in sides if of.pairs}
    found, left_out = list[MetricSeries](), Counter[str]()
    for of in sides:
        is_shown = bool(of.pairs) or (of.side, of.plan) not in measured
        own = [*question.metrics, *(name for one in of.pairs for row in one.rows for name in row.metrics)]
        for name in dict.fromkeys(own if is_shown else ()):
            if question.decides(name) or any(m.name == name for m in declared):
                series = series_of(of, name, question, declared, blocks)
                cautions = [*series.cautions, *(late if name in question.metrics else ())]
                found.append(structs.replace(series, cautions=cautions))
        left_out += of.left_out if of.pairs or not own or not is_shown else Counter()
    return found, left_out


def _late_gates(record: Record, question: Question, bases: Sequence[Run]) -> Iterator[str]:
    """Gates on what decides that came after the first pairs."""
    began = min((run.started for run in bases), default="")
    late = [f"{str(gate)!r}" for gate in record.gates if gate.limits(question.metrics) and gate.since > began]
    if late:
        yield f"the gate {listed(late)} came after the first pairs, and can choose the answer"


def _notes(record: Record, sides: Sequence[SideCase], bases: Sequence[Run]) -> Iterator[str]:
    """The problems of the runs, and what the figures of a comparison cannot tell."""
    for of in sides:
        yield from [*dict.fromkeys(str(p) for one in of.pairs for run in one.runs for p in run.problems)][:_SHOWN]
    if not sides:
        return
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
    made = [s for s in record.runs if s.run.part is not None and s.counts]
    cut = sum(s.state in _CUT_OFF for s in made[:-1])  # after the last one, none was made
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
        elif s.state in ENDED_BADLY:
            setup = ""


def _opened(finding: Finding, apart: Sequence[Apart]) -> Finding:
    """The finding, open where the outputs of its sides differ and nobody said whether they may."""
    one = next((one for one in apart if one.kind == "label" and one.side == finding.side), None)
    if one is None or not (finding.is_settled or finding.lacks_pairs):
        return finding
    return structs.replace(finding, outcome=Outcome.OPEN, is_replicated=None, lacks=Lacks("decision", name=one.name))


def _failed(finding: Finding, base: str, lost: Mapping[str, Collection[str]]) -> Finding:
    """The finding; of a side, or base, that failed in each of its pairs one that no further pair would settle. `lost`
    has the labels in which each side that failed differs from the base; an empty one where it failed otherwise."""
    side = next((name for name in (base, finding.side) if name in lost and not finding.pairs), None)
    if side is None:
        return finding
    label = min(lost[side])
    return structs.replace(finding, lacks=Lacks("gate", name=label) if label else Lacks("side", name=side))


def confidence(findings: Sequence[Finding], count: int = 1) -> tuple[Confidence, tuple[str, ...]]:
    """The confidence in an answer of so many sittings, and its reasons, by the goal that is borne out the least."""
    goals = [f for f in findings if not f.is_watched]
    left = sum(not f.is_settled for f in goals)
    if not goals or left == len(goals):
        return "exploratory", ("nothing is settled yet",)
    if left:
        return "exploratory", (f"{left} of {len(goals)} answers are open",)
    if any(f.is_replicated is False for f in goals):
        return "exploratory", ("a second sitting settled it otherwise",)
    if not all(f.is_replicated for f in goals):
        return "exploratory", ("settled in one sitting" + (f" of {count}" if count > 1 else ""),)
    return "replicated", ("settled in two sittings",)


# -- among the other comparisons of a thread ---------------------------------------------------------------

# Of what is named in a sentence.
_CHARS = 40


def values_apart(answers: Sequence[Answer], declared: Collection[str]) -> set[str]:
    """The config keys that tell comparisons apart: those in which they differ, and those that the logbook declares."""
    return {name for name, values in _values(answers).items() if len(values) > 1 or name in declared}


def placed(answer: Answer, asking: Sequence[Answer], apart: Collection[str], discarded: Container[str] = ()) -> Answer:
    """The answer beside those of the thread: with the entries among those `asking` the same, itself included, that came
    before it, or have an answer of the same code that nobody discarded; and each case with the config that tells it
    from the others, and tells comparisons `apart`."""
    configs = {f.name: f.config for f in answer.findings}
    # A case that is alone is what its name says: `size=3`.
    told = " ".join(["", *configs, ""])
    alone = (name for config in configs.values() for name, value in config.items() if f" {name}={value} " in told)
    own = varied(configs.values()) or [*alone]
    cases = {name: {n: config[n] for n in own if n in config} for name, config in configs.items()}
    if len({repr(sorted(case.items())) for case in cases.values()}) < len(cases):
        cases = {name: {"case": name} for name in cases}
    shared, room = dict[str, str](), _CHARS
    for name, values in _values([answer]).items():
        if name in apart and len(values) == 1:
            [value] = values
            room -= len(name) + len(value) + 2
            shared |= {name: value} if room >= 0 else {}
    found = tuple(structs.replace(f, case={**cases[f.name], **shared}) for f in answer.findings)
    others = [one for one in asking if one.findings and one.codes == answer.codes and one.entry not in discarded]
    before = itertools.takewhile(lambda other: other.entry != answer.entry, asking)
    earlier = [other for other in before if _is_same(answer, other)]
    return structs.replace(
        answer,
        findings=found,
        earlier=tuple(other.entry for other in earlier),
        of_other_code=tuple(o.entry for o in earlier if o.codes and answer.codes and o.codes != answer.codes),
        twins=tuple(other.entry for other in others if other.entry != answer.entry),
    )


def _is_same(one: Answer, other: Answer) -> bool:
    """Whether another comparison asked the same: of other code, but where code is what is compared; of that, also where
    its branches and tags have moved on."""
    if other.is_void:
        return False
    names = _code_names(one.question)
    is_same_code = bool(one.codes) and one.codes == other.codes
    return one.question.axis != CODE_AXIS or is_same_code or bool(names and names == _code_names(other.question))


def _code_names(question: Question) -> list[str]:
    """The branches and tags that a question compares; empty where a side has no name that lasts."""
    names = [code_name(value) for value in question.values]
    return [] if any(name == "WORK" or " " in name or name.startswith('"') for name in names) else names


def _values(answers: Sequence[Answer]) -> dict[str, set[str]]:
    """The values of each config key in the rows of comparisons, without their axes."""
    found: dict[str, set[str]] = {}
    for f in (f for answer in answers for f in answer.findings):
        for name, value in f.config.items():
            found.setdefault(name, set()).add(value)
    return found


# -- of a thread ---------------------------------------------------------------------------------------


def settled(answers: Sequence[Answer], metrics: Sequence[str] = ()) -> list[tuple[Answer, Finding]]:
    """What the comparisons of a thread settled: goals before watched metrics, by the order of `metrics`, and of one
    metric the greatest effect first, of equal ones the latest."""
    found = [(a, f) for a in reversed(answers) for f in a.findings if f.is_found]
    rank = {name: at for at, name in enumerate(metrics)}
    return sorted(found, key=lambda one: (one[1].is_watched, rank.get(one[1].metric, len(rank)), -_size(one[1])))


def _size(finding: Finding) -> float:
    """The size of a change, in steps of 1%: half and twice as much are equal."""
    change = finding.change or 0
    return round(abs(math.log1p(change)), 2) if change > -1 else math.inf


def unsettled(answers: Sequence[Answer]) -> list[tuple[Answer, Finding]]:
    """The goals that are open, those first that the fewest pairs would settle, else the latest question first."""
    found = [(a, f) for a in reversed(answers) for f in a.goals if not f.is_settled]
    return sorted(found, key=lambda one: missing_pairs(one[1]))


def last_to_settle(answer: Answer) -> Finding | None:
    """The open goal that lacks the most pairs, of those that a practical number would settle, if there are some: the
    forecast of every reader."""
    lacking = [f for f in answer.goals if f.lacks_pairs]
    return max([f for f in lacking if f.is_practical] or lacking, key=missing_pairs, default=None)


def needed(answer: Answer) -> Lacks | None:
    """What an answer with open goals needs first; None where none is open."""
    last = last_to_settle(answer)
    return last.lacks if last is not None else next((f.lacks for f in answer.goals if f.lacks is not None), None)


def missing_pairs(finding: Finding) -> float:
    """How many more pairs would probably settle a finding; infinite where no practical number would."""
    return math.inf if finding.lacks is None or finding.lacks.pairs is None else finding.lacks.pairs
