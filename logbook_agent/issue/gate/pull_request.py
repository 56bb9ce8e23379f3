"""The job in GitHub Actions: variables of the runner, and the file of the event, whose texts others wrote; and the
commits that are compared.

Of the event only numbers, SHAs and whether it comes from a fork are read, each by a pattern; titles, texts and the
names of branches are not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from logbook_agent.model.errors import StoreError, UsageError
from logbook_agent.running.provenance.worktrees import ORIGIN, Checkout
from logbook_agent.store.folder import named_text
from logbook_agent.text.address import GITHUB_HOST, RepositoryAddress, parse_repository, parse_site

# As large as GitHub sends one; texts of people are at most 64 KiB each.
_MOST_BYTES = 32 * 2**20
_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
# A run of a workflow, and its attempt.
RUN = re.compile(r"[0-9]{1,18}\.[0-9]{1,9}")
# What a step hands to the runner through files and sockets, and what opens doors: the commands that are measured get
# none of it.
_WITHHELD = re.compile(
    r"(GITHUB|GH)_(ENTERPRISE_)?TOKEN|GITHUB_(OUTPUT|ENV|PATH|STATE|STEP_SUMMARY)|INPUT_.*"
    r"|ACTIONS_(ID_TOKEN|RUNTIME|CACHE|RESULTS)_.*"
)


class PullRequest(Struct, frozen=True, kw_only=True):
    """`number`, the tip of the target branch `base` and of the pull request `head`; `is_fork`: another repository's."""

    number: int
    base: str | None
    head: str | None
    is_fork: bool = False


class Actions(Struct, frozen=True, kw_only=True):
    """A job of GitHub Actions. `run` names it and its attempt, so that a later one is known; `page` shows it."""

    repository: RepositoryAddress
    run: str = ""
    pull: PullRequest | None = None
    summary: Path | None = None
    output: Path | None = None

    @property
    def page(self) -> str | None:
        return f"{self.repository.web}/actions/runs/{self.run.partition('.')[0]}" if self.run else None


def actions_of(environ: Mapping[str, str]) -> Actions | None:
    """The job, from the variables of the runner; None outside of GitHub Actions. Raises UsageError or StoreError."""
    if environ.get("GITHUB_ACTIONS") != "true":
        return None
    site = parse_site(environ.get("GITHUB_SERVER_URL") or f"https://{GITHUB_HOST}")
    event, summary, output = (
        Path(environ[name]) if environ.get(name) else None
        for name in ("GITHUB_EVENT_PATH", "GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")
    )
    run = f"{environ.get('GITHUB_RUN_ID', '')}.{environ.get('GITHUB_RUN_ATTEMPT', '1')}"
    return Actions(
        repository=parse_repository(environ.get("GITHUB_REPOSITORY", ""), site=site),
        run=run if RUN.fullmatch(run) else "",
        pull=_pull_of(event) if event is not None else None,
        summary=summary,
        output=output,
    )


def with_host(environ: Mapping[str, str], actions: Actions | None) -> dict[str, str]:
    """The variables with the job's token as that of its own server, where that is not github.com."""
    found = dict(environ)
    if actions is None or actions.repository.host == GITHUB_HOST:
        return found
    found.setdefault("GH_HOST", actions.repository.host)
    token = environ.get("GH_TOKEN") or environ.get("GITHUB_TOKEN")
    if token:
        found.setdefault("GH_ENTERPRISE_TOKEN", token)
    return found


