"""Where runs were submitted to."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from logbook_agent.model.errors import StoreError
from logbook_agent.running.provenance.git_calls import try_git
from logbook_agent.store.repository import repository_of
from logbook_agent.store.spool import Sent, Spool


def sent_of(spool: Spool, environ: Mapping[str, str]) -> Sent | None:
    """Where the run was submitted to; None before it was. Raises StoreError for a spool in the logbook that git has, or
    may have: a branch that was pulled must not decide which folder of another machine is read and removed."""
    sent = spool.sent()
    if sent is not None and spool.is_old and not _is_untracked(spool, environ):
        raise StoreError(
            f"the run in {spool.folder} was not submitted by you",
            cause="its files came with a branch, or lie outside of a git repository",
            hint="collect it where it was submitted, or remove that folder",
        )
    return sent


def _is_untracked(spool: Spool, environ: Mapping[str, str]) -> bool:
    folder = Path(os.path.realpath(spool.folder))
    place = repository_of(folder)
    if place is None:
        return False
    words = ["ls-files", "--", f":(top,literal){folder.relative_to(place.top)}"]
    return try_git(place.top, words, environ) == b""
