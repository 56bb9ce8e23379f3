"""The pairs of runs that an entry made for its comparison. The tool made both runs of a pair in the order that the
design drew; each run states its part.

A pair counts when both runs finished and ran the same code (unless code is what is compared). The pairs of one question
share command, config, environment, packages, devices and code: what else differs between the two sides follows from the
axis, and is named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from logbook_agent.findings.attempts import how_it_failed
from logbook_agent.findings.comparison.conditions import is_alike
from logbook_agent.model.comparison import BLOCK_PAIRS, CODE_AXIS, Comparison, Part, Question
from logbook_agent.model.gates import GATE, fails
from logbook_agent.model.record import SETUP, WARM_UP, Record, RunStatus, ended_badly, is_own
from logbook_agent.model.run import Run
from logbook_agent.model.values import canonical

_OTHER_CODE = "the code changed between the two runs"
_OTHER_COMMAND = "the command is another than that of the first pair"
_MADE_AGAIN = "a run was made again after its partner, so chance did not draw their order"
ENDED_BADLY = ("failed", "timeout", "stalled")
_ENV = "env:"


class RunPair(NamedTuple):
    """The run of a side with the base's run of the same pair and case. `why` it does not count, or an empty text, and
    which side `failed`, if one did; `again` are the failures of sides that were run again."""

    base: Run
    other: Run
    side: str
    case: str
    why: str = ""
    failed: str = ""
    again: tuple[tuple[str, str], ...] = ()

    @property
    def asks_the_same(self) -> bool:
        """Whether its command is that of the first pair."""
        return self.why != _OTHER_COMMAND


def run_pairs(record: Record, question: Question) -> Iterator[RunPair]:
    """Every pair, in the order of their starts. Of a run that was made again the last one counts, where the order of
    the pair is still the one that was drawn."""
    made = [s for s in record.runs if s.run.part is not None and s.counts]
    first = {_place(s.run): s.run for s in reversed(made)}
    ended = {_place(s.run): s for s in made if s.state in ("finished", *ENDED_BADLY)}
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
        why = _MADE_AGAIN if order_of(*began) != order_of(base, other) else ""
        if question.axis != CODE_AXIS and (base.code and base.code.key) != (other.code and other.code.key):
            why = _OTHER_CODE
        failures = ((text, name) for name, s in ((question.base, of_base), (side, status)) if (text := _failure(s)))
        why, failed = next(failures, (why, ""))
        if not is_alike(base.command, commands.setdefault(case, base.command)):
            why = _OTHER_COMMAND
        again = tuple(found for name in (question.base, side) for found in replaced.get((pair, case, name), ()))
        yield RunPair(base, other, side, case, why, failed, again)


def order_of(base: Run, other: Run) -> int:
    """+1 where the other side ran second, else -1."""
    return 1 if (other.started, other.run) > (base.started, base.run) else -1


def blocks_of(record: Record, stated: Comparison) -> Mapping[tuple[str, int], tuple[int, bool]]:
    """The place of each block, and whether it is finished: those that are come first, in the order of their first runs.
    Each working copy has blocks of its own."""
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
    return {block: (at, block in done) for at, block in enumerate(order)}


def stopped(record: Record, question: Question, *, is_begun: bool) -> tuple[str, ...]:
    """The side and the reason of the last run, of a pair or to warm up, that failed, or `setup` where that failed;
    empty where none did, or a later one of that name finished. Once pairs are `is_begun`, a broken gate stops none."""
    last: dict[tuple[str, str | None], str] = {}
    for status in record.runs:
        why, name = _failure(status), _side(status, question)
        why = "" if is_begun and not ended_badly(status.run) else why
        # Setup has a name in each folder that it prepares.
        key = (name, status.run.label if name == SETUP else None)
        if name and (why or status.state in ("finished", "failed")):
            last.pop(key, None)
            last[key] = why
    return next(((name, why) for (name, _), why in reversed(last.items()) if why), ())


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
    return how_it_failed(status.run) if status.state in ENDED_BADLY else ""


def _place(run: Run) -> tuple[tuple[str, int], str, str]:
    """The pair, by the working copy and its number there, case and side."""
    part = part_of(run)
    return (part.copy, part.pair), part.case, part.side


def part_of(run: Run) -> Part:
    """The part of a run that has one."""
    if run.part is None:
        raise AssertionError(f"{run.entry}/{run.run} has no part")
    return run.part
