"""The command to type next, with everything that it takes to be about the same."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from logbook_agent.model.errors import UsageError
from logbook_agent.store.book import Book
from logbook_agent.store.locate import choose
from logbook_agent.store.workspace import Workspace


def naming(workspace: Workspace, book: Book | None) -> list[str]:
    """`-L TOPIC`, where a command that does not say so would not be about this logbook."""
    if book is None:
        return []
    try:
        found = choose(workspace.root, workspace.environ, workspace.config, None)
    except UsageError:
        return ["-L", book.topic]
    return [] if found.topic == book.topic else ["-L", book.topic]


def sweep_command(
    recipe: str,
    *more: str,
    scale: str | None = None,
    sets: Sequence[str] = (),
    on: str | None = None,
    named: Sequence[str] = (),
) -> str:
    """What to type to carry out a recipe; `named` says in which logbook, and `more` stands at the end."""
    words = ["logbook", "sweep", recipe, *named]
    words += ["--scale", scale] if scale is not None else []
    words += [word for text in sets for word in ("--set", text)]
    words += ["--on", on] if on is not None else []
    return shlex.join([*words, *more])
