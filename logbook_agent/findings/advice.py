"""What to type to settle a question: the command that adds pairs to a comparison, or makes a first one."""

from __future__ import annotations

import contextlib
import itertools
import re
import shlex
from collections.abc import Callable, Sequence
from datetime import datetime

from msgspec import Struct

from logbook_agent.findings.cases import Case, executed
from logbook_agent.findings.comparison.answer import Answer, Outcome
from logbook_agent.findings.comparison.answers import needed
from logbook_agent.findings.comparison.words import claim
from logbook_agent.findings.protocol import ELSEWHERE, NOWHERE, Records, TypingPlace
from logbook_agent.findings.tables.frame import ABSENT, Item
from logbook_agent.model.comparison import (
    APART_S,
    BLOCK_PAIRS,
    BUDGET_PAIRS,
    CODE_AXIS,
    WORK,
    Comparison,
    code_hash,
    code_name,
    code_typed,
)
from logbook_agent.model.entry import RecipeUse, entry_of, parse_id
from logbook_agent.model.errors import LogbookError
from logbook_agent.model.gates import SAME, Gate, fails, values_of
from logbook_agent.model.record import COMPARISON, SETUP, Record, best_pairs, ended_badly
from logbook_agent.model.values import canonical
from logbook_agent.text.commands.flags import axis_option, with_place
from logbook_agent.text.phrases import listed
from logbook_agent.text.shell_words import command_line, sweep_command


class Continuation(Struct, frozen=True, kw_only=True):
    """How to go on with a comparison: `command` is what to type, which makes up to so many `pairs`; empty where nothing
    helps. `lacks` is the kind of what the comparison lacks: `Lacks.what`; `entry`: pairs of another entry, as those of
    this one are judged once; `report`: a gate asks for what no run reports; `mend`: code that passes, and `run`: runs
    of it. `first` is what somebody has to do or to decide before, `then` what to type after that, and `build` what else
    may help: another setup."""

    command: str = ""
    lacks: str = ""
    pairs: int = 0
    first: str = ""
    then: str = ""
    build: str = ""


def go_on(records: Records, answer: Answer, here: TypingPlace = NOWHERE) -> Continuation:
    """How to go on with a comparison, for every reader: what mends a side that failed, a decision on a label, or as
    many pairs as would probably do."""
    entry, lacks = records.entry(answer.entry), needed(answer)
    stated = entry.comparison
    if answer.failure is not None:
        return _retry(records, answer, answer.failure[0], here)
    what: str = lacks.what if lacks is not None else ""
    if lacks is not None and what == "decision":
        command = _line(f"logbook edit {answer.entry}", command_line(["--gate", f"{SAME} {lacks.name}"]))
        return Continuation(command=command, lacks=what)
    # Before the first pair, the usual budget.
    pairs = BUDGET_PAIRS if lacks is None else lacks.pairs or 0
    # Pairs of a block that is not whole do not count.
    pairs -= (answer.pairs + pairs) % BLOCK_PAIRS if pairs > BLOCK_PAIRS else 0
    if pairs and entry.recipe is not None:
        return Continuation(command=_sweep_on(records, answer, entry.recipe, pairs), lacks=what, pairs=pairs)
    if not pairs or stated is None or not _has_command(stated):
        return Continuation(lacks=what)
    left = stated.design.budget_pairs - answer.pairs
    is_over = stated.design.fixed and left <= 0
    side = stated.question.sides[-1] if stated.question.axis == CODE_AXIS else "@"
    if is_over and "@" not in side and not here.keeps(stated, "HEAD"):
        return Continuation(lacks=what)  # a new entry would ask it of changes that are not here
    if is_over:
        # A new entry begins without pairs.
        pairs += answer.pairs + -(answer.pairs + pairs) % BLOCK_PAIRS
    command = ab_again(answer.entry, stated, None if lacks is None or pairs <= left else pairs, is_over=is_over)
    return Continuation(command=command, lacks="entry" if is_over else what, pairs=max(pairs, left))


def _sweep_on(records: Records, answer: Answer, recipe: RecipeUse, pairs: int) -> str:
    """What to type for more pairs of a sweep: of its best case, else of all cases in a sweep of its own."""
    runs = records.runs(answer.entry)
    if any(run.label == COMPARISON for run in runs):
        return sweep_more(answer.entry, f"--set confirm={len(best_pairs(runs)) + pairs}")
    return sweep_anew(recipe, f"repeats={pairs}")


