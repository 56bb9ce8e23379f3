"""`logbook ci`."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Context, Option

from logbook_agent.campaign.repeats import check_count
from logbook_agent.cli.options import JsonOption, Text, Texts, minimum_effect_of, workspace
from logbook_agent.cli.output import LineDisplay, emit
from logbook_agent.cli.run_command import EnvOption, ReadOption, TimeoutOption
from logbook_agent.entries.stated import parse_metric
from logbook_agent.issue.commands import MaxWaitOption, wire
from logbook_agent.issue.gate.ci import CiRequest, CiResult, ci
from logbook_agent.issue.gate.job import JobRequest
from logbook_agent.issue.gate.measure import PairTerms
from logbook_agent.model.comparison import BUDGET_PAIRS, MINIMUM_EFFECT
from logbook_agent.running.prepare import parse_duration, parse_env


def ci_command(
    *,
    context: Context,
    words: Annotated[Texts, Argument(metavar="RECIPE | -- CMD...", help="A recipe, or a command after --.")] = None,
    base: Annotated[
        Text,
        Option("--base", metavar="REF", help="The commit to compare with. [where the head left its target branch]"),
    ] = None,
    head: Annotated[Text, Option("--head", metavar="REF", help="The commit to measure. [HEAD]")] = None,
    fetch: Annotated[bool, Option("--fetch", help="Fetch the base from origin if the clone lacks it.")] = False,
    setup: Annotated[
        Texts, Option("--setup", metavar="CMD", help="Shell command to run on each side first; repeatable.")
    ] = None,
    sets: Annotated[
        Texts, Option("--set", metavar="K=V", help="Change a value of the recipe, as in `sweep`; repeatable.")
    ] = None,
    scale: Annotated[Text, Option("--scale", metavar="NAME", help="Scale of the recipe, as in `sweep`.")] = None,
    metric: Annotated[
        Texts,
        Option(
            "--metric", metavar="NAME[:max|min][:UNIT]", help="A metric to judge; repeatable. [those of the recipe]"
        ),
    ] = None,
    env: EnvOption = None,
    timeout: TimeoutOption = None,
    read: ReadOption = None,
    min_effect: Annotated[
        Text, Option("--min-effect", metavar="PART", help=f"The smallest effect that matters. [{MINIMUM_EFFECT:.0%}]")
    ] = None,
    max_pairs: Annotated[
        int,
        Option("--max-pairs", metavar="N", help=f"At most N pairs of each case. [{BUDGET_PAIRS}]", show_default=False),
    ] = BUDGET_PAIRS,
    max_time: Annotated[
        Text, Option("--max-time", metavar="TIME", help="Start no pair that would end after this time: 30m, 2h.")
    ] = None,
    name: Annotated[
        Text,
        Option("--name", metavar="NAME", help="Name of the comment, if a pull request has several. [the recipe's]"),
    ] = None,
    pull_request: Annotated[
        int | None, Option("--pull-request", metavar="N", help="The pull request to comment on. [that of the event]")
    ] = None,
    artifact: Annotated[
        Text, Option("--artifact", metavar="NAME", help="The artifact that will hold the record; the comment names it.")
    ] = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Measure and print the comment, but do not post it.")] = False,
    max_wait: MaxWaitOption = "15m",
    root: Annotated[
        Text, Option("--root", metavar="DIR", help="The folder of the record. [a new temporary folder]")
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Measure base and head of a pull request in pairs, and comment on it.

    Exit code: 1 when the head is worse; 5 when the head fails and the base does not; 6 when nothing could be measured;
    2 to 4 as for every command; 0 otherwise, even if the question stays open.

    Example: logbook ci --base origin/main -- python bench.py
    """
    space = workspace(None, root)
    check_count("--max-pairs", max_pairs)
    smallest = minimum_effect_of(min_effect)
    request = CiRequest(
        job=JobRequest(
            words=tuple(words or ()),
            is_command="--" in context.obj or len(words or ()) > 1,
            scale=scale,
            sets=tuple(sets or ()),
            setup=tuple(setup or ()),
            env=parse_env(env or ()),
            metrics=tuple(parse_metric(text) for text in metric or ()),
            timeout_s=parse_duration(timeout) if timeout is not None else None,
            read=read,
        ),
        terms=PairTerms(
            max_pairs=max_pairs,
            max_time_s=parse_duration(max_time, "--max-time") if max_time is not None else None,
            minimum_effect=MINIMUM_EFFECT if smallest is None else smallest,
        ),
        base=base,
        head=head,
        fetch=fetch,
        dry_run=dry_run,
        name=name,
        number=pull_request,
        artifact=artifact,
    )
    result = ci(space, request, LineDisplay(), wire(context, max_wait))
    emit("ci", result.data(), _text(result), as_json=as_json, warnings=space.warnings)
    return result.exit_status


def _text(result: CiResult) -> str:
    """The comment where it was not posted, else where it is; then the outcome in one line."""
    finding = result.finding
    counts = ", ".join(f"{number} {outcome.value}" for outcome, number in finding.counts.items())
    lines = [result.text, ""] if result.written is None else [f"comment {result.written}: {result.url}"]
    lines += [f"{finding.outcome.value}{f': {counts}' if counts else ''}", f"record: {result.root}"]
    return "\n".join(lines)
