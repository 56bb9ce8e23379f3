"""The Python API of this feature."""

from __future__ import annotations

from logbook_agent.api import Logbook
from logbook_agent.campaign.stderr_display import to_stderr
from logbook_agent.issue.commands import sync_data
from logbook_agent.issue.destination import SendOptions
from logbook_agent.issue.sync import SyncRequest
from logbook_agent.issue.sync import sync as bring_up_to_date


def sync(
    logbook: Logbook, *, create: bool = False, repository: str | None = None, dry_run: bool = False
) -> dict[str, object]:
    """Bring the issue up to date, and return what `logbook sync --json` tells. Progress goes to stderr."""
    request = SyncRequest(create=create, repository=repository, dry_run=dry_run)
    result = bring_up_to_date(logbook.workspace, request, SendOptions(say=to_stderr))
    return sync_data(result, dry_run=dry_run)
