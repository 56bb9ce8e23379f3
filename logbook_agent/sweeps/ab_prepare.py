"""Before an A/B: its budget, the command of each value, and the entry, new or earlier."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from logbook_agent.entries.entries import Prose, check_required, create_entry, draft_entry, with_relations
from logbook_agent.entries.run import RunRequest, prepared
from logbook_agent.model.entry import Comparison, Entry
from logbook_agent.model.errors import UsageError
from logbook_agent.running.prepare import PROGRAM, Command, bench_argv, bench_folder
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.sweeps.ab_axis import AbAxis, described

MOST_PAIRS = 20
MINIMUM_EFFECT = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class AbRequest:
    """What is compared, and for how long.

    `run` says how each run is made; its `argv` holds the placeholders. `repeat` pairs are made whatever comes out; else
    pairs are added until the interval is narrower than `width` (None: the minimum effect). `minimum_effect` and
    `metrics` None are those of the entry that is gone on with, else 1% and the primary ones.
    """

    axis: str
    run: RunRequest
    repeat: int | None = None
    width: float | None = None
    max_pairs: int | None = None
    max_time_s: float | None = None
    minimum_effect: float | None = None
    metrics: tuple[str, ...] | None = None


def checked(request: AbRequest) -> AbRequest:
    """With the budget in numbers. Raises UsageError where options cannot be used together."""
    for option, count in (("--repeat", request.repeat), ("--max-pairs", request.max_pairs)):
        if count is not None and count < 1:
            raise UsageError(f"{option} must be at least 1", cause=f"it is {count}", hint=f"{option} 10")
    if request.repeat is not None:
        other = "--until-interval" if request.width is not None else "--max-pairs" if request.max_pairs else None
        if other is not None:
            raise UsageError(
                f"--repeat and {other} cannot be used together",
                cause="the number of pairs is either fixed, or follows from the precision of the result",
                hint="leave one of them out",
            )
        return request
    if request.width is not None and request.width <= 0:
        raise UsageError(
            f"--until-interval {request.width:g} cannot be reached",
            cause="an interval has a width above zero",
            hint="--until-interval 1%",
        )
    width = request.width or request.minimum_effect or MINIMUM_EFFECT
    return dataclasses.replace(request, width=width, max_pairs=request.max_pairs or MOST_PAIRS)


def with_bench(run: RunRequest) -> RunRequest:
    """`bench-core` and `logbook bench --` mean this Python's benchmark, as in `logbook bench`."""
    words = list(run.argv)
    if words[:2] == ["logbook", "bench"]:
        words = [PROGRAM, *(words[3:] if words[2:3] == ["--"] else words[2:])]
        if words[1:2] and words[1].startswith("-"):
            raise UsageError(
                f"{words[1]} is an option of logbook bench",
                cause="an A/B creates the entry itself",
                hint="pass it to logbook ab, and only the benchmark after --",
            )
    if words[:1] != [PROGRAM] or run.on is not None:
        return dataclasses.replace(run, argv=words)
    return dataclasses.replace(run, argv=bench_argv(words[1:], adds_run=False), search_first=bench_folder())


def command(workspace: Workspace, run: RunRequest, axis: AbAxis, value: str) -> Command:
    of_value = dataclasses.replace(run, env={**run.env, **axis.env(value)})
    return prepared(workspace, of_value, axis.words(run.argv, value), run.label)


def new_entry(workspace: Workspace, book: Book, request: AbRequest, axis: AbAxis) -> tuple[Entry, Comparison]:
    """The entry with the question that its runs will answer."""
    prose = with_relations(book, request.run.prose)
    check_required(workspace, prose, request.run.label)
    draft = draft_entry(workspace, prose, title=prose.title or described(axis))
    entry = create_entry(workspace, book, draft)
    asked = Comparison(
        references=(entry.id,),
        axis=axis.name,
        base_value=axis.base,
        metrics=request.metrics or (),
        minimum_effect=MINIMUM_EFFECT if request.minimum_effect is None else request.minimum_effect,
    )
    return keep(workspace, book, entry, asked), asked


def earlier(book: Book, request: AbRequest, axis: AbAxis) -> tuple[Entry, Comparison, Comparison]:
    """The entry to go on with, which must be an A/B of these values; its question on the new terms, and as it was."""
    entry = book.entry(request.run.entry_id or "")
    if request.run.prose != Prose():
        raise UsageError(
            f"--id {entry.id} adds runs; use edit to change the text of an entry",
            cause="--title, --hypothesis and the like were given with --id",
            hint=f"logbook edit {entry.id} --hypothesis '...'",
        )
    old = next((c for c in entry.comparisons if _is_of(c, entry, axis)), None)
    if old is None:
        axes = [str(c.axis) for c in entry.comparisons if c.axis is not None]
        raise UsageError(
            f"{entry.id} is not an A/B of {axis.name} against {axis.values[0]}",
            cause=f"it compares the values of {', '.join(axes)}" if axes else "it has no saved comparison of an axis",
            hint="to start a new entry, leave --id out",
        )
    new = dataclasses.replace(
        old,
        metrics=old.metrics if request.metrics is None else request.metrics,
        minimum_effect=old.minimum_effect if request.minimum_effect is None else request.minimum_effect,
    )
    return entry, new, old


def _is_of(asked: Comparison, entry: Entry, axis: AbAxis) -> bool:
    own = {entry.id, *entry.aliases}
    return asked.axis == axis.name and asked.base_value == axis.base and {*asked.references} <= own


def keep(workspace: Workspace, book: Book, entry: Entry, new: Comparison, old: Comparison | None = None) -> Entry:
    """The entry with a question, which takes the place of an old one."""
    with book.lock():
        now = book.entry(entry.id)
        kept = tuple(c for c in now.comparisons if c != old)
        entry = workspace.redacted_entry(dataclasses.replace(now, comparisons=(*kept, new)))
        book.write_entry(entry)
    return entry
