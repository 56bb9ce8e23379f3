"""Before an A/B: its budget, the command of each side, and the entry, new or earlier, with its comparison."""

from __future__ import annotations

import contextlib
import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from logbook_agent.campaign.ab_axis import AbAxis, described
from logbook_agent.campaign.repeats import RunRequest, check_count, prepared
from logbook_agent.entries.drafts import check_required, create_entry, draft_entry, with_relations
from logbook_agent.entries.judging import checked_gates, with_gates
from logbook_agent.model.comparison import (
    BUDGET_PAIRS,
    MINIMUM_EFFECT,
    Comparison,
    Design,
    Question,
    drawn,
)
from logbook_agent.model.entry import Entry
from logbook_agent.model.errors import UsageError, exclusive
from logbook_agent.model.header import Header
from logbook_agent.model.record import digest
from logbook_agent.running.prepare import Command
from logbook_agent.running.provenance.git import CodeFacts
from logbook_agent.running.run_budget import check_budget
from logbook_agent.store.book import Book
from logbook_agent.store.processes import this_host
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.redaction.plain import redacted

_DIRECTED = re.compile(r"(.+):(max|min)(?::.*)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class AbRequest:
    """What is compared, and for how long. `evaluator`: the files of the base that measure both `codes` (none: those
    that the command names and both have).

    `run` says how each run is made; its `argv` holds the placeholders. `fixed` pairs are made whatever the result;
    else pairs are added until the question is settled, at most `max_pairs`. `seed` draws the order of each pair (None:
    one that nobody has chosen). `gates` and `free` are added to those of the entry. `minimum_effect` None is 1%;
    without `metrics` the primary ones decide. `setup` prepares each folder in which the command runs. `new`: another
    entry about a question that has one. `like` names the run whose command it is. `sweep`: the command that resumes the
    sweep whose best case is compared.
    """

    axis: str = ""
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
    sweep: str | None = None

    @property
    def pairs(self) -> int:
        """How many pairs may be made."""
        return self.fixed or self.max_pairs or BUDGET_PAIRS


Around = Callable[[Command], AbstractContextManager[object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """The `commands` of an A/B in the order of the `axis`, made within `around`, which may raise NotCounted; `argv` has
    the place of the value. `code` is what is known of the code, by side; `lines` say which code each side is. `setup`
    prepares the folders, within `around_setup`. `needs`: files beside the code that git does not hold. `in_process`:
    they are functions of this process."""

    axis: AbAxis
    argv: Sequence[str]
    commands: tuple[Command, ...]
    around: Around
    code: Mapping[str, CodeFacts]
    setup: tuple[Command, ...] = ()
    around_setup: Around = contextlib.nullcontext
    lines: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    in_process: bool = False


def checked(request: AbRequest) -> AbRequest:
    """The request. Raises UsageError where options cannot be used together."""
    if request.evaluator and request.codes is None:
        raise UsageError(
            "--evaluator needs --code",
            cause="it names the files that measure two versions of the code",
            hint="leave it out, or add --code main WORK",
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
                hint=f"--metric {found[1]}, and add {{name: {found[1]}, direction: {found[2]}}}"
                " to metrics in logbook.yaml",
            )
    return dataclasses.replace(request, gates=checked_gates(request.gates))


def comparison_of(workspace: Workspace, header: Header, request: AbRequest, axis: AbAxis) -> Comparison:
    """The comparison of an axis that is asked for. Metrics that are not named are the primary ones of the
    logbook."""
    names = tuple(redacted(key, workspace.redactor) for key in axis.keys)
    if len(set(names)) < len(names):
        raise UsageError(
            f"two values of {axis.name} are the same text after secrets are redacted",
            cause="sides are told apart by their values, and the record holds no secrets",
            hint="name the values by something else: a variable that the command reads them from",
        )
    goals = request.metrics or tuple(m.name for m in header.metrics if m.primary)
    question = Question(
        axis=axis.name,
        base=names[0],
        sides=names[1:],
        metrics=goals,
        minimum_effect=MINIMUM_EFFECT if request.minimum_effect is None else request.minimum_effect,
    )
    seed = int.from_bytes(drawn(workspace.moment())[:4]) if request.seed is None else request.seed
    design = Design(seed=seed, budget_pairs=request.pairs, fixed=request.fixed is not None, copy=copy_of(workspace))
    return Comparison(question=question, design=design, evaluator=axis.evaluator)


def copy_of(workspace: Workspace) -> str:
    """What tells this working copy from clones and worktrees."""
    return digest(this_host(), str(workspace.root))[:5]


def command(workspace: Workspace, run: RunRequest, axis: AbAxis, value: str) -> Command:
    """The command of one side."""
    of_value = dataclasses.replace(run, env={**run.env, **axis.env(value)})
    return prepared(workspace, of_value, axis.words(run.argv, value), run.label)


def create_comparison(workspace: Workspace, book: Book, request: AbRequest, axis: AbAxis, stated: Comparison) -> Entry:
    """A new entry that states the comparison."""
    check_budget(workspace, book)
    prose = with_relations(book, request.run.prose)
    check_required(workspace, prose, request.run.label)
    draft = draft_entry(workspace, prose, title=prose.title or described(axis))
    return create_entry(workspace, book, dataclasses.replace(draft, comparison=stated))


def with_request(workspace: Workspace, book: Book, entry: Entry, request: AbRequest, budget_pairs: int) -> Entry:
    """The entry with so many pairs in its design, the setup of the request, and its gates and free labels beside its
    own."""

    def change(now: Entry) -> Entry:
        now = with_gates(with_budget(now, budget_pairs), request.gates, request.free)
        if request.setup is not None and now.comparison is not None and now.comparison.run is not None:
            run = dataclasses.replace(now.comparison.run, setup=redacted(request.setup, workspace.redactor))
            now = dataclasses.replace(now, comparison=dataclasses.replace(now.comparison, run=run))
        return now

    return book.change_entry(entry.id, change)


def with_budget(entry: Entry, budget_pairs: int) -> Entry:
    """The entry with so many pairs in its design."""
    if entry.comparison is None:
        return entry
    design = dataclasses.replace(entry.comparison.design, budget_pairs=budget_pairs)
    return dataclasses.replace(entry, comparison=dataclasses.replace(entry.comparison, design=design))
