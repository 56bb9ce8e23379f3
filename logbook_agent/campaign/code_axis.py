"""The code as the axis of an A/B: two commits, or a commit and the working tree, each in a checkout of its own.

The checkouts are made from the repository in which the command was typed, and removed in the end. The user's working
tree, index, references and stash stay as they are.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from logbook_agent.campaign.ab_axis import AbAxis
from logbook_agent.campaign.ab_prepare import AbRequest
from logbook_agent.campaign.repeats import RunRequest, prepared
from logbook_agent.campaign.trees import Tree, WatchedTrees, side_by_side
from logbook_agent.model.comparison import CODE_AXIS, Evaluator
from logbook_agent.model.errors import UsageError
from logbook_agent.model.values import parse_scalar
from logbook_agent.running.order import Display
from logbook_agent.running.prepare import Command
from logbook_agent.running.provenance.git import CodeLook, files_named
from logbook_agent.running.provenance.inputs import input_file
from logbook_agent.running.provenance.software import imported_from
from logbook_agent.running.provenance.worktrees import Checkout, bring, checkout_of
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.phrases import counted, listed

WORK = "WORK"
"""The side that is the working tree as it is, with files that git does not track and does not ignore."""
NONE = "none"
"""What is given as the evaluator where each side has its own."""
# Of one length, which is part of what a program meets: its path.
_NAMES = ("base", "head")
_COMMIT_CHARS, _TREE_CHARS = 9, 7
_PYTHON_PATH = "PYTHONPATH"


# The sides by their labels (`main@3f2a9c01d`, `WORK+a1b2c3d`), the request with a field that names both codes, where it
# is a new entry's, the command in the tree of each side, and the trees, which must hold their files while it runs.
CodeSides = tuple[AbAxis, RunRequest, tuple[Command, ...], WatchedTrees]


def command_in(workspace: Workspace, run: RunRequest, checkout: Checkout, tree: Tree) -> Command:
    """A command that was typed in a checkout, as it runs in a tree of another commit."""
    placed = _placed(workspace, run, checkout, tree)
    return prepared(workspace, placed, placed.argv, run.label)


def _placed(workspace: Workspace, run: RunRequest, checkout: Checkout, tree: Tree) -> RunRequest:
    words = [_in_tree(word, checkout.top, tree.top) for word in run.argv]
    if not run.shell:
        words[:1] = [_program(word, checkout.top / checkout.inside, tree.folder) for word in words[:1]]
    paths = _python_paths(workspace, run, checkout, tree)
    env = {**run.env, _PYTHON_PATH: os.pathsep.join(paths)} if paths else run.env
    return dataclasses.replace(run, argv=words, env=env, cwd=str(tree.folder))


def _python_paths(workspace: Workspace, run: RunRequest, checkout: Checkout, tree: Tree) -> list[str]:
    """Where Python looks first: the folders of this tree in place of those of the repository that PYTHONPATH names, or
    that are installed as editable packages; empty where there are none."""
    environ = {**workspace.environ, **run.env}
    given = [path for path in environ.get(_PYTHON_PATH, "").split(os.pathsep) if path]
    installed = imported_from(run.argv, checkout.top / checkout.inside, environ, within=checkout.top)
    mapped = [_in_tree(path, checkout.top, tree.top) for path in (*map(str, installed), *given)]
    return list(dict.fromkeys(mapped)) if mapped != given else []


@contextlib.contextmanager
def frozen(workspace: Workspace, run: RunRequest, display: Display) -> Iterator[RunRequest]:
    """What is asked for, in a checkout of the code as it is now, which is there as long as this."""
    with _trees(workspace, run, "--frozen", {"copy": WORK}, display) as (checkout, [tree], _):
        yield dataclasses.replace(_placed(workspace, run, checkout, tree), frozen=False)


@contextlib.contextmanager
def _trees(
    workspace: Workspace, run: RunRequest, option: str, codes: Mapping[str, str], display: Display
) -> Iterator[tuple[Checkout, list[Tree], list[str]]]:
    """Codes by the names of their trees, side by side, with what each holds. Raises UsageError where one is no commit,
    and StoreError where git cannot check one out."""
    if run.on is not None:
        raise UsageError(
            f"{option} and --on cannot be used together",
            cause="the checkouts are made on this machine",
            hint="leave --on out, or run logbook on that machine",
        )
    checkout = checkout_of((workspace.cwd / (run.cwd or ".")).absolute(), workspace.environ)
    commits = {name: _commit(checkout, code) for name, code in codes.items()}
    root = Path(os.path.realpath(workspace.root))
    with side_by_side(checkout, commits, display) as trees:
        described = []
        for code, tree in zip(codes.values(), trees, strict=True):
            said = checkout.subject_of(tree.commit)
            if code == WORK:
                count = checkout.bring_changes(tree.top, without=root if root.is_relative_to(checkout.top) else None)
                said = f"with {counted(count, 'changed file')}"
            described.append(f"`{tree.commit}` {said}".rstrip())
            _check_folder(checkout, code, tree)
        yield checkout, trees, described


@contextlib.contextmanager
def checked_out(workspace: Workspace, book: Book, request: AbRequest, display: Display) -> Iterator[CodeSides]:
    """Both codes as an axis, while their checkouts are there. Raises UsageError where one is no commit, or both are the
    same code, and StoreError where git cannot check one out."""
    codes, run = request.codes or ("", WORK), request.run
    named = dict(zip(_NAMES, codes, strict=True))
    with _trees(workspace, run, "--code", named, display) as (checkout, trees, described):
        evaluator = _shared(checkout, book, request, [tree.top for tree in trees])
        root, rules = workspace.root, workspace.config.code
        looks = (CodeLook(tree.folder, root, run.argv, workspace.environ, rules) for tree in trees)
        identities = [look.facts().code.identity for look in looks]
        if identities[0] == identities[1] is not None:
            differed = [one.path for one in evaluator if one.differed]
            hint = "--evaluator none measures each with its own" if differed else "name another commit: git log"
            raise UsageError(
                f"{codes[0]} and {codes[1]} are the same code"
                + (f" but for {listed(differed)}, which measures them" if differed else ""),
                cause="they have the same files outside of the logbooks, documents left out",
                hint=hint,
            )
        sides = zip(codes, trees, identities, strict=True)
        labels = [_label(code, tree.commit, identity) for code, tree, identity in sides]
        axis = AbAxis(
            name=CODE_AXIS,
            values=tuple(labels),
            configs={label: {CODE_AXIS: label} for label in labels},
            evaluator=evaluator,
        )
        if run.entry_id is None:
            lines = (f"- {label}: {line}" for label, line in zip(labels, described, strict=True))
            fields = ("Code=" + "\n".join(lines), *run.prose.fields)
            run = dataclasses.replace(run, prose=dataclasses.replace(run.prose, fields=fields))
        commands = tuple(command_in(workspace, run, checkout, tree) for tree in trees)
        yield axis, run, commands, WatchedTrees(checkout, trees)


def _commit(checkout: Checkout, code: str) -> str:
    found = checkout.commit_of("HEAD" if code == WORK else code)
    if found is None:
        raise UsageError(
            f"--code: {code!r} is not a commit of this clone",
            cause="no branch, tag or hash of that name",
            hint=f"git log --oneline lists commits; {WORK} is the working tree",
        )
    return found


def _check_folder(checkout: Checkout, code: str, tree: Tree) -> None:
    if not (tree.top / checkout.inside).is_dir():
        raise UsageError(
            f"{code} has no folder {checkout.inside}",
            cause="the command runs in the folder of the checkout in which it was typed",
            hint="cd into a folder that both have",
        )


def _label(code: str, commit: str, identity: str | None) -> str:
    """`main@3f2a9c01d`, `3f2a9c01d` for a hash, and `WORK+a1b2c3d` with the digest of the whole tree."""
    if code == WORK:
        return f"{WORK}+{(identity or commit)[:_TREE_CHARS]}"
    short = commit[:_COMMIT_CHARS]
    # One that could be read as a number is no name.
    is_hash = commit.startswith(code.lower()) and isinstance(parse_scalar(short), str)
    return short if is_hash else f"{code}@{short}"


def _in_tree(text: str, top: Path, tree: Path) -> str:
    """A word with the paths of the repository in it as paths of a checkout, where the checkout has them."""

    def moved(match: re.Match[str]) -> str:
        path = f"{tree}{match['rest']}"
        return path if os.path.lexists(path) else match[0]

    ends = r":,;\s'\"&|)"
    return re.sub(rf"{re.escape(str(top))}(?P<rest>(?:/[^{ends}]*)?)(?=[{ends}]|$)", moved, text)


def _program(word: str, here: Path, folder: Path) -> str:
    """The first word of a command; absolute for a program that only the user's own tree has (`.venv/bin/python`)."""
    own = here / word
    return str(own) if "/" in word and own.exists() and not (folder / word).exists() else word


