"""Whether two commits are the same code."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from logbook_agent.model.code import CodeRules
from logbook_agent.running.provenance.git import excluded_place
from logbook_agent.running.provenance.git_calls import try_git
from logbook_agent.store.places import Repository


def is_same_code(
    repository: Repository, root: Path, rules: CodeRules, environ: Mapping[str, str], *commits: str
) -> bool:
    """Whether two commits, or one and the working tree, differ in nothing but documents and what lies below the logbook
    root."""
    return changed_code(repository, root, rules, environ, *commits) == []


def changed_code(
    repository: Repository, root: Path, rules: CodeRules, environ: Mapping[str, str], *commits: str
) -> list[str] | None:
    """The files in which two commits, or one and the working tree, differ, but for documents and what lies below the
    logbook root, from the top; None where git cannot tell."""
    changed = try_git(repository.top, ["diff", "--name-only", "--no-renames", "-z", *commits, "--"], environ)
    if changed is None:
        return None
    paths, excluded = changed.decode("utf-8", "surrogateescape").split("\0")[:-1], excluded_place(repository, root)
    return [path for path in paths if not path.startswith(f"{excluded}/") and not rules.is_document(path)]
