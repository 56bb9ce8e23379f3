"""`logbook render`."""

from __future__ import annotations

from collections.abc import Sequence

from logbook_agent.cli.declared import arguments, flag
from logbook_agent.cli.options import Common
from logbook_agent.cli.output import say
from logbook_agent.entries.absorb import AbsorbResult, absorb
from logbook_agent.findings.read import read
from logbook_agent.model.errors import UsageError, exclusive
from logbook_agent.pages.views import render
from logbook_agent.text.phrases import counted


def render_command(
    *,
    entry_ids: Sequence[str] = arguments("[ID...]", "With --absorb: only the blocks of these entries."),
    take_edits: bool = flag("--absorb", "Copy titles, confidence and fields edited in the view into the entries."),
    dry_run: bool = flag("--dry-run", "With --absorb: show what would change, and change nothing."),
    discard_edits: bool = flag(
        "--discard-edits", "Also overwrite blocks edited by hand, after a backup; text between blocks stays."
    ),
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
        return _absorb(common, entry_ids, dry_run=dry_run)
    book = space.book()
    render(space, book, discard_edits=discard_edits)
    count = len(book.entry_ids())
    data = {"view": str(book.view_path), "entries": count, "edited_by_hand": read(space, book).edited}
    common.emit("render", data, f"rendered {counted(count, 'entry', 'entries')} into {book.view_path}")
    return 0


def _absorb(common: Common, ids: Sequence[str], *, dry_run: bool) -> int:
    space = common.space()
    book = space.book(*ids[:1])
    outcome = absorb(space, book, ids, dry_run=dry_run)
    data = {
        "view": str(book.view_path),
        "dry_run": dry_run,
        "absorbed": [
            {"id": a.id, "changed": a.changed, **({"diff": a.diff} if dry_run else {})} for a in outcome.absorbed
        ],
        "refused": [{"id": r.id, "why": r.why} for r in outcome.refused],
    }
    text = _text(outcome, dry_run=dry_run) or f"nothing to absorb: no block of {book.view_path.name} was edited by hand"
    common.emit("absorb", data, text)
    if outcome.refused and not common.as_json:
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