def sweep_anew(recipe: RecipeUse, *repeats: str) -> str:
    """What to type to carry out the plan of a sweep once more, in a new entry; with other `repeats`."""
    sets = (*(text for text in recipe.sets if not (repeats and text.startswith("repeats="))), *repeats)
    return sweep_command(recipe.file or recipe.name, "--new", scale=recipe.scale, sets=sets, on=recipe.on)


def replicate(records: Records, answer: Answer, now: datetime) -> str:
    """What to type for a second sitting of a comparison that one has settled; empty where there is nothing to gain, or
    pairs made now would belong to the first."""
    stated = records.entry(answer.entry).comparison
    if stated is None or not _has_command(stated) or stated.design.fixed:
        return ""
    is_open = answer.is_settled and answer.confidence == "exploratory" and may_replicate(answer)
    return second_sitting(answer, stated) if is_open and is_apart(answer, now) else ""


def may_replicate(answer: Answer) -> bool:
    """Whether pairs of a second sitting may still settle an answer alone: it has had less than twice the pairs that
    settled the first."""
    return answer.sittings < 2 or answer.pairs < 3 * max((f.judged for f in answer.goals), default=0)


def is_apart(answer: Answer, now: datetime) -> bool:
    """Whether a pair made now would belong to a later sitting than the first."""
    gap_s = (now - datetime.fromisoformat(answer.ended)).total_seconds() if answer.ended else 0
    return answer.sittings > 1 or gap_s > APART_S


def second_sitting(answer: Answer, stated: Comparison) -> str:
    """What to type for a second sitting of a comparison: what is missing of the block that the first one began, and as
    many pairs as the first took."""
    pairs = max((f.judged for f in answer.goals), default=BLOCK_PAIRS)
    return ab_again(answer.entry, stated, -answer.pairs % BLOCK_PAIRS + pairs)


def measure(record: Record, *, times: int = 1, cwd: str = ".") -> str:
    """What to type to make the runs that an entry states: its sweep, its pairs, its planned commands; else its last
    command again, so many `times`, in the folder `cwd`. An entry that makes no runs is shown."""
    entry, stated = record.entry, record.entry.comparison
    if entry.kind != "experiment":
        return show(entry.id)
    if entry.recipe is not None:
        return sweep_more(entry.id)
    if stated is not None and _has_command(stated):
        return ab_again(entry.id, stated)
    if record.pending:
        return f"logbook run --id {entry.id}"
    last = next((s.run for s in reversed(record.runs) if s.run.argv), None)
    if last is None:
        return f"logbook run --id {entry.id} -- COMMAND"
    repeat, label = f"--repeat {times}" if times > 1 else "", f"--label {shlex.quote(last.label)}" if last.label else ""
    options = (repeat, label, "--shell" if last.shell else "", f"--cwd {shlex.quote(cwd)}" if cwd != "." else "")
    return _line(f"logbook run --id {entry.id}", *options, "--", executed(last, is_quoted=True))


def more_runs(record: Record, case: Case, runs: int, here: TypingPlace) -> str:
    """What to type for so many more runs of a case of an entry: pairs, where it is a side of a comparison."""
    stated = record.entry.comparison
    if record.entry.recipe is not None and record.state in ("finished", "failed"):
        return sweep_anew(record.entry.recipe, f"repeats={runs}")
    if stated is None or case.part is None or not _has_command(stated):
        return measure(record, times=runs, cwd=here.folder(case.cwd or "."))
    return ab_again(record.id, stated, runs, is_over=stated.design.fixed)


