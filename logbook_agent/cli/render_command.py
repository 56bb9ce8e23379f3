"""`logbook render`."""

from __future__ import annotations

import shlex

from logbook_agent.cli.options import Common, flag
from logbook_agent.cli.output import say
from logbook_agent.pages.views import render, view_problem
from logbook_agent.store.workspace import ignore_view_in, naming
from logbook_agent.text.phrases import counted


def render_command(
    *,
    check: bool = flag("--check", "Write nothing; exit code 1 if the view is not as it would be rendered."),
    common: Common,
) -> int:
    """Render the whole view from the records.

    Needed after a template changed. A view that was changed by hand or by a merge is kept in your state folder
    first. Example: logbook render --check
    """
    space = common.space()
    book = space.book()
    data: dict[str, object] = {"view": str(book.view_path), "entries": (count := len(book.entry_ids()))}
    if not check:
        if space.config.ignore_views:
            ignore_view_in(book.files, book.topic)
        render(space, book)
        common.emit("render", data, f"rendered {counted(count, 'entry', 'entries')} into {book.view_path}")
        return 0
    problem = view_problem(space, book)
    data |= {
        "ok": problem is None,
        "problem": problem and problem.kind,
        "blocks": [] if problem is None else list(problem.blocks),
    }
    shown = space.shown(book.view_path)
    common.emit("render", data, f"{shown}: {problem}" if problem is not None else f"{shown} is up to date")
    if problem is not None and not common.as_json:
        say(f"next: {shlex.join(['logbook', *naming(space, book), 'render'])}")
    return 0 if problem is None else 1
