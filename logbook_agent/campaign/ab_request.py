"""What an A/B is asked for: as it was typed, by the entry that states it, or with the command of another run."""

from __future__ import annotations

import re

from msgspec import Struct, field, structs

from logbook_agent.campaign.ab_axis import AbAxis, axis_of
from logbook_agent.campaign.run_request import RunRequest, as_made, check_count, check_secrets
from logbook_agent.entries.edit import check_gates
from logbook_agent.entries.stated import checked_gates
from logbook_agent.findings.advice import ab_afresh, ab_more, sweep_more
from logbook_agent.model.comparison import (
    BLOCK_PAIRS,
    BUDGET_PAIRS,
    CODE_AXIS,
    Comparison,
    Invocation,
    Question,
    code_typed,
)
from logbook_agent.model.entry import Entry, PlannedCommand, is_withdrawn
from logbook_agent.model.errors import UsageError, exclusive
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace

NONE = "none"
"""What is given as the evaluator where each side has its own."""
_DIRECTED = re.compile(r"(.+):(max|min)(?::.*)?")


class AbRequest(Struct, frozen=True, kw_only=True):
    """What is compared, and for how long. `evaluator`: the files of the base that measure both `codes` (none: those
    that the command names and both have).

    `run` says how each run is made; its `argv` holds the placeholders. `fixed` pairs are made whatever the result;
    else pairs are added until the question is settled, at most `max_pairs`. `seed` draws the order of each pair (None:
    one that nobody has chosen). `gates` and `free` are added to those of the entry. `minimum_effect` None is 1%;
    without `metrics` the primary ones decide. `setup` prepares each folder in which the command runs. `new`: another
    entry about a question that has one. `like` names the run whose command it is.

    `names` are what both codes are called (None: as they were typed, with their commits). `cases` (none: `run` alone),
    `prepare` (before `setup`) and `teardown` are those of a recipe; they need `codes`.
    """

    axis: AbAxis | None = None
    run: RunRequest = field(default_factory=RunRequest)
    codes: tuple[str, str] | None = None
    evaluator: tuple[str, ...] = ()
    fixed: int | None = None
    max_pairs: int | None = None
    seed: int | None = None
    max_time_s: float | None = None
    minimum_effect: float | None = None
    metrics: tuple[str, ...] = ()
    gates: tuple[str, ...] = ()
    free: tuple[str, ...] = ()
    setup: str | None = None
    new: bool = False
    like: str | None = None
    names: tuple[str, str] | None = None
    cases: tuple[RunRequest, ...] = ()
    prepare: tuple[PlannedCommand, ...] = ()
    teardown: tuple[PlannedCommand, ...] = ()

    @property
    def pairs(self) -> int:
        """How many pairs may be made."""
        return self.fixed or self.max_pairs or BUDGET_PAIRS


def check_evaluator(request: AbRequest) -> None:
    """Raises UsageError for files that measure two codes where none are compared."""
    if request.evaluator and request.codes is None:
        raise UsageError(
            "--evaluator needs --code",
            cause="it names the files that measure two versions of the code",
            hint="leave it out, or add --code main WORK",
        )


def checked(request: AbRequest) -> AbRequest:
    """The request. Raises UsageError where options cannot be used together."""
    if request.like is None:
        check_evaluator(request)
    if "--" in (request.codes or ()):
        raise UsageError(
            f"--code {(request.codes or ('',))[0]} names one code",
            cause="an A/B of code compares two, the base first",
            hint=f"--code {(request.codes or ('',))[0]} WORK -- COMMAND",
        )
    check_count("--pairs", request.fixed)
    check_count("--max-pairs", request.max_pairs)
    check_count("--discard", request.run.discard, least=0)
    exclusive(
        {"--pairs": request.fixed, "--max-pairs": request.max_pairs},
        cause="the number of pairs is either fixed, or follows from the result",
    )
    for name in request.metrics:
        if (found := _DIRECTED.fullmatch(name)) is not None:
            raise UsageError(
                f"--metric {name} states a direction",
                cause="the direction of a metric is declared in the logbook",
                hint=f"--metric {found[1]}; to declare it: logbook edit --metric {name} --reason TEXT",
            )
    if request.run.entry_id is None and request.like is None:
        check_sides(request)
    return structs.replace(request, gates=checked_gates(request.gates))


def check_sides(request: AbRequest) -> None:
    """Raises UsageError where nothing is named that is compared."""
    if request.axis is None and request.codes is None:
        raise UsageError(
            "nothing to compare",
            cause="an A/B has one axis: a config key, a variable, or the code",
            hint="--axis quant_mode=none,int8, or --code main WORK",
        )


