"""The place where a command is typed, for advice that names codes or folders."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from functools import partial

from logbook_agent.findings.protocol import TypingPlace
from logbook_agent.running.provenance.git_calls import try_git
from logbook_agent.store.places import commit_of, repository_of
from logbook_agent.store.workspace import Workspace, folder_of

_HASH = re.compile("[0-9a-f]{9,64}")
_SHA = re.compile("[0-9a-f]{40,64}")


def typing_place(workspace: Workspace) -> TypingPlace:
    """The current folder, and the commits of its repository."""
    place = repository_of(workspace.cwd)

    def gone(commits: Collection[str]) -> set[str]:
        asked = sorted(filter(_SHA.fullmatch, commits))
        words = ["rev-list", "--no-walk", "--ignore-missing", *asked, "--"]
        held = try_git(place.top, words, workspace.environ) if place is not None and asked else None
        return {*asked} - {*held.decode().split()} if held is not None else set()

    def folder(name: str) -> str:
        return os.path.relpath(folder_of(name, workspace), os.path.realpath(workspace.cwd))

    of = partial(commit_of, workspace.cwd)

    def code(name: str, other: str) -> str | None:
        commit, rival = of(name), other if _HASH.fullmatch(other) else of(other)
        if commit is None or rival is None or place is None:
            return None
        from logbook_agent.running.provenance.git import is_same_code  # for criteria about code alone

        rules, environ = workspace.config.code, workspace.environ
        return commit if is_same_code(place, workspace.root, rules, environ, commit, rival) else None

    return TypingPlace(of=of, code=code, folder=folder, gone=gone)
