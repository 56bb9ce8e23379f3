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
from dataclasses import dataclass
from pathlib import Path

from logbook_agent.campaign.ab_axis import AbAxis
from logbook_agent.campaign.ab_prepare import AbRequest
from logbook_agent.campaign.recorded_code import restore
from logbook_agent.campaign.repeats import RunRequest, prepared
from logbook_agent.campaign.trees import Tree, side_by_side
from logbook_agent.model.code import Code
from logbook_agent.model.comparison import CODE_AXIS, Comparison, Evaluator
from logbook_agent.model.entry import entry_of
from logbook_agent.model.errors import UsageError, exclusive
from logbook_agent.running.order import Display
from logbook_agent.running.prepare import Command
from logbook_agent.running.provenance.git import CodeFacts, CodeLook
from logbook_agent.running.provenance.inputs import input_file
from logbook_agent.running.provenance.named_files import files_named
from logbook_agent.running.provenance.software import imported_from
from logbook_agent.running.provenance.worktrees import ORIGIN, Checkout, bring, checkout_of
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.markdown import cut_line
from logbook_agent.text.phrases import listed

WORK = "WORK"
"""The side that is the working tree as it is, with files that git does not track and does not ignore."""
NONE = "none"
"""What is given as the evaluator where each side has its own."""
# Of one length, which is part of what a program meets: its path.
_NAMES = ("base", "head")
_COMMIT_CHARS, _TREE_CHARS, _SUBJECT_CHARS = 9, 7, 40
_PYTHON_PATH = "PYTHONPATH"


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeSides:
    """Versions of the code as sides: the axis with their labels (`main@3f2a9c01d`, `WORK+a1b2c3d`), where each lies,
    what is known of it by label, and a line about each."""

    axis: AbAxis
    checkout: Checkout
    trees: tuple[Tree, ...]
    code: Mapping[str, CodeFacts]
    lines: tuple[str, ...]


def command_in(workspace: Workspace, run: RunRequest, checkout: Checkout, tree: Tree) -> Command:
    """A command that was typed in a checkout, as it runs in a tree of another commit."""
    placed = placed_in(workspace, run, checkout, tree)
    return prepared(workspace, placed, placed.argv, run.label)


def placed_in(workspace: Workspace, run: RunRequest, checkout: Checkout, tree: Tree) -> RunRequest:
    words = [_in_tree(word, checkout.top, tree.top) for word in run.argv]
    if not run.shell:
        words[:1] = [_program(word, checkout.top / checkout.inside, tree.folder) for word in words[:1]]
    paths = _python_paths(workspace, run, checkout, tree)
    env = {name: _in_tree(value, checkout.top, tree.top) for name, value in run.env.items()}
    env |= {_PYTHON_PATH: os.pathsep.join(paths)} if paths else {}
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
    with in_trees(workspace, run, "--frozen", {"copy": WORK}, display) as (checkout, [tree]):
        yield dataclasses.replace(placed_in(workspace, run, checkout, tree), frozen=False)


@contextlib.contextmanager
def in_trees(
    workspace: Workspace,
    run: RunRequest,
    option: str,
    codes: Mapping[str, str | Code],
    display: Display,
    book: Book | None = None,
    afresh: str = "git log --oneline lists the commits that can be compared",
) -> Iterator[tuple[Checkout, list[Tree]]]:
    """Codes by the names of their trees, side by side: commits, the working tree, or codes as the `book` recorded them.
    Raises UsageError where one is no commit, or cannot be had any more: then `afresh` asks the same of the code as it
    is now. Raises StoreError where git cannot check one out."""
    exclusive(
        {option: True, "--on": run.on},
        cause="the checkouts are made on this machine",
        hint="leave --on out, or run logbook on that machine",
    )
    checkout = checkout_of((workspace.cwd / (run.cwd or ".")).absolute(), workspace.environ)
    commits = {name: _commit(checkout, code, afresh) for name, code in codes.items()}
    root = Path(os.path.realpath(workspace.root))
    with side_by_side(checkout, commits, display) as trees:
        for code, tree in zip(codes.values(), trees, strict=True):
            if isinstance(code, Code):
                missing = restore(book, code, checkout, tree) if book is not None else []
                if missing:
                    raise UsageError(
                        f"the code {tree.commit[:_COMMIT_CHARS]} cannot be brought back: {missing[0]}",
                        cause="it ran with changes that no commit holds",
                        hint=afresh,
                    )
            elif code == WORK:
                checkout.bring_changes(tree.top, without=root if root.is_relative_to(checkout.top) else None)
            _check_folder(checkout, code, tree)
        yield checkout, trees


