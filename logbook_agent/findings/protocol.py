"""What findings ask of a logbook: its records as values. `store.book.Book` gives them; nothing here reads a disk."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, Self

from msgspec import Struct

from logbook_agent.findings.cases import Case
from logbook_agent.model.comparison import WORK, Comparison
from logbook_agent.model.entry import Entry
from logbook_agent.model.header import Header
from logbook_agent.model.record import Contents, Record, Summaries
from logbook_agent.model.run import Run

if TYPE_CHECKING:
    from logbook_agent.model.summary import Summary

ELSEWHERE = "elsewhere"


class TypingPlace(Struct, frozen=True, kw_only=True):
    """The place where commands are typed, for advice that names codes: in its repository the commit `of` a branch,
    whether it `knows` the name of a code, the commit of a branch if another name has the same `code`, which code a side
    of a comparison has now if that is `another` one, and where its code is `held`: in WORK, by a name such as HEAD, by
    another branch or a diff that was kept (ELSEWHERE), or nowhere; where the code here `keeps` what the tested side of
    a comparison changed, by a name or in WORK alone; which of some commits are `gone`; whether the code here `is_of` a
    row; the options with which an A/B `tells` a commit from another one, or from WORK, by the command of a row (None
    where they are the same code); and the path from there of a `folder` as records name it. By default it is the top
    of a repository of which nothing is known."""

    of: Callable[[str], str | None] = lambda name: None
    knows: Callable[[str], bool] = lambda name: True
    code: Callable[[str, str], str | None] = lambda name, other: None
    another: Callable[[Comparison, str], str] = lambda stated, side: ""
    held: Callable[[Comparison, str, str], str] = lambda stated, side, name: ELSEWHERE
    keeps: Callable[[Comparison, str], str] = lambda stated, name: WORK
    folder: Callable[[str], str] = lambda place: place
    gone: Callable[[Collection[str]], Collection[str]] = lambda commits: ()
    is_of: Callable[[Case], bool] = lambda case: False
    tells: Callable[[str, str, Case], str | None] = lambda commit, other, case: ""


NOWHERE = TypingPlace()


class Records(Protocol):
    """The records of one logbook. Each method raises NotFound or StoreError for what cannot be read."""

    @property
    def topic(self) -> str:
        """The name of the logbook."""

    @property
    def header(self) -> Header:
        """The header as it was read last."""

    def outgoing(self) -> Self:
        """The same logbook, of which what is read holds no secret."""

    def reread_header(self) -> Header:
        """The header as it stands now."""

    def entry_ids(self) -> list[str]:
        """The IDs of all entries, in the order of their numbers."""

    def resolve(self, entry_id: str) -> str:
        """The present ID of the entry that is, or was, called this."""

    def entry(self, entry_id: str) -> Entry:
        """One entry."""

    def entry_text(self, entry_id: str) -> str:
        """The text of an entry's file."""

    def runs(self, entry_id: str) -> tuple[Run, ...]:
        """The runs of an entry, in order."""

    def run_named(self, entry_id: str, text: str) -> int:
        """The number of the run of an entry that is called this."""

    def record(self, entry_id: str) -> Record:
        """One entry with its runs."""

    def contents(self, known: Mapping[str, Record] | None = None) -> Contents:
        """All records; `known` are not read again."""

    def summaries(self, summarise: Callable[[Record], Summary]) -> Summaries:
        """What `summarise` says of each record, kept from call to call while its files stay the same."""


class Clock(Protocol):
    """What knows the time: `store.workspace.Workspace`."""

    @property
    def now(self) -> Callable[[], datetime]:
        """What tells the time, with a zone."""
