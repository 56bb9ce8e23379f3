"""What tells two codes of an A/B apart: what each is called (`main@3f2a9c01d`, `WORK+a1b2c3d`); and what measures both:
the evaluator, which is the base's."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from logbook_agent.campaign.ab_request import NONE, AbRequest
from logbook_agent.campaign.checkouts import COMMIT_CHARS, Tree
from logbook_agent.model.comparison import CODE_AXIS, WORK, Comparison, Evaluator, code_hash, code_name
from logbook_agent.model.entry import Entry, entry_of
from logbook_agent.model.errors import UsageError
from logbook_agent.running.order import Display
from logbook_agent.running.provenance.named_files import files_named, input_file
from logbook_agent.running.provenance.worktrees import bring
from logbook_agent.store.book import Book
from logbook_agent.text.commands.script import command_words
from logbook_agent.text.markdown import cut_line

_TREE_CHARS, _SUBJECT_CHARS = 7, 40


class SameCode(UsageError):
    """Raised where the codes that are to be compared are the same."""


def labels_of(
    book: Book,
    request: AbRequest,
    trees: Sequence[Tree],
    identities: Sequence[str | None],
    differed: str,
    display: Display,
) -> tuple[str, ...]:
    """What both codes are called, by their trees and identities. `differed`: files that measure them, and were not the
    same. Raises SameCode."""
    codes = request.codes or ("", "")
    like = book.entry(book.resolve(entry_of(request.like))) if request.like is not None else None
    if identities[0] == identities[1] is not None:
        raise SameCode(
            f"{codes[0]} and {codes[1]} are the same code"
            + (f" but for {differed}, which measures them" if differed else ""),
            cause="they have the same files outside of the logbooks, documents left out",
            hint=f"--evaluator {NONE} measures each with its own" if differed else _other_code(like, codes),
        )
    if differed:
        display.progress(f"{differed} of {codes[0]} measures both sides; for each side's own: --evaluator {NONE}")
    if request.names is not None:
        return request.names
    # Hints name a commit by its hash, stop criteria by its branch.
    question = like.comparison.question if like is not None and like.comparison is not None else None
    values = question.values if question is not None and question.axis == CODE_AXIS else ()
    known = {code_hash(value): value for value in values if code_name(value) not in codes}
    return tuple(_label(*each, known) for each in zip(codes, trees, identities, strict=True))


def _label(code: str, tree: Tree, identity: str | None, known: Mapping[str, str]) -> str:
    """`main@3f2a9c01d`; of a hash the label that is `known`; else of that, or of a name that moves on, the quoted
    subject of the commit; `WORK+a1b2c3d` with the digest of the whole tree."""
    if code == WORK:
        return f"{WORK}+{(identity or tree.commit)[:_TREE_CHARS]}"
    is_hash, commit = tree.commit.startswith(code.lower()), tree.commit[:COMMIT_CHARS]
    if is_hash and commit in known:
        return known[commit]
    if is_hash or code.startswith(("HEAD", "@")):
        said = " ".join(tree.checkout.subject_of(tree.commit).replace("@", " ").split())
        subject = cut_line(said.replace('"', "'"), _SUBJECT_CHARS) or "commit"
        code = f'"{subject}"'
    return f"{code}@{commit}"


def _other_code(like: Entry | None, codes: Sequence[str]) -> str:
    """What to type where WORK has none of the changes that were to be measured."""
    code = like.comparison.code if like is not None and like.comparison is not None else {}
    if like is not None and WORK in codes and any(one.diff_sha256 for one in code.values()):
        return f"apply the change of {like.id} first: logbook patch {like.id} --apply"
    return "name another commit: git log"


def shared_evaluator(trees: Sequence[Tree], request: AbRequest, stated: Comparison | None) -> tuple[Evaluator, ...]:
    """The evaluator of the base, which is the first of these working trees, after it was brought into the others.
    Raises UsageError for a path that the base does not have."""
    base, *others = [tree.top for tree in trees]
    found = []
    for path in _evaluator_paths(trees, request, stated):
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


def _evaluator_paths(trees: Sequence[Tree], request: AbRequest, stated: Comparison | None) -> list[str]:
    """Paths from the top of the repository."""
    checkout, given = trees[0].checkout, request.evaluator
    here = checkout.top / checkout.inside
    if stated is not None:
        return [one.path for one in stated.evaluator]
    if given == (NONE,) and not (here / NONE).exists():
        return []
    if given:
        return [os.path.relpath(here / path, checkout.top) for path in given]
    read = files_named(command_words(request.run.argv), here).read
    named = [path for path in read if path.is_relative_to(checkout.top)]
    paths = [str(path.relative_to(checkout.top)) for path in named]
    return [path for path in paths if all((tree.top / path).is_file() for tree in trees)]
