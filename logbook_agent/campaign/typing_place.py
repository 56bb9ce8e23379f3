"""The place where a command is typed, for advice that names codes or folders."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from functools import cache, partial

from logbook_agent.findings.protocol import TypingPlace
from logbook_agent.model.comparison import CODE_AXIS, Comparison, code_hash, code_name
from logbook_agent.model.record import SETUP
from logbook_agent.running.provenance.git_calls import try_git
from logbook_agent.store.places import commit_of, repository_of
from logbook_agent.store.workspace import Workspace, folder_of
from logbook_agent.text.commands.flags import ANY

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

    of = cache(partial(commit_of, workspace.cwd))

    def knows(name: str) -> bool:
        words = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{code_hash(name)}^{{commit}}"]
        return place is None or bool(of(name)) or bool(try_git(place.top, words, workspace.environ))

    @cache
    def code(name: str, other: str) -> str | None:
        commit, rival = of(name), other if _HASH.fullmatch(other) else of(other)
        if commit is None or rival is None or place is None:
            return None
        from logbook_agent.running.provenance.git import is_same_code  # for criteria about code alone

        rules, environ = workspace.config.code, workspace.environ
        return commit if is_same_code(place, workspace.root, rules, environ, commit, rival) else None

    @cache
    def mark(folder: str, argv: tuple[str, ...], written: str | None) -> str | None:
        from logbook_agent.running.provenance.git import CodeLook  # for comparisons that failed alone

        rules = workspace.config.code.reading(written)
        look = CodeLook(folder_of(folder, workspace), workspace.root, argv, workspace.environ, rules)
        return look.facts().code.mark

    def another(stated: Comparison, side: str) -> str:
        if stated.question.axis == CODE_AXIS and side == SETUP:
            return next(filter(None, (another(stated, value) for value in stated.question.values)), "")
        if stated.question.axis == CODE_AXIS and "@" in side:
            now = of(code_name(side))
            return now[:9] if now is not None and code(code_name(side), code_hash(side)) is None else ""
        recorded, run = stated.code.get(side) or stated.code.get(stated.question.base), stated.run
        if recorded is None or run is None or any(one.differed for one in stated.evaluator):
            return ""
        base = next(iter(run.values), stated.question.base)
        argv = tuple(word.replace(ANY, base) for word in run.argv)
        return "WORK" if mark(run.cwd, argv, run.read) not in (None, recorded.mark) else ""

    return TypingPlace(of=of, knows=knows, code=code, another=another, folder=folder, gone=gone)
