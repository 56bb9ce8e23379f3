"""When a comparison has enough pairs, and what is said of its end."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from msgspec import structs

from logbook_agent.campaign.ab_request import AbRequest
from logbook_agent.campaign.series import RunSeries
from logbook_agent.campaign.typing_place import typing_place
from logbook_agent.findings import advice
from logbook_agent.findings.comparison import answer_lines, words
from logbook_agent.findings.comparison.answer import Answer
from logbook_agent.findings.comparison.answers import last_to_settle
from logbook_agent.findings.read import read
from logbook_agent.model.comparison import BLOCK_PAIRS, MOST_PAIRS, Comparison
from logbook_agent.model.entry import Entry
from logbook_agent.model.errors import BudgetSpent
from logbook_agent.model.gates import fails, judged
from logbook_agent.model.record import run_state
from logbook_agent.model.run import Run
from logbook_agent.model.stats import median
from logbook_agent.running.order import check_budget
from logbook_agent.text.phrases import counted, listed

# So many findings are shown in a line of progress, and so many problems of the output.
_SHOWN = 3
_STDERR_LINES = 5


class Stop(StrEnum):
    """Why no further pair is made. `OPEN`: further pairs would settle nothing; the answer lacks something else."""

    SETTLED = "settled"
    OPEN = "open"
    PAIRS = "pairs"
    TIME = "time"
    FAILED = "failed"
    CODE_CHANGED = "code-changed"
    INTERRUPTED = "interrupted"
    NOT_COMPARABLE = "not-comparable"


class PairsEnd(NamedTuple):
    """Why no further pair is made, and that in words."""

    stop: Stop
    why: str


class PairJudge:
    """Judges the comparison that the entry of a series states, after each of its `pairs`; `before` were there at the
    start. At most `budget` pairs are made; `answer` is the one at the last look."""

    def __init__(self, series: RunSeries, request: AbRequest, *, pairs: int, budget: int) -> None:
        self._series, self._book, self._request = series, series.book, request
        self._id, self.stated = series.entry.id, stated_in(series.entry)
        self.pairs, self.before, self.budget = pairs, pairs, budget
        self.answer: Answer | None = None
        self._comparisons = read(series.workspace, series.book).comparisons
        self._gates = self._book.record(self._id).gates
        self._durations_s: list[float] = []
        self._began = time.monotonic()

    def look(self) -> PairsEnd | None:
        """Judge the pairs so far: why no further one is made, or None to continue."""
        if not self.pairs:
            return None
        self.answer = answer = self._comparisons.answer_with(self._book.record(self._id))
        if answer is None or not any(f.change is not None for f in answer.goals):
            # Asked again, it gets another pair first.
            return self._nothing() if self.pairs > self.before else None
        return self._settled(answer) or self._spent(answer)

    def count(self, took_s: float) -> None:
        """Count a pair that was made."""
        self.pairs += 1
        self._durations_s.append(took_s)

    def is_end(self, run: Run, side: str) -> bool:
        """Whether a run of a side failed so that it ends the comparison. A side that breaks a gate leaves the others;
        the base, and the only other side, leave none."""
        [seen] = judged([run], self._gates)
        ends_all = side == self.stated.question.base or len(self.stated.question.sides) == 1
        is_good = run_state(seen, self._book.stage) == "finished"
        return not is_good and (ends_all or fails(run) is not None or fails(seen) is None)

    def _settled(self, answer: Answer) -> PairsEnd | None:
        """Why to stop after a block, or before the first pair: no further pair settles anything. Of a comparison that
        was settled before, a later sitting is made, and pairs that --id and --max-pairs ask for."""
        made = self.pairs - self.before
        if self.is_fixed or (made and self.pairs % BLOCK_PAIRS):
            return None
        lacks_pairs = any(f.lacks_pairs for f in answer.goals)
        if lacks_pairs and self.pairs < MOST_PAIRS:
            return None
        # Settled by pairs that were made now, not by those before.
        is_new = lacks_pairs or any(f.judged > f.pairs - made for f in answer.goals)
        is_apart_now = advice.is_apart(answer, self._series.workspace.now())
        may_replicate = is_apart_now and any(f.is_replicated is None for f in answer.goals)
        is_more_asked = not made and self._request.run.entry_id is not None and self._request.max_pairs is not None
        if not is_new and (may_replicate or is_more_asked):
            return None
        if any(f.lacks is not None for f in answer.goals):
            return PairsEnd(Stop.OPEN, f"the answer stays open{_needs(answer, ':')}")
        if not made:
            return PairsEnd(Stop.SETTLED, f"no pair was made: {self._what_adds(answer)}")
        return PairsEnd(Stop.SETTLED, f"settled{self._borne_out(answer)}")

    def _spent(self, answer: Answer) -> PairsEnd | None:
        """Why to stop: the budget of pairs is spent, or another pair would probably not end within --max-time."""
        limit_s, is_over = self._request.max_time_s, self.pairs >= self.budget
        more = self._borne_out if answer.is_settled or (is_over and self.is_fixed) else self._to_continue
        if is_over:
            return PairsEnd(Stop.PAIRS, f"{counted(self.pairs - self.before, 'pair')} made{more(answer)}")
        if limit_s is None or self._usual_s is None or time.monotonic() - self._began + self._usual_s <= limit_s:
            return None
        why = f"the next pair would probably take longer than --max-time allows ({limit_s:g} s){more(answer)}"
        return PairsEnd(Stop.TIME, why)

    def _nothing(self) -> PairsEnd:
        """Why no pair counts, with what was wrong with the output."""
        found, why = self.answer, ["nothing was measured"]
        if found is not None:
            of_findings = (reason for f in found.findings for reason in f.left_out)
            why = [*answer_lines.failures(found), *found.left_out, *of_findings, *why]
        runs = self._book.runs(self._id)
        reported = sorted({name for run in runs for row in run.rows for name in (*row.metrics, *row.observations)})
        asked = self.stated.question.metrics
        if reported and not {*asked} & {*reported}:
            lacking = f"no run reports {listed(asked, _SHOWN)}, but" if asked else "no metric is named; the runs report"
            why = [f"{lacking} {listed(reported, _SHOWN)}"]
        problems = dict.fromkeys(str(p) for run in runs for p in run.problems if p.grade != "noted")
        text = "; ".join([f"nothing can be compared: {why[0]}", *list(problems)[:_SHOWN]])
        return PairsEnd(Stop.NOT_COMPARABLE, text)

    @property
    def is_fixed(self) -> bool:
        """Whether the number of pairs is, and they are judged once."""
        return self.stated.design.fixed

    @property
    def _usual_s(self) -> float | None:
        """How long a pair takes."""
        return median(self._durations_s) if self._durations_s else None

    @property
    def left_s(self) -> float | None:
        """How long the pairs of the budget that are left would take."""
        return (self.budget - self.pairs) * self._usual_s if self._usual_s is not None else None

    # -- what is said of it ----------------------------------------------------------------------------

    def settled_before(self) -> str:
        """That the question is settled already, and what further pairs are good for; empty where it is not."""
        answer = self._comparisons.answer_of(self._id)
        if answer is None or not answer.is_settled or self.is_fixed:
            return ""
        found = "; ".join(words.sentence(answer, f) for f in answer.goals[:_SHOWN])
        return f"{self._id} is settled: {found}; {self._what_adds(answer)}"

    def _what_adds(self, answer: Answer) -> str:
        """What would add to an answer that is settled, with the command."""
        if answer.confidence != "exploratory":
            return "it is replicated, so further pairs do not change that"
        if advice.is_apart(answer, self._series.workspace.now()):
            return "pairs made now are of a second sitting, which can replicate the answer"
        way = self._second_sitting(answer)
        later = f"a second sitting, ten minutes after the last pair, can replicate the answer{way}"
        return f"more pairs in this sitting do not change that; {later}"

    def _borne_out(self, answer: Answer) -> str:
        """What a later sitting made of an answer; empty where there was none."""
        if answer.sittings < 2 or self.is_fixed:
            return ""
        borne_out = {f.is_replicated for f in answer.goals}
        if answer.is_settled and None in borne_out and False not in borne_out:
            way = f"; more pairs may{self._second_sitting(answer)}" if advice.may_replicate(answer) else ""
            return f"; not replicated: no later sitting settles it alone{way}"
        return f"; {answer.confidence} ({'; '.join(answer.reasons)})"

    def _second_sitting(self, answer: Answer) -> str:
        run = self.stated.run
        return "" if run is None or run.in_process else f": {advice.second_sitting(answer, self.stated)}"

    def line(self) -> str:
        """`MOE-003, pair 10 of at most 20: tflops +1.2% (95%: -0.7 to 3.3%); needs about 20 more pairs`."""
        goals = self.answer.goals if self.answer is not None else ()
        if self.answer is None or not any(f.change is not None for f in goals):
            return ""
        if self.pairs > BLOCK_PAIRS and self.pairs % BLOCK_PAIRS and not self.is_fixed:
            return f"{self._id}, pair {self.pairs} of {self._budget_text}"  # the next look is at the end of the block
        more, last = len(goals) - _SHOWN, last_to_settle(self.answer)
        shown = [*map(words.progress, goals[:_SHOWN]), *([f"and {more} more"] if more > 0 else [])]
        if last is not None and not self.pairs % BLOCK_PAIRS:
            shown.append(f"needs {words.more_pairs(last)}")
        return f"{self._id}, pair {self.pairs} of {self._budget_text}: {'; '.join(shown)}"

    def failed(self, run: Run, which: str, lacks: Sequence[str] = ()) -> str:
        """Which run failed and how, its last lines of stderr, and the command that continues. `lacks`: what its
        checkout has not, and git does not hold."""
        tail = (run.output.error_tail or run.output.tail)[-_STDERR_LINES:] if run.output is not None else ()
        tail = tail or tuple(filter(None, [run.last_words]))
        # What the output names comes first.
        said = "\n".join(tail)
        found = sorted(lacks, key=lambda name: not _is_named(name, said))
        if found and _is_named(found[0], said):
            self._book.change_entry(self._id, lambda entry: _needing(entry, found))
        way = self.way()
        is_simple, last = bool(way.then) or not way.first, way.then or way.command
        more = [f"{'fix that, then continue' if is_simple else way.first}: {last}"] if last else []
        build = way.build
        if lacks and self.stated.run is not None and way.lacks != "setup":
            is_by_id = self._request.run.entry_id is not None
            built = advice.with_setup(advice.ab_more(self._id) if is_by_id else advice.ab_afresh(self._id, new=False))
            names = listed(found, _SHOWN)
            build = f"git does not hold {names}, and the checkout lacks it; if the command needs it: {built}"
        more = [*filter(None, [build]), *more]
        [seen] = self._book.statuses([run])
        code = f"exit code {run.exit.code}" if run.exit is not None and run.exit.code else ""
        how = ", ".join(filter(None, [seen.state, code, str(fails(seen.run) or "")]))
        return "\n".join([f"run {run.run}, {which}: {how}", *(f"  {line}" for line in tail), *more])

    def to_decide(self) -> str:
        """How to decide on the code that the first sitting settled; empty where nothing is to be decided."""
        is_first = self.answer is not None and self.answer.sittings == 1
        here = typing_place(self._series.workspace)
        command = advice.decide(self.answer, self.stated, here) if self.answer is not None and is_first else ""
        return f"to decide on its code: {command}" if command else ""

    def rest(self) -> str:
        """What is said where a request to stop, or a spent budget, ended it."""
        again = self._again()
        if self.stated.run is not None and (not again or self.budget > self.stated.design.budget_pairs):
            again = advice.ab_again(self._id, self.stated, self.budget - self.pairs)
        return self._series.rest(self.pairs, self._budget_text, again, what="pairs")

    def way(self) -> advice.Continuation:
        """How to go on, as far as would settle it; nothing for `ci`, which measures afresh."""
        run, answer = self.stated.run, self._comparisons.answer_with(self._book.record(self._id))
        if run is not None and run.in_process:
            return advice.Continuation(command="ab(book, ...) with the same functions")
        if answer is None or (run is None and not self._is_sweep):
            return advice.Continuation()
        if self._is_sweep and self.pairs < self.budget:
            return advice.Continuation(command=advice.sweep_more(self._id))
        return advice.go_on(self._book, answer)

    def _again(self) -> str:
        """What to type for more pairs."""
        way = self.way()
        return way.then if way.lacks == "mend" else way.command

    def _to_continue(self, answer: Answer) -> str:
        """What goes on; what the answer needs, where no practical number of pairs would do."""
        if all(not f.is_practical for f in answer.goals if f.lacks_pairs):
            return _needs(answer, ";")
        try:
            check_budget(self._series.workspace, self._book)
        except BudgetSpent as error:
            return f"; {error.said}: {error.hint}"
        again = self._again()
        return f"; to continue: {again}" if again else ""

    @property
    def _is_sweep(self) -> bool:
        """Whether a sweep compares its best case, and goes on with that."""
        return self._series.entry.recipe is not None

    @property
    def _budget_text(self) -> str:
        """`6`, or `at most 20`."""
        return f"{'' if self.is_fixed else 'at most '}{self.budget}"


def _needs(answer: Answer, mark: str) -> str:
    """What the first open goal needs, after a punctuation mark; empty where nothing settles it."""
    needs = next((words.to_settle(answer, f) for f in answer.goals if not f.is_settled), "")
    return f"{mark} it needs {needs}" if needs else ""


def _is_named(name: str, text: str) -> bool:
    """Whether a text names a file, a folder by its path, or a Python module by its quoted name."""
    path = Path(name)
    module = f"|'{re.escape(path.stem)}'" if path.suffix in (".py", ".so", ".pyd") else ""
    return (
        re.search(rf"(?<![\w.-]){re.escape(path.name)}{'/' if name.endswith('/') else ''}(?![\w-]){module}", text)
        is not None
    )


def _needing(entry: Entry, names: Sequence[str]) -> Entry:
    """An entry whose comparison needs files that git does not hold."""
    stated = entry.comparison
    if stated is None or stated.run is None:
        return entry
    return structs.replace(entry, comparison=structs.replace(stated, run=structs.replace(stated.run, needs=(*names,))))


def stated_in(entry: Entry) -> Comparison:
    """The comparison of an entry that states one."""
    if entry.comparison is None:
        raise AssertionError(f"{entry.id} states no comparison")
    return entry.comparison
