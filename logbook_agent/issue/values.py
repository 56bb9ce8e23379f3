"""The values of a sync: the issue as read, what it should show, and the writes that bring it there."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct, field

# Who writes in a repository, as GitHub says of the author of a comment.
_WRITERS = ("OWNER", "MEMBER", "COLLABORATOR")

IssueState = Literal["open", "closed"]


class Issue(Struct, frozen=True, kw_only=True):
    """`author` and the authors of comments are login names; `body` is what the server holds, to the byte."""

    number: int
    url: str
    title: str
    body: str
    author: str
    state: IssueState = "open"
    locked: bool = False


class Comment(Struct, frozen=True, kw_only=True):
    """IDs ascend with the time a comment was made. `association` of its author with the repository, as GitHub says."""

    id: int
    url: str
    author: str
    body: str
    association: str = "NONE"

    def counts(self, login: str) -> bool:
        """Whether a marker in it may be ours: its author writes in the repository, or is our own account."""
        return self.association in _WRITERS or self.author == login


class SyncedEntry(Struct, frozen=True, kw_only=True):
    """One entry as it stands now. `name`: its whole name, which markers have; `stage`: an open entry waits, a void one
    is told only if it was before. `shown`: 1 if it can be read at a pushed commit, and 1 for each of its pictures and
    files that can."""

    id: str
    name: str
    digest: str
    stage: Literal["settled", "open", "void"] = "settled"
    shown: int = 0


class Wanted(Struct, frozen=True, kw_only=True):
    """What the issue should show. `book` is the logbook's key in markers. `login`: the account of the token, once the
    host was asked. `chosen`: only these entries are posted, whatever their stage. `snapshots`: name and commit of
    each. `final`: digest of how the thread ended, `final_of` of what it ended with. `unreadable`: entries whose
    records are damaged; nothing that was written is changed without them."""

    book: str
    entries: tuple[SyncedEntry, ...] = ()
    chosen: tuple[str, ...] = ()
    snapshots: tuple[tuple[str, str], ...] = ()
    final: str | None = None
    final_of: str = ""
    login: str = ""
    new_block: bool = False
    unreadable: tuple[str, ...] = ()


class SyncRequest(Struct, frozen=True, kw_only=True):
    """The options of `sync`. `entries`: only these are posted, whatever their stage. `digest`: of the plan that a dry
    run showed; no other is carried out."""

    create: bool = False
    repository: str | None = None
    labels: Sequence[str] = ()
    entries: Sequence[str] = ()
    dry_run: bool = False
    new_block: bool = False
    digest: str | None = None


class Write(Struct, frozen=True, kw_only=True):
    """One write. `what` says which, for people; `document` is the kind of a comment and `about` names what it tells of;
    `old` is the text that `text` replaces, `comment` the number of the comment that is edited or deleted."""

    kind: Literal["create", "block", "post", "edit", "delete", "close"]
    what: str
    text: str = ""
    old: str = ""
    document: str = ""
    about: tuple[str, ...] = ()
    comment: int | None = None

    def diff(self) -> list[str]:
        """The change, as lines that begin with `+`, `-` or a blank."""
        if not self.old:
            return [f"+{line}" for line in self.text.split("\n")] if self.text else []
        lines = difflib.unified_diff(self.old.split("\n"), self.text.split("\n"), n=2, lineterm="")
        return list(lines)[2:] if self.text else []  # without the two lines that name files

    def data(self) -> dict[str, object]:
        """The write as plain data, without its texts."""
        values: dict[str, object] = {"step": self.what}
        values |= {"about": list(self.about)} if self.kind in ("post", "edit") else {}
        values |= {"comment": self.comment} if self.comment is not None else {}
        return values | ({"bytes": len(self.text.encode())} if self.text else {})


class SyncPlan(Struct, frozen=True, kw_only=True):
    """The writes in order; `warnings` name what was found and left alone."""

    writes: tuple[Write, ...] = ()
    warnings: tuple[str, ...] = ()


class Links(Struct, frozen=True, kw_only=True):
    """Where the files of a logbook can be read by others, at a pushed commit; None where what stands here now has not
    been pushed.

    `view` is the rendered logbook at `commit`. `entries` has, by ID, where the entry starts in that view; an entry
    whose file differs from the pushed one is left out. `files` has, by their path in the folder of the logbook, where
    pictures of plots and files that runs left are served, if the pushed file is the one that is here. `why` says in a
    few words why there is no commit.
    """

    commit: str | None = None
    view: str | None = None
    entries: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    why: str = "not pushed"
