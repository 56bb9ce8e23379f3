"""The Python API of this feature."""

from __future__ import annotations

from logbook_agent.api import Logbook
from logbook_agent.campaign.stderr_display import to_stderr
from logbook_agent.issue.commands import sync_data
from logbook_agent.issue.pace import Pace
from logbook_agent.issue.sync import sync as bring_up_to_date
from logbook_agent.issue.values import SyncRequest


def sync(
    logbook: Logbook, *, create: bool = False, repository: str | None = None, dry_run: bool = False
) -> dict[str, object]:
    """Bring the issue up to date, and return what `logbook sync --json` tells. Progress goes to stderr."""
    space, request = logbook.workspace, SyncRequest(create=create, repository=repository, dry_run=dry_run)
    pace = Pace(say=lambda text: to_stderr(space.redactor.text(text)), **space.timing)
    return sync_data(bring_up_to_date(space, request, pace), dry_run=dry_run)
