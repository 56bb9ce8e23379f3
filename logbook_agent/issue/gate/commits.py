"""Which two commits are compared, in a clone that may lack one of them."""

from __future__ import annotations

from dataclasses import dataclass

from logbook_agent.issue.gate.actions import PullRequest
from logbook_agent.model.errors import UsageError
from logbook_agent.running.provenance.worktrees import ORIGIN, Checkout

_DEPTH = "set fetch-depth: 0 for actions/checkout in the workflow, or let logbook fetch the base: --fetch"


@dataclass(frozen=True, slots=True, kw_only=True)
class Commits:
    """`base` and `head` are SHAs; `how` says where base comes from. `tip`: the commit of the pull request, where `head`
    is the merge commit that GitHub made of it."""

    base: str
    head: str
    how: str
    tip: str | None = None

    @property
    def shown(self) -> str:
        """The commit that people know as the head."""
        return self.tip or self.head


def commits_of(
    checkout: Checkout, pull: PullRequest | None, *, base: str | None, head: str | None, fetch: bool
) -> Commits:
    """The commits to compare. Raises UsageError where one is not known, StoreError where git cannot fetch it."""
    top = _named(checkout, head or "HEAD", "--head" if head else "HEAD")
    merged = _merged(checkout, pull, top) if head is None else None
    tip = pull.head if merged is not None and pull is not None else None
    if base is not None:
        return Commits(base=_named(checkout, base, "--base"), head=top, how="from --base", tip=tip)
    if merged is not None:
        if checkout.commit_of(merged) is None:
            _bring(checkout, merged, fetch=fetch, history=False)
        return Commits(base=merged, head=top, how="the target branch, into which the head is merged", tip=tip)
    target = pull.base if pull is not None else None
    target = target or checkout.commit_of(f"refs/remotes/{ORIGIN}/HEAD")
    if target is None:
        raise UsageError(
            "no base to compare with",
            cause="this is not a pull request job, and the clone does not know the default branch of origin",
            hint="name a commit: --base origin/main",
        )
    found = _merge_base(checkout, target, top)
    if found is None:
        _bring(checkout, target, fetch=fetch, history=True)
        found = _merge_base(checkout, target, top)
    if found is None:
        raise UsageError(
            f"{top[:12]} and {target[:12]} have no common history",
            cause="the head does not descend from the target branch",
            hint="name a commit to compare with: --base COMMIT",
        )
    return Commits(base=found, head=top, how="where the head left the target branch")


def _merged(checkout: Checkout, pull: PullRequest | None, top: str) -> str | None:
    """What `actions/checkout` checks out for a pull request is a merge commit of GitHub's: its first parent."""
    parents = checkout.parents_of(top) if pull is not None else ()
    return parents[0] if len(parents) == 2 and pull is not None and parents[1] == pull.head else None


def _merge_base(checkout: Checkout, target: str, top: str) -> str | None:
    return checkout.merge_base(target, top) if checkout.commit_of(target) is not None else None


def _named(checkout: Checkout, name: str, option: str) -> str:
    found = checkout.commit_of(name)
    if found is not None:
        return found
    is_shallow = checkout.is_shallow()
    raise UsageError(
        f"{option} {name!r} is not a commit of this clone",
        cause="the clone is shallow: it has some commits only" if is_shallow else "no branch, tag or SHA of that name",
        hint=_DEPTH if is_shallow else "git fetch origin; git log --all",
    )


def _bring(checkout: Checkout, commit: str, *, fetch: bool, history: bool) -> None:
    """Have a commit that the clone lacks fetched, where that is allowed. Raises UsageError where it is not."""
    if fetch:
        checkout.fetch(commit, history=history)
        return
    is_shallow = checkout.is_shallow()
    raise UsageError(
        f"the base {commit[:12]} is not in this clone" if not history else "the base is not in this clone",
        cause="the clone is shallow: actions/checkout fetches one commit unless told otherwise"
        if is_shallow
        else "the target branch has moved since this clone was made",
        hint=_DEPTH if is_shallow else f"git fetch {ORIGIN}, or let logbook fetch the base: --fetch",
    )