# -- by the entry that states it -----------------------------------------------------------------------


def taken_up(workspace: Workspace, book: Book, request: AbRequest) -> tuple[AbRequest, Comparison]:
    """The request with the question, the command and the options that the entry of --id states. Raises UsageError where
    it states none, or where they cannot be run from here."""
    entry = book.entry(request.run.entry_id or "")
    stated = entry.comparison
    _check_typed(entry, request)
    if is_withdrawn(entry.state):
        raise UsageError(
            f"{entry.id} is {entry.state}",
            cause="it was taken back, so its pairs count for nothing",
            hint=f"logbook edit {entry.id} --state computed, if that was a mistake",
        )
    if stated is None:
        raise UsageError(f"{entry.id} is not an A/B", cause="it states no comparison", hint=f"logbook show {entry.id}")
    check_pairs(entry, stated, request)
    check_gates(book.record(entry.id), request.gates)
    return with_question(workspace, request, entry, stated.question, stated_command(entry, stated.run)), stated


def stated_command(entry: Entry, run: Invocation | None) -> Invocation:
    """How the runs of an entry are made. Raises UsageError where they are no commands, or those of a recipe."""
    if run is None or run.in_process or not run.argv:
        hint = sweep_more(entry.id) if entry.recipe is not None else f"logbook show {entry.id}"
        raise UsageError(f"{entry.id} states no command", cause="what made its pairs goes on with it", hint=hint)
    return run


def with_question(
    workspace: Workspace, request: AbRequest, entry: Entry, question: Question, run: Invocation
) -> AbRequest:
    """The request with what an A/B asks, and how its runs are made; what is given takes precedence."""
    check_secrets(entry.id, *question.values, run.setup or "")
    if request.axis is None and request.codes is None and question.axis == CODE_AXIS:
        base, side = map(code_typed, question.values)
        request = structs.replace(request, codes=(base, side))
    elif request.axis is None and request.codes is None:
        request = structs.replace(request, axis=axis_of(question.axis, run.values or question.values))
    least = question.minimum_effect if request.minimum_effect is None else request.minimum_effect
    return structs.replace(
        as_stated(workspace, request, run, entry.id), minimum_effect=least, metrics=request.metrics or question.metrics
    )


def as_stated(workspace: Workspace, request: AbRequest, run: Invocation, of: str) -> AbRequest:
    setup = request.setup if request.setup is not None else run.setup
    return structs.replace(request, setup=setup, run=as_made(workspace, request.run, run, of))


def _check_typed(entry: Entry, request: AbRequest) -> None:
    """Raises UsageError for what the entry states already."""
    own = ("entry_id", "env", "discard", "frozen", "timeout_s", "stall_s")
    run = RunRequest(**{name: getattr(request.run, name) for name in own})
    asks = request.axis or request.codes or request.evaluator or request.metrics or request.minimum_effect is not None
    if asks or request.run != run or request.seed is not None or request.new:
        raise UsageError(
            f"{entry.id} states its question, its command and its text",
            cause="--id takes all of them from the entry",
            hint=f"logbook ab --id {entry.id}; to ask something else, leave --id out",
        )


def check_pairs(entry: Entry, stated: Comparison, request: AbRequest, made: int = 0) -> None:
    """Raises UsageError where the pairs that are asked for are not those of the design: it is fixed, and so many were
    `made`, or another number is asked for; or a fixed number is asked for, and it has none."""
    design, is_in_process = stated.design, stated.run is not None and stated.run.in_process
    is_other = request.max_pairs is not None or request.fixed not in (None, design.budget_pairs)
    if design.fixed and (is_other or made >= design.budget_pairs):
        raise UsageError(
            f"{entry.id} was stated with {design.budget_pairs} pairs, which are judged once",
            cause="looking again after more pairs would make a false difference more likely than 5%",
            hint="ab(book, ..., new=True)" if is_in_process else ab_afresh(entry.id),
        )
    if request.fixed is not None and not design.fixed:
        more = f"ab(book, ..., max_pairs={request.fixed})" if is_in_process else ab_more(entry.id, request.fixed)
        raise UsageError(
            f"{entry.id} asks this, and its pairs are judged after each {BLOCK_PAIRS}, not once",
            cause="how the pairs of an entry are judged is stated before its first run",
            hint=f"to add {request.fixed} pairs: {more}",
        )
