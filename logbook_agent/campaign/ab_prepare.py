"""Before an A/B: its budget, the command of each side, and the entry, new or earlier, with its comparison."""

from __future__ import annotations

import dataclasses
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from logbook_agent.campaign.ab_axis import AbAxis, described
from logbook_agent.campaign.repeats import RunRequest, check_count, check_no_prose, prepared
from logbook_agent.entries.drafts import check_required, create_entry, draft_entry, with_relations
from logbook_agent.entries.judging import checked_gates
from logbook_agent.findings.comparison.pairs import plain_words
from logbook_agent.model.comparison import (
    BUDGET_PAIRS,
    CODE_AXIS,
    MINIMUM_EFFECT,
    Comparison,
    Design,
    Question,
    code_hash,
    drawn,
)
from logbook_agent.model.entry import Entry
from logbook_agent.model.errors import UsageError
from logbook_agent.model.header import Header
from logbook_agent.running.prepare import Command
from logbook_agent.running.run_budget import check_budget
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace

_DIRECTED = re.compile(r"(.+):(max|min)(?::.*)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class AbRequest:
    """What is compared, and for how long. `evaluator`: the files of the base that measure both `codes` (None: those
    that the command names and both have).

    `run` says how each run is made; its `argv` holds the placeholders. `fixed` pairs are made whatever the result;
    else pairs are added until the question is settled, at most `max_pairs`. `seed` draws the order of each pair (None:
    one that nobody has chosen). `gates` and `free` are added to those of the entry. `minimum_effect` and `metrics` None
    are those of the entry that is continued, else 1% and the primary ones. `sweep`: the command that resumes the sweep
    whose best case is compared.
    """

    axis: str
    run: RunRequest
    codes: tuple[str, str] | None = None
    evaluator: tuple[str, ...] | None = None
    fixed: int | None = None
    max_pairs: int | None = None
    seed: int | None = None
    max_time_s: float | None = None
    minimum_effect: float | None = None
    metrics: tuple[str, ...] | None = None
    gates: tuple[str, ...] = ()
    free: tuple[str, ...] = ()
    sweep: str | None = None

    @property
    def pairs(self) -> int:
        """How many pairs may be made."""
        return self.fixed or self.max_pairs or BUDGET_PAIRS


def checked(request: AbRequest) -> AbRequest:
    """The request. Raises UsageError where options cannot be used together."""
    if request.evaluator is not None and request.codes is None:
        raise UsageError(
            "--evaluator needs --code",
            cause="it names the files that measure two versions of the code",
            hint="leave it out, or add --code main WORK",
        )
    check_count("--pairs", request.fixed)
    check_count("--max-pairs", request.max_pairs)
    check_count("--discard", request.run.discard, least=0)
    if request.fixed is not None and request.max_pairs is not None:
        raise UsageError(
            "--pairs and --max-pairs cannot be used together",
            cause="the number of pairs is either fixed, or follows from the result",
            hint="leave one of them out",
        )
    for name in request.metrics or ():
        if (found := _DIRECTED.fullmatch(name)) is not None:
            raise UsageError(
                f"--metric {name} states a direction",
                cause="the direction of a metric is declared in the logbook",
                hint=f"--metric {found[1]}, and add {{name: {found[1]}, direction: {found[2]}}}"
                " to metrics in logbook.yaml",
            )
    return dataclasses.replace(request, gates=checked_gates(request.gates))


def command(workspace: Workspace, run: RunRequest, axis: AbAxis, value: str) -> Command:
    of_value = dataclasses.replace(run, env={**run.env, **axis.env(value)})
    return prepared(workspace, of_value, axis.words(run.argv, value), run.label)


def comparison_of(workspace: Workspace, header: Header, request: AbRequest, axis: AbAxis) -> Comparison:
    """The comparison of an axis that is asked for. Metrics that are not named are the primary ones of the
    logbook."""
    names = tuple(map(workspace.redacted, axis.keys))
    if len(set(names)) < len(names):
        raise UsageError(
            f"two values of {axis.name} are the same text after secrets are redacted",
            cause="sides are told apart by their values, and the record holds no secrets",
            hint="name the values by something else: a variable that the command reads them from",
        )
    goals = tuple(m.name for m in header.metrics if m.primary) if request.metrics is None else request.metrics
    question = Question(
        axis=axis.name,
        base=names[0],
        sides=names[1:],
        metrics=goals,
        minimum_effect=MINIMUM_EFFECT if request.minimum_effect is None else request.minimum_effect,
    )
    seed = int.from_bytes(drawn(workspace.moment())[:4]) if request.seed is None else request.seed
    design = Design(seed=seed, budget_pairs=request.pairs, fixed=request.fixed is not None)
    return Comparison(question=question, design=design, evaluator=axis.evaluator)


def found_or_new(
    workspace: Workspace, book: Book, request: AbRequest, axis: AbAxis, base_command: Sequence[str]
) -> Entry:
    """The entry that --id names, which must be an A/B of these values and of this command; else a new one that states
    the comparison."""
    run = request.run
    if run.entry_id is not None:
        entry = book.entry(run.entry_id)
        check_no_prose(entry.id, run.prose)
        _check_asked(workspace, entry, axis, request)
        _check_command(book, entry, workspace.redactor.argv(base_command))
        return entry
    check_budget(workspace, book)
    prose = with_relations(book, run.prose)
    check_required(workspace, prose, run.label)
    stated = comparison_of(workspace, book.header, request, axis)
    draft = draft_entry(workspace, prose, title=prose.title or described(axis))
    return create_entry(workspace, book, dataclasses.replace(draft, comparison=stated))


def _check_asked(workspace: Workspace, entry: Entry, axis: AbAxis, request: AbRequest) -> None:
    """Raises UsageError where the entry asks something else."""
    stated = entry.comparison
    if stated is None:
        raise UsageError(
            f"{entry.id} is not an A/B",
            cause="it states no comparison",
            hint="to start a new entry, leave --id out",
        )
    if stated.design.fixed and (request.fixed is not None or request.max_pairs is not None):
        raise UsageError(
            f"{entry.id} was stated with {stated.design.budget_pairs} pairs, which are judged once",
            cause="looking again after more pairs would make a false difference more likely than 5%",
            hint="to start a new entry, leave --id out",
        )
    asked = stated.question
    values = tuple(map(workspace.redacted, axis.keys))
    if asked.axis == axis.name == CODE_AXIS and [*map(code_hash, values)] == [*map(code_hash, asked.values)]:
        values = asked.values  # one commit has several names
    wanted = {
        "axis": (asked.axis, axis.name),
        "values": (asked.values, values),
        "--min-effect": (asked.minimum_effect, request.minimum_effect or asked.minimum_effect),
        "--evaluator": tuple(
            [f"{one.path} {one.sha256[:9]}" for one in of] for of in (stated.evaluator, axis.evaluator)
        ),
        "--metric": (asked.metrics, asked.metrics if request.metrics is None else request.metrics),
    }
    for name, (has, given) in wanted.items():
        if has != given:
            raise UsageError(
                f"{entry.id} asks another question: {name} is {_text(has)}, not {_text(given)}",
                cause="the question of an entry is stated before its first run",
                hint="to start a new entry, leave --id out",
            )


def _check_command(book: Book, entry: Entry, base_command: Sequence[str]) -> None:
    """Raises UsageError where the runs of the entry's base were made by another command."""
    base = entry.comparison.question.base if entry.comparison is not None else None
    has = next((run.argv for run in book.runs(entry.id) if run.part is not None and run.part.side == base), None)
    if has is not None and [*plain_words(has)] != [*plain_words(base_command)]:
        raise UsageError(
            f"{entry.id} asks another question: its base is {shlex.join(has)}, not {shlex.join(base_command)}",
            cause="pairs of two commands have no common answer",
            hint="to start a new entry, leave --id out",
        )


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def with_request(book: Book, entry: Entry, request: AbRequest, budget_pairs: int) -> Entry:
    """The entry with so many pairs in its design, and the gates and free labels of the request beside its own."""

    def change(now: Entry) -> Entry:
        gates, free = dict.fromkeys((*now.gates, *request.gates)), dict.fromkeys((*now.free, *request.free))
        return dataclasses.replace(with_budget(now, budget_pairs), gates=tuple(gates), free=tuple(free))

    return book.change_entry(entry.id, change)


def with_budget(entry: Entry, budget_pairs: int) -> Entry:
    """The entry with so many pairs in its design."""
    if entry.comparison is None:
        return entry
    design = dataclasses.replace(entry.comparison.design, budget_pairs=budget_pairs)
    return dataclasses.replace(entry, comparison=dataclasses.replace(entry.comparison, design=design))
