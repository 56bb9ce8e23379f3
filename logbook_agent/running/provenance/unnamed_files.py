"""The files of code that git neither tracks nor ignores, and that no command has to name: what a program imports."""

from __future__ import annotations

import stat
from collections.abc import Collection, Iterable
from pathlib import Path, PurePosixPath

from logbook_agent.model.code_rules import CodeRules

MOST_FILES, MOST_BYTES = 1_000, 10 * 2**20
_ENVIRONMENT = "pyvenv.cfg"


def unnamed_sources(
    top: Path, untracked: Iterable[str], tracked: Iterable[str], rules: CodeRules
) -> tuple[list[Path], list[str]]:
    """Those of the `untracked` files that are code, outside of hidden folders and virtual environments. Settings are
    code only in a folder with `tracked` files: many programs write theirs into folders of their own, run by run.

    Above 1,000 files or 10 MB: none, and a problem.
    """
    names = [PurePosixPath(name) for name in untracked]
    environments = {name.parent for name in names if name.name == _ENVIRONMENT}
    folders = {PurePosixPath(), *(PurePosixPath(name).parent for name in tracked)}
    found, size = list[Path](), 0
    for name in names:
        if _is_source(name, rules, folders) and environments.isdisjoint(name.parents):
            try:
                state = (top / name).lstat()
            except OSError:
                continue  # gone meanwhile
            if stat.S_ISREG(state.st_mode):
                found.append(top / name)
                size += state.st_size
    if len(found) > MOST_FILES or size > MOST_BYTES:
        return [], [
            f"code not identified fully: {len(found):,} untracked files of code with {size / 1e6:.1f} MB are left out"
            f" (at most {MOST_FILES:,} files and 10 MB are read); add them to git or to .gitignore"
        ]
    return found, []


def _is_source(name: PurePosixPath, rules: CodeRules, folders: Collection[PurePosixPath]) -> bool:
    path = str(name)
    return (
        rules.is_source(path)
        and not rules.is_output(path)
        and not any(part.startswith(".") for part in name.parent.parts)
        and (not rules.is_setting(path) or name.parent in folders)
    )
