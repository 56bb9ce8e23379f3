"""What a document is."""

from __future__ import annotations

from dataclasses import dataclass

Words = tuple[str, ...]

BOOK = "work/logbooks/moe"
# The whole names of its entries, by their IDs; and the folder of a run.
ENTRIES = {f"MOE-00{n}": f"MOE-00{n}.{uid}" for n, uid in enumerate(("7rrg2", "ejh6a", "6gyep", "wzy90", "7xw49"))}
RUN = f"{BOOK}/runs/{ENTRIES['MOE-002']}/01.1cs4e"
VIEW = "work/logbooks/moe.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A symbolic link. `{top}` is the folder around everything."""

    to: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipe:
    """A named pipe, which nobody writes to."""


Content = bytes | Link | Pipe


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """`path` lies below the folder around everything; None: it is handed to a reader or a server alone.

    `commands`: none for a document that goes to the readers alone. `name`: what a report of damage has to mention.
    """

    kind: str
    path: str | None
    content: Content
    commands: tuple[Words, ...] = ()
    name: str | None = None
