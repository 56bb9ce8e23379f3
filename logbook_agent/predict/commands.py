"""`logbook predict`: what a case would take on a TPU that is not there, in an entry whose rows are predicted."""

from __future__ import annotations

import dataclasses
from typing import Annotated

from typer import Argument, Option

from logbook_agent.campaign.repeats import RunRequest, RunResult, run
from logbook_agent.cli.displays import run_display
from logbook_agent.cli.options import Common, Text, Texts, Words
from logbook_agent.cli.output import emit, say
from logbook_agent.cli.run_command import EnvOption, TimeoutOption
from logbook_agent.findings.predictions import (
    Predicted,
    PredictedPair,
    predicted_pairs,
    predicted_parts,
    predictions_of,
)
from logbook_agent.predict.request import predict_argv
from logbook_agent.running.prepare import parse_duration, parse_env


def predict_command(
    *,
    command: Annotated[
        Texts,
        Argument(metavar="-- OPTIONS [-- OPTIONS]", help="After --: --aot TPU and options of bench-core hillclimb."),
    ] = None,
    words: Words,
    env: EnvOption = None,
    timeout: TimeoutOption = None,
    entry_id: Annotated[Text, Option("--id", metavar="ID", help="Add the prediction to this entry.")] = None,
    common: Common,
) -> int:
    """Predict a step time.

    The time follows from the program that the compiler makes for that TPU. It is recorded as a prediction, which never
    counts as a measurement. After a second --, give the options in which a second case differs.

    Example: logbook predict -- --aot v5p-8 --tokens 32768 --hidden 2048

    Example: logbook predict -- --aot v5p-8 --topk 2 --ep-impl psum -- --ep-impl ring
    """
    space = common.space()
    request = RunRequest(
        argv=predict_argv(command or ()),
        prose=words.read(),
        env=parse_env(env or ()),
        timeout_s=parse_duration(timeout) if timeout is not None else None,
        entry_id=entry_id,
        predicts=True,
    )
    with run_display(all_to_stderr=common.as_json) as display:
        made = run(space, request, display, tell=None if common.as_json else say)
    if common.as_json:
        emit("predict", predict_data(made), "", as_json=True, warnings=space.warnings)
    else:
        # The command's own output has stdout.
        for line in [*_lines(made, _found(made)), *(f"warning: {w}" for w in space.warnings)]:
            say(line)
    return made.exit_status


def predict_data(made: RunResult) -> dict[str, object]:
    """The answer of `predict` for machines."""
    found = _found(made)
    return {
        **made.data(),
        "predicted": [{"name": p.name, "run": p.run, "config": p.row.config, **p.said.json()} for p in found],
        "pairs": [_pair_data(pair) for pair in predicted_pairs(found)],
    }


def _found(made: RunResult) -> list[Predicted]:
    """What the runs just made have predicted."""
    record = made.book.record(made.entry.id)
    numbers = {one.run for one in made.runs}
    return predictions_of(dataclasses.replace(record, runs=tuple(s for s in record.runs if s.run.run in numbers)))


def _pair_data(pair: PredictedPair) -> dict[str, object]:
    said = pair.outcome
    names = {"base": pair.base.name, "other": pair.other.name}
    return {**names, "word": said.word.value, "ratio": said.ratio, "why": said.why}


def _lines(made: RunResult, found: list[Predicted]) -> list[str]:
    lines = [one.named("; ".join(predicted_parts(one.said))) for one in found]
    lines += [pair.text for pair in predicted_pairs(found)]
    problems = [p for one in made.runs for p in one.problems]
    return [
        *(f"{made.entry.id}: {line}" for line in lines or ["nothing was predicted"]),
        *(f"problem: {p}" for p in problems[:3]),
        f"recorded in {made.book.view_path}",
    ]