def _retry(records: Records, answer: Answer, side: str, here: TypingPlace) -> Continuation:
    """How to go on where a side, or the setup, failed. What never passed fails again on the same code: the question is
    asked again of other code alone; before that it can be mended, or the entry discarded."""
    entry_id, record = answer.entry, records.record(answer.entry)
    stated = record.entry.comparison
    recipe = record.entry.recipe
    anew = sweep_anew(recipe) if recipe is not None else ""
    if stated is None or not (anew or _has_command(stated)):
        return Continuation(command=show(entry_id), lacks="run")
    question = stated.question
    # The base may have the other side by now.
    is_merged = side == question.base and here.held(stated, question.sides[-1], code_name(side)) == code_name(side)
    if not is_merged and (now := here.another(stated, side)):
        first = f"it has another commit now, {now}" if "@" in side else "the code is different now"
        if stated.evaluator and question.axis == CODE_AXIS:
            files = f"{listed([one.path for one in stated.evaluator], 3)} of {code_name(question.base)}"
            first += f", but {files} still measures both sides; --evaluator none measures each with its own"
        return Continuation(command=anew or ab_now(entry_id, stated, here), lacks="run", first=first)
    sides = [s.run for s in record.runs if s.run.part is not None and s.run.part.side == side]
    ends = [run.exit for run in sides if run.exit is not None]
    was_killed = [end.signal == "SIGKILL" and not end.timeout for end in ends] == [True]
    if answer.pairs or was_killed:
        # It passed on this code before, or somebody else ended it, such as a system out of memory.
        again = sweep_more(entry_id, "--retry-failed") if anew else ab_afresh(entry_id, new=False)
        return Continuation(command=again, lacks="run")
    is_turned = side == question.base and bool(other_evaluator(entry_id, stated))
    if not is_turned and (why := unreported(records, record)):
        last = max(run.run for run in sides or [s.run for s in record.runs])
        left = f"{why}; or discard the entry"
        return Continuation(command=show(f"{entry_id}/{last} --log"), lacks="report", first=left)
    is_commit = question.axis == CODE_AXIS and ("@" in side or side == SETUP)
    name, again, mend = f"{question.axis}={side}", "fails again on the same code", "mend the code"
    has_setup = stated.run is None or stated.run.setup is not None
    crashed = any(ended_badly(s.run) for s in record.runs) and not any(fails(s.run) for s in record.runs)
    is_built = question.axis != CODE_AXIS or has_setup or not crashed
    build = "" if is_built else f"if it needs a build first: {with_setup(ab_afresh(entry_id, new=False))}"
    is_checkout = is_commit or (stated.run is not None and stated.run.frozen)
    if crashed and is_checkout and stated.run is not None and stated.run.needs and not has_setup:
        needs = f"git does not hold {listed(stated.run.needs, 3)}, and the checkout lacks it"
        first = f"{needs}; discard the entry, or have a setup make it"
        return Continuation(command=with_setup(ab_afresh(entry_id, new=False)), lacks="setup", first=first)
    if side == SETUP:
        name, build = "the setup", f"with another setup: {with_setup(ab_more(entry_id))}"
        # One of two codes may have nothing to build.
        made = stated.run.setup if stated.run is not None else None
        guarded = shlex.quote(f"test ! -e FILE || {{ {made}; }}")
        build += f"; where one side needs none: --setup {guarded}" if made else ""
        mend = "mend it" if anew else f"mend it, or give ab --id {entry_id} another --setup"
    elif is_commit:
        name, again, mend = code_hash(side), "is a commit, which fails again", "compare another one"
    left = f"{anew and f' and type `{anew}`'}, or discard the entry"
    if crashed and side != question.base and (differed := [one.path for one in stated.evaluator if one.differed]):
        files = f"{listed(differed, 3)} of {code_name(question.base)}"
        left += f"; {files} measured it; each side with its own: {ab_afresh(entry_id, new=False)} --evaluator none"
    return Continuation(
        command=discard(entry_id, f"{name} fails"),
        lacks="mend",
        first=f"{name} {again}: {mend}{left}",
        then="" if is_commit else anew or ab_afresh(entry_id, new=False),
        build="" if anew else build,
    )


def ab_now(entry_id: str, stated: Comparison, here: TypingPlace) -> str:
    """What to type to ask what the A/B of an entry asks of the code as it is now: of its branches, where git has them
    still."""
    if stated.question.axis != CODE_AXIS or not any("@" in value for value in stated.question.values):
        return ab_afresh(entry_id, new=False)
    return ab_codes([branch_now(stated, v, here.of) or code_typed(v) for v in stated.question.values], entry_id)


def branch_now(stated: Comparison, value: str, of: Callable[[str], str | None]) -> str:
    """The branch that a code was called by, else one that held this code alone when it was compared; empty where there
    is none any more. `of`: the commit of a branch."""
    return next((name for name in stated.names_of(value) if of(name) is not None), "")


# So many entries are looked at for what another one does not report.
_LOOKED_AT = 100


