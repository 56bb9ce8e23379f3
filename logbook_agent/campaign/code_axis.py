"""The code as the axis of an A/B: two commits, or a commit and the working tree, each in a checkout of its own."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from logbook_agent.campaign.ab_axis import AbAxis
from logbook_agent.campaign.ab_request import NONE, AbRequest, Sides, setup_of
from logbook_agent.campaign.checkouts import COMMIT_CHARS, WORK, in_trees, placed_in
from logbook_agent.campaign.code_guard import CodeGuard, looks_at
from logbook_agent.campaign.repeats import prepared
from logbook_agent.model.code import Code
from logbook_agent.model.comparison import CODE_AXIS, Comparison, Evaluator, code_hash, code_name
from logbook_agent.model.entry import entry_of
from logbook_agent.model.errors import CommandNotFound, UsageError
from logbook_agent.running.order import Display
from logbook_agent.running.provenance.git import CodeFacts
from logbook_agent.running.provenance.inputs import input_file
from logbook_agent.running.provenance.named_files import files_named
from logbook_agent.running.provenance.worktrees import Checkout, bring
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.markdown import cut_line
from logbook_agent.text.phrases import listed

# Of one length, which is part of what a program meets: its path.
_NAMES = ("base", "head")
_TREE_CHARS, _SUBJECT_CHARS = 7, 40


@contextlib.contextmanager
def sides_of_codes(
    workspace: Workspace, book: Book, request: AbRequest, display: Display, stated: Comparison | None
) -> Iterator[Sides]:
    """Both codes as sides, while their checkouts are there; those that are `stated` as they were recorded. Their labels
    are such as `main@3f2a9c01d` and `WORK+a1b2c3d`. Raises UsageError where one is no commit, or both are the same
    code, and StoreError where git cannot check one out."""
    codes, run = request.codes or ("", WORK), request.run
    recorded = [stated.code[side] for side in stated.question.values] if stated is not None else codes
    named: dict[str, str | Code] = dict(zip(_NAMES, recorded, strict=True))
    with in_trees(workspace, run, "--code", named, display, book) as (checkout, trees):
        evaluator = _shared(checkout, request, [tree.top for tree in trees], stated)
        placed = [placed_in(workspace, run, checkout, tree) for tree in trees]
        is_built = request.setup is not None
        try:
            commands = tuple(prepared(workspace, one, is_built=is_built) for one in placed)
        except CommandNotFound as error:
            error.hint = "if a build makes it, have it made in each checkout: add --setup 'COMMAND'"
            raise
        guard = CodeGuard(looks_at(workspace, book.root, commands), {tree.folder: tree.name for tree in trees})
        facts = [guard.facts(command) or CodeFacts() for command in commands]
        differed = listed([one.path for one in evaluator if one.differed])
        if stated is None and facts[0].code.identity == facts[1].code.identity is not None:
            raise UsageError(
                f"{codes[0]} and {codes[1]} are the same code"
                + (f" but for {differed}, which measures them" if differed else ""),
                cause="they have the same files outside of the logbooks, documents left out",
                hint="--evaluator none measures each with its own" if differed else "name another commit: git log",
            )
        if stated is None and differed:
            display.progress(f"{differed} of {codes[0]} measures both sides; for each side's own: --evaluator {NONE}")
        sides = list(zip(codes, trees, facts, strict=True))
        known = _named_before(book, request)
        if stated is None:
            _say_moved(checkout, codes, known, display)
        labels = tuple(_label(checkout, code, tree.commit, found.code.identity, known) for code, tree, found in sides)
        labels = stated.question.values if stated is not None else labels
        configs = {label: {CODE_AXIS: label} for label in labels}
        yield Sides(
            axis=AbAxis(name=CODE_AXIS, values=labels, configs=configs, evaluator=evaluator),
            argv=run.argv,
            commands=commands,
            guard=guard,
            code=dict(zip(labels, facts, strict=True)),
            branches={
                label: checkout.branch() if code == WORK else checkout.branches_at(tree.commit)
                for label, (code, tree, _) in zip(labels, sides, strict=True)
            },
            setup=tuple(command for one in placed for command in setup_of(workspace, request, one)),
            lines=tuple(
                f"- {label}: `{tree.commit}` {checkout.subject_of(tree.commit)}".rstrip()
                # A commit differs from its checkout where the evaluator of the base was brought in.
                + (", with changes" if found.code.dirty and label.startswith(f"{WORK}+") else "")
                for label, (_, tree, found) in zip(labels, sides, strict=True)
            ),
        )


def _named_before(book: Book, request: AbRequest) -> dict[str, str]:
    """The labels of commits in the comparison whose command it is, by their hashes: hints name a commit by its
    hash, stop criteria by its branch."""
    like = book.entry(book.resolve(entry_of(request.like))).comparison if request.like is not None else None
    values = like.question.values if like is not None and like.question.axis == CODE_AXIS else ()
    return {code_hash(value): value for value in values if code_name(value) not in (request.codes or ())}


def _say_moved(checkout: Checkout, codes: Sequence[str], known: Mapping[str, str], display: Display) -> None:
    """Name the branches that are another commit now than the one that is compared again."""
    names = [code_name(known.get(code, code)) for code in codes]
    for code, name in zip(codes, names, strict=True):
        now = checkout.commit_of(name) if code in known else None
        if now is not None and not now.startswith(code):
            typed = " ".join(names)
            display.progress(
                f"{name} has moved on; this compares {code}, as before; for {now[:COMMIT_CHARS]}: --code {typed}"
            )


def _label(checkout: Checkout, code: str, commit: str, identity: str | None, known: Mapping[str, str]) -> str:
    """`main@3f2a9c01d`; of a hash the label that is `known`; else of that, or of a name that moves on, the
    quoted subject of the commit; `WORK+a1b2c3d` with the digest of the whole tree."""
    if code == WORK:
        return f"{WORK}+{(identity or commit)[:_TREE_CHARS]}"
    is_hash = commit.startswith(code.lower())
    if is_hash and commit[:COMMIT_CHARS] in known:
        return known[commit[:COMMIT_CHARS]]
    if is_hash or code.startswith(("HEAD", "@")):
        said = " ".join(checkout.subject_of(commit).replace("@", " ").split())
        subject = cut_line(said.replace('"', "'"), _SUBJECT_CHARS) or "commit"
        code = f'"{subject}"'
    return f"{code}@{commit[:COMMIT_CHARS]}"


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
