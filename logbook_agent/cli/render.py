"""`logbook render`."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from logbook_agent.cli.options import Common
from logbook_agent.cli.output import emit
from logbook_agent.findings.read import read
from logbook_agent.pages.views import render


def render_command(
    *,
    discard_edits: Annotated[
        bool,
        Option(
            "--discard-edits", help="Also overwrite blocks edited by hand, after a backup; text between blocks stays."
        ),
    ] = False,
    common: Common,
) -> None:
    """Render the whole view again.

    Needed after changing templates or logbook.yaml. Example: logbook render
    """
    space = common.space()
    book = space.book()
    render(space, book, discard_edits=discard_edits)
    data = {
        "view": str(book.view_path),
        "entries": len(book.entry_ids()),
        "edited_by_hand": read(space, book).edited,
    }
    count = data["entries"]
    text = f"rendered {count} {'entry' if count == 1 else 'entries'} into {book.view_path}"
    emit("render", data, text, as_json=common.as_json, warnings=space.warnings)