def unreported(records: Records, record: Record) -> str:
    """That no row of an entry reports what a gate asks for, and what to type; empty where each is reported by some.
    Its own gates can be dropped there, those of the logbook where none of its latest entries reports it."""
    gates = [gate for gate in record.gates if any(s.run.rows for s in record.runs) and not _reports(record, gate)]
    if not gates:
        return ""
    own = [gate for gate in gates if str(gate) in record.entry.gates]
    names = listed([gate.name for gate in gates], 3)
    mend = f"no run reports {names}: have the command print it and run it again"
    if not own and any(_reported_elsewhere(records, record, gate) for gate in gates):
        return f"{mend}; other entries report it"
    drop = [word for gate in own or gates for word in ("--drop", str(gate))]
    edit = f"logbook edit {record.id}" if own else f"logbook -L {records.topic} edit"
    typed = command_line([*drop, *(() if own else ("--reason", f"no run reports {names}"))])
    return f"{mend}, or drop the gate: `{edit} {typed}`"


def _reports(record: Record, gate: Gate) -> bool:
    return any(values_of(row, gate.name) for status in record.runs for row in status.run.rows)


def _reported_elsewhere(records: Records, record: Record, gate: Gate) -> bool:
    for other in [one for one in records.entry_ids() if one != record.id][-_LOOKED_AT:]:
        with contextlib.suppress(LogbookError):  # what is damaged is named elsewhere
            if _reports(records.record(other), gate):
                return True
    return False


def show(entry_id: str) -> str:
    """What to type to see an entry with its runs, such as how they failed."""
    return f"logbook show {entry_id}"


def keep(entry_id: str) -> str:
    """What to type to record that the code of an entry is kept."""
    return f"logbook keep {entry_id}"


def discard(entry_id: str, why: str) -> str:
    """What to type to record that the code of an entry is given up."""
    return command_line(["logbook", "discard", entry_id, "--why", why])


def decide(answer: Answer, stated: Comparison | None, here: TypingPlace = NOWHERE) -> str:
    """What to type to decide on the code of a comparison that is settled, or that no practical number of pairs settles:
    to keep what is better, unless the base's branch holds it by now; to discard what is not, while the code here has
    it. Empty where nothing is to be decided."""
    if stated is None or stated.question.axis != CODE_AXIS or not _has_command(stated):
        return ""
    if not answer.is_settled and not answer.is_hopeless:
        return ""
    side, found = stated.question.sides[-1], {f.outcome: f for f in answer.goals}
    if Outcome.BETTER in found:
        into = into_branch(stated, here)
        is_in = "@" not in side and here.keeps(stated, into) == into
        return keep(answer.entry) if not is_in and here.held(stated, side, into) in (WORK, ELSEWHERE) else ""
    if "@" not in stated.question.base:
        return ""
    why = claim(answer, found.get(Outcome.WORSE) or answer.goals[0])
    return discard(answer.entry, why) if here.keeps(stated, "HEAD") else ""


def into_branch(stated: Comparison, here: TypingPlace) -> str:
    """The branch that takes up what is better: that of the base, else one that held the base when it was compared, and
    not the other side; HEAD where none does."""
    base, of = stated.question.base, stated.branches
    names = [code_name(base), *(name for name in of.get(base, ()) if name not in of.get(stated.question.sides[-1], ()))]
    return next((name for name in names if here.of(name) is not None), "HEAD")


def judge_met(number: int, evidence: str = "ID") -> str:
    """What to type to judge a stop criterion as met."""
    return f"logbook criteria --met {number} --evidence {evidence}"


def accept(entry_id: str) -> str:
    """What to type to let the withheld numbers of an entry count."""
    return f"logbook edit {entry_id} --accept WHY"


def sweep_more(entry_id: str, *options: str) -> str:
    """What to type to go on with a sweep."""
    return _line(f"logbook sweep --id {entry_id}", *options)


def _has_command(stated: Comparison) -> bool:
    """Whether a comparison can be continued by typing something."""
    return stated.run is not None and not stated.run.in_process


def ab_again(entry_id: str, stated: Comparison, pairs: int | None = None, *, is_over: bool = False) -> str:
    """What to type to go on with an A/B by its entry. Where its pairs are judged once, and are made (`is_over`), a new
    entry takes more; where no commit holds its code, the question is typed again, which is right for the code as it is
    then."""
    code = stated.code.get(stated.question.base)
    is_lost = code is not None and code.commit is None and code.mark is not None
    return ab_afresh(entry_id, pairs, new=is_over) if is_over or is_lost else ab_more(entry_id, pairs)


