"""The recipe and settings that both sides are measured with: those of the base, and what the head changes in them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from logbook_agent.campaign.trees import Tree
from logbook_agent.issue.gate.job import BASE, GateJob, JobRequest, job_of
from logbook_agent.issue.gate.measure import Unmeasured
from logbook_agent.model.errors import LogbookError
from logbook_agent.running.provenance.worktrees import Checkout
from logbook_agent.store.config import Config
from logbook_agent.store.workspace import Workspace

_USED = "those of the base are used"


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedOfBoth:
    """The job of the base, and how that of the head differs, as sentences. `no_base`: why the base has no such job;
    `job` is then that of the head."""

    job: GateJob
    differences: tuple[str, ...] = ()
    no_base: Unmeasured | None = None


def alike(space: Workspace, **changes: Any) -> Workspace:
    """The workspace with such changes, and the same settings, wherever it is."""
    found = dataclasses.replace(space, warnings=space.warnings, **changes)
    found.config = space.config
    return found


def asked_of(space: Workspace, checkout: Checkout, trees: Sequence[Tree], request: JobRequest) -> AskedOfBoth:
    """The job by the files of the base, whose settings `space` gets. No trees: base and head have the same files.
    Raises UsageError or StoreError."""
    if not trees:
        return AskedOfBoth(job=job_of(space, request))
    base, head = (dataclasses.replace(space, cwd=tree.folder, warnings=[]) for tree in trees)
    try:
        space.config = base.config
    except LogbookError as error:
        error.reword(f"the settings of the base {trees[0].commit[:12]} cannot be read: {error.message}")
        raise
    # Made anew, with the rules of these settings.
    vars(space).pop("redactor", None)
    differences = _settings(base, head)
    try:
        job = job_of(base, _below(request, checkout, trees[0]))
    except LogbookError as error:
        # A benchmark that the head brings, or mends. Raises where the head has none, either.
        job = job_of(head, _below(request, checkout, trees[1]))
        why = f"{error.message} ({error.cause})" if error.cause else error.message
        return AskedOfBoth(job=job, differences=differences, no_base=Unmeasured(case="", side=BASE, why=why))
    return AskedOfBoth(job=job, differences=(*differences, *_recipe(job, head, _below(request, checkout, trees[1]))))


def _below(request: JobRequest, checkout: Checkout, tree: Tree) -> JobRequest:
    """The request with the file of a recipe in this tree, where it is one of the checkout."""
    if request.is_command or not Path(request.words[0]).is_absolute():
        return request
    path = Path(request.words[0])
    inside = path.is_relative_to(checkout.top)
    return dataclasses.replace(request, words=(str(tree.top / path.relative_to(checkout.top)),)) if inside else request


def _settings(base: Workspace, head: Workspace) -> tuple[str, ...]:
    try:
        theirs = head.config
    except LogbookError as error:
        return (f"the settings of the head cannot be read ({error.message}); {_USED}",)
    names = [one.name for one in dataclasses.fields(Config) if one.name != "file"]
    changed = [name for name in names if getattr(base.config, name) != getattr(theirs, name)]
    return (f"the head changes settings ({', '.join(changed)}); {_USED}",) if changed else ()


def _recipe(job: GateJob, head: Workspace, request: JobRequest) -> tuple[str, ...]:
    try:
        theirs = job_of(head, request)
    except LogbookError as error:
        return (f"the recipe of the head cannot be used ({error.message}); the recipe of the base is used",)
    return (f"the head changes the recipe {job.name}; the recipe of the base is used",) if theirs != job else ()
