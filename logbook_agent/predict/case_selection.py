"""`logbook sweep --predict`: which cases of a plan are run, by what is predicted of them."""

from __future__ import annotations

import contextlib
import dataclasses
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from logbook_agent.campaign.driver import Driver, driving
from logbook_agent.campaign.recipe_files import Chosen
from logbook_agent.campaign.recipes.expand import describe
from logbook_agent.campaign.state import earlier_sweeps
from logbook_agent.campaign.sweep_request import LEFT_OUT, Prepared, Selection, SweepRequest, deciding, prepare_sweep
from logbook_agent.entries.drafts import Prose, create_entry, draft_entry
from logbook_agent.entries.entries import EditRequest, edit
from logbook_agent.findings.predictions import short_text
from logbook_agent.model.entry import PREDICTION, Entry
from logbook_agent.model.errors import UsageError
from logbook_agent.model.header import Header
from logbook_agent.model.run import Run
from logbook_agent.predict.choice import Choice, choices
from logbook_agent.predict.request import predict_argv
from logbook_agent.running.launch.process import INTERRUPTED_STATUS
from logbook_agent.running.order import Display, RunPlan
from logbook_agent.running.prepare import PROGRAM, bench_folder, prepare
from logbook_agent.store import root as books
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace

_MEASURES = [PROGRAM, "hillclimb"]
_ERROR = "error: "
_SHOWN_CHARS = 300
_EMPTY = "no case has a prediction, so none chooses what runs: leave --predict out to run all cases"


def select(
    workspace: Workspace, request: SweepRequest, display: Display, target: str, *, dry_run: bool = False
) -> Selection:
    """The cases of a plan that may win on the slice `target`. They are predicted in an entry of their own, which a dry
    run does not record."""
    other = "--resume" if request.resume is not None else "--retry-failed" if request.retry_failed else None
    if other is not None:
        raise UsageError(
            f"--predict and {other} cannot be used together",
            cause="--predict chooses the cases before the first run",
            hint="leave --predict out",
        )
    prepared = prepare_sweep(workspace, request, needs_logbook=not dry_run)
    _check_predictable(prepared.chosen)
    if dry_run or prepared.book is None:
        with _book_for_nothing(workspace, prepared.book) as nowhere:
            made, runs = _predict(workspace, nowhere, prepared.chosen, target, display)
        return _selection(prepared, target, runs, None, made.exit_status)
    _check_not_begun(prepared)
    made, runs = _predict(workspace, prepared.book, prepared.chosen, target, display)
    found = _selection(prepared, target, runs, made.entry.id, made.exit_status)
    if found.why:
        edit(workspace, made.entry.id, EditRequest(prose=Prose(fields=(f"{LEFT_OUT}={found.why}",))))
    return found


def _check_predictable(chosen: Chosen) -> None:
    """Raises UsageError unless every command is one of `bench-core hillclimb`."""
    for planned in chosen.plan:
        if chosen.recipe.command.shell or list(planned.argv[:2]) != _MEASURES:
            said = planned.argv[0] if chosen.recipe.command.shell else " ".join(planned.argv[:2])
            raise UsageError(
                f"the recipe {chosen.recipe.name} cannot be predicted: its command is {said!r}",
                cause=f"the model knows the programs of {' '.join(_MEASURES)} alone",
                hint="leave --predict out",
            )


def _check_not_begun(prepared: Prepared) -> None:
    """Raises UsageError for an unfinished sweep of the plan, or of what a prediction left of it."""
    chosen = prepared.chosen
    if prepared.request.new or prepared.book is None:
        return
    begun = prepared.entry.id if prepared.entry is not None else None
    for earlier in earlier_sweeps(prepared.book) if begun is None else ():
        use = earlier.use
        same = (use.name, use.scale, use.sets) == (chosen.recipe.name, chosen.scale, chosen.sets)
        if same and use.without and not earlier.is_complete and earlier.entry.state is None:
            begun = begun or earlier.entry.id
    if begun is not None:
        raise UsageError(
            f"{begun} is an unfinished sweep of {chosen.recipe.name}",
            cause="its cases were chosen before its first run",
            hint=f"resume it: logbook sweep --resume {begun}, or start another one: add --new",
        )


