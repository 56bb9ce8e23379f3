"""`logbook render`."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from logbook_agent.cli.options import Common, Texts
from logbook_agent.cli.output import emit, say
from logbook_agent.entries.absorb import AbsorbResult, absorb
from logbook_agent.findings.read import read
from logbook_agent.model.errors import UsageError, exclusive
from logbook_agent.pages.views import render
from logbook_agent.store.workspace import Workspace


def render_command(
    *,
    entry_ids: Annotated[
        Texts, Argument(metavar="[ID...]", help="With --absorb: only the blocks of these entries.")
    ] = None,
    take_edits: Annotated[
        bool, Option("--absorb", help="Copy titles, confidence and fields edited in the view into the entries.")
    ] = False,
    dry_run: Annotated[
        bool, Option("--dry-run", help="With --absorb: show what would change, and change nothing.")
    ] = False,
    discard_edits: Annotated[
        bool,
        Option(
            "--discard-edits", help="Also overwrite blocks edited by hand, after a backup; text between blocks stays."
        ),
    ] = False,
    common: Common,
) -> int:
    """Render the whole view again.

    Needed after changing templates. With --absorb, exit code 1 when an edit is left in the view:
    values that come from runs are not copied. Example: logbook render --absorb --dry-run
    """
    exclusive(
        {"--absorb": take_edits, "--discard-edits": discard_edits},
        cause="one copies hand edits into the entries, the other drops them",
    )
    if not take_edits and (entry_ids or dry_run):
        raise UsageError(
            f"{'--dry-run' if dry_run else 'an ID'} needs --absorb",
            cause="without it, the whole view is rendered",
            hint="logbook render --absorb --dry-run",
        )
    space = common.space()
    if take_edits:
        return _absorb(space, entry_ids or [], dry_run=dry_run, as_json=common.as_json)
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
    return 0


def _absorb(space: Workspace, ids: list[str], *, dry_run: bool, as_json: bool) -> int:
    book = space.book(ids[0] if ids else None)
    outcome = absorb(space, book, ids, dry_run=dry_run)
    absorbed: list[dict[str, object]] = [{"id": a.id, "changed": list(a.changed)} for a in outcome.absorbed]
    if dry_run:
        for line, a in zip(absorbed, outcome.absorbed, strict=True):
            line["diff"] = a.diff
    data = {
        "view": str(book.view_path),
        "dry_run": dry_run,
        "absorbed": absorbed,
        "refused": [{"id": r.id, "why": r.why} for r in outcome.refused],
    }
    text = _text(outcome, dry_run=dry_run) or f"nothing to absorb: no block of {book.view_path.name} was edited by hand"
    emit("absorb", data, text, as_json=as_json, warnings=space.warnings)
    if outcome.refused and not as_json:
        say("next: undo those edits, or discard them with: logbook render --discard-edits")
    return 1 if outcome.refused else 0


def _text(outcome: AbsorbResult, *, dry_run: bool) -> str:
    lines = []
    for a in outcome.absorbed:
        what = ", ".join(a.changed) or "nothing new, only its layout differed"
        lines.append(f"{'would absorb' if dry_run else 'absorbed'} {a.id}: {what}")
        if dry_run and a.diff:
            lines.append(a.diff)
    lines += [f"not absorbed {r.id}: {r.why}" for r in outcome.refused]
    return "\n".join(lines)
