"""`logbook ci`: finds the commits, measures both, and writes the comment and the outputs of the job."""

from __future__ import annotations

import contextlib
import dataclasses
import shlex
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from logbook_agent.campaign.checkouts import Tree, side_by_side
from logbook_agent.entries.start import StartRequest, start
from logbook_agent.findings.comparison.answer import Outcome
from logbook_agent.issue.destination import connect, default_repository
from logbook_agent.issue.gate.comment import comment_of, place
from logbook_agent.issue.gate.job import BASE, HEAD, AskedOfBoth, CiRequest, alike, asked_of, check_words
from logbook_agent.issue.gate.measure import GateMeasured, Measuring
from logbook_agent.issue.gate.pull_request import (
    Actions,
    Commits,
    PullRequest,
    actions_of,
    commits_of,
    with_host,
    without_keys,
)
from logbook_agent.issue.gate.verdict import GateFinding
from logbook_agent.issue.pace import Pace
from logbook_agent.model.comparison import MINIMUM_EFFECT
from logbook_agent.model.errors import RemoteError, UsageError
from logbook_agent.model.header import HeaderParts
from logbook_agent.running.order import Display
from logbook_agent.running.provenance.worktrees import Checkout, checkout_of
from logbook_agent.store.book import Book
from logbook_agent.store.folder import Folder, append_named
from logbook_agent.store.workspace import Workspace

TOPIC, PREFIX = "ci", "CI"
_COMMENT_FILE = "comment.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class CiResult:
    """`text`: the comment. `written` says what became of it, `why` why it was not written; `url` is where it is."""

    finding: GateFinding
    root: Path
    text: str
    number: int | None
    written: str | None = None
    url: str | None = None
    why: str | None = None

    def data(self) -> dict[str, object]:
        comment = {"written": self.written, "url": self.url, "why": self.why, "text": self.text}
        return {**self.finding.data(), "root": str(self.root), "pull_request": self.number, "comment": comment}


@dataclass(frozen=True, kw_only=True)
class _Gate:
    """One invocation. `inner` is the workspace of the commands that are measured: it holds no token, and its logbook
    is one of its own."""

    space: Workspace
    inner: Workspace
    request: CiRequest
    display: Display
    actions: Actions | None
    checkout: Checkout
    job: AskedOfBoth

    @property
    def number(self) -> int | None:
        pull = _pull(self.actions)
        return self.request.number or (pull.number if pull is not None else None)


def ci(space: Workspace, request: CiRequest, display: Display, pace: Pace) -> CiResult:
    """Measure base and head in turns, and comment on the pull request. Raises UsageError or StoreError; nothing is
    posted then."""
    actions = actions_of(space.environ)
    checkout = checkout_of(space.cwd, space.environ)
    check_words(request)
    commits = commits_of(checkout, _pull(actions), base=request.base, head=request.head, fetch=request.fetch)
    if request.head is None and checkout.has_changes():
        space.warnings.append("uncommitted changes are not measured: the head is the last commit")
    with contextlib.ExitStack() as stack:
        trees: list[Tree] = []
        if checkout.tree_of(commits.base) != checkout.tree_of(commits.head):
            sides = {BASE: commits.base, HEAD: commits.head}
            trees = stack.enter_context(side_by_side(checkout, sides, display))
        # From here on settings, redaction rules and recipes are those of the base: the head is what is judged by them.
        asked = asked_of(space, checkout, trees, request)
        root = _root(space)
        inner = alike(space, environ=without_keys(space.environ), root_option=str(root), logbook_option=TOPIC)
        inner.learn_secrets(space.environ, ())
        gate = _Gate(
            space=space, inner=inner, request=request, display=display, actions=actions, checkout=checkout, job=asked
        )
        finding = GateFinding(
            name=request.name or asked.job.name,
            commits=commits,
            again=_again(gate, commits),
            measured=_measured(gate, trees) if trees else None,
            minimum_effect=request.minimum_effect,
            artifact=request.artifact,
            differences=asked.differences,
        )
    text = space.redactor.text(inner.redactor.text(comment_of(finding, actions)))
    result = CiResult(finding=finding, root=root, text=text, number=gate.number)
    if finding.measured is not None:
        Folder(root).write(_COMMENT_FILE, text)
        if finding.measured.interrupted:
            return dataclasses.replace(result, why="interrupted")
    result = _commented(gate, result, pace)
    _write_outputs(gate, result)
    return result


def _pull(actions: Actions | None) -> PullRequest | None:
    return actions.pull if actions is not None else None


