"""`logbook ab --predict`: what the model says of the values of an axis, before any of them is run."""

from __future__ import annotations

import shlex
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from logbook_agent.entries.calibrations import calibration_words
from logbook_agent.entries.predict import pair_data, predicted_lines
from logbook_agent.findings.predictions.rows import PredictedPair
from logbook_agent.findings.predictions.words import outcome_text
from logbook_agent.model.entry import Predicting
from logbook_agent.model.errors import UsageError
from logbook_agent.model.header import metric_named
from logbook_agent.running.execution import Display
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.sweeps.ab_axis import AbAxis, described, parse_axis, placed
from logbook_agent.sweeps.ab_prepare import AbRequest, checked
from logbook_agent.sweeps.predicted import Asked, Predictable, PredictedCases, check_predictable, predict_cases
from logbook_agent.sweeps.recipes.choice import why_not_ranked
from logbook_agent.text.lists import list_text
from logbook_agent.text.words import assignments

# What is worth a device, and what is not.
_WORTH = ("wins", "undecided", "no prediction")


@dataclass(frozen=True, slots=True, kw_only=True)
class AbPrediction:
    """The predictions just made, what they say of each value against the base, and what to type next. `unranked`: why
    their times do not tell which value is better by the metrics of the A/B; empty where they do."""

    made: PredictedCases
    axis: AbAxis
    target: str
    next: str
    unranked: str

    def data(self) -> dict[str, Any]:
        entry, made = self.made.series.entry, self.made
        return {
            "id": entry.id,
            "title": entry.title,
            "exit_status": made.series.exit_status,
            "axis": self.axis.name,
            "values": list(self.axis.values),
            "target": self.target,
            "predicted": [
                {"name": one.name, "run": one.run.run, "config": one.row.config, **one.said.json()}
                for one in made.found
            ],
            "pairs": [pair_data(made.found, pair) for pair in made.pairs],
            "unranked": self.unranked or None,
            "next": self.next,
            "view": str(made.series.book.view_path),
        }

    def text(self) -> str:
        """For people: every prediction, the verdicts of the model, what to type next."""
        made = self.made
        lines = [f"{made.series.entry.id}: predicted for {self.target}, nothing was run"]
        lines += [f"  {line}" for line in predicted_lines(made.found, ())]
        lines += [_verdict(made, pair) for pair in made.pairs] or [_without_pairs(made)]
        lines += [self.unranked] if self.unranked else []
        return "\n".join([*lines, f"next: {self.next}"])


def _verdict(made: PredictedCases, pair: PredictedPair) -> str:
    return f"{made.found[pair.base].name} → {made.found[pair.other].name}: {outcome_text(pair.outcome)}"


def _without_pairs(made: PredictedCases) -> str:
    if None not in made.by_key.values() and len({one.run.run for one in made.by_key.values() if one is not None}) == 1:
        return "same program: the values say how a call is timed, which a prediction tells nothing of"
    why = next(iter(made.missing.values()), "nothing can be said of the values")
    return f"no prediction: {why}"


def predict_ab(
    workspace: Workspace, request: AbRequest, display: Display, *, target: str, calibration: str | None = None
) -> AbPrediction:
    """Predict the values of the axis. Nothing is written when the request does not fit."""
    if request.codes is not None:
        raise UsageError(
            "--predict and --code cannot be used together",
            cause="a prediction is of the command, by the code of this installation",
            hint="leave one of them out",
        )
    axis = parse_axis(request.axis)
    if request.run.entry_id is not None:
        raise UsageError(
            "--predict and --id cannot be used together",
            cause="what is predicted stands in an entry of its own",
            hint="leave one of them out",
        )
    request = checked(request)
    run = request.run
    run = replace(run, argv=list(placed(axis, run.argv, run.config)))
    check_predictable(run.argv, shell=run.shell, what="this A/B")
    book = workspace.book()
    wanted = [
        Predictable(
            key=value,
            name=assignments({axis.name: value}),
            argv=tuple(axis.words(run.argv, value)),
            config={**run.config, **axis.config(value)},
            env={**run.env, **axis.env(value)},
        )
        for value in axis.values
    ]
    asked = Asked(
        predicting=Predicting(target=target, axis=axis.name, base_value=axis.values[0]),
        title=f"Prediction for {target}: {described(axis)}",
        prose=run.prose,
        label=run.label,
        calibration=tuple(calibration_words(workspace, book, calibration)),
        cwd=run.cwd,
        timeout_s=run.timeout_s,
    )
    made = predict_cases(workspace, book, wanted, asked, display)
    unranked = _unranked(request, book, made)
    then = _next(replace(request, run=run), axis, made, worth=(*_WORTH, *(["loses"] if unranked else [])))
    return AbPrediction(made=made, axis=axis, target=target, next=then, unranked=unranked)


def _unranked(request: AbRequest, book: Book, made: PredictedCases) -> str:
    declared, configs = book.header.metrics, [one.row.config for one in made.found]
    asked = [m for m in declared if m.primary]
    if request.metrics is not None:
        asked = [metric_named(name, declared) for name in request.metrics]
    return next((why for metric in asked if (why := why_not_ranked(configs, metric))), "")


def _next(request: AbRequest, axis: AbAxis, made: PredictedCases, worth: Collection[str]) -> str:
    """The A/B of the values that may be worth a device, which a word among `worth` says; where none is, what to do
    instead."""
    entry = made.series.entry.id
    if made.missing.keys() == made.by_key.keys():
        return f"logbook show {entry}"
    words = {pair.outcome.word.value for pair in made.pairs}
    if made.pairs and words.isdisjoint(worth):
        return f"nothing to run: no value can win by the model ({', '.join(sorted(words))}); logbook show {entry}"
    left = [_axis_value(made, pair.other, axis) for pair in made.pairs if pair.outcome.word.value in worth]
    keys = {axis.key(value) for value in left or axis.values[1:]}
    values = [axis.values[0], *(v for v in axis.values[1:] if axis.key(v) in keys)]
    run = request.run
    options = ["--axis", f"{axis.name}={list_text(values)}", "--continues", entry]
    options += ["--repeat", str(request.repeat)] if request.repeat is not None else []
    options += ["--max-pairs", str(request.max_pairs)] if request.max_pairs is not None else []
    options += [word for name in request.metrics or () for word in ("--metric", name)]
    options += ["--on", run.on] if run.on is not None else []
    options += [word for name, value in run.env.items() for word in ("--env", f"{name}={value}")]
    return f"logbook ab {shlex.join(options)} -- {shlex.join(run.argv)}"


def _axis_value(made: PredictedCases, place: int, axis: AbAxis) -> str:
    """The value of the axis that a prediction is of."""
    one = made.found[place]
    value = axis.value_of(one.run)
    return next((v for v in axis.values if axis.key(v) == value), value or "")
