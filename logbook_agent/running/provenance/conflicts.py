"""The versions of both sides of a merge that stopped on conflicts (a rebase or a cherry-pick alike), from git's index.

Nothing is written: the working tree, the index and HEAD stay as they are.
"""

from __future__ import annotations

import os
from pathlib import Path

from logbook_agent.running.provenance.git_calls import try_git
from logbook_agent.store.repository import repository_of


def unmerged_below(folder: Path) -> dict[str, list[str]]:
    """The files below `folder`, seen from there, at which a merge has stopped, with the stages that git has of each: 2
    is ours, 3 theirs."""
    repository = repository_of(folder)
    if repository is None:
        return {}
    top, place = repository.top, repository.place_of(folder)
    found: dict[str, list[str]] = {}
    listed = try_git(top, ["ls-files", "-u", "-z", "--full-name", "--", f":(top,literal){place}"], os.environ) or b""
    for line in listed.split(b"\0")[:-1]:
        facts, _, name = line.partition(b"\t")
        stage = facts.decode().split(" ")[2]
        if stage in ("2", "3"):
            found.setdefault(os.fsdecode(name).removeprefix(f"{place}/"), []).append(stage)
    return found


def in_head(path: Path) -> bool:
    """Whether HEAD holds this file."""
    repository = repository_of(path)
    if repository is None:
        return False
    place = f"{repository.place_of(path.parent)}/{path.name}"
    listed = try_git(repository.top, ["ls-tree", "--name-only", "--full-tree", "HEAD", "--", place], os.environ)
    return bool(listed)
