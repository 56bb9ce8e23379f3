"""`logbook sweep --predict`: which cases of a plan are run, by what is predicted of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from logbook_agent.campaign.chosen import Chosen
from logbook_agent.campaign.predicted import Asked, Predictable, book_for_nothing, check_predictable, predict_cases
from logbook_agent.campaign.prepare import LEFT_OUT, Prepared, SweepRequest, deciding, prepare_sweep
from logbook_agent.campaign.recipes.choice import Choice, choices
from logbook_agent.campaign.recipes.expand import describe
from logbook_agent.campaign.result import SweepResult
from logbook_agent.campaign.state import earlier_sweeps
from logbook_agent.campaign.sweep import sweep
from logbook_agent.entries.calibrations import calibration_words
from logbook_agent.entries.predict import add_field
from logbook_agent.model.entry import Predicting
from logbook_agent.model.errors import UsageError
from logbook_agent.model.values import canonical
from logbook_agent.running.execution import Display
from logbook_agent.running.launch.process import INTERRUPTED_STATUS
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.text import markdown as md

_SHOWN = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPrediction:
    """What becomes of each case. `entry`: the ID of the prediction, None of a dry run; `result`: the sweep of the cases
    that are left, None where none was run."""

    chosen: Chosen
    target: str
    choices: tuple[Choice, ...]
    programs: int
    entry: str | None
    exit_status: int
    result: SweepResult | None = None

    @property
    def is_empty(self) -> bool:
        """Whether no case has a prediction, not even one that says why there is no estimate: the request is wrong."""
        return all(choice.prediction is None for choice in self.choices)

    @property
    def hangs_on_vmem(self) -> bool:
        """Whether cases were left out because of others of which nobody knows whether their kernels fit."""
        open_ = any(c.prediction is not None and c.prediction.vmem == "not checked" for c in self.left)
        return open_ and any(choice.word == "cannot win" for choice in self.choices)

    @property
    def left(self) -> tuple[Choice, ...]:
        """The cases that are run."""
        return tuple(choice for choice in self.choices if choice.runs and not self.is_empty)

    def data(self) -> dict[str, Any]:
        return {
            "recipe": self.chosen.recipe.name,
            "scale": self.chosen.scale,
            "target": self.target,
            "id": self.entry,
            "exit_status": self.result.exit_status if self.result is not None else self.exit_status,
            "programs": self.programs,
            "cases": [_choice_data(choice) for choice in self.choices],
            "runs": len(self.left) * self.chosen.recipe.repeats,
            "runs_saved": (len(self.choices) - len(self.left)) * self.chosen.recipe.repeats,
            "sweep": self.result.data() if self.result is not None else None,
        }

    def lines(self) -> list[str]:
        """For people: every case with its word, and how many are run."""
        plan = self.chosen.plan
        lines = [
            f"{plan.recipe.name}: predicted for {self.target}, {self.programs} different programs; nothing measured"
        ]
        lines += [f"  {choice.text}" for choice in self.choices]
        repeats = plan.recipe.repeats
        if self.is_empty:
            return [*lines, "no case has a prediction, so none chooses what runs: leave --predict out to run all cases"]
        lines.append(
            f"{len(self.left)} of {len(self.choices)} cases are left: {len(self.left) * repeats} runs instead of"
            f" {len(self.choices) * repeats}"
        )
        if self.hangs_on_vmem:
            scale = f" --scale {self.chosen.scale}" if self.chosen.scale else ""
            lines.append(
                "VMEM is not checked: where a case fails for it, those that were left out because of it may be the"
                f" best: logbook sweep {plan.recipe.name}{scale} --new runs all"
            )
        return lines


def _choice_data(choice: Choice) -> dict[str, Any]:
    return {
        "case": choice.case.key,
        "name": choice.name,
        "word": choice.word,
        "why": choice.why,
        "runs": choice.runs,
        "prediction": choice.prediction.json() if choice.prediction is not None else None,
    }


def predict_sweep(
    workspace: Workspace,
    request: SweepRequest,
    display: Display,
    *,
    target: str,
    calibration: str | None = None,
    dry_run: bool = False,
    tell: Callable[[str], None] | None = None,
) -> SweepPrediction:
    """Predict every case of a plan, and unless it is a dry run carry out what may win. An unfinished sweep that a
    prediction has chosen the cases of goes on without another prediction."""
    _check_request(request)
    prepared = prepare_sweep(workspace, request, needs_logbook=not dry_run)
    chosen = prepared.chosen
    for planned in chosen.plan:
        check_predictable(planned.argv, shell=chosen.recipe.command.shell, what=f"the recipe {chosen.recipe.name}")
    if (begun := _begun(prepared)) is not None and not dry_run:
        raise UsageError(
            f"{begun} carries out {chosen.recipe.name} and is unfinished",
            cause="which cases run was chosen before its first run",
            hint=f"resume it: logbook sweep --resume {begun}, or start another one: add --new",
        )
    book = prepared.book
    if calibration is not None and book is None:
        workspace.book()  # raises: there is no logbook that could have it
    words = tuple(calibration_words(workspace, book, calibration)) if book is not None else ()
    if dry_run:
        with book_for_nothing(workspace, book) as nowhere:
            return _predicted(workspace, nowhere, prepared, target, words, display)
    if book is None:  # `needs_logbook` has raised
        raise AssertionError("no logbook")
    found = _predicted(workspace, book, prepared, target, words, display)
    why = _why(found)
    if why:
        add_field(workspace, book, found.entry or "", LEFT_OUT, why)
    for line in found.lines():
        display.progress(line)
    if found.exit_status == INTERRUPTED_STATUS or not found.left:
        return found
    again = dataclasses.replace(
        request,
        new=True,
        without=tuple(choice.case.key for choice in found.choices if not choice.runs),
        why=why,
        predicted_in=found.entry,
    )
    return dataclasses.replace(found, result=sweep(workspace, again, display, tell=tell))


def _check_request(request: SweepRequest) -> None:
    other = "--resume" if request.resume is not None else "--retry-failed" if request.retry_failed else None
    if other is not None:
        raise UsageError(
            f"--predict and {other} cannot be used together",
            cause="which cases run is chosen before the first run",
            hint="leave --predict out",
        )


def _begun(prepared: Prepared) -> str | None:
    """An unfinished sweep of the plan, or of what a prediction left of it."""
    if prepared.request.new or prepared.book is None:
        return None
    if prepared.entry is not None:
        return prepared.entry.id
    for earlier in earlier_sweeps(prepared.book):
        use = earlier.use
        same = (use.name, use.scale, use.sets) == (
            prepared.chosen.recipe.name,
            prepared.chosen.scale,
            prepared.chosen.sets,
        )
        if same and use.without and not earlier.is_complete and earlier.entry.state is None:
            return earlier.entry.id
    return None


def _predicted(
    workspace: Workspace,
    book: Book,
    prepared: Prepared,
    target: str,
    calibration: tuple[str, ...],
    display: Display,
) -> SweepPrediction:
    chosen = prepared.chosen
    plan, compare = chosen.plan, chosen.recipe.compare
    planned = [plan.run(case, repeat=1, place=0) for case in plan.cases]
    wanted = [
        Predictable(key=p.case.key, name=describe(plan, p.case), argv=p.argv, config=p.config, env=p.env)
        for p in planned
    ]
    predicting = Predicting(
        target=target,
        axis=compare.axis if compare is not None else None,
        base_value=canonical(compare.base) if compare is not None else None,
        implied=chosen.recipe.implied,
    )
    title = f"Prediction for {target}: sweep {chosen.recipe.name}" + (f" ({chosen.scale})" if chosen.scale else "")
    asked = Asked(predicting=predicting, title=title, calibration=calibration)
    made = predict_cases(workspace, book, wanted, asked, display)
    said = {case.key: found.said if (found := made.by_key[case.key]) is not None else None for case in plan.cases}
    return SweepPrediction(
        chosen=chosen,
        target=target,
        choices=choices(plan, said, deciding(chosen, prepared.book), missing=made.missing),
        programs=len({p.program for p in said.values() if p is not None and p.program is not None}),
        entry=made.series.entry.id if prepared.book is book else None,
        exit_status=made.series.exit_status,
    )


def _why(found: SweepPrediction) -> str:
    """The cases that are left out, as a list in Markdown; empty where none is."""
    lines = [md.escape(choice.text) for choice in found.choices if not choice.runs]
    return "\n".join(f"- {line}" for line in _bounded(lines, found.entry))


def _bounded(lines: Sequence[str], entry: str | None) -> list[str]:
    shown = [*lines[:_SHOWN], *([f"and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else [])]
    return [f"{line} ({entry})" if entry is not None else line for line in shown]