def ab_more(entry_id: str, pairs: int | None = None) -> str:
    """What to type to go on with an A/B: its budget, or so many `pairs` more."""
    return f"logbook ab --id {entry_id}" + (f" --max-pairs {pairs}" if pairs is not None else "")


def with_setup(command: str) -> str:
    """The command that goes on with an A/B, with a place for its setup."""
    return f"{command} --setup 'COMMAND THAT MAKES IT'"


def needed_setup(stated: Comparison | None) -> str:
    """What a comparison needs where its code is another one now; empty where it needs nothing."""
    run = stated.run if stated is not None else None
    if run is None or not run.needs or run.setup is not None:
        return ""
    return f"on other code, add --setup COMMAND, which makes {listed(run.needs, 3)}: git does not hold it"


def ab_afresh(entry_id: str, pairs: int | None = None, *, new: bool = True) -> str:
    """What to type to ask what the A/B of an entry asks once more, in a `new` entry; without that, of the code as it is
    now. `pairs`: at most so many, else as many as it had."""
    more = f"--max-pairs {pairs}" if pairs is not None else ""
    return _line("logbook ab", "--new" if new else "", f"--like {entry_id}", more)


def ab_codes(codes: Sequence[str], like: str, *more: str) -> str:
    """What to type to compare two codes by the command of a run, or as an entry asks it."""
    return _line(f"logbook ab --code {shlex.join(codes)} --like {like}", *more)


def other_evaluator(entry_id: str, stated: Comparison) -> str:
    """What to type to compare the two codes of an entry the other way round, measured with the files of the side; empty
    where it has the files of the base, or is in no commit."""
    question = stated.question
    is_other = len(question.sides) == 1 and "@" in question.sides[0] and any(one.differed for one in stated.evaluator)
    if not is_other or not _has_command(stated):
        return ""
    return ab_codes([*map(code_typed, (question.sides[0], question.base))], entry_id)


_ENV, _REDACTED = "env:", "[redacted:"
# What names a commit where it is typed; neither a commit with changes, `3f2a9c01d+`, nor none.
_REVISION = re.compile(r"(?!null$)\w[\w./-]*")


def ab_like(
    axis: str | None, values: Sequence[str], items: Sequence[Item], *more: str, here: TypingPlace = NOWHERE
) -> str:
    """What to type to compare these values of an axis, the base first, by the command of a run that there is. `items`
    hold one case of each, as far as there are some. Empty where no command of theirs can do that."""
    of = next((item for item in items if _is_typed(axis, item)), None)
    if axis is None or of is None:
        return ""
    like = f"--like {of.case.entry}/{of.case.run}"
    options = command_line(more)
    if axis in ("commit", CODE_AXIS):
        codes = [code_hash(value) for value in values[:2]]
        if len({*codes}) < 2 or not all(map(_REVISION.fullmatch, codes)):
            return ""
        told = here.tells(codes[0], codes[1], of.case) or ""
        return _line(f"logbook ab --code {' '.join(codes)}", like, told, options)
    absent = "" if axis.startswith(_ENV) else canonical(None)
    return _line(f"logbook ab {axis_option(axis, [absent if v == ABSENT else v for v in values])}", like, options)


def ab_with(axis: str, values: Sequence[str], words: Sequence[str], *more: str) -> str:
    """What to type to compare values of an axis by a command that nobody has run yet; empty where it has no place for
    them."""
    has_place = with_place(words, axis, None) is not None
    return _line(f"logbook ab {axis_option(axis, values)}", command_line([*more, "--", *words])) if has_place else ""


def _is_typed(axis: str | None, item: Item) -> bool:
    """Whether the command of a case can be run again with other values of an axis."""
    words = item.case.command
    if axis is None or any(_REDACTED in word for word in words):
        return False
    if axis in ("commit", CODE_AXIS) or axis.startswith(_ENV):
        return bool(words)
    return with_place(words, axis, item.key(axis) if axis in item.row.config else None) is not None


def addressed(command: str, naming: Sequence[str]) -> str:
    """The command with `naming` (`-L TOPIC`), unless it names a logbook or an entry before its `--`."""
    if not naming or not command.startswith("logbook "):
        return command
    options = itertools.takewhile(lambda word: word != "--", shlex.split(command))
    if any(word in ("-L", "--logbook") or parse_id(entry_of(word)) is not None for word in options):
        return command
    return f"logbook {shlex.join(naming)} {command.removeprefix('logbook ')}"


def _line(command: str, *options: str) -> str:
    return " ".join([command, *filter(None, options)])
