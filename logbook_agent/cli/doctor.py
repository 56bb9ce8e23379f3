"""`logbook doctor`."""

from __future__ import annotations

from logbook_agent.cli.options import Common, flag
from logbook_agent.doctor.examine import DoctorAnswer, examine, summary
from logbook_agent.store.trouble import Trouble
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.phrases import counted


def doctor_command(
    *,
    fix: bool = flag("--fix", "Fix what is safe to fix."),
    common: Common,
) -> int:
    """Problems in the store.

    Exit code 1 when problems are left. Example: logbook doctor --fix
    """
    space = common.space()
    book = space.book()
    found = examine(space, book, fix=fix)
    data = summary(book, found)
    common.emit("doctor", data, _text(space, data, found))
    return 0 if data["ok"] else 1


def _text(space: Workspace, data: DoctorAnswer, found: list[Trouble]) -> str:
    lines = []
    for finding in found:
        place = _place(space, finding)
        lines.append(f"{'mended' if finding.mended else finding.severity}: {place}{finding.message}")
        says = finding.mended or finding.mend
        if says:
            lines.append(f"  {'done' if finding.mended else 'next'}:  {says}")
    return "\n".join([*lines, _last_line(data)])


def _place(space: Workspace, finding: Trouble) -> str:
    """`FILE:LINE: ` as editors understand it, unless the message starts with the file itself."""
    path = finding.path
    if path is None:
        return ""
    shown = space.shown(path)
    return f"{shown}:{finding.line}: " if finding.line is not None else f"{shown}: "


def _last_line(data: DoctorAnswer) -> str:
    counts = [
        counted(count, name)
        for count, name in ((data["errors"], "error"), (data["warnings"], "warning"), (data["notes"], "note"))
        if count
    ]
    mended = [f"{data['mended']} mended"] if data["mended"] else []
    verdict = "" if not data["ok"] else ", nothing is wrong" if counts or mended else "nothing is wrong"
    return f"{data['topic']}: {', '.join([*mended, *counts])}{verdict}"
