"""`bench-core tune`: tiles of one case, ruled out, checked, timed in turn, and the best one confirmed."""

import os
import shlex
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bench_core.aot.targets import KINDS, AotTarget, choose_target
from bench_core.cli.axes import refuse_run_numbers
from bench_core.cli.flags import with_flags
from bench_core.cli.rows import Printed, labelled, refuse_processes, tell_failure
from bench_core.errors import UsageError
from bench_core.flag import Declared, Flag, build, declared
from bench_core.harness.case import CASE_FLAGS, Case
from bench_core.harness.record import Environment, Row, result_file, write_rows
from bench_core.studies.ratios import ENOUGH
from bench_core.tune.candidates import (
    DEFAULT,
    Candidate,
    Ruled,
    candidates,
    in_words,
    refuse_fused_names,
    rule_out,
    times_as_fast,
    words_of,
)
from bench_core.tune.kept import Tuned, cache_file, keep, key_of, require_writable

if TYPE_CHECKING:
    from bench_core.harness.chosen import Chosen
    from bench_core.tune.confirm import Confirmation
    from bench_core.tune.measure import Tried

NONE_BETTER = "no tile is better than the default beyond noise"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """What is asked for besides the case."""

    grid: Annotated[
        tuple[str, ...],
        Flag(
            help="A candidate, or for gmm an axis such as m=128,256; may be repeated.",
            metavar="TILE|AXIS=N,N,...",
            unless="a grid of this version",
            read=tuple,
            repeated=True,
            after="warmup",
        ),
    ] = ()
    rounds: Annotated[int, Flag(help="Timed calls of each candidate, one in every round.", after="grid")] = 20
    confirm: Annotated[
        int, Flag(help="Fresh processes that hold the fastest against the default; 0: name none.", after="rounds")
    ] = 2
    no_prune: Annotated[bool, Flag(help="Rule out nothing for its padding or traffic.", after="confirm")] = False
    order_seed: Annotated[int, Flag(help="Seed of the order within each round.", after="no_prune")] = 0
    cache: Annotated[
        Path | None,
        Flag(help="Keep the result in FILE.", metavar="FILE", unless="the user's cache", after="order_seed"),
    ] = None
    aot: Annotated[
        str | None,
        Flag(help="Only compile the candidates, for that TPU.", metavar=KINDS, after="cache"),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One case with its backend, on a device, and all candidates with what rules them out."""

    case: Case
    tuning: Tuning
    ruled: list[Ruled]
    labels: dict[str, str]

    @property
    def left(self) -> list[Candidate]:
        return [one.candidate for one in self.ruled if one.out is None]

    def report(self, rows: Sequence[Row], path: Path | None) -> None:
        """Print the rows and write them to the file of results."""
        for row in rows:
            for line in row.lines():
                print(line, flush=True)
        if path is not None:
            write_rows(path, [row.as_json() for row in rows])


def tune(given: Mapping[str, Any]) -> None:
    """Find the tile of a backend that is fastest for one case, and keep it for --tile tuned.

    Candidates are ruled out by padding and traffic, checked against the oracle, and timed in turn. The fastest is
    held against the default in fresh processes before it is named. Prints a row per candidate, then a table. Exit
    code: 0 done, 1 the default failed, 2 the request is wrong and nothing was run.
    """
    tuning = build(Tuning, {name: value for name, value in given.items() if name != "grid"})
    tuning = replace(tuning, grid=tuple(given.get("grid", ())))
    refuse_fused_names(tuning.grid)
    _refuse_numbers(tuning)
    case = _case(given, tuning)
    target = None if tuning.aot is None else choose_target(tuning.aot)
    named = "backend" in given
    good = _measure(case, tuning, named=named) if target is None else _compile(case, tuning, target, named=named)
    if not good:
        raise typer.Exit(1)


def _refuse_numbers(tuning: Tuning) -> None:
    for flag, number, least in (("--rounds", tuning.rounds, 1), ("--confirm", tuning.confirm, 0)):
        if number < least:
            raise UsageError(
                f"{flag} {number} is too small",
                cause=f"{flag[2:]} must be at least {least}",
                hint=f"give {flag} a value of {least} or more",
            )
    if tuning.confirm and tuning.rounds < ENOUGH:
        raise UsageError(
            f"--rounds {tuning.rounds} are too few to name a tile",
            cause=f"the interval of a ratio needs {ENOUGH} rounds",
            hint=f"use --rounds {ENOUGH} or more, or --confirm 0 to name none",
        )


def _case(given: Mapping[str, Any], tuning: Tuning) -> Case:
    values = {flag.name: flag.read(given[flag.name]) for flag in CASE_FLAGS if flag.name in given}
    case = build(Case, values | {"iters": tuning.rounds})
    refuse_run_numbers(given, [case.routing.distribution])
    refuse_processes(case.parallel)
    return case


def _measure(case: Case, tuning: Tuning, *, named: bool) -> bool:
    path = result_file(os.environ)
    cache = tuning.cache or cache_file(os.environ)
    if tuning.confirm:
        require_writable(cache)
    case.require_fit()
    from bench_core.harness.chosen import choose_backends
    from bench_core.harness.environment import describe_environment, make_cpu_devices
    from bench_core.tune.chosen import require_tile
    from bench_core.tune.measure import measure

    if case.parallel.devices is not None:
        make_cpu_devices(case.parallel.devices, os.environ)
    environment = describe_environment()
    used = environment.devices[0]
    case = case.over(environment.available)
    (chosen,) = choose_backends([case], named=named, platform=used.platform, device_kind=used.kind)
    _refuse_interpreter(chosen.case, used.platform)
    require_tile(chosen.case, platform=used.platform)
    try:
        task = _task(chosen, tuning, environment)
        if isinstance(task, Row):
            return _failed(task, path)
        tried = measure(task.case, task.left, environment, seed=tuning.order_seed, progress=_say)
        if path is not None:
            write_rows(path, [one.row.as_json() for one in tried])
        table = _table(task, tried)
        lines, tuned = _verdict(task, tried)
    except KeyboardInterrupt:
        _say("interrupted: no tile was named, and nothing was kept for --tile tuned")
        raise
    rows = [replace(one.row, labels={**one.row.labels, **task.labels}) for one in tried]
    task.report(rows, path)
    for line in [*table, *lines]:
        print(line)
    if tuned is not None:
        keep(cache, key_of(task.case, platform=used.platform, device_kind=used.kind), tuned)
        print(f"kept for --tile tuned in {cache}")
    return tried[0].row.failed is None


def _compile(case: Case, tuning: Tuning, target: AotTarget, *, named: bool) -> bool:
    path = result_file(os.environ)
    from bench_core.aot.run import aot_row, start_compiler
    from bench_core.harness.chosen import choose_backends
    from bench_core.tune.chosen import require_tile
    from bench_core.tune.measure import Tried

    compiler = start_compiler(target)
    case, first = case.over(len(compiler.devices)), compiler.devices[0]
    (chosen,) = choose_backends([case], named=named, platform=first.platform, device_kind=first.device_kind)
    require_tile(chosen.case, platform=first.platform)
    task = _task(chosen, tuning, compiler.environment)
    if isinstance(task, Row):
        return _failed(task, path)
    tried = []
    for number, candidate in enumerate(task.left, start=1):
        _say(f"[{number}/{len(task.left)}] {candidate}: compiling for {target.name}")
        row = aot_row(candidate.on(task.case), compiler, lambda text: None, seek_remedy=False)
        tried.append(Tried(candidate=candidate, row=replace(row, labels={**row.labels, **task.labels})))
    task.report([one.row for one in tried], path)
    for line in _table(task, tried):
        print(line)
    left = [one.candidate for one in tried if one.row.failed is None and not one.candidate.is_default]
    if left:
        print(f"nothing was timed; beside the default {len(left)} compile. On that TPU:")
        print(f"bench-core {shlex.join(_timing(task, left))}")
    else:
        print("nothing was timed; beside the default none compiles, so there is nothing to tune")
    return tried[0].row.failed is None


def _timing(task: Task, left: Sequence[Candidate]) -> list[str]:
    """The words behind `bench-core` that tune with just these candidates."""
    tuning = task.tuning
    words = ["tune", *words_of(task.case), "--rounds", str(tuning.rounds), "--confirm", str(tuning.confirm)]
    words += [word for candidate in left for word in ("--grid", str(candidate))]
    return [*words, *["--no-prune"] * tuning.no_prune, *(["--cache", str(tuning.cache)] if tuning.cache else [])]


def _task(chosen: "Chosen", tuning: Tuning, environment: Environment) -> Task | Row:
    """The task; the failed row of a case whose routing, of which the candidates are made, finds no memory."""
    from bench_core.harness.run import CASE_ERRORS, row_of_error
    from bench_core.tune.measure import expert_rows

    case = chosen.case
    try:
        groups = expert_rows(case)
    except CASE_ERRORS as error:
        return labelled(row_of_error(case, environment, error), chosen)
    found = candidates(case, tuning.grid, rows=sum(groups), groups=len(groups))
    ruled = rule_out(case, found, groups, keep_all=tuning.no_prune)
    return Task(case=case, tuning=tuning, ruled=ruled, labels=chosen.labels())


def _failed(row: Row, path: Path | None) -> bool:
    """Report the one row of a case that has failed before its candidates were known."""
    Printed(path).ended(1, row)
    tell_failure(row, _say)
    return False


def _refuse_interpreter(case: Case, platform: str) -> None:
    if case.backend == "gmm" and platform == "cpu":
        raise UsageError(
            "--backend gmm cannot be tuned on a CPU",
            cause="it runs in interpret mode there, and such times say nothing about a TPU",
            hint="add --aot v5p to see which tiles compile, or use --backend tiled",
        )


def _table(task: Task, tried: Sequence["Tried"]) -> list[str]:
    """A line for every candidate, those that were ruled out too."""
    rows = {one.candidate: one for one in tried}
    base = rows[DEFAULT].time_s
    lines = ["tile | computed / model | moved MiB | result"]
    for one in task.ruled:
        found = f"not tried: {one.out}" if one.out else _result(rows[one.candidate], base)
        lines.append(f"{one.candidate} | {one.work.padding:.2f} | {one.work.moved_bytes / 2**20:.1f} | {found}")
    return lines


def _result(tried: "Tried", base: Sequence[float]) -> str:
    row, times = tried.row, tried.time_s
    if row.failed is not None:
        return f"failed ({row.failed.reason}): {' '.join(row.failed.message.split())[:160]}"
    if not times:
        held = row.metrics.get("hbm_bytes")
        return "compiles" if held is None else f"compiles, {held.samples[0] / 2**30:.2f} GiB"
    text = f"{statistics.median(times) * 1e3:.3f} ms"
    return text if tried.candidate.is_default or not base else f"{text}, {in_words(times_as_fast(base, times))}"


def _verdict(task: Task, tried: Sequence["Tried"]) -> tuple[list[str], Tuned | None]:
    """What is said below the table, and what is kept."""
    from bench_core.tune.confirm import confirm

    default, *others = tried
    timed = [one for one in others if one.time_s]
    if not default.time_s:
        return ["the default failed: nothing to compare with"], None
    if not task.tuning.confirm:
        return ["no winner is named: --confirm 0"], None
    today = datetime.now(UTC).date().isoformat()
    none = Tuned(candidate=DEFAULT, found=NONE_BETTER, when=today)
    best = min(timed, key=lambda one: statistics.median(one.time_s), default=None)
    if best is None or times_as_fast(default.time_s, best.time_s).side <= 0:
        return [NONE_BETTER], none
    count = task.tuning.confirm
    _say(f"holding {best.candidate} against the default in {count} fresh processes")
    outcome = confirm(task.case, best.candidate, processes=count, seed=task.tuning.order_seed)
    return _confirmed(best.candidate, outcome, count, none)


def _confirmed(best: Candidate, outcome: "Confirmation", count: int, none: Tuned) -> tuple[list[str], Tuned | None]:
    if outcome.together is None or outcome.problem is not None:
        return [f"{best} was the fastest and could not be confirmed: {outcome.problem}"], None
    found = f"{in_words(outcome.together)} as the default in {count} fresh processes"
    if not outcome.holds:
        return [f"{best} was the fastest here, but it is {found}", NONE_BETTER], none
    return [f"{best} is {found}"], replace(none, candidate=best, found=found)


def _say(text: str) -> None:
    typer.echo(text, err=True)


def _flags() -> list[Declared]:
    """Those of one case: what is tuned, and the number of calls, are no flags here."""
    single = [replace(one, flag=replace(one.flag, several=False)) for one in declared(Case, Tuning)]
    return [one for one in single if one.name not in ("tile", "row_tiles", "iters")]


command = with_flags(tune, _flags())
