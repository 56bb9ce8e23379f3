"""`logbook ci`."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from logbook_agent.campaign.run_request import check_count
from logbook_agent.cli.declared import arguments, flag, number, option, repeated
from logbook_agent.cli.options import Common, duration, minimum_effect_of
from logbook_agent.cli.output import LineDisplay
from logbook_agent.cli.run_command import ENV, READ, TIMEOUT
from logbook_agent.entries.stated import parse_metric
from logbook_agent.issue.commands import MAX_WAIT, pace_of
from logbook_agent.issue.gate.ci import CiResult, ci
from logbook_agent.issue.gate.job import CiRequest
from logbook_agent.model.comparison import BUDGET_PAIRS, MINIMUM_EFFECT


class CiOptions:
    """What is measured, and where the outcome is told: a `CiRequest`."""

    words = arguments("RECIPE | -- CMD...", "A recipe, or a command after --.")
    setup = repeated("--setup CMD", "Shell command to run on each side first; repeatable.")
    sets = repeated("--set K=V", "Change a value of the recipe, as in `sweep`; repeatable.")
    scale = option("--scale NAME", "Scale of the recipe, as in `sweep`.")
    metrics = repeated(
        "--metric NAME[:max|min][:UNIT]",
        "A metric to judge; repeatable. [those of the recipe]",
        read=lambda texts: tuple(map(parse_metric, texts)),
    )
    evaluator = repeated("--evaluator PATH", "A file of the base that measures both sides; repeatable.")
    env = ENV
    timeout_s = TIMEOUT
    read = READ
    minimum_effect = option(
        "--min-effect PART",
        f"The smallest effect that matters. [{MINIMUM_EFFECT:.0%}]",
        str(MINIMUM_EFFECT),
        read=minimum_effect_of,
        show_default=False,
    )
    max_pairs = number(
        "--max-pairs N", f"At most N pairs of each case. [{BUDGET_PAIRS}]", BUDGET_PAIRS, show_default=False
    )
    max_time_s = duration("--max-time TIME", "Start no pair that would end after this time: 30m, 2h.")
    base = option("--base REF", "The commit to compare with. [where the head left its target branch]")
    head = option("--head REF", "The commit to measure. [HEAD]")
    fetch = flag("--fetch", "Fetch the base from origin if the clone lacks it.")
    name = option("--name NAME", "Name of the comment, if a pull request has several. [the recipe's]")
    number = number("--pull-request N", "The pull request to comment on. [that of the event]")
    artifact = option("--artifact NAME", "The artifact that will hold the record; the comment names it.")
    dry_run = flag("--dry-run", "Measure and print the comment, but do not post it.")


def ci_command(*, request: Annotated[CiRequest, CiOptions], max_wait_s: float = MAX_WAIT, common: Common) -> int:
    """Measure base and head of a pull request in pairs, and comment on it.

    The record is kept in the folder --root, else in a new temporary folder.

    Exit code: 1 when the head is worse; 5 when the head fails and the base does not; 6 when nothing could be measured;
    2 to 4 as for every command; 0 otherwise, even if the question stays open.

    Example: logbook ci --base origin/main -- python bench.py
    """
    space = common.space_without_logbook("ci")
    check_count("--max-pairs", request.max_pairs)
    request = replace(request, is_command="--" in common.words or len(request.words) > 1)
    result = ci(space, request, LineDisplay(), pace_of(common, space, max_wait_s))
    common.emit("ci", result.data(), _text(result))
    return result.finding.exit_code


def _text(result: CiResult) -> str:
    """The comment where it was not posted, else where it is; then the outcome in one line."""
    finding = result.finding
    counts = ", ".join(f"{number} {outcome.value}" for outcome, number in finding.counts.items())
    lines = [result.text, ""] if result.written is None else [f"comment {result.written}: {result.url}"]
    lines += [f"{finding.outcome.value}{f': {counts}' if counts else ''}", f"record: {result.root}"]
    return "\n".join(lines)
