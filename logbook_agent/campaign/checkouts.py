"""Checkouts of other code for the runs of a command: commits, the working tree as it is, code as it was recorded.

They are made from the repository in which the command was typed, and removed in the end. The user's working tree,
index, references and stash stay as they are.
"""

from __future__ import annotations

import contextlib
import fnmatch
import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct, structs

from logbook_agent.campaign.run_request import RunRequest
from logbook_agent.findings.cases import short
from logbook_agent.model.code import Code, UntrackedFile
from logbook_agent.model.comparison import WORK
from logbook_agent.model.errors import LogbookError, StoreError, UsageError
from logbook_agent.running.executors.table import executor_named_by, named
from logbook_agent.running.order import Display
from logbook_agent.running.prepare import Command
from logbook_agent.running.provenance.git import CodeFacts
from logbook_agent.running.provenance.named_files import input_file
from logbook_agent.running.provenance.software import imported_from, is_python
from logbook_agent.running.provenance.worktrees import ORIGIN, Checkout, checkout_folder, checkout_of
from logbook_agent.store.book import Book
from logbook_agent.store.folder import Folder
from logbook_agent.store.places import repository_of
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.commands.script import command_words

COMMIT_CHARS = 9
_MOST_BYTES = 64 * 2**20
_PYTHON_PATH = "PYTHONPATH"
# Beside the folder of the programs of an environment, of Python or conda.
_ENVIRONMENTS = ("pyvenv.cfg", "conda-meta")


