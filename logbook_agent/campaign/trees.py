"""Two versions of the code as working trees side by side, and whether code stays as it is while commands run, there and
in the user's own tree.

Code that is measured may write anywhere. The two are told apart by their files, so a run counts only where both trees
held their files before and after it. Times of change (ctime) are compared, too, so a file that was changed and changed
back is noticed.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from logbook_agent.campaign.series import NotCounted
from logbook_agent.running.order import Display
from logbook_agent.running.prepare import Command
from logbook_agent.running.provenance.code_changes import changed_files
from logbook_agent.running.provenance.git import CodeFacts, CodeLook
from logbook_agent.running.provenance.worktrees import Checkout, checkout_folder
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.phrases import listed

_SHOWN = 3
OUTSIDE = "let benchmarks write outside of the checkout, or to files that git does not track"
# Of a file: kind and mode, inode, size, times of its content and of any change. Of a folder its kind and mode.
_Stamp = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """A version of the code: its commit, its working tree `top`, and the folder in there in which its commands run.
    `environment`: where its virtual environment may be."""

    name: str
    commit: str
    top: Path
    folder: Path
    environment: Path


@contextlib.contextmanager
def side_by_side(checkout: Checkout, commits: Mapping[str, str], display: Display) -> Iterator[list[Tree]]:
    """Commits by name as working trees, removed in the end. Give them names of one length: that of a path is part of
    what a program meets. Raises StoreError where git cannot check one out."""
    with checkout_folder(checkout) as above, contextlib.ExitStack() as stack:
        trees = []
        for name, commit in commits.items():
            display.progress(f"checking out {name}: {commit[:12]}")
            folder = stack.enter_context(checkout.worktree(above / name, commit))
            # A folder that this commit does not have: its commands say so.
            place = folder if folder.is_dir() else above / name
            trees.append(Tree(name=name, commit=commit, top=above / name, folder=place, environment=place / ".venv"))
        yield trees


class WatchedTrees:
    """Both trees, as they were after the last run that was allowed to change them. A run may add and change untracked
    files of its own tree, as builds and caches do, and nothing else."""

    def __init__(self, checkout: Checkout, trees: Sequence[Tree]) -> None:
        self._checkout, self._trees = checkout, tuple(trees)
        self._tracked = {tree.name: {*checkout.tracked_in(tree.top), ".git"} for tree in trees}
        self._known = {tree.name: stamps(tree.top) for tree in trees}

    def preparing(self, command: Command, /) -> contextlib.AbstractContextManager[None]:
        """The same, of a command of setup or teardown: it may rewrite tracked files of its own tree with the same
        content."""
        return self.measuring(command, is_setup=True)

    @contextlib.contextmanager
    def measuring(self, command: Command, /, *, is_setup: bool = False) -> Iterator[None]:
        """Check both trees before and after a run. Raises NotCounted if one does not hold its commit."""
        own = next((tree for tree in self._trees if command.cwd.is_relative_to(tree.top)), None)
        self._check("before", None, is_setup=is_setup)
        yield
        self._check("during", own, is_setup=is_setup)

    def _check(self, when: str, own: Tree | None, *, is_setup: bool) -> None:
        run = f"a run of {own.name}" if own is not None else "a run"
        for tree in self._trees:
            before, now = self._known[tree.name], stamps(tree.top)
            changed = {name for name in before.keys() | now.keys() if before.get(name) != now.get(name)}
            if tree is own:
                changed &= self._tracked[tree.name]
                if is_setup and changed:
                    changed = {*self._checkout.changed_files(tree.top, tree.commit)} & self._tracked[tree.name]
            if changed:
                raise NotCounted(
                    f"{tree.name} did not hold its files {when} {run}: {listed(sorted(changed), _SHOWN)} changed",
                    cause="a measured command, or a process that it left running, wrote there",
                    hint=OUTSIDE,
                )
            self._known[tree.name] = now if tree is own else before


class CodeChanged(NotCounted):
    """Raised for a run in which, or before which, a file of its code changed."""


class CodeGuard:
    """The code of commands as it was when this was made. A launcher that syncs no files runs code that nobody knows
    here."""

    def __init__(self, workspace: Workspace, root: Path, commands: Iterable[Command]) -> None:
        self._before = {
            one.argv: CodeLook(
                one.cwd, root, one.argv, {**workspace.environ, **one.env}, workspace.config.code.reading(one.read)
            ).facts()
            for one in commands
            if one.runs_files
        }

    @contextlib.contextmanager
    def preparing(self, _: Command, /) -> Iterator[None]:
        """Check the code after a command of setup. Raises NotCounted."""
        yield
        changed = sorted({path for one in self._before.values() for path in changed_files(one, one.again())[0]})
        if changed:
            raise NotCounted(
                f"the setup changed the code: {listed(changed, _SHOWN)}",
                cause="the code of a comparison is recorded before its setup, and all of its runs must use it",
                hint="type the command again: the setup may leave the code as it is now; files that it always changes"
                " belong to outputs, in the table [code] of logbook.toml",
            )

    def facts(self, command: Command) -> CodeFacts | None:
        """What is known of the code of a command; None where it runs files that nobody knows here."""
        return self._before.get(command.argv)

    @contextlib.contextmanager
    def measuring(self, command: Command, /) -> Iterator[None]:
        """Check the code after a run. Raises CodeChanged."""
        yield
        before = self.facts(command)
        changed, _ = changed_files(before, before.again()) if before is not None else ([], [])
        if changed:
            raise CodeChanged(
                f"the code changed: {listed(changed, _SHOWN)}",
                cause="all runs of a comparison must use the same code",
                hint="with --frozen, the runs are made in a copy of the code, which you can edit meanwhile",
            )


def stamps(top: Path) -> Mapping[str, _Stamp]:
    """Everything below a folder by its path from there; no link is followed."""
    found: dict[str, _Stamp] = {}
    folders = [""]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(top / folder) as entries:
                for entry in entries:
                    path = f"{folder}/{entry.name}" if folder else entry.name
                    at = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(at.st_mode):
                        folders.append(path)
                        found[path] = (at.st_mode,)
                    else:
                        found[path] = (at.st_mode, at.st_ino, at.st_size, at.st_mtime_ns, at.st_ctime_ns)
        except OSError as error:
            # Gone meanwhile, or closed to us: differs from what was known, where it was.
            found[folder] = (-1, error.errno or 0)
    return found
