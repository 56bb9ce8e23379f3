"""`logbook ab`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import structs

from logbook_agent.campaign.ab import ab, plan_ab
from logbook_agent.campaign.ab_axis import parse_axis
from logbook_agent.campaign.ab_request import AbRequest
from logbook_agent.campaign.run_request import RunRequest
from logbook_agent.cli.detach import carried_out
from logbook_agent.cli.displays import series_display
from logbook_agent.cli.options import (
    DETACH,
    FREE,
    GATE,
    METRICS,
    Common,
    Words,
    arguments,
    duration,
    flag,
    minimum_effect_of,
    number,
    option,
    repeated,
)
from logbook_agent.cli.output import LineDisplay
from logbook_agent.cli.run_command import ON, How
from logbook_agent.entries.new_entry import Prose
from logbook_agent.model.comparison import BUDGET_PAIRS, MINIMUM_EFFECT
from logbook_agent.model.errors import exclusive


class AbOptions:
    """What is compared, and for how long: an `AbRequest`."""

    axis = option(
        "--axis NAME=V,V",
        "What to test, the base first: a config key, or env:NAME for a variable.",
        read=parse_axis,
    )
    codes = option(
        "--code BASE OTHER", "Test two commits, or a commit and WORK, the working tree.", kind=tuple[str, str]
    )
    evaluator = repeated(
        "--evaluator PATH",
        "With --code: a file or folder of BASE that measures both sides; repeatable; none: each side has its own. [the"
        " files that the command names and both have]",
    )
    fixed = number("--pairs N", "Run exactly N pairs, and judge them once.")
    minimum_effect = option(
        "--min-effect PART",
        f"The smallest change that matters, such as 2%. [{MINIMUM_EFFECT:.0%}]",
        read=minimum_effect_of,
    )
    max_pairs = number("--max-pairs N", f"The budget: at most N pairs; with --id, N more. [{BUDGET_PAIRS}]")
    seed = number("--seed N", "Seed of the order of the sides. [random; the entry states it]")
    max_time_s = duration("--max-time TIME", "Start no pair that would end later than 30m, 2h.")
    metrics = METRICS("Decide by this metric or observation; repeatable. [the primary metrics]")
    gates = GATE
    free = FREE
    setup = option("--setup CMD", "Shell command to run first in each folder in which the command runs: a build.")
    like = option(
        "--like ID[/RUN]",
        "The command of this run, in its folder, with its options; ID of an A/B, with no sides or the same: all that it"
        " asks, of the code as it is now, or of the commits that it compares.",
    )
    new = flag("--new", "Start another entry, though one asks the same of the same code.")


class AbRuns(How):
    """How each run is made: a `RunRequest`."""

    discard = number("--discard N", "First run N pairs to warm up; these never count.", 0)
    on = ON
    entry_id = option("--id ID", "Go on with the A/B of this entry: its command, on its code.")


def ab_command(
    *,
    asked: Annotated[AbRequest, AbOptions],
    command: Sequence[str] = arguments("-- CMD...", "The command, after --; {axis} stands for the value."),
    prose: Annotated[Prose, Words],
    how: Annotated[RunRequest, AbRuns],
    plan: bool = flag("--plan", "State the A/B in an entry, with its code, and run nothing."),
    detach: bool = DETACH,
    common: Common,
) -> int:
    """Compare two sides in pairs of runs.

    Each pair runs both sides, in random order. After every ten pairs the answer is judged, until the question is
    settled or the budget is spent. The entry states the question, the command and the code, and shows the answer.

    Typed again on the same code, it adds pairs to that entry, if they can change its answer; on other code it is a new
    one. With --id it goes on with the code that the entry states, in a checkout if the code has changed since.

    Each value of the axis replaces the value of the flag of that name in the command, or {axis}. Quote a value that has
    a comma; the value null leaves a flag out (env:NAME= is empty).

    Example: logbook ab --axis quant_mode=none,int8 -- python bench.py --quant-mode none

    Example: logbook ab --code main WORK -- python bench.py

    Example: logbook ab --axis quant_mode=none,int8 --like MOE-002/1

    Example: logbook ab --id MOE-003 --max-pairs 10
    """
    exclusive(
        {"--axis": asked.axis, "--code": asked.codes},
        cause="an A/B has one axis: a config key, a variable, or the code",
    )
    for name, given in (("--id", how.entry_id), ("--detach", detach)):
        exclusive({"--plan": plan, name: given}, cause="--plan states a new A/B, and runs nothing")
    request = structs.replace(asked, run=structs.replace(how, argv=command, prose=prose))
    space = common.space()
    if plan:
        with series_display() as display:
            made = plan_ab(space, request, display)
        common.emit("ab", made.data(), made.text)
        return 0

    def carry_out(display: LineDisplay) -> int:
        result = ab(space, request, display)
        common.emit("ab", result.data(), result.text)
        return result.exit_status

    return carried_out(common, "ab", carry_out, detach=detach)