def _predict(
    workspace: Workspace, book: Book, chosen: Chosen, target: str, display: Display
) -> tuple[Driver, dict[str, Run]]:
    """A new entry with a run of `bench-core predict` for each case, and these by the keys of their cases."""
    plan = chosen.plan
    planned = [plan.run(case, repeat=1, place=0) for case in plan.cases]
    commands = [
        prepare(workspace, predict_argv([*p.argv[2:], "--aot", target]), env=p.env, search_first=bench_folder())
        for p in planned
    ]

    def new_entry() -> Entry:
        title = f"Prediction for {target}: sweep {chosen.recipe.name}" + (f" ({chosen.scale})" if chosen.scale else "")
        return create_entry(workspace, book, draft_entry(workspace, Prose(), title=title, kind=PREDICTION))

    runs: dict[str, Run] = {}
    with driving(workspace, book, new_entry, display) as made:
        orders = [
            RunPlan(command=command, entry_id=made.entry.id, config=dict(one.config))
            for one, command in zip(planned, commands, strict=True)
        ]
        for place, run in made.each(orders):
            case = planned[place].case
            runs[case.key] = run
            said = "; ".join(f"predicted {short_text(row.said)}" for row in run.predictions) or _nothing(run)
            display.progress(f"[{place + 1}/{len(planned)}] {describe(plan, case)}: {said}")
    return made, runs


def _nothing(run: Run | None) -> str:
    """`nothing was predicted: --aot v9 is not known`: the error that the command printed, where it did."""
    said = run.output.last_words if run is not None and run.output is not None else ""
    if not said.startswith(_ERROR):
        return "nothing was predicted"
    return f"nothing was predicted: {said.removeprefix(_ERROR)[:_SHOWN_CHARS]}"


@contextlib.contextmanager
def _book_for_nothing(workspace: Workspace, book: Book | None) -> Iterator[Book]:
    """A logbook that is gone afterwards, with the metrics of `book`."""
    with tempfile.TemporaryDirectory(prefix="logbook-") as folder:
        metrics = book.header.metrics if book is not None else ()
        header = Header(
            topic="dry-run", title="dry run", prefix="DRY", opened=workspace.stamp(), zone="UTC", metrics=metrics
        )
        yield books.create(Path(folder), header, durable=False, redactor=lambda: workspace.redactor)


# -- what follows ------------------------------------------------------------------------------------


def _selection(
    prepared: Prepared, target: str, runs: Mapping[str, Run], entry: str | None, exit_status: int
) -> Selection:
    chosen, plan = prepared.chosen, prepared.chosen.plan
    said = {key: run.predictions[0].said for key, run in runs.items() if run.predictions}
    found = [
        choice
        if choice.prediction is not None
        else dataclasses.replace(choice, why=_nothing(runs.get(choice.case.key)))
        for choice in choices(
            plan, {case.key: said.get(case.key) for case in plan.cases}, deciding(chosen, prepared.book)
        )
    ]
    programs = len({p.program for p in said.values() if p.program is not None})
    # Without a prediction of any case, not even one that says why there is no estimate, the request is wrong.
    left = [choice for choice in found if choice.runs and said]
    lines = [f"{chosen.recipe.name}: predicted for {target}, {programs} different programs; nothing measured"]
    lines += [f"  {choice.text}" for choice in found]
    lines += _outcome(chosen, found, left) if said else [_EMPTY]
    repeats = chosen.recipe.repeats
    data = {
        "recipe": chosen.recipe.name,
        "scale": chosen.scale,
        "target": target,
        "id": entry,
        "programs": programs,
        "cases": [_choice_data(choice) for choice in found],
        "runs": len(left) * repeats,
        "runs_saved": (len(found) - len(left)) * repeats,
    }
    return Selection(
        runs=0 if exit_status == INTERRUPTED_STATUS else len(left) * repeats,
        without=tuple(choice.case.key for choice in found if not choice.runs),
        left_out=tuple(choice.text for choice in found if not choice.runs),
        entry=entry,
        exit_status=exit_status,
        lines=tuple(lines),
        data=data,
    )


def _outcome(chosen: Chosen, found: Sequence[Choice], left: Sequence[Choice]) -> list[str]:
    """How many cases are run, and on what that hangs."""
    repeats = chosen.recipe.repeats
    runs = len(left) * repeats
    lines = [
        f"to run: {len(left)} of {len(found)} case{'s' * (len(found) != 1)}"
        f" ({runs} run{'s' * (runs != 1)} instead of {len(found) * repeats})"
    ]
    unchecked = any(c.prediction is not None and c.prediction.vmem == "not checked" for c in left)
    if unchecked and any(choice.word == "cannot win" for choice in found):
        scale = f" --scale {chosen.scale}" if chosen.scale else ""
        lines.append(
            "VMEM is not checked: where a case fails for it, those that were left out because of it may be the"
            f" best: logbook sweep {chosen.recipe.name}{scale} --new runs all"
        )
    return lines


def _choice_data(choice: Choice) -> dict[str, object]:
    return {
        "case": choice.case.key,
        "name": choice.name,
        "word": choice.word,
        "why": choice.why,
        "runs": choice.runs,
        "prediction": choice.prediction.json() if choice.prediction is not None else None,
    }
