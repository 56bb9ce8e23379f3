"""`logbook ab`."""

from __future__ import annotations

import dataclasses
from typing import Annotated

from typer import Argument, Option

from logbook_agent.campaign.ab import ab, plan_ab
from logbook_agent.campaign.ab_prepare import AbRequest
from logbook_agent.cli.detach import carried_out
from logbook_agent.cli.displays import series_display
from logbook_agent.cli.options import (
    Common,
    DetachOption,
    FreeOption,
    GateOption,
    Text,
    Texts,
    Words,
    minimum_effect_of,
)
from logbook_agent.cli.output import LineDisplay, emit
from logbook_agent.cli.run_command import How, OnOption
from logbook_agent.model.comparison import BUDGET_PAIRS, MINIMUM_EFFECT
from logbook_agent.model.errors import UsageError
from logbook_agent.running.prepare import parse_duration
from logbook_agent.store.workspace import Workspace


def ab_command(
    *,
    axis: Annotated[
        Text,
        Option(
            "--axis",
            metavar="NAME=V,V",
            help="What to test, the base first: a config key, or env:NAME for a variable.",
        ),
    ] = None,
    code: Annotated[
        tuple[str, str] | None,
        Option("--code", metavar="BASE OTHER", help="Test two commits, or a commit and WORK, the working tree."),
    ] = None,
    evaluator: Annotated[
        Texts,
        Option(
            "--evaluator",
            metavar="PATH",
            help="With --code: a file or folder of BASE that measures both sides; repeatable; none: each side has its"
            " own. [the files that the command names and both have]",
        ),
    ] = None,
    command: Annotated[
        Texts, Argument(metavar="-- CMD...", help="The command, after --; {axis} stands for the value.")
    ] = None,
    pairs: Annotated[
        int | None, Option("--pairs", metavar="N", help="Run exactly N pairs, and judge them once.")
    ] = None,
    min_effect: Annotated[
        Text,
        Option(
            "--min-effect", metavar="PART", help=f"The smallest change that matters, such as 2%. [{MINIMUM_EFFECT:.0%}]"
        ),
    ] = None,
    max_pairs: Annotated[
        int | None,
        Option("--max-pairs", metavar="N", help=f"The budget: at most N pairs; with --id, N more. [{BUDGET_PAIRS}]"),
    ] = None,
    seed: Annotated[
        int | None,
        Option("--seed", metavar="N", help="Seed of the order of the sides. [random; the entry states it]"),
    ] = None,
    max_time: Annotated[
        Text, Option("--max-time", metavar="TIME", help="Start no pair that would end later than 30m, 2h.")
    ] = None,
    metric: Annotated[
        Texts,
        Option(
            "--metric", metavar="NAME", help="Decide by this metric or observation; repeatable. [the primary metrics]"
        ),
    ] = None,
    gate: GateOption = None,
    free: FreeOption = None,
    discard: Annotated[
        int, Option("--discard", metavar="N", help="First run N pairs to warm up; these never count.")
    ] = 0,
    prose: Words,
    how: How,
    on: OnOption = None,
    setup: Annotated[
        Text,
        Option("--setup", metavar="CMD", help="Run this first in each folder in which the command runs: a build."),
    ] = None,
    plan: Annotated[bool, Option("--plan", help="State the A/B in an entry, with its code, and run nothing.")] = False,
    like: Annotated[
        Text, Option("--like", metavar="ID/RUN", help="The command of this run, in its folder, with its options.")
    ] = None,
    new: Annotated[
        bool, Option("--new", help="Start another entry, though one asks the same of the same code.")
    ] = False,
    entry_id: Annotated[
        Text, Option("--id", metavar="ID", help="Go on with the A/B of this entry: its command, on its code.")
    ] = None,
    detach: DetachOption = False,
    common: Common,
) -> int:
    """Compare two sides in pairs of runs.

    Each pair runs both sides, in random order. After every ten pairs the answer is judged, until the question is
    settled or the budget is spent. The entry states the question, the command and the code, and shows the answer.

    Typed again on the same code, it adds pairs to that entry; on other code it is a new one. With --id it goes on with
    the code that the entry states, in a checkout if the code has changed since.

    Each value of the axis replaces the value of the flag of that name in the command, or {axis}. Quote a value that has
    a comma; the value null leaves the flag out.

    Example: logbook ab --axis quant_mode=none,int8 -- python bench.py --quant-mode none

    Example: logbook ab --code main WORK -- python bench.py

    Example: logbook ab --axis quant_mode=none,int8 --like MOE-002/1

    Example: logbook ab --id MOE-003 --max-pairs 10
    """
    run = dataclasses.replace(how.request(command or (), prose.read(), entry_id), on=on, discard=discard)
    given = [option for option in (axis, code, entry_id) if option is not None]
    if not given or (axis is not None and code is not None):
        raise UsageError(
            "--axis and --code cannot be used together" if code else "nothing to compare",
            cause="an A/B has one axis: a config key, a variable, or the code",
            hint="--axis quant_mode=none,int8, or --code main WORK",
        )
    request = AbRequest(
        axis=axis or "",
        codes=code,
        evaluator=tuple(evaluator) if evaluator else None,
        run=run,
        fixed=pairs,
        max_pairs=max_pairs,
        seed=seed,
        max_time_s=parse_duration(max_time, "--max-time") if max_time is not None else None,
        minimum_effect=minimum_effect_of(min_effect),
        metrics=tuple(dict.fromkeys(metric)) if metric else None,
        gates=tuple(gate or ()),
        free=tuple(free or ()),
        setup=setup,
        new=new,
        like=like,
    )
    space = common.space()
    if plan:
        return _planned(space, request, as_json=common.as_json, is_detached=detach)

    def carry_out(display: LineDisplay) -> int:
        result = ab(space, request, display)
        text = "" if common.as_json else result.text()
        emit("ab", result.data(), text, as_json=common.as_json, warnings=space.warnings)
        return result.exit_status

    return carried_out(space, "ab", carry_out, detach=detach, as_json=common.as_json)


def _planned(space: Workspace, request: AbRequest, *, as_json: bool, is_detached: bool) -> int:
    if request.run.entry_id is not None or is_detached:
        option = "--id" if request.run.entry_id is not None else "--detach"
        raise UsageError(
            f"--plan and {option} cannot be used together",
            cause="--plan states a new A/B, and runs nothing",
            hint="leave one of them out",
        )
    with series_display() as display:
        made = plan_ab(space, request, display)
    emit("ab", made.data(), made.text(), as_json=as_json, warnings=space.warnings)
    return 0
