"""A commit of the logbook root and of nothing else, on request.

What the user has staged or changed elsewhere stays as it is: `git commit --only` takes the root's files alone.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from shlex import quote

from logbook_agent.model.errors import StoreError
from logbook_agent.running.provenance.git_calls import DIFF, GitAnswer, read_git, write_git
from logbook_agent.store.repository import Repository, repository_of
from logbook_agent.store.root import books

ADD_TIMEOUT_S = 60.0
# Hooks run in it, and perhaps a program that signs.
COMMIT_TIMEOUT_S = 300.0
_CAUSE_LINES = 12
# Git makes no commit of a part while one of these is there.
_UNDER_WAY = {"MERGE_HEAD": "merge", "CHERRY_PICK_HEAD": "cherry-pick"}


def commit_root(root: Path, message: str, environ: Mapping[str, str]) -> str | None:
    """The SHA of the new commit; None when nothing of the root has changed. Ignored files stay out.

    Raises StoreError with git's own words. After a hook that refused, the root's files are staged and nothing else
    has changed.
    """
    repository, places = check_commit(root, environ)
    specs = [f":(top,literal){place}" for place in places]
    added = write_git(repository.top, ["add", "--", *specs], environ, timeout_s=ADD_TIMEOUT_S)
    if added.code != 0:
        by_hand = f"git -C {quote(str(repository.top))} add -- {' '.join(map(quote, places))}"
        raise _failed("git could not add the logbook", added, by_hand)
    staged = read_git(repository.top, [*DIFF, "--cached", "--quiet", "--", *specs], environ)
    if staged.code == 0:
        return None
    words = ["commit", "--only", "-q", "-m", message, "--", *specs]
    done = write_git(repository.top, words, environ, timeout_s=COMMIT_TIMEOUT_S)
    if done.code != 0:
        raise _failed("git did not commit the logbook", done, _hint(done, repository))
    return read_git(repository.top, ["rev-parse", "HEAD"], environ).lines()[0]


def check_commit(root: Path, environ: Mapping[str, str]) -> tuple[Repository, list[str]]:
    """The repository, and what is committed: the root, or where that is the whole working tree, the logbooks in it.
    Raises StoreError where `commit_root` is sure to fail."""
    repository = repository_of(root)
    if repository is None:
        raise StoreError(f"{root} is not in a git repository", cause="there is nothing to commit to", hint="git init")
    place = repository.place_of(root)
    _check_state(repository, environ)
    if place != ".":
        return repository, [place]
    names = [".gitignore", ".gitattributes"]
    for book in books(root):
        names += [book.view_path.name, book.folder.name]
    if len(names) == 2:
        raise StoreError(f"no logbook in {root} to commit", cause="none was started there", hint="logbook start TOPIC")
    return repository, [name for name in names if os.path.lexists(repository.top / name)]


def _check_state(repository: Repository, environ: Mapping[str, str]) -> None:
    """Before anything is staged: `git add` would mark a file in conflict as settled."""
    for name, what in _UNDER_WAY.items():
        if (repository.git_dir / name).exists():
            raise StoreError(
                f"a {what} is under way, so the logbook is not committed",
                cause=f"git cannot do a partial commit during a {what}",
                hint=f"finish it first: git -C {quote(str(repository.top))} status",
            )
    unmerged = read_git(repository.top, ["ls-files", "--unmerged", "-z"], environ).out
    if unmerged:
        first = os.fsdecode(unmerged.split(b"\0", 1)[0].split(b"\t", 1)[-1])
        raise StoreError(
            "there are files in conflict, so the logbook is not committed",
            cause=f"git commits nothing while {first} is unmerged",
            hint=f"resolve them first: git -C {quote(str(repository.top))} status; in a logbook: logbook doctor --fix",
        )


def _failed(message: str, answer: GitAnswer, hint: str) -> StoreError:
    said = answer.words or os.fsdecode(answer.out).strip() or f"git ended with exit code {answer.code}"
    return StoreError(message, cause="\n".join(said.splitlines()[-_CAUSE_LINES:]), hint=hint)


def _hint(answer: GitAnswer, repository: Repository) -> str:
    if "user.email" in answer.words:
        return "git config --global user.name NAME; git config --global user.email ADDRESS; then try again"
    return f"correct what git reports, then try again; or commit by hand: git -C {quote(str(repository.top))} commit"
