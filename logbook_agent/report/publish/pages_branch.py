"""A branch that holds the files of a report and nothing else, made without touching the work tree or the index."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from logbook_agent.model.errors import RemoteError, StoreError, UsageError
from logbook_agent.report.page.page import INDEX
from logbook_agent.report.page.write import GENERATOR
from logbook_agent.report.publish.pages import PublishedFile
from logbook_agent.running.provenance.git_calls import GitAnswer, write_git
from logbook_agent.store.folder import Folder
from logbook_agent.store.repository import repository_of

# Pages of GitHub are served as they are, and not built by Jekyll.
_AS_IT_IS = ".nojekyll"
# Attributes of the user or the repository do not change what is committed.
_RAW = ("-c", "core.autocrlf=false", "-c", f"core.attributesFile={os.devnull}")
_TIMEOUT_S = 300.0


def commit_files(
    folder: Path, branch: str, files: Sequence[PublishedFile], message: str, environ: Mapping[str, str]
) -> str | None:
    """Commit the files as all that a branch holds; the new commit, or None where the branch holds them already."""
    place = repository_of(folder)
    if place is None:
        raise UsageError(
            f"{folder} is not in a git repository", cause="--branch commits the pages to one", hint="git init"
        )
    top, ref = place.top, f"refs/heads/{branch}"
    if write_git(top, ["check-ref-format", "--branch", branch], environ, timeout_s=_TIMEOUT_S).code != 0:
        raise UsageError(f"{branch!r} cannot be the name of a branch", cause="git refuses it", hint="--branch gh-pages")
    trees = write_git(top, ["worktree", "list", "--porcelain"], environ, timeout_s=_TIMEOUT_S)
    if f"branch {ref}" in trees.lines():
        raise UsageError(
            f"{branch} is checked out here",
            cause="its files would be replaced by the pages",
            hint="--branch gh-pages, or another branch that only holds pages",
        )
    if write_git(top, ["rev-parse", "-q", "--verify", "HEAD"], environ, timeout_s=_TIMEOUT_S).code != 0:
        raise UsageError(
            f"{top} has no commit yet",
            cause="the branch of the pages is added to a repository that has commits",
            hint="git commit --allow-empty -m start",
        )
    before = _text(write_git(top, ["rev-parse", "-q", "--verify", ref], environ, timeout_s=_TIMEOUT_S))
    if before and GENERATOR not in write_git(top, ["show", f"{before}:{INDEX}"], environ, timeout_s=_TIMEOUT_S).out:
        raise UsageError(
            f"{branch} holds other files than pages of a report",
            cause="its files would be replaced by the pages",
            hint=f"--branch gh-pages, or delete the branch first: git branch -D {branch}",
        )
    with tempfile.TemporaryDirectory() as made:
        tree = Path(made) / "pages"
        _run(top, ["worktree", "add", "--quiet", "--no-checkout", "--detach", str(tree)], environ)
        try:
            for file in (*files, PublishedFile(path=_AS_IT_IS, content=b"")):
                Folder(tree).make((tree / file.path).parent)
                Folder(tree).write(file.path, [file.content], durable=False)
            _run(tree, ["add", "--all", "--force", "."], environ)
            content = _text(_run(tree, ["write-tree"], environ))
            if before and _text(_run(top, ["rev-parse", f"{before}^{{tree}}"], environ)) == content:
                return None
            words = ["commit-tree", content, *(["-p", before] if before else []), "-m", message]
            commit = _text(_run(tree, words, environ))
            _run(top, ["update-ref", ref, commit, before or "0" * len(commit)], environ)
        finally:
            _run(top, ["worktree", "remove", "--force", str(tree)], environ)
    return commit


def push(folder: Path, remote: str, branch: str, environ: Mapping[str, str]) -> None:
    """Push a branch. Raises RemoteError with what git says."""
    place = repository_of(folder)
    top = place.top if place is not None else folder
    answer = write_git(top, ["push", "--", remote, f"refs/heads/{branch}"], environ, timeout_s=_TIMEOUT_S)
    if answer.code != 0:
        raise RemoteError(
            f"git could not push {branch} to {remote}",
            cause=answer.words.splitlines()[-1] if answer.words else f"exit code {answer.code}",
            hint=f"the branch is committed; push it by hand: git push {remote} {branch}",
        )


def _run(top: Path, words: Sequence[str], environ: Mapping[str, str]) -> GitAnswer:
    answer = write_git(top, [*_RAW, *words], environ, timeout_s=_TIMEOUT_S)
    if answer.code != 0:
        raise StoreError(f"git {words[0]} failed", cause=answer.words or f"exit code {answer.code}", hint="git status")
    return answer


def _text(answer: GitAnswer) -> str:
    return answer.out.decode().strip()