# What tools and editors leave, which no command needs.
_CACHES = (
    *("__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".ipynb_checkpoints"),
    *(".tox", ".nox", ".idea", ".vscode", ".DS_Store", ".coverage", ".lock", "*.pyc", "*.egg-info", "*.swp", "*~"),
)


class Tree(Struct, frozen=True, kw_only=True):
    """A version of the code: its commit, its working tree `top`, and the folder in there in which its commands run; it
    was made from a `checkout`, in which the command was typed."""

    checkout: Checkout
    name: str
    commit: str
    top: Path
    folder: Path


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
            trees.append(Tree(checkout=checkout, name=name, commit=commit, top=above / name, folder=place))
        yield trees


@contextlib.contextmanager
def in_trees(
    workspace: Workspace,
    run: RunRequest,
    option: str,
    codes: Mapping[str, str | Code],
    display: Display,
    book: Book | None = None,
    afresh: str = "git log --oneline lists the commits that can be compared",
) -> Iterator[list[Tree]]:
    """Codes by the names of their trees, side by side: commits, the working tree, or codes as the `book` recorded them.
    Raises UsageError where one is no commit, or cannot be had any more: then `afresh` asks the same of the code as it
    is now. Raises StoreError where git cannot check one out."""
    _check_synced(workspace, option, run.on)
    checkout = checkout_of((workspace.cwd / (run.cwd or ".")).absolute(), workspace.environ)
    commits = {name: _commit(checkout, code, afresh) for name, code in codes.items()}
    root = Path(os.path.realpath(workspace.root))
    with side_by_side(checkout, commits, display) as trees:
        for code, tree in zip(codes.values(), trees, strict=True):
            if isinstance(code, Code):
                if book is not None and (missing := _missing(book, code, tree)) is not None:
                    raise UsageError(
                        f"the code {tree.commit[:COMMIT_CHARS]} cannot be brought back{missing}",
                        cause="it ran with changes that no commit holds",
                        hint=afresh,
                    )
            elif code == WORK:
                checkout.bring_changes(tree.top, without=root if root.is_relative_to(checkout.top) else None)
            if (checkout.top / checkout.inside).is_dir() and (isinstance(code, Code) or code == WORK):
                # git holds no folder without files.
                (tree.top / checkout.inside).mkdir(parents=True, exist_ok=True)
            if not (tree.top / checkout.inside).is_dir():
                name = tree.commit[:COMMIT_CHARS] if isinstance(code, Code) else code
                raise UsageError(
                    f"{name} has no folder {checkout.inside}",
                    cause="the command runs in the folder of the checkout in which it was typed",
                    hint="cd into a folder that both have",
                )
        yield [structs.replace(tree, folder=tree.top / checkout.inside) for tree in trees]


@contextlib.contextmanager
def frozen(workspace: Workspace, run: RunRequest, display: Display) -> Iterator[RunRequest]:
    """What is asked for, in a checkout of the code as it is now, which is there as long as this."""
    with in_trees(workspace, run, "--frozen", {"copy": WORK}, display) as [tree]:
        yield structs.replace(placed_in(workspace, run, tree), frozen=False)


def _check_synced(workspace: Workspace, option: str, on: str | None) -> None:
    """Raises UsageError where what `--on` names runs other files than those of the checkouts."""
    if on is None or (
        executor_named_by(workspace, on) is not None and named(workspace, on).table.get("sync", True) is True
    ):
        return
    raise UsageError(
        f"{option} and --on {on} cannot be used together",
        cause=f"the checkouts are made on this machine, and {on} does not bring files along",
        hint="name an executor with sync = true, or leave --on out",
    )


def _commit(checkout: Checkout, code: str | Code, afresh: str) -> str:
    if not isinstance(code, Code):
        found = checkout.commit_of("HEAD" if code == WORK else code)
        if found is None:
            cause, hint = checkout.lacking()
            cause += f" ({WORK} is the working tree)"
            raise UsageError(f"--code: {code!r} is not a commit of this clone", cause=cause, hint=hint)
        return found
    found = checkout.commit_of(code.commit) if code.commit is not None else None
    if found is None:
        commit = (code.commit or "")[:COMMIT_CHARS]
        raise UsageError(
            f"the code {commit} is not in this clone" if commit else "the code is in no commit",
            cause="no branch or tag that was fetched holds it",
            hint=f"git fetch {ORIGIN} {code.commit}" if commit and checkout.has_origin() else afresh,
        )
    return found


# -- a command in a checkout ---------------------------------------------------------------------------


def placed_in(workspace: Workspace, run: RunRequest, tree: Tree, *, is_set_up: bool = False) -> RunRequest:
    """A command that was typed in a checkout, as it runs in a tree of another commit. Where the tree is brought to
    another machine, paths in there begin at the folder of the command. Where it `is_set_up`, a virtual environment that
    its setup makes comes first on the path."""

    checkout = tree.checkout

    def moved(text: str) -> str:
        there = _in_tree(text, checkout.top, tree.top)
        return there if run.on is None else there.replace(str(tree.top), os.path.relpath(tree.top, tree.folder))

    words = [moved(word) for word in run.argv]
    if not run.shell and run.on is None:
        starts = [at == 0 or is_python(word) for at, word in enumerate(run.argv)]
        words = [
            _program(word, tree) if "/" in word and is_started else word
            for word, is_started in zip(words, starts, strict=True)
        ]
    env = {name: moved(value) for name, value in run.env.items()}
    # Python looks first in the folders that PYTHONPATH names, or that are installed as editable packages.
    environ = {**workspace.environ, **run.env}
    given = [path for path in environ.get(_PYTHON_PATH, "").split(os.pathsep) if path]
    installed = imported_from(command_words(run.argv), checkout.top / checkout.inside, environ, within=checkout.top)
    paths = [moved(path) for path in (*map(str, installed), *given)]
    env |= {_PYTHON_PATH: os.pathsep.join(dict.fromkeys(paths))} if paths != given else {}
    if is_set_up:
        env["PATH"] = f"{tree.folder / '.venv' / 'bin'}{os.pathsep}{environ.get('PATH', os.defpath)}"
    return structs.replace(run, argv=words, env=env, cwd=str(tree.folder))


def _program(word: str, tree: Tree) -> str:
    """A program as it is started in a tree. That of an environment is the user's own, .venv/bin/python, and so is one
    that lies elsewhere; what was built from other code is never taken for that of a tree which lacks it."""
    top = tree.checkout.top
    own = top / tree.checkout.inside / word
    if own.is_relative_to(tree.top) or not own.is_relative_to(top):
        return word
    there = tree.top / own.relative_to(top)
    is_elsewhere = own.exists() and not Path(os.path.realpath(own)).is_relative_to(os.path.realpath(top))
    if not there.exists() and (is_elsewhere or any((own.parent.parent / name).exists() for name in _ENVIRONMENTS)):
        return str(own)
    return str(there) if word.startswith("/") else word


def _in_tree(text: str, top: Path, tree: Path) -> str:
    """A word with the paths of the repository in it as paths of a checkout, where the checkout has them; also those
    that go through a link."""

    def moved(match: re.Match[str]) -> str:
        for path in (match[0], os.path.realpath(match[0])):
            if f"{path}/".startswith(f"{top}/") and os.path.lexists(found := f"{tree}{path[len(str(top)) :]}"):
                return found
        return match[0]

    ends = r":,;\s'\"&|)"
    return re.sub(rf"({re.escape(str(top))}(?=[/{ends}]|$)|(?<![\w.~/-])/)[^{ends}]*", moved, text)


# -- code as it was recorded ---------------------------------------------------------------------------


def _missing(book: Book, code: Code, tree: Tree) -> str | None:
    """Bring the diff and the untracked files of a recorded code into a working tree of its commit; of what is missing
    first, how the sentence ends that it cannot be brought back."""
    if code.diff_kept is not None:
        try:
            diff = book.files.read(book.folder / code.diff_kept, limit=_MOST_BYTES)
            if hashlib.sha256(diff).hexdigest() != code.diff_sha256:
                why = "is not the one that ran: it was recorded without its secrets, or changed"
                return f" as it was: diff {code.diff_kept} {why}"
            tree.checkout.apply(tree.top, book.folder / code.diff_kept)
        except LogbookError as error:
            return f": diff {code.diff_kept}: {error.said}"
    elif code.diff_sha256 is not None:
        return f": the diff of {code.diff_bytes or '?'} bytes: it was too large to be kept"
    lost = next((file for file in code.untracked if not _is_brought(book, file, tree)), None)
    if lost is None:
        return None
    return f": untracked file {lost.path}: neither kept in the logbook nor here with the digest {short(lost.sha256)}"


def _is_brought(book: Book, file: UntrackedFile, tree: Tree) -> bool:
    """Bring an untracked file into the tree, from the logbook or from here. One outside of the repository stays where
    it is, and must be what it was."""
    path = Path(file.path)
    if path.is_absolute():
        with contextlib.suppress(OSError):
            return input_file(path.name, path).sha256 == file.sha256
        return False
    kept = [(book.folder / file.kept, book.files)] if file.kept is not None else []
    top = tree.checkout.top
    for source, files in (*kept, (top / path, Folder(top))):
        try:
            content = files.read(source, limit=_MOST_BYTES)
        except StoreError:
            continue
        if hashlib.sha256(content).hexdigest() == file.sha256:
            target = tree.top / path
            Folder(tree.top).make(target.parent)
            Folder(tree.top).write(target, content, durable=False)
            target.chmod(0o755 if (source, files) in kept else source.stat().st_mode & 0o777)
            return True
    return False


# -- what git does not hold ----------------------------------------------------------------------------


def beside(workspace: Workspace, of: Command, facts: CodeFacts) -> tuple[str, ...]:
    """The files and folders in the checkout of a command that git does not hold and the record does not keep."""
    if repository_of(of.cwd) is None or not of.runs_files or facts.code.commit is None:
        return ()
    kept = {file.path for file in facts.code.untracked}
    checkout = checkout_of(of.cwd, workspace.environ)
    return tuple(name for name in _not_held(workspace, checkout) if name.rstrip("/") not in kept)


def lacking(workspace: Workspace, run: RunRequest, of: Command) -> list[str]:
    """The files and folders beside the code that git does not hold, and that the checkout of a command lacks."""
    place = repository_of(of.cwd)
    if place is None:
        return []
    here = checkout_of((workspace.cwd / (run.cwd or ".")).absolute(), workspace.environ)
    return [name for name in _not_held(workspace, here) if not (place.top / name).exists()]


def _not_held(workspace: Workspace, checkout: Checkout) -> Iterator[str]:
    """The files and folders in a checkout that git does not hold, by their path from its top; without caches, virtual
    environments and the logbooks."""
    root = Path(os.path.realpath(workspace.root))
    for name in checkout.untracked():
        is_cache = any(fnmatch.fnmatch(part, cache) for part in Path(name).parts for cache in _CACHES)
        place = checkout.top / name
        if not (
            is_cache or (place / _ENVIRONMENTS[0]).exists() or root.is_relative_to(place) or place.is_relative_to(root)
        ):
            yield name
