"""`logbook ci`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from typer import Argument, Option

from logbook_agent.campaign.repeats import check_count
from logbook_agent.cli.options import Common, Text, Texts, minimum_effect_of
from logbook_agent.cli.output import LineDisplay, emit
from logbook_agent.cli.run_command import EnvOption, ReadOption, TimeoutOption
from logbook_agent.entries.stated import parse_metric
from logbook_agent.issue.commands import MaxWaitOption, wire
from logbook_agent.issue.gate.ci import CiRequest, CiResult, ci
from logbook_agent.issue.gate.job import JobRequest
from logbook_agent.issue.gate.measure import PairTerms
from logbook_agent.model.comparison import BUDGET_PAIRS, MINIMUM_EFFECT
from logbook_agent.running.prepare import parse_duration, parse_env


@dataclass(frozen=True, kw_only=True)
class JobOptions:
    """What is measured, and how, as options."""

    setup: Annotated[
        Texts, Option("--setup", metavar="CMD", help="Shell command to run on each side first; repeatable.")
    ] = None
    sets: Annotated[
        Texts, Option("--set", metavar="K=V", help="Change a value of the recipe, as in `sweep`; repeatable.")
    ] = None
    scale: Annotated[Text, Option("--scale", metavar="NAME", help="Scale of the recipe, as in `sweep`.")] = None
    metric: Annotated[
        Texts,
        Option(
            "--metric", metavar="NAME[:max|min][:UNIT]", help="A metric to judge; repeatable. [those of the recipe]"
        ),
    ] = None
    env: EnvOption = None
    timeout: TimeoutOption = None
    read: ReadOption = None

    def request(self, words: Sequence[str], *, is_command: bool) -> JobRequest:
        """What is asked for, the options read."""
        return JobRequest(
            words=tuple(words),
            is_command=is_command,
            scale=self.scale,
            sets=tuple(self.sets or ()),
            setup=tuple(self.setup or ()),
            env=parse_env(self.env or ()),
            metrics=tuple(parse_metric(text) for text in self.metric or ()),
            timeout_s=parse_duration(self.timeout) if self.timeout is not None else None,
            read=self.read,
        )


@dataclass(frozen=True, kw_only=True)
class PairOptions:
    """How many pairs are measured, as options."""

    min_effect: Annotated[
        Text, Option("--min-effect", metavar="PART", help=f"The smallest effect that matters. [{MINIMUM_EFFECT:.0%}]")
    ] = None
    max_pairs: Annotated[
        int,
        Option("--max-pairs", metavar="N", help=f"At most N pairs of each case. [{BUDGET_PAIRS}]", show_default=False),
    ] = BUDGET_PAIRS
    max_time: Annotated[
        Text, Option("--max-time", metavar="TIME", help="Start no pair that would end after this time: 30m, 2h.")
    ] = None

    def terms(self) -> PairTerms:
        """The options read."""
        check_count("--max-pairs", self.max_pairs)
        smallest = minimum_effect_of(self.min_effect)
        return PairTerms(
            max_pairs=self.max_pairs,
            max_time_s=parse_duration(self.max_time, "--max-time") if self.max_time is not None else None,
            minimum_effect=MINIMUM_EFFECT if smallest is None else smallest,
        )


@dataclass(frozen=True, kw_only=True)
class CommentOptions:
    """Where the outcome is told, as options."""

    name: Annotated[
        Text,
        Option("--name", metavar="NAME", help="Name of the comment, if a pull request has several. [the recipe's]"),
    ] = None
    number: Annotated[
        int | None, Option("--pull-request", metavar="N", help="The pull request to comment on. [that of the event]")
    ] = None
    artifact: Annotated[
        Text, Option("--artifact", metavar="NAME", help="The artifact that will hold the record; the comment names it.")
    ] = None
    dry_run: Annotated[bool, Option("--dry-run", help="Measure and print the comment, but do not post it.")] = False
    max_wait: MaxWaitOption = "15m"


def ci_command(
    *,
    words: Annotated[Texts, Argument(metavar="RECIPE | -- CMD...", help="A recipe, or a command after --.")] = None,
    base: Annotated[
        Text,
        Option("--base", metavar="REF", help="The commit to compare with. [where the head left its target branch]"),
    ] = None,
    head: Annotated[Text, Option("--head", metavar="REF", help="The commit to measure. [HEAD]")] = None,
    fetch: Annotated[bool, Option("--fetch", help="Fetch the base from origin if the clone lacks it.")] = False,
    job: JobOptions,
    pairs: PairOptions,
    comment: CommentOptions,
    common: Common,
) -> int:
    """Measure base and head of a pull request in pairs, and comment on it.

    The record is kept in the folder --root, else in a new temporary folder.

    Exit code: 1 when the head is worse; 5 when the head fails and the base does not; 6 when nothing could be measured;
    2 to 4 as for every command; 0 otherwise, even if the question stays open.

    Example: logbook ci --base origin/main -- python bench.py
    """
    space = common.space_without_logbook("ci")
    typed = words or ()
    asked = job.request(typed, is_command="--" in common.words or len(typed) > 1)
    request = CiRequest(
        job=asked,
        terms=pairs.terms(),
        base=base,
        head=head,
        fetch=fetch,
        dry_run=comment.dry_run,
        name=comment.name,
        number=comment.number,
        artifact=comment.artifact,
    )
    result = ci(space, request, LineDisplay(), wire(common, comment.max_wait))
    emit("ci", result.data(), _text(result), as_json=common.as_json, warnings=space.warnings)
    return result.exit_status


def _text(result: CiResult) -> str:
    """The comment where it was not posted, else where it is; then the outcome in one line."""
    finding = result.finding
    counts = ", ".join(f"{number} {outcome.value}" for outcome, number in finding.counts.items())
    lines = [result.text, ""] if result.written is None else [f"comment {result.written}: {result.url}"]
    lines += [f"{finding.outcome.value}{f': {counts}' if counts else ''}", f"record: {result.root}"]
    return "\n".join(lines)
