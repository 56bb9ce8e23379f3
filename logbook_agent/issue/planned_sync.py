"""A sync in two steps: the plan with its digest, and what has that digest, applied."""

from __future__ import annotations

import hashlib
import json

from logbook_agent.issue.commands import sync_data
from logbook_agent.issue.destination import SendOptions
from logbook_agent.issue.sync import SyncRequest, sync
from logbook_agent.model.errors import UsageError
from logbook_agent.store.workspace import Workspace


def sync_by_digest(
    workspace: Workspace, *, create: bool, repository: str | None, digest: str | None, max_wait_s: float
) -> dict[str, object]:
    """The plan as `logbook sync --dry-run --json` tells it, with its `digest`; with that digest, what was done. Raises
    UsageError where the plan is another one by now."""
    wire = SendOptions(say=workspace.warnings.append, max_wait_s=max_wait_s)
    planned = sync(workspace, SyncRequest(create=create, repository=repository, dry_run=True), wire)
    plan = sync_data(planned, dry_run=True)
    found = _digest_of(plan)
    if digest is None:
        return {**plan, "digest": found}
    if digest != found:
        raise UsageError(
            "this is not the digest of the plan as it is now",
            cause="the records or the issue have changed since it was shown",
            hint="ask for the plan again, read it, and apply that",
        )
    done = sync(workspace, SyncRequest(create=create, repository=repository), wire)
    return {**sync_data(done, dry_run=False), "digest": digest}


def _digest_of(plan: dict[str, object]) -> str:
    """The digest of where a plan writes, and what."""
    plain = json.dumps([plan["logbook"], plan["issue"], plan["steps"]], sort_keys=True, default=str)
    return f"sha256:{hashlib.sha256(plain.encode()).hexdigest()}"
