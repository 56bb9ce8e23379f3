"""`logbook ci`: an A/B of the base and the head, with what the base says of both, and a comment about its answer."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from msgspec import structs

from logbook_agent.campaign.ab import carry_out
from logbook_agent.campaign.ab_request import AbRequest
from logbook_agent.campaign.ab_sides import sides_of
from logbook_agent.campaign.checkouts import Tree, side_by_side
from logbook_agent.campaign.code_guard import CodeChanged
from logbook_agent.campaign.code_labels import SameCode
from logbook_agent.campaign.pair_judge import Stop
from logbook_agent.campaign.run_request import RunRequest, check_count
from logbook_agent.cli.ab_command import AbOptions
from logbook_agent.cli.options import Common, arguments, flag, number, option, repeated
from logbook_agent.cli.output import LineDisplay
from logbook_agent.cli.run_command import ENV, READ, TIMEOUT
from logbook_agent.entries.header import StartRequest, start
from logbook_agent.entries.stated import parse_metric
from logbook_agent.findings.comparison.answer import Outcome
from logbook_agent.issue.commands import MAX_WAIT, pace_of
from logbook_agent.issue.destination import connect, default_repository
from logbook_agent.issue.gate.comment import comment_of, place
from logbook_agent.issue.gate.job import BASE, HEAD, CiRequest, GateJob, alike, check_words, job_of
from logbook_agent.issue.gate.pull_request import Actions, Commits, actions_of, commits_of, with_host, without_keys
from logbook_agent.issue.gate.verdict import CiResult, Unmeasured, unmeasured
from logbook_agent.issue.pace import Pace
from logbook_agent.model.comparison import BUDGET_PAIRS, MINIMUM_EFFECT
from logbook_agent.model.errors import RemoteError, UsageError
from logbook_agent.running.order import Display
from logbook_agent.running.provenance.worktrees import checkout_of
from logbook_agent.store.book import Book
from logbook_agent.store.folder import Folder, append_named
from logbook_agent.store.workspace import Workspace

TOPIC, PREFIX = "ci", "CI"
_COMMENT_FILE = "comment.md"


def ci(space: Workspace, request: CiRequest, display: Display, pace: Pace) -> CiResult:
    """Measure base and head in turns, and comment on the pull request. Raises UsageError or StoreError; nothing is
    posted then."""
    actions = actions_of(space.environ)
    checkout = checkout_of(space.cwd, space.environ)
    check_words(request)
    pull = actions.pull if actions is not None else None
    number = request.number or (pull.number if pull is not None else None)
    commits = commits_of(checkout, pull, base=request.base, head=request.head, fetch=request.fetch)
    if request.head is None and checkout.has_changes():
        space.warnings.append("uncommitted changes are not measured: the head is the last commit")
    with side_by_side(checkout, {BASE: commits.base, HEAD: commits.head}, display) as trees:
        # From here on settings, redaction rules and recipes are those of the base: the head is what is judged by them.
        job = job_of(space, checkout, trees, request)
        root = _root(space)
        # The commands that are measured get no token, and their record is one of its own, which demands no texts.
        config, environ = structs.replace(space.config, require=()), without_keys(space.environ)
        inner = alike(space, config, environ=environ, root_option=str(root), logbook_option=TOPIC)
        inner.learn_secrets(space.environ, ())
        least = request.asked.minimum_effect
        result = CiResult(
            name=request.name or job.name,
            commits=commits,
            again=inner.redactor.text(_again(request, commits, number)),
            minimum_effect=MINIMUM_EFFECT if least is None else least,
            root=root,
            number=number,
            artifact=request.artifact,
            differences=job.differences,
        )
        result = _measured(inner, result, job, trees, display)
    result = structs.replace(result, text=space.redactor.text(inner.redactor.text(comment_of(result, actions))))
    if not result.is_same:
        Folder(root).write(_COMMENT_FILE, result.text)
    if result.is_interrupted:
        return structs.replace(result, why="interrupted")
    result = _commented(space, result, actions, pace, dry_run=request.dry_run)
    if actions is not None:
        _write_outputs(actions, result)
    return result


def _root(space: Workspace) -> Path:
    """The folder of the record: as named, else a new one that stays."""
    if space.root_option is None:
        return Path(tempfile.mkdtemp(prefix="logbook-ci-record-"))
    root = (space.cwd / Path(space.root_option).expanduser()).absolute()
    Folder(root).make()
    return root


def _measured(inner: Workspace, result: CiResult, job: GateJob, trees: list[Tree], display: Display) -> CiResult:
    """The result with what both sides measured."""
    book = _book(inner, job)
    if job.lacks:
        return structs.replace(result, unmeasured=(Unmeasured(case="", side=BASE, why=job.lacks),))
    asked = structs.replace(job.asked, codes=(result.commits.base, result.commits.head))
    try:
        with sides_of(inner, book, asked, display, None, trees) as sides:
            ab = carry_out(inner, book, asked, sides, display)
    except SameCode:
        return structs.replace(result, is_same=True)
    except CodeChanged as error:
        return structs.replace(result, changed=f"{error.message}; {error.hint}")
    changed = ab.why if ab.stop is Stop.CODE_CHANGED else None
    return structs.replace(result, ab=ab, unmeasured=unmeasured(ab), changed=changed)


def _book(inner: Workspace, job: GateJob) -> Book:
    """The logbook of these runs, which knows the metrics of the job."""
    found = next((book for book in inner.books() if book.topic == TOPIC), None)
    if found is None:
        title = "Base against head of pull requests"
        return start(inner, StartRequest(topic=TOPIC, prefix=PREFIX, title=title, stated=job.stated))
    metrics = {metric.name: metric for metric in (*found.header.metrics, *job.stated.metrics)}
    found.change_header(lambda h: structs.replace(h, metrics=tuple(metrics.values()), gates=job.stated.gates))
    return found


# -- the comment ------------------------------------------------------------------------------------------


def _commented(space: Workspace, result: CiResult, actions: Actions | None, pace: Pace, *, dry_run: bool) -> CiResult:
    """The result with what became of the comment; trouble with the host is a warning."""
    if dry_run:
        return structs.replace(result, why="--dry-run")
    if result.number is None:
        return structs.replace(result, why="no pull request: neither an event nor --pull-request names one")
    try:
        with_token = alike(space, space.config, environ=with_host(space.environ, actions))
        repository = actions.repository if actions is not None else default_repository(with_token)
        if repository is None:
            raise UsageError("no repository to comment in", cause="no git remote points to a repository on GitHub")
        remote, run = connect(with_token, repository, pace), actions.run if actions is not None else ""
        written, url = place(remote, result.number, result.name, result.text, run)
    except (RemoteError, UsageError) as error:
        why = error.said
        if actions is not None and actions.pull is not None and actions.pull.is_fork:
            why += "; the token of a pull request from a fork cannot write comments"
        space.warnings.append(f"the comment was not written: {why}")
        return structs.replace(result, why=why)
    return structs.replace(result, written=written, url=url)


def _write_outputs(actions: Actions, result: CiResult) -> None:
    """The summary of the job, which needs no token, and what later steps may ask for."""
    if actions.summary is not None:
        append_named(actions.summary, f"{result.text}\n\n")
    if actions.output is not None:
        values = {
            "outcome": result.outcome.value,
            "worse": str(result.counts[Outcome.WORSE]),
            "base": result.commits.base,
            "head": result.commits.head,
            "comment-url": result.url or "",
            "root": str(result.root),
        }
        lines = (f"{name}={value}" for name, value in values.items() if "\n" not in value and "\r" not in value)
        append_named(actions.output, "".join(f"{line}\n" for line in lines))


def _again(request: CiRequest, commits: Commits, number: int | None) -> str:
    """What anybody may type in a clone to measure the same once more."""
    asked, run = request.asked, request.asked.run
    least = asked.minimum_effect
    options: dict[str, Sequence[str | None]] = {
        "--base": [commits.base],
        "--head": [commits.head],
        "--setup": request.setup,
        "--scale": [request.scale],
        "--set": request.sets,
        "--env": [f"{name}={value}" for name, value in run.env.items()],
        "--metric": [":".join(filter(None, (m.name, m.direction, m.unit))) for m in request.metrics],
        "--evaluator": asked.evaluator,
        "--min-effect": [f"{least:g}" if least is not None else None],
        "--read": [run.read],
        "--max-pairs": [str(asked.pairs)],
    }
    words = [
        word for name, values in options.items() for value in values if value is not None for word in (name, value)
    ]
    typed = shlex.join(["logbook", "ci", *words, *(["--"] if request.is_command else []), *request.words])
    fetch = f"git fetch origin refs/pull/{number}/merge\n" if commits.tip is not None and number is not None else ""
    return f"{fetch}{typed}"


# -- the command ------------------------------------------------------------------------------------------


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
    base = option("--base REF", "The commit to compare with. [where the head left its target branch]")
    head = option("--head REF", "The commit to measure. [HEAD]")
    fetch = flag("--fetch", "Fetch the base from origin if the clone lacks it.")
    name = option("--name NAME", "Name of the comment, if a pull request has several. [the recipe's]")
    number = number("--pull-request N", "The pull request to comment on. [that of the event]")
    artifact = option("--artifact NAME", "The artifact that will hold the record; the comment names it.")
    dry_run = flag("--dry-run", "Measure and print the comment, but do not post it.")


class CiPairs:
    """For how long it is compared: an `AbRequest`."""

    evaluator = repeated("--evaluator PATH", "A file of the base that measures both sides; repeatable.")
    minimum_effect = AbOptions.minimum_effect
    max_pairs = number("--max-pairs N", f"At most N pairs of each case. [{BUDGET_PAIRS}]")
    max_time_s = AbOptions.max_time_s


class CiRuns:
    """How each run is made: a `RunRequest`."""

    env = ENV
    timeout_s = TIMEOUT
    read = READ


def ci_command(
    *,
    request: Annotated[CiRequest, CiOptions],
    asked: Annotated[AbRequest, CiPairs],
    run: Annotated[RunRequest, CiRuns],
    max_wait_s: float = MAX_WAIT,
    common: Common,
) -> int:
    """Measure base and head of a pull request in pairs, and comment on it.

    The record is kept in the folder --root, else in a new temporary folder.

    Exit code: 1 when the head is worse; 5 when the head fails and the base does not; 6 when nothing could be measured;
    2 to 4 as for every command; 0 otherwise, even if the question stays open.

    Example: logbook ci --base origin/main -- python bench.py
    """
    space = common.space_without_logbook("ci")
    check_count("--max-pairs", asked.max_pairs)
    is_command = "--" in common.words or len(request.words) > 1
    request = structs.replace(request, asked=structs.replace(asked, run=run), is_command=is_command)
    result = ci(space, request, LineDisplay(), pace_of(common, space, max_wait_s))
    common.emit("ci", result.data(), _text(result))
    return result.exit_code


def _text(result: CiResult) -> str:
    """The comment where it was not posted, else where it is; then the outcome in one line."""
    counts = ", ".join(f"{number} {outcome.value}" for outcome, number in result.counts.items())
    lines = [result.text, ""] if result.written is None else [f"comment {result.written}: {result.url}"]
    lines += [f"{result.outcome.value}{f': {counts}' if counts else ''}", f"record: {result.root}"]
    return "\n".join(lines)
