"""A sync in two steps: the plan with its digest, and what has that digest, applied."""

from __future__ import annotations

import dataclasses
import hashlib
import json

from logbook_agent.issue.destination import SendOptions
from logbook_agent.issue.steps import step_diff, step_values
from logbook_agent.issue.sync import SyncRequest, SyncResult, sync
from logbook_agent.model.errors import UsageError
from logbook_agent.store.workspace import Workspace


def plan_digest(planned: SyncResult) -> str:
    """The digest of where a plan writes, and what."""
    steps = [(step_values(step), step_diff(step)) for step in planned.steps]
    plain = json.dumps([planned.book.topic, planned.issue, steps], sort_keys=True, default=str)
    return f"sha256:{hashlib.sha256(plain.encode()).hexdigest()}"


def sync_planned(workspace: Workspace, request: SyncRequest, wire: SendOptions, digest: str) -> SyncResult:
    """Bring the issue up to date if the plan has this digest. Raises UsageError where it is another one by now."""
    planned = sync(workspace, dataclasses.replace(request, dry_run=True), wire)
    if plan_digest(planned) != digest:
        raise UsageError(
            "the plan no longer has this digest",
            cause="the records or the issue have changed since it was shown",
            hint="read the new plan: logbook sync --dry-run --json",
        )
    return sync(workspace, request, wire)
