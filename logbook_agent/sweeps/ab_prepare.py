"""Before an A/B: its budget, the command of each value, and the entry, new or earlier."""

from __future__ import annotations

import dataclasses
import itertools
from dataclasses import dataclass

from logbook_agent.entries.drafts import check_required, create_entry, draft_entry, with_relations
from logbook_agent.entries.run import RunRequest, check_count, check_no_prose, prepared
from logbook_agent.findings.evidence.planning import FEWEST_PAIRS, FIRST_LOOK, is_open, looks_of
from logbook_agent.model.draw import drawn, order_of_round
from logbook_agent.model.entry import Comparison, Design, Entry
from logbook_agent.model.errors import UsageError
from logbook_agent.running.prepare import PROGRAM, Command, own_benchmark
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.sweeps.ab_axis import AbAxis, described

MOST_PAIRS = 20
MINIMUM_EFFECT = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class AbRequest:
    """What is compared, and for how long.

    `run` says how each run is made; its `argv` holds the placeholders. `repeat` pairs are made whatever comes out; else
    pairs are added until every verdict is settled, or where there is a `width` until the interval is narrower; without
    `futility` also where the budget cannot answer the question. A `pilot` makes the first six pairs, which say how
    many it takes. `seed` draws the order of each pair (None: one that nobody has chosen). `minimum_effect` and
    `metrics` None are those of the entry that is continued, else 1% and the primary ones.
    """

    axis: str
    run: RunRequest
    repeat: int | None = None
    pilot: bool = False
    width: float | None = None
    max_pairs: int | None = None
    futility: bool = True
    seed: int | None = None
    max_time_s: float | None = None
    minimum_effect: float | None = None
    metrics: tuple[str, ...] | None = None


def checked(request: AbRequest) -> AbRequest:
    """With the budget in numbers, and the benchmark found. Raises UsageError where options cannot be used together."""
    request = dataclasses.replace(request, run=with_bench(request.run))
    check_count("--repeat", request.repeat)
    check_count("--max-pairs", request.max_pairs)
    check_count("--discard", request.run.discard, least=0)
    if request.pilot:
        given = {"--repeat": request.repeat, "--max-pairs": request.max_pairs, "--until-interval": request.width}
        for option, value in given.items():
            if value is not None:
                raise UsageError(
                    f"--pilot and {option} cannot be used together",
                    cause=f"a pilot is the first {FEWEST_PAIRS} pairs, which say how many it takes",
                    hint="leave one of them out",
                )
        return dataclasses.replace(request, repeat=FEWEST_PAIRS)
    if request.repeat is not None:
        other = "--until-interval" if request.width is not None else "--max-pairs" if request.max_pairs else None
        if other is not None:
            raise UsageError(
                f"--repeat and {other} cannot be used together",
                cause="the number of pairs is either fixed, or follows from the result",
                hint="leave one of them out",
            )
        return request
    if request.width is not None and request.width <= 0:
        raise UsageError(
            f"--until-interval {request.width:g} cannot be reached",
            cause="an interval has a width above zero",
            hint="--until-interval 1%",
        )
    return request


def planned(request: AbRequest, before: Design | None, made: int) -> Design:
    """The design for an entry with so many pairs and this design, as it is stated before the next run.

    What was planned and not finished is finished. What goes beyond that is another plan, of which less is believed. A
    pilot ends before its first look, so that whatever is planned after it takes the place of its plan; but whoever has
    seen it cannot fix a number of pairs any more that is judged once.
    """
    repeat = None if request.pilot else request.repeat
    rounds = made + (repeat or request.max_pairs or MOST_PAIRS)
    looks = 1 if repeat is not None else looks_of(rounds)
    if before is None:
        seed = request.seed if request.seed is not None else 0
        looked_at = made >= FEWEST_PAIRS
        return Design(seed=seed, since=made + 1, rounds=rounds, looks=looks + looked_at, plans=1 + looked_at)
    chosen = repeat is not None or request.max_pairs is not None
    if request.pilot or (made < before.rounds and (rounds == before.rounds or not chosen)):
        return before
    if is_open(before, made):
        return dataclasses.replace(before, rounds=rounds, looks=max(before.looks, looks_of(rounds)))
    return dataclasses.replace(before, rounds=rounds, looks=before.looks + looks, plans=before.plans + 1)


