"""`logbook ab`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Annotated

from typer import Argument, Option

from logbook_agent.cli.detach import carried_out
from logbook_agent.cli.noise import forecast_lines
from logbook_agent.cli.options import Common, DetachOption, Text, Texts, Words, read_part
from logbook_agent.cli.output import LineDisplay, emit
from logbook_agent.cli.predict import CalibrationOption, PredictOption, check_calibration
from logbook_agent.cli.run import How, OnOption
from logbook_agent.findings.comparisons.told import (
    change_text,
    doubts,
    evidence_text,
    number,
    verdict_text,
)
from logbook_agent.findings.evidence.alike import differences_text
from logbook_agent.findings.evidence.answers import Answer, Line
from logbook_agent.findings.evidence.compared import Compared
from logbook_agent.findings.evidence.noise import Noise, noise_of
from logbook_agent.running.prepare import parse_duration
from logbook_agent.store.workspace import Workspace
from logbook_agent.sweeps.ab import AbResult, Stop, ab
from logbook_agent.sweeps.ab_predict import predict_ab
from logbook_agent.sweeps.ab_prepare import MINIMUM_EFFECT, MOST_PAIRS, AbRequest


def ab_command(
    *,
    axis: Annotated[
        str,
        Option(
            "--axis",
            metavar="NAME=V,V",
            help="What to test, the base first: a config key, or env:NAME for a variable.",
        ),
    ],
    command: Annotated[
        Texts, Argument(metavar="-- CMD...", help="The command, after --; {axis} stands for the value.")
    ] = None,
    repeat: Annotated[
        int | None, Option("--repeat", metavar="N", help="Run exactly N pairs, whatever the result.")
    ] = None,
    pilot: Annotated[bool, Option("--pilot", help="Run six pairs, report how many an answer needs, and stop.")] = False,
    until_interval: Annotated[
        Text,
        Option(
            "--until-interval",
            metavar="PART",
            help="Add pairs until the interval is narrower than this, not just until the verdict is settled.",
        ),
    ] = None,
    min_effect: Annotated[
        Text, Option("--min-effect", metavar="PART", help=f"The smallest effect that matters. [{MINIMUM_EFFECT:.0%}]")
    ] = None,
    max_pairs: Annotated[
        int | None, Option("--max-pairs", metavar="N", help=f"At most N pairs; with --id, N more. [{MOST_PAIRS}]")
    ] = None,
    no_futility: Annotated[
        bool, Option("--no-futility", help="Continue even if the pairs scatter too much for an answer.")
    ] = False,
    seed: Annotated[
        int | None,
        Option("--seed", metavar="N", help="Seed of the order within each pair. [random; the entry states it]"),
    ] = None,
    max_time: Annotated[
        Text, Option("--max-time", metavar="TIME", help="Start no pair that would end later than 30m, 2h.")
    ] = None,
    metric: Annotated[
        Texts, Option("--metric", metavar="NAME", help="A metric or observation; repeatable. [primary]")
    ] = None,
    discard: Annotated[
        int, Option("--discard", metavar="N", help="First run N pairs to warm up; they are kept, but never counted.")
    ] = 0,
    predict: PredictOption = None,
    calibration: CalibrationOption = None,
    words: Words,
    how: How,
    on: OnOption = None,
    entry_id: Annotated[Text, Option("--id", metavar="ID", help="Add pairs to the A/B of this entry.")] = None,
    detach: DetachOption = False,
    common: Common,
) -> int:
    """Each run is a separate process, the order within each pair drawn by chance; the entry shows the result.

    Example: logbook ab --axis quant_mode=none,int8 -- python bench.py --quant-mode {axis}
    """
    run = dataclasses.replace(how.request(command or (), words.read(), entry_id), on=on, discard=discard)
    request = AbRequest(
        axis=axis,
        run=run,
        repeat=repeat,
        pilot=pilot,
        width=read_part(until_interval, "--until-interval"),
        max_pairs=max_pairs,
        futility=not no_futility,
        seed=seed,
        max_time_s=parse_duration(max_time, "--max-time") if max_time is not None else None,
        minimum_effect=read_part(min_effect, "--min-effect"),
        metrics=tuple(dict.fromkeys(metric)) if metric else None,
    )
    space = common.space()
    if predict is None:
        check_calibration(calibration)

    def carry_out(display: LineDisplay) -> int:
        if predict is not None:
            return _predicted(space, request, common, display, predict, calibration)
        return _made(space, request, common, display)

    return carried_out(space, "ab", carry_out, detach=detach, as_json=common.as_json)


def _predicted(
    space: Workspace, request: AbRequest, common: Common, display: LineDisplay, target: str, calibration: str | None
) -> int:
    found = predict_ab(space, request, display, target=target, calibration=calibration)
    text = "" if common.as_json else found.text()
    emit("ab", found.data(), text, as_json=common.as_json, warnings=space.warnings)
    return found.made.series.exit_status


def _made(space: Workspace, request: AbRequest, common: Common, display: LineDisplay) -> int:
    result = ab(space, request, display)
    emit("ab", result.data(), "" if common.as_json else _text(result), as_json=common.as_json, warnings=space.warnings)
    return result.series.exit_status


def _text(result: AbResult) -> str:
    count = f"{result.pairs} pair{'' if result.pairs == 1 else 's'}"
    lines = [f"{result.series.entry.id}: {count}; stopped: {result.why}"]
    noise = noise_of(result.answers)
    for answer in result.answers:
        for line in answer.lines:
            for m in line.metrics:
                lines += _metric(result, answer, line, m, noise)
    if result.stop is Stop.PILOT:
        lines += forecast_lines(result.forecasts, result.series.entry.id)
    return "\n".join(lines)


def _metric(result: AbResult, answer: Answer, line: Line, m: Compared, noise: Noise) -> Iterator[str]:
    case = "".join(f" {k}={v}" for k, v in line.pair.case.items())
    unit = f" {m.unit}" if m.unit else ""
    sides = f"{answer.base} {number(m, m.base)} → {answer.other} {number(m, m.other)}{unit}"
    yield f"{m.metric}{case}: {sides}, {change_text(m)} ({evidence_text(m, noise)}): {verdict_text(m)}"
    yield from (f"  {reason}" for reason in doubts(m))
    if m.withheld_by:
        allow = " ".join(f"--allow {d.name}" for d in m.withheld_by)
        own = result.series.entry.id
        yield f"  differs in {differences_text(m.withheld_by)}"
        yield f"  if that is intended: logbook compare {own} --axis {result.axis.name} {allow} --save {own}"