# -- the evaluator: what measures, which is the base's on both sides ----------------------------------


def _shared(checkout: Checkout, book: Book, request: AbRequest, tops: Sequence[Path]) -> tuple[Evaluator, ...]:
    """The evaluator of the base, which is the first of these working trees, after it was brought into the others.
    Raises UsageError for a path that the base does not have."""
    base, *others = tops
    found = []
    for path in _evaluator_paths(checkout, book, request, tops):
        if not (base / path).exists():
            raise UsageError(
                f"--evaluator {path}: not in {(request.codes or ('',))[0]}",
                cause="the base's own files measure both sides",
                hint=f"commit it there, or let each side be measured by its own: --evaluator {NONE}",
            )
        digest = input_file(path, base / path).sha256
        places = [top / path for top in others]
        unlike = [at for at in places if not at.exists() or input_file(path, at).sha256 != digest]
        for at in unlike:
            bring(base / path, at)
        found.append(Evaluator(path=path, sha256=digest, differed=bool(unlike)))
    return tuple(found)


def _evaluator_paths(checkout: Checkout, book: Book, request: AbRequest, tops: Sequence[Path]) -> list[str]:
    """Paths from the top of the repository."""
    here, given = checkout.top / checkout.inside, request.evaluator
    if given is None and request.run.entry_id is not None:
        stated = book.entry(request.run.entry_id).comparison
        return [one.path for one in stated.evaluator] if stated is not None else []
    if given == (NONE,) and not (here / NONE).exists():
        return []
    if given is not None:
        return [os.path.relpath(here / path, checkout.top) for path in given]
    named = [path for path in files_named(request.run.argv, here) if path.is_relative_to(checkout.top)]
    paths = [str(path.relative_to(checkout.top)) for path in named]
    return [path for path in paths if all((top / path).is_file() for top in tops)]
