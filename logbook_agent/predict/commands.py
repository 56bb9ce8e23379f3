"""`logbook predict` and `logbook predictions`."""

from __future__ import annotations

import shlex
from typing import Annotated, Any

from typer import Argument, Option

from logbook_agent.cli.options import Common, Text, Texts, Words
from logbook_agent.cli.output import LiveDisplay, emit, say
from logbook_agent.cli.run import How, IdOption
from logbook_agent.entries.calibrations import calibrate
from logbook_agent.entries.predict import PredictResult, predict
from logbook_agent.findings.predictions.told import tally_lines
from logbook_agent.findings.predictions.words import seconds_text
from logbook_agent.findings.read import read
from logbook_agent.model.errors import UsageError

CalibrationOption = Annotated[
    Text,
    Option("--calibration", metavar="NAME", help="A calibration of this logbook. [the one that comes with bench_core]"),
]

PredictOption = Annotated[
    Text,
    Option(
        "--predict",
        metavar="TPU",
        help="Predict for this slice, such as v5p-8. `ab` then runs nothing, `sweep` only what may win.",
    ),
]


def check_calibration(name: str | None) -> None:
    """Raises UsageError for a calibration where nothing is predicted."""
    if name is not None:
        raise UsageError(
            "--calibration needs --predict",
            cause="only predictions use it",
            hint=f"--predict v5p-8 --calibration {name}",
        )


def predict_command(
    *,
    command: Annotated[
        Texts, Argument(metavar="-- OPTIONS [-- OPTIONS OF B]", help="After --: the options of bench-core hillclimb.")
    ] = None,
    calibration: CalibrationOption = None,
    calibrate_on: Annotated[
        Texts,
        Option("--calibrate", metavar="ID[/RUN]", help="Fit a calibration on two or three measured cases; repeatable."),
    ] = None,
    name: Annotated[Text, Option("--name", metavar="NAME", help="--calibrate: the name of the calibration.")] = None,
    words: Words,
    how: How,
    entry_id: IdOption = None,
    common: Common,
) -> int:
    """Predict a step time on a TPU that you do not have.

    The time is computed from the program that the compiler makes for the TPU; the entry is kept apart from experiments.
    To predict two sides: logbook predict -- --aot v5p-8 --topk 2 --ep-impl psum -- --ep-impl ring
    Example: logbook predict -- --aot v5p-8 --tokens 32768 --hidden 2048
    """
    space = common.space()
    display = LiveDisplay(all_to_stderr=common.as_json)
    if calibrate_on:
        references = [*calibrate_on, *(command or ())]
        if calibration is not None or entry_id is not None or any(one.startswith("-") for one in references):
            raise UsageError(
                "--calibrate predicts nothing, so it takes no options to predict with",
                cause="it fits a calibration on rows that were measured",
                hint=f"logbook predict --calibrate {shlex.join(one for one in references if one[:1] != '-')}",
            )
        made, own = calibrate(space, references, display, name=name, prose=words.read())
        data = {**made.data(), "calibration": own if made.exit_status == 0 else None}
        lines = [f"next: logbook predict --calibration {own} -- --aot v5p-8 ..."] if made.exit_status == 0 else []
        _emit(common, data, lines, space.warnings)
        return made.exit_status
    if name is not None:
        raise UsageError("--name needs --calibrate", cause="it names a calibration", hint="--calibrate ID --name NAME")
    request = how.request(command or (), words.read(), entry_id)
    result = predict(space, request, display, calibration=calibration, tell=None if common.as_json else say)
    _emit(common, result.data(), _lines(result), space.warnings)
    return result.made.exit_status


def _emit(common: Common, data: dict[str, Any], lines: list[str], warnings: list[str]) -> None:
    if common.as_json:
        emit("predict", data, "", as_json=True, warnings=warnings)
        return
    # The command's own output has stdout.
    for line in [*lines, *(f"warning: {w}" for w in warnings)]:
        say(line)


def _lines(result: PredictResult) -> list[str]:
    entry = result.made.entry.id
    lines = [f"{entry}: {line}" for line in result.lines()] or [f"{entry}: nothing was predicted"]
    problems = [p for run in result.made.runs for p in run.problems]
    return [*lines, *(f"problem: {p}" for p in problems[:3]), f"recorded in {result.made.book.view_path}"]


def predictions_command(*, common: Common) -> None:
    """How predictions came true: only those count that were made before the measurement.

    Example: logbook predictions --json
    """
    space = common.space()
    book = space.book().outgoing()
    found = read(space, book)
    space.warnings += found.unreadable
    data = found.predictions.all()
    emit("predictions", data, _tally_text(data), as_json=common.as_json, warnings=space.warnings)


def _tally_text(data: dict[str, Any]) -> str:
    if not data["predictions"]:
        return "no predictions; make one with: logbook predict -- --aot v5p-8 OPTIONS"
    lines = tally_lines(data["tally"])
    lines += [f"  {_check_text(check)}" for check in data["predictions"] if check["measured_s"] is not None]
    return "\n".join(lines)


def _check_text(check: dict[str, Any]) -> str:
    name = f" {check['name']}" if check["name"] else ""
    predicted = seconds_text(check["predicted_s"])[0] if check["predicted_s"] is not None else "no time"
    ratio = f", predicted / measured {check['ratio']:.2f}" if check["ratio"] is not None else ""
    counts = "" if check["counts"] else " (not counted)"
    measured = f"measured {seconds_text(check['measured_s'])[0]} in {check['measured_in']}"
    return f"{check['entry']}{name}: predicted {predicted}, {measured}{ratio}{counts}"