def rest_of_pilot(request: AbRequest, entry_id: str, made: int) -> AbRequest:
    """The request for what is missing of a pilot. Raises UsageError where nothing is."""
    if made >= FEWEST_PAIRS:
        raise UsageError(
            f"{entry_id} has {made} pairs: it needs no pilot",
            cause=f"a pilot is the first {FEWEST_PAIRS} pairs",
            hint=f"the same command without --pilot, with --id {entry_id} --max-pairs {MOST_PAIRS}",
        )
    return dataclasses.replace(request, repeat=FEWEST_PAIRS - made)


def with_bench(run: RunRequest, name: str = "ab") -> RunRequest:
    """`bench-core` and `logbook bench --` mean this Python's benchmark, as in `logbook bench`."""
    words = list(run.argv)
    if words[:2] == ["logbook", "bench"]:
        words = [PROGRAM, *(words[3:] if words[2:3] == ["--"] else words[2:])]
        if words[1:2] and words[1].startswith("-"):
            raise UsageError(
                f"{words[1]} is an option of logbook bench",
                cause=f"logbook {name} creates the entry itself",
                hint=f"pass it to logbook {name}, and only the benchmark after --",
            )
    return dataclasses.replace(run, argv=words, search_first=own_benchmark(words, run.on))


def command(workspace: Workspace, run: RunRequest, axis: AbAxis, value: str) -> Command:
    of_value = dataclasses.replace(run, env={**run.env, **axis.env(value)})
    return prepared(workspace, of_value, axis.words(run.argv, value), run.label)


def found_or_new(workspace: Workspace, book: Book, request: AbRequest, axis: AbAxis) -> Entry:
    """The entry to go on with, which must be an A/B of these values; else a new one, with the question that its runs
    will answer."""
    run = request.run
    if run.entry_id is not None:
        entry = book.entry(run.entry_id)
        check_no_prose(entry.id, run.prose)
        asked_of(workspace, entry, axis)
        return entry
    prose = with_relations(book, run.prose)
    check_required(workspace, prose, run.label)
    asked = Comparison(references=(), axis=axis.name, base_value=axis.base, minimum_effect=MINIMUM_EFFECT)
    draft = draft_entry(workspace, prose, title=prose.title or described(axis))
    design = planned(request, None, 0)
    if request.seed is None:
        design = dataclasses.replace(design, seed=any_seed(workspace.moment(), design, len(axis.values)))
    draft = dataclasses.replace(draft, comparisons=(on_terms(asked, request),), design=design)
    return create_entry(workspace, book, draft)


def any_seed(moment: str, design: Design, values: int) -> int:
    """A seed that nobody has chosen: the first of those that a moment makes by which the order of the values changes
    between the first look's pairs. (Six pairs come out alike in 3 of 100 draws; then whatever only the first run of a
    pair meets would be an effect.)"""
    for number in itertools.count():
        seed = int.from_bytes(drawn(f"{moment} {number}")[:4])
        rounds = range(1, min(design.rounds, FIRST_LOOK) + 1)
        if len(rounds) < 3 or len({tuple(order_of_round(seed, one, values)) for one in rounds}) > 1:
            return seed
    raise AssertionError("a moment makes any number of seeds")


def asked_of(workspace: Workspace, entry: Entry, axis: AbAxis) -> Comparison:
    """What the entry asks of an axis. Raises UsageError where it asks something else."""
    own, base = {entry.id, *entry.aliases}, workspace.redacted(axis.base)
    for asked in entry.comparisons:
        if asked.axis == axis.name and asked.base_value == base and {*asked.references} <= own:
            return asked
    axes = [str(c.axis) for c in entry.comparisons if c.axis is not None]
    raise UsageError(
        f"{entry.id} is not an A/B of {axis.name} against {axis.values[0]}",
        cause=f"it compares the values of {', '.join(axes)}" if axes else "it has no saved comparison of an axis",
        hint="to start a new entry, leave --id out",
    )


def on_terms(asked: Comparison, request: AbRequest) -> Comparison:
    """The question on the terms that were given."""
    return dataclasses.replace(
        asked,
        metrics=asked.metrics if request.metrics is None else request.metrics,
        minimum_effect=asked.minimum_effect if request.minimum_effect is None else request.minimum_effect,
    )


def keep(workspace: Workspace, book: Book, entry: Entry, new: Comparison, old: Comparison, design: Design) -> Entry:
    """The entry with a question in the place of an old one, and a design."""
    with book.lock():
        now = book.entry(entry.id)
        kept = tuple(new if c == old else c for c in now.comparisons)
        changed = workspace.redacted_entry(dataclasses.replace(now, comparisons=kept, design=design))
        book.write_entry(changed)
    return changed
