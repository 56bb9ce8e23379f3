"""`logbook start --own-branch NAME`: logbooks on a branch that shares no history with the code, in a working tree
beside that of the code. What is committed, reverted, stashed or checked out in the code never meets a record."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from shlex import join, quote

from logbook_agent.model.errors import StoreError, UsageError
from logbook_agent.running.provenance.git_calls import GitAnswer, write_git
from logbook_agent.store.files import make_folder, write_text
from logbook_agent.store.repository import Repository, branch_of, repository_of
from logbook_agent.store.root import books
from logbook_agent.store.workspace import Workspace, root_note

_TIMEOUT_S = 300.0
_MESSAGE = "Logbooks"


def own_branch_root(workspace: Workspace, name: str) -> Path:
    """The root in the working tree of the branch NAME, which is made unless it is there; from then on all working trees
    of this clone use it. Raises UsageError where logbooks of this clone are elsewhere, or the branch holds code."""
    code = repository_of(workspace.cwd)
    if code is None:
        raise UsageError(
            f"{workspace.cwd} is not in a git repository",
            cause="the branch is made in the repository of the code",
            hint="git init, or leave --own-branch out",
        )
    folder, note = _folder(code, name), root_note(code)
    _check_free(workspace, code, folder)
    if _git(code, ["check-ref-format", "--branch", name], workspace).code != 0:
        raise UsageError(
            f"{name!r} cannot be the name of a branch", cause="git refuses it", hint="--own-branch logbooks"
        )
    there = repository_of(folder) if folder.is_dir() else None
    if there is None or there.top != folder or branch_of(there) != name:
        _make_branch(code, name, workspace)
        add = ["-c", f"core.hooksPath={os.devnull}", "worktree", "add", "--quiet", str(folder), name]
        _done(_git(code, add, workspace), code, add, f"git could not check {name} out in {folder}")
    make_folder(note.parent, within=code.common_dir)
    write_text(note, f"{folder}\n", within=code.common_dir)
    return folder


def _check_free(workspace: Workspace, code: Repository, folder: Path) -> None:
    """Raise UsageError where commands would find other logbooks, or went on to find them."""
    named = workspace.config.root
    if named is not None or "LOGBOOK_ROOT" in workspace.environ:
        raise UsageError(
            "--own-branch, and another folder of logbooks is set",
            cause=f"root = {named} in {workspace.config.file}" if named is not None else "LOGBOOK_ROOT is set",
            hint="leave --own-branch out, or remove that setting",
        )
    there = workspace.root
    if there != folder and books(there):
        raise UsageError(
            f"the logbooks of this clone are in {there}",
            cause="commands would no longer find them",
            hint="leave --own-branch out to start another one beside them",
        )


def _folder(code: Repository, name: str) -> Path:
    """`moe-logbooks` beside the folder `moe` of the clone, whichever of its working trees this is."""
    main = code.common_dir.parent if code.common_dir.name == ".git" else code.common_dir
    return main.with_name(f"{main.name.removesuffix('.git')}-{name.replace('/', '-')}")


def _make_branch(code: Repository, name: str, workspace: Workspace) -> None:
    """Make the branch with one empty commit, unless there is one, here or on a remote, that shares no commit with the
    code."""
    known = _git(
        code, ["for-each-ref", "--format=%(refname)", f"refs/heads/{name}", f"refs/remotes/*/{name}"], workspace
    )
    refs = known.lines()
    if refs:
        if _git(code, ["merge-base", "HEAD", refs[0]], workspace).code == 0:
            raise UsageError(
                f"the branch {name} has commits of the code",
                cause="a branch of logbooks shares no history with the code",
                hint="choose another name: --own-branch logbooks",
            )
        return
    words = ["hash-object", "-t", "tree", "-w", os.devnull]
    tree = _done(_git(code, words, workspace), code, words, "git could not make an empty tree")
    words = ["commit-tree", tree, "-m", _MESSAGE]
    commit = _done(_git(code, words, workspace), code, words, "git could not make the first commit of the branch")
    words = ["update-ref", f"refs/heads/{name}", commit, "0" * len(commit)]
    _done(_git(code, words, workspace), code, words, f"git could not make the branch {name}")


def _git(code: Repository, words: Sequence[str], workspace: Workspace) -> GitAnswer:
    return write_git(code.top, words, workspace.environ, timeout_s=_TIMEOUT_S)


def _done(answer: GitAnswer, code: Repository, words: Sequence[str], trouble: str) -> str:
    if answer.code != 0:
        by_hand = f"git -C {quote(str(code.top))} {join(words)}"
        raise StoreError(trouble, cause=answer.words[-300:] or f"exit code {answer.code}", hint=f"by hand: {by_hand}")
    return answer.out.decode().strip()
