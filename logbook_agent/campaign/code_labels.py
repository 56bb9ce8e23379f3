"""What the sides of an A/B of code are called: `main@3f2a9c01d`, `WORK+a1b2c3d`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from logbook_agent.campaign.ab_request import AbRequest
from logbook_agent.campaign.checkouts import COMMIT_CHARS, WORK
from logbook_agent.model.comparison import CODE_AXIS, code_hash, code_name
from logbook_agent.model.entry import Entry, entry_of
from logbook_agent.running.order import Display
from logbook_agent.running.provenance.worktrees import Checkout
from logbook_agent.store.book import Book
from logbook_agent.text.markdown import cut_line

_TREE_CHARS, _SUBJECT_CHARS = 7, 40


def like_of(book: Book, request: AbRequest) -> Entry | None:
    """The entry whose command it is."""
    return book.entry(book.resolve(entry_of(request.like))) if request.like is not None else None


def other_code(like: Entry | None, request: AbRequest) -> str:
    """What to type where WORK has none of the changes that were to be measured."""
    code = like.comparison.code if like is not None and like.comparison is not None else {}
    if like is not None and WORK in (request.codes or ()) and any(one.diff_sha256 for one in code.values()):
        return f"apply the change of {like.id} first: logbook patch {like.id} --apply"
    return "name another commit: git log"


def named_before(like: Entry | None, request: AbRequest) -> dict[str, str]:
    """The labels of commits in the comparison whose command it is, by their hashes: hints name a commit by its
    hash, stop criteria by its branch."""
    question = like.comparison.question if like is not None and like.comparison is not None else None
    values = question.values if question is not None and question.axis == CODE_AXIS else ()
    return {code_hash(value): value for value in values if code_name(value) not in (request.codes or ())}


def say_moved(checkout: Checkout, codes: Sequence[str], known: Mapping[str, str], like: str, display: Display) -> None:
    """Name the branches that are another commit now than the one that is compared again."""
    names = [code_name(known.get(code, code)) for code in codes]
    for code, name in zip(codes, names, strict=True):
        now = checkout.commit_of(name) if code in known else None
        if now is not None and not now.startswith(code):
            typed = f"logbook ab --code {' '.join(names)} --like {like}"
            display.progress(f"{name} has moved on; this compares {code}, as before; for {now[:COMMIT_CHARS]}: {typed}")


def label_of(checkout: Checkout, code: str, commit: str, identity: str | None, known: Mapping[str, str]) -> str:
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
