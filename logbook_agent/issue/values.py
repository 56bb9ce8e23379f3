"""The two sides of a plan: what the logbook has to say, apart from how it is put, and the issue as read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

# open: not settled yet, so it waits. void: nothing to tell, unless it was told before.
Stage = Literal["settled", "open", "void"]
IssueState = Literal["open", "closed"]
# The name of an account.
LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}(?:\[bot\])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryWanted:
    """One entry as it stands now. `linked`: it can be read at a pushed commit. `pictured`: so can all the plots that it
    names, of which there are some. `mark` tells it from an entry that another clone gave the same ID; `aliases` are IDs
    that it had before it was renumbered.
    """

    id: str
    digest: str
    mark: str = ""
    aliases: tuple[str, ...] = ()
    stage: Stage = "settled"
    linked: bool = False
    pictured: bool = False
    supersedes: str | None = None

    @property
    def name(self) -> str:
        """What it is called in markers."""
        return marked_name(self.id, self.mark)


def marked_name(entry_id: str, mark: str) -> str:
    return f"{entry_id}.{mark}" if mark else entry_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """`book` is the logbook's key in markers. `trusted`: whose markers count. `managed`: the block is known to have
    been written, so it must be there. `chosen`: only these entries go out, whatever their stage.
    `snapshots`: name and commit of each. `final`: digest of how the thread ended, `final_of` of what it
    ended with. `unreadable`: entries whose
    records are damaged; what was told of them stays, and nothing is counted without them.
    """

    book: str
    entries: tuple[EntryWanted, ...] = ()
    chosen: tuple[str, ...] = ()
    snapshots: tuple[tuple[str, str], ...] = ()
    final: str | None = None
    final_of: str = ""
    trusted: frozenset[str] = frozenset()
    managed: bool = False
    new_block: bool = False
    unreadable: tuple[str, ...] = ()

    def trusting(self, login: str) -> Wanted:
        return replace(self, trusted=self.trusted | {login})


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """IDs ascend with the time a comment was made."""

    id: int
    url: str
    author: str
    body: str