@contextlib.contextmanager
def checked_out(
    workspace: Workspace, book: Book, request: AbRequest, display: Display, stated: Comparison | None = None
) -> Iterator[CodeSides]:
    """Both codes as an axis, while their checkouts are there; those that are `stated` as they were recorded. Raises
    UsageError where one is no commit, or both are the same code, and StoreError where git cannot check one out."""
    codes, run = request.codes or ("", WORK), request.run
    recorded = [stated.code[side] for side in stated.question.values] if stated is not None else [*codes]
    named: dict[str, str | Code] = dict(zip(_NAMES, recorded, strict=True))
    with in_trees(workspace, run, "--code", named, display, book) as (checkout, trees):
        evaluator = _shared(checkout, request, [tree.top for tree in trees], stated)
        root, rules = workspace.root, workspace.config.code
        found = [CodeLook(tree.folder, root, run.argv, workspace.environ, rules).facts() for tree in trees]
        identities = [facts.code.identity for facts in found]
        if stated is None and identities[0] == identities[1] is not None:
            differed = [one.path for one in evaluator if one.differed]
            hint = "--evaluator none measures each with its own" if differed else _other_code(book, request)
            raise UsageError(
                f"{codes[0]} and {codes[1]} are the same code"
                + (f" but for {listed(differed)}, which measures them" if differed else ""),
                cause="they have the same files outside of the logbooks, documents left out",
                hint=hint,
            )
        if stated is None and (differed := [one.path for one in evaluator if one.differed]):
            display.progress(
                f"{listed(differed)} of {codes[0]} measures both sides; for each side's own: --evaluator {NONE}"
            )
        sides = zip(codes, trees, identities, strict=True)
        fresh = [_label(checkout, code, tree.commit, identity) for code, tree, identity in sides]
        labels = stated.question.values if stated is not None else fresh
        axis = AbAxis(
            name=CODE_AXIS,
            values=tuple(labels),
            configs={label: {CODE_AXIS: label} for label in labels},
            evaluator=evaluator,
        )
        lines = [
            f"- {label}: `{tree.commit}` {checkout.subject_of(tree.commit)}".rstrip()
            # A commit differs from its checkout where the evaluator of the base was brought in.
            + (", with changes" if facts.code.dirty and label.startswith(f"{WORK}+") else "")
            for label, tree, facts in zip(labels, trees, found, strict=True)
        ]
        yield CodeSides(
            axis=axis,
            checkout=checkout,
            trees=tuple(trees),
            code=dict(zip(labels, found, strict=True)),
            lines=tuple(lines),
        )


def _other_code(book: Book, request: AbRequest) -> str:
    """What to type where WORK has none of the changes that were to be measured."""
    like = book.entry(book.resolve(entry_of(request.like))) if request.like is not None else None
    code = like.comparison.code.values() if like is not None and like.comparison is not None else ()
    if like is not None and WORK in (request.codes or ()) and any(one.diff_sha256 for one in code):
        return f"apply the change of {like.id} first: logbook patch {like.id} --apply"
    return "name another commit: git log"


def _commit(checkout: Checkout, code: str | Code, afresh: str) -> str:
    if isinstance(code, Code):
        found = checkout.commit_of(code.commit) if code.commit is not None else None
        if found is None:
            commit = (code.commit or "")[:_COMMIT_CHARS]
            raise UsageError(
                f"the code {commit} is not in this clone" if commit else "the code is in no commit",
                cause="no branch or tag that was fetched holds it",
                hint=f"git fetch {ORIGIN} {code.commit}" if commit and checkout.has_origin() else afresh,
            )
        return found
    found = checkout.commit_of("HEAD" if code == WORK else code)
    if found is None:
        cause, hint = checkout.lacking()
        cause += f" ({WORK} is the working tree)"
        raise UsageError(f"--code: {code!r} is not a commit of this clone", cause=cause, hint=hint)
    return found


def _check_folder(checkout: Checkout, code: str | Code, tree: Tree) -> None:
    if not (tree.top / checkout.inside).is_dir():
        name = tree.commit[:_COMMIT_CHARS] if isinstance(code, Code) else code
        raise UsageError(
            f"{name} has no folder {checkout.inside}",
            cause="the command runs in the folder of the checkout in which it was typed",
            hint="cd into a folder that both have",
        )


def _label(checkout: Checkout, code: str, commit: str, identity: str | None) -> str:
    """`main@3f2a9c01d`; of a hash, or a name that moves on, the quoted subject of the commit; `WORK+a1b2c3d` with the
    digest of the whole tree."""
    if code == WORK:
        return f"{WORK}+{(identity or commit)[:_TREE_CHARS]}"
    if commit.startswith(code.lower()) or code.startswith(("HEAD", "@")):
        said = " ".join(checkout.subject_of(commit).replace("@", " ").split())
        subject = cut_line(said.replace('"', "'"), _SUBJECT_CHARS) or "commit"
        code = f'"{subject}"'
    return f"{code}@{commit[:_COMMIT_CHARS]}"


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


def _program(word: str, here: Path, folder: Path) -> str:
    """The first word of a command; absolute for a program that only the user's own tree has (`.venv/bin/python`)."""
    own = here / word
    return str(own) if "/" in word and own.exists() and not (folder / word).exists() else word


# -- the evaluator: what measures, which is the base's on both sides ----------------------------------


def _shared(
    checkout: Checkout, request: AbRequest, tops: Sequence[Path], stated: Comparison | None
) -> tuple[Evaluator, ...]:
    """The evaluator of the base, which is the first of these working trees, after it was brought into the others.
    Raises UsageError for a path that the base does not have."""
    base, *others = tops
    found = []
    for path in _evaluator_paths(checkout, request, tops, stated):
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


def _evaluator_paths(
    checkout: Checkout, request: AbRequest, tops: Sequence[Path], stated: Comparison | None
) -> list[str]:
    """Paths from the top of the repository."""
    here, given = checkout.top / checkout.inside, request.evaluator
    if stated is not None:
        return [one.path for one in stated.evaluator]
    if given == (NONE,) and not (here / NONE).exists():
        return []
    if given:
        return [os.path.relpath(here / path, checkout.top) for path in given]
    named = [path for path in files_named(request.run.argv, here).read if path.is_relative_to(checkout.top)]
    paths = [str(path.relative_to(checkout.top)) for path in named]
    return [path for path in paths if all((top / path).is_file() for top in tops)]