def without_keys(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables for the commands that are measured: the code of a pull request gets no token, and no way to write
    into the job."""
    return {k: v for k, v in environ.items() if _WITHHELD.fullmatch(k) is None}


def _pull_of(path: Path) -> PullRequest | None:
    """The pull request of an event; None where it has none."""
    try:
        event: Any = json.loads(named_text(path, limit=_MOST_BYTES))
    except (StoreError, ValueError, RecursionError) as error:
        raise UsageError(
            f"cannot read the event: {error.message if isinstance(error, StoreError) else f'{path} is not JSON'}",
            cause="GITHUB_EVENT_PATH names this file",
            hint="unset GITHUB_EVENT_PATH, and give --base",
        ) from error
    pull = _part(event, "pull_request")
    number, base, head = pull.get("number"), _part(pull, "base"), _part(pull, "head")
    if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number < 10**10:
        return None
    base_sha, head_sha = (str(side.get("sha")) for side in (base, head))
    return PullRequest(
        number=number,
        base=base_sha if _SHA.fullmatch(base_sha) else None,
        head=head_sha if _SHA.fullmatch(head_sha) else None,
        is_fork=_part(base, "repo").get("full_name") != _part(head, "repo").get("full_name"),
    )


def _part(data: Any, key: str) -> dict[str, Any]:
    found = data.get(key) if isinstance(data, dict) else None
    return found if isinstance(found, dict) else {}


# -- the commits -----------------------------------------------------------------------------------------

_DEPTH = "set fetch-depth: 0 for actions/checkout in the workflow, or let logbook fetch the base: --fetch"


class Commits(Struct, frozen=True, kw_only=True):
    """`base` and `head` are SHAs; `how` says where base comes from. `tip`: the commit of the pull request, where `head`
    is the merge commit that GitHub made of it."""

    base: str
    head: str
    how: str
    tip: str | None = None


def commits_of(
    checkout: Checkout, pull: PullRequest | None, *, base: str | None, head: str | None, fetch: bool
) -> Commits:
    """The commits to compare. Raises UsageError where one is not known, StoreError where git cannot fetch it."""
    top = _named(checkout, head or "HEAD", "--head" if head else "HEAD")
    # What `actions/checkout` checks out for a pull request is a merge commit of GitHub's: its first parent is the base.
    parents = checkout.parents_of(top) if pull is not None and head is None else ()
    tip = pull.head if pull is not None and len(parents) == 2 and parents[1] == pull.head else None
    if base is not None:
        return Commits(base=_named(checkout, base, "--base"), head=top, how="from --base", tip=tip)
    if tip is not None:
        if checkout.commit_of(parents[0]) is None:
            _bring(checkout, parents[0], fetch=fetch, history=False)
        return Commits(base=parents[0], head=top, how="the target branch, into which the head is merged", tip=tip)
    target = (pull.base if pull is not None else None) or checkout.commit_of(f"refs/remotes/{ORIGIN}/HEAD")
    if target is None:
        raise UsageError(
            "no base to compare with",
            cause="this is not a pull request job, and the clone does not know the default branch of origin",
            hint="name a commit: --base origin/main",
        )
    if (found := _merge_base(checkout, target, top)) is None:
        _bring(checkout, target, fetch=fetch, history=True)
        found = _merge_base(checkout, target, top)
    if found is None:
        raise UsageError(
            f"{top[:12]} and {target[:12]} have no common history",
            cause="the head does not descend from the target branch",
            hint="name a commit to compare with: --base COMMIT",
        )
    return Commits(base=found, head=top, how="where the head left the target branch")


def _merge_base(checkout: Checkout, target: str, top: str) -> str | None:
    return checkout.merge_base(target, top) if checkout.commit_of(target) is not None else None


def _named(checkout: Checkout, name: str, option: str) -> str:
    found = checkout.commit_of(name)
    if found is None:
        cause, _ = checkout.lacking()
        hint = _DEPTH if checkout.is_shallow() else "git fetch origin; git log --all"
        raise UsageError(f"{option} {name!r} is not a commit of this clone", cause=cause, hint=hint)
    return found


def _bring(checkout: Checkout, commit: str, *, fetch: bool, history: bool) -> None:
    """Have a commit that the clone lacks fetched, where that is allowed. Raises UsageError where it is not."""
    if fetch:
        checkout.fetch(commit, history=history)
        return
    cause, hint = "the target branch has moved since this clone was made", f"git fetch {ORIGIN}, or: --fetch"
    if checkout.is_shallow():
        cause, hint = "the clone is shallow: actions/checkout fetches one commit unless told otherwise", _DEPTH
    raise UsageError(f"the base {commit[:12]} is not in this clone", cause=cause, hint=hint)