def _root(space: Workspace) -> Path:
    """The folder of the record: as named, else a new one that stays."""
    if space.root_option is None:
        return Path(tempfile.mkdtemp(prefix="logbook-ci-record-"))
    root = (space.cwd / Path(space.root_option).expanduser()).absolute()
    Folder(root).make()
    return root


def _measured(gate: _Gate, trees: Sequence[Tree]) -> GateMeasured:
    """What both sides measured."""
    book = _book(gate)
    if gate.job.no_base is not None:
        return GateMeasured(book=book, entry=None, unmeasured=(gate.job.no_base,))
    return Measuring(gate.inner, book, gate.job.job, trees, gate.request, gate.display).carry_out()


def _book(gate: _Gate) -> Book:
    """The logbook of these runs, which knows the metrics of the job."""
    inner, job = gate.inner, gate.job.job
    metrics, gates = job.metrics, job.gates
    found = next((book for book in inner.books() if book.topic == TOPIC), None)
    if found is None:
        title = "Base against head of pull requests"
        stated = HeaderParts(metrics=metrics, gates=gates)
        return start(inner, StartRequest(topic=TOPIC, prefix=PREFIX, title=title, stated=stated))
    names = {metric.name for metric in metrics}
    found.change_header(
        lambda h: dataclasses.replace(
            h, metrics=(*(m for m in h.metrics if m.name not in names), *metrics), gates=gates
        )
    )
    return found


# -- the comment ------------------------------------------------------------------------------------------


def _commented(gate: _Gate, result: CiResult, pace: Pace) -> CiResult:
    """The result with what became of the comment; trouble with the host is a warning."""
    if gate.request.dry_run:
        return dataclasses.replace(result, why="--dry-run")
    if result.number is None:
        return dataclasses.replace(result, why="no pull request: neither an event nor --pull-request names one")
    actions, pull = gate.actions, _pull(gate.actions)
    try:
        with_token = alike(gate.space, environ=with_host(gate.space.environ, actions))
        repository = actions.repository if actions is not None else default_repository(with_token)
        if repository is None:
            raise UsageError("no repository to comment in", cause="no git remote points to a repository on GitHub")
        remote, run = connect(with_token, repository, pace), actions.run if actions is not None else None
        written, url = place(remote, result.number, result.finding.name, result.text, run)
    except (RemoteError, UsageError) as error:
        why = f"{error.message} ({error.cause})" if error.cause else error.message
        if pull is not None and pull.is_fork:
            why += "; the token of a pull request from a fork cannot write comments"
        gate.space.warnings.append(f"the comment was not written: {why}")
        return dataclasses.replace(result, why=why)
    return dataclasses.replace(result, written=written.value, url=url)


def _write_outputs(gate: _Gate, result: CiResult) -> None:
    """The summary of the job, which needs no token, and what later steps may ask for."""
    actions = gate.actions
    if actions is None:
        return
    if actions.summary is not None:
        append_named(actions.summary, f"{result.text}\n\n")
    if actions.output is not None:
        values = {
            "outcome": result.finding.outcome.value,
            "worse": str(result.finding.counts[Outcome.WORSE]),
            "base": result.finding.commits.base,
            "head": result.finding.commits.head,
            "comment-url": result.url or "",
            "root": str(result.root),
        }
        lines = (f"{name}={value}" for name, value in values.items() if "\n" not in value and "\r" not in value)
        append_named(actions.output, "".join(f"{line}\n" for line in lines))


def _again(gate: _Gate, commits: Commits) -> str:
    """What anybody may type in a clone to measure the same once more."""
    job = gate.request
    words = ["logbook", "ci", "--base", commits.base, "--head", commits.head]
    words += [word for text in job.setup for word in ("--setup", text)]
    words += ["--scale", job.scale] if job.scale is not None else []
    words += [word for text in job.sets for word in ("--set", text)]
    words += [word for k, v in job.env.items() for word in ("--env", f"{k}={v}")]
    words += [word for m in job.metrics for word in ("--metric", ":".join(filter(None, (m.name, m.direction, m.unit))))]
    words += ["--min-effect", f"{job.minimum_effect:g}"] if job.minimum_effect != MINIMUM_EFFECT else []
    words += ["--read", job.read] if job.read is not None else []
    words += ["--max-pairs", str(job.max_pairs)]
    words += ["--", *job.words] if job.is_command else [*job.words]
    command = gate.inner.redactor.text(shlex.join(words))
    if commits.tip is None or gate.number is None:
        return command
    return f"git fetch origin refs/pull/{gate.number}/merge\n{command}"
