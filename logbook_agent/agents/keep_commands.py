"""`logbook keep` and `discard`."""

from __future__ import annotations

from logbook_agent.agents.keeping import Decided, DecisionRequest, decide
from logbook_agent.cli.options import Common, Text, argument, option, prose_option
from logbook_agent.model.entry import DECISION
from logbook_agent.text.phrases import listed
from logbook_agent.text.shell_words import command_line

_ID = argument("ID", "The entry with the code.", ...)


def keep_command(
    *,
    about: str = _ID,
    why: Text = prose_option("--why TEXT", "Why it is kept."),
    commit: Text = option("--commit COMMIT", "The commit that holds the code, if it differs from what was measured."),
    common: Common,
) -> None:
    """Record that the code of an entry is kept.

    The decision names the commit that holds it. No file of the code is changed. A next action that was written before
    the runs, such as with `run --next`, is closed; one that was written after them stays open.

    Example: logbook keep MOE-I8-003 --why "9% more tokens/s at the same loss"
    """
    _decide("keep", DecisionRequest(about=about, kept=True, why=why, commit=commit), common)


def discard_command(
    *,
    about: str = _ID,
    why: Text = prose_option("--why TEXT", "Why it is given up; required."),
    common: Common,
) -> None:
    """Record that the code of an entry is discarded.

    The record of the idea stays. No file of the code is changed: `logbook patch` or git takes it back. A next action
    that was written before the runs is closed.

    Example: logbook discard MOE-I8-004 --why "2% slower at topk=8"
    """
    _decide("discard", DecisionRequest(about=about, kept=False, why=why), common)


def _decide(command: str, request: DecisionRequest, common: Common) -> None:
    book, decided = decide(common.space(), request)
    entry = decided.entry
    data = {
        "id": entry.id,
        "decides": entry.decides,
        "kept": entry.kept,
        "why": entry.text(DECISION),
        "commit": entry.commit,
        "is_committed": decided.is_committed,
        "closes": decided.closes,
        "entry": str(book.entry_path(entry.id)),
        "view": str(book.view_path),
    }
    common.emit(command, data, _text(decided))


def _text(decided: Decided) -> str:
    entry = decided.entry
    lines = [f"{'kept' if entry.kept else 'discarded'} {entry.decides} (decision {entry.id})"]
    if decided.closes:
        again = command_line(["logbook", "edit", entry.decides or "", "--next", decided.closes])
        lines.append(f"closes its next action, written before its runs: {decided.closes}; to leave it open: {again}")
    if entry.commit:
        more = "" if decided.is_committed else " and changes"
        lines.append(f"commit: {entry.commit[:9]}{', the one that was measured' if decided.is_measured else more}")
    if decided.undo:
        lines.append(f"to take its changes back: {decided.undo}")
        left = listed(decided.left, 3)
        lines += [f"changes to {left} stay: both sides were measured with the base's version"] if left else []
    if not decided.is_committed:
        lines.append(f"once its changes are committed, type again: logbook keep {entry.decides}")
    elif not decided.is_in_head:
        lines.append("HEAD does not hold this commit; once it is merged as another one (a squash or a rebase), type:")
        lines.append(f"  logbook keep {entry.decides} --commit HEAD")
    return "\n".join(lines)
