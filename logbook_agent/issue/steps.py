"""The values of a plan: the content that is wanted, the issue as read, and the steps, each one write."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

# Texts of comments are rendered when they are asked for, once: a long plan is made at once, and the next text in
# the pause between two writes.
Render: TypeAlias = Callable[[], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Create:
    """Open the issue, with the block as its body."""

    repository: str
    title: str
    labels: tuple[str, ...]
    text: str

    def __str__(self) -> str:
        labels = f" with labels {', '.join(self.labels)}" if self.labels else ""
        return f"open an issue in {self.repository}{labels}: {self.title}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteBlock:
    """Replace the block in the issue's body, or add it. `old` is its text now, None when there is none."""

    text: str
    old: str | None

    def __str__(self) -> str:
        return "write the block of the issue's body" if self.old is not None else "add the block to the issue's body"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentStep:
    """A comment of ours. `render` gives its text, with its marker."""

    kind: str
    about: tuple[str, ...] = ()
    render: Render = field(compare=False, repr=False)

    @property
    def text(self) -> str:
        return self.render()


@dataclass(frozen=True, slots=True, kw_only=True)
class Post(CommentStep):
    """A new one."""

    def __str__(self) -> str:
        return f"comment: {self.kind} {_span(self.about)}".rstrip()


@dataclass(frozen=True, slots=True, kw_only=True)
class EditStep(CommentStep):
    """An existing one, written anew."""

    comment: int
    old: str

    def __str__(self) -> str:
        return f"edit comment {self.comment}: {_span(self.about) or self.kind}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    """A duplicate of an older comment of ours."""

    comment: int
    of: int

    def __str__(self) -> str:
        return f"delete comment {self.comment}, a duplicate of {self.of}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Close:
    """Close the issue as completed."""

    def __str__(self) -> str:
        return "close the issue"


Step: TypeAlias = Create | WriteBlock | Post | EditStep | Delete | Close


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncPlan:
    """The steps in order; `warnings` name what was found and left alone."""

    steps: tuple[Step, ...] = ()
    warnings: tuple[str, ...] = ()


def check_texts(steps: Sequence[Step]) -> None:
    """Render the first text of each kind, so that a template that does not fit is met before anything is written."""
    first = {(type(s), s.kind): s for s in reversed(steps) if isinstance(s, CommentStep)}
    for step in first.values():
        step.render()


def step_diff(step: Step) -> list[str]:
    """The change of a step, as lines that begin with `+`, `-` or a blank."""
    if isinstance(step, WriteBlock):
        return _diff(step.old or "", step.text)
    if isinstance(step, EditStep):
        return _diff(step.old, step.text)
    return [f"+{line}" for line in step.text.split("\n")] if isinstance(step, Create | Post) else []


def step_values(step: Step) -> dict[str, object]:
    """A step as plain data, without its texts."""
    values: dict[str, object] = {"step": str(step)}
    if isinstance(step, CommentStep):
        values["about"] = list(step.about)
    if isinstance(step, EditStep | Delete):
        values["comment"] = step.comment
    if not isinstance(step, Delete | Close):
        values["bytes"] = len(step.text.encode())
    return values


def _diff(old: str, new: str) -> list[str]:
    lines = difflib.unified_diff(old.split("\n") if old else [], new.split("\n"), n=2, lineterm="")
    # Without the two lines that name files.
    return list(lines)[2:]


def _span(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) < 4 else f"{min(names)} to {max(names)} ({len(names)} entries)"


# open: not settled yet, so it waits. void: nothing to tell, unless it was told before.
Stage = Literal["settled", "open", "void"]
IssueState = Literal["open", "closed"]
# The name of an account.
LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}(?:\[bot\])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryWanted:
    """One entry as it stands now. `linked`: it can be read at a pushed commit. `pictured`: so can all the plots that it
    names, or pictures that its runs left, of which there are some. `name`: its whole name, which markers have.
    """

    id: str
    digest: str
    name: str
    stage: Stage = "settled"
    linked: bool = False
    pictured: bool = False
    supersedes: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The content that the issue should show. `book` is the logbook's key in markers. `login`: the account of the
    token, once the host was asked. `managed`: the block is known to have been written, so it must be there. `chosen`:
    only these entries go out, whatever their stage. `snapshots`: name and commit of each. `final`: digest of how the
    thread ended, `final_of` of what it ended with. `unreadable`: entries whose records are damaged; what was told of
    them stays, and nothing is counted without them."""

    book: str
    entries: tuple[EntryWanted, ...] = ()
    chosen: tuple[str, ...] = ()
    snapshots: tuple[tuple[str, str], ...] = ()
    final: str | None = None
    final_of: str = ""
    login: str = ""
    managed: bool = False
    new_block: bool = False
    unreadable: tuple[str, ...] = ()


class Documents(Protocol):
    """The texts of an issue, none longer than `room` bytes."""

    def block(self, room: int) -> str: ...

    def update_of(self, entry_ids: Sequence[str], room: int) -> str: ...

    def snapshot_of(self, name: str, room: int) -> str: ...

    def final(self, room: int) -> str: ...


# -- the issue ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """`author` and the authors of comments are login names; `body` is what the server holds, to the byte."""

    number: int
    url: str
    title: str
    body: str
    author: str
    state: IssueState = "open"
    locked: bool = False


# Who is more to a repository than a passer-by.
_WRITERS = ("OWNER", "MEMBER", "COLLABORATOR")


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """IDs ascend with the time a comment was made. `association` of its author with the repository, as GitHub says."""

    id: int
    url: str
    author: str
    body: str
    association: str = "NONE"

    def counts(self, login: str) -> bool:
        """Whether a marker in it may be ours: its author writes in the repository, or is our own account."""
        return self.association in _WRITERS or self.author == login
