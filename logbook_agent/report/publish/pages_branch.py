"""A branch that holds the files of a report and nothing else, made without touching the work tree or the index."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from logbook_agent.model.errors import RemoteError, StoreError, UsageError
from logbook_agent.report.page.page import INDEX
from logbook_agent.report.page.write import GENERATOR
from logbook_agent.report.publish.pages import PublishedFile
from logbook_agent.running.provenance.git_calls import GitAnswer, write_git
from logbook_agent.store.folder import Folder
from logbook_agent.store.repository import repository_of

# Pages of GitHub are served as they are, and not built by Jekyll.
_AS_IT_IS = PublishedFile(path=".nojekyll", content=b"")
# Attributes of the user or the repository do not change what is committed.
_RAW = ("-c", "core.autocrlf=false", "-c", f"core.attributesFile={os.devnull}")
_TIMEOUT_S = 300.0


class PagesBranch(Struct, frozen=True, kw_only=True):
    """A branch of the repository at `top`."""

    top: Path
    name: str
    environ: Mapping[str, str]

    @classmethod
    def of(cls, folder: Path, name: str, environ: Mapping[str, str]) -> PagesBranch:
        """A branch that may be written. Raises UsageError for one that holds other files, or cannot be one."""
        place = repository_of(folder)
        if place is None:
            raise UsageError(
                f"{folder} is not in a git repository", cause="--branch commits the pages to one", hint="git init"
            )
        branch = cls(top=place.top, name=name, environ=environ)
        if branch._git("check-ref-format", "--branch", name).code != 0:
            raise UsageError(
                f"{name!r} cannot be the name of a branch", cause="git refuses it", hint="--branch gh-pages"
            )
        lost, other = "its files would be replaced by the pages", f"--branch gh-pages, or: git branch -D {name}"
        if f"branch refs/heads/{name}" in branch._git("worktree", "list", "--porcelain").lines():
            raise UsageError(f"{name} is checked out here", cause=lost, hint="--branch gh-pages")
        if branch._git("rev-parse", "-q", "--verify", "HEAD").code != 0:
            cause = "the branch of the pages is added to a repository that has commits"
            raise UsageError(f"{place.top} has no commit yet", cause=cause, hint="git commit --allow-empty -m start")
        if branch.head and GENERATOR not in branch._git("show", f"{branch.head}:{INDEX}").out:
            raise UsageError(f"{name} holds other files than pages of a report", cause=lost, hint=other)
        return branch

    @property
    def head(self) -> str:
        """The commit that it is at; empty for a branch that is not there."""
        return self._git("rev-parse", "-q", "--verify", f"refs/heads/{self.name}").out.decode().strip()

    def commit(self, files: Sequence[PublishedFile], message: str) -> str | None:
        """Commit the files as all that the branch holds; the new commit, or None where it holds them already."""
        before = self.head
        with tempfile.TemporaryDirectory() as made:
            tree = Path(made) / "pages"
            self._text("worktree", "add", "--quiet", "--no-checkout", "--detach", str(tree))
            try:
                for file in (*files, _AS_IT_IS):
                    Folder(tree).make((tree / file.path).parent)
                    Folder(tree).write(file.path, [file.content], durable=False)
                self._text("add", "--all", "--force", ".", top=tree)
                content = self._text("write-tree", top=tree)
                if before and self._text("rev-parse", f"{before}^{{tree}}") == content:
                    return None
                parent = ["-p", before] if before else []
                commit = self._text("commit-tree", content, *parent, "-m", message, top=tree)
                self._text("update-ref", f"refs/heads/{self.name}", commit, before or "0" * len(commit))
            finally:
                self._text("worktree", "remove", "--force", str(tree))
        return commit

    def push(self, remote: str) -> None:
        """Push it. Raises RemoteError with what git says."""
        answer = self._git("push", "--", remote, f"refs/heads/{self.name}")
        if answer.code != 0:
            raise RemoteError(
                f"git could not push {self.name} to {remote}",
                cause=answer.words.splitlines()[-1] if answer.words else f"exit code {answer.code}",
                hint=f"the branch is committed; push it by hand: git push {remote} {self.name}",
            )

    def _git(self, *words: str, top: Path | None = None) -> GitAnswer:
        return write_git(top or self.top, [*_RAW, *words], self.environ, timeout_s=_TIMEOUT_S)

    def _text(self, *words: str, top: Path | None = None) -> str:
        """What a command prints that must not fail."""
        answer = self._git(*words, top=top)
        if answer.code != 0:
            cause = answer.words or f"exit code {answer.code}"
            raise StoreError(f"git {words[0]} failed", cause=cause, hint="git status")
        return answer.out.decode().strip()
