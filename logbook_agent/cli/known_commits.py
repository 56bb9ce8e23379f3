"""The commits of the repository in which a command is typed, for advice that names codes."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import partial

from logbook_agent.findings.protocol import KnownCommits
from logbook_agent.running.provenance.git_calls import try_git
from logbook_agent.store.repository import commit_of, repository_of
from logbook_agent.store.workspace import Workspace

_SHA = re.compile("[0-9a-f]{40,64}")


def commits_here(workspace: Workspace) -> KnownCommits:
    """The commits of the repository of the current folder."""
    place = repository_of(workspace.cwd)

    def gone(commits: Collection[str]) -> set[str]:
        asked = sorted(filter(_SHA.fullmatch, commits))
        words = ["rev-list", "--no-walk", "--ignore-missing", *asked, "--"]
        held = try_git(place.top, words, workspace.environ) if place is not None and asked else None
        return {*asked} - {*held.decode().split()} if held is not None else set()

    return KnownCommits(of=partial(commit_of, workspace.cwd), gone=gone)
