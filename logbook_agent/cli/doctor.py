"""`logbook doctor`."""

from __future__ import annotations

from logbook_agent.cli.declared import flag, number
from logbook_agent.cli.options import Common
from logbook_agent.doctor.examine import DoctorAnswer, examine, summary
from logbook_agent.doctor.leftovers import prune as prune_logs
from logbook_agent.model.errors import UsageError, exclusive
from logbook_agent.store.trouble import Trouble
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.phrases import counted, size_text

_KEPT_DAYS = 30


def doctor_command(
    *,
    fix: bool = flag("--fix", "Fix what is safe to fix."),
    prune: bool = flag("--prune", "Delete old output logs; head and tail stay in the record."),
    keep_days: int | None = number("--keep-days N", "With --prune: keep logs of the last N days. [30]"),
    dry_run: bool = flag("--dry-run", "With --prune: say what would be done, and do nothing."),
    common: Common,
) -> int:
    """Problems in the store.

    Exit code 1 when problems are left. Examples: logbook doctor --fix; logbook doctor --prune --keep-days 7
    """
    exclusive(
        {"--fix": fix, "--prune": prune},
        cause="they are different jobs",
        hint="run them one after the other",
    )
    if not prune and (dry_run or keep_days is not None):
        raise UsageError(
            f"{'--dry-run' if dry_run else '--keep-days'} needs --prune",
            cause="it is about the logs that are deleted",
            hint="logbook doctor --prune --dry-run",
        )
    space = common.space()
    if prune:
        _prune(common, _KEPT_DAYS if keep_days is None else keep_days, dry_run=dry_run)
        return 0
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


def _prune(common: Common, keep_days: int, *, dry_run: bool) -> None:
    if keep_days < 0:
        raise UsageError(
            f"--keep-days {keep_days} is not a number of days", cause="it is negative", hint="--keep-days 30"
        )
    space = common.space()
    done = prune_logs(space, space.book(), keep_days=keep_days, dry_run=dry_run)
    verb = "would delete" if dry_run else "deleted"
    lines = [f"{verb} {space.shown(log.path)}" for log in done.deleted]
    lines.append(
        f"{verb} {len(done.deleted)} logs of {size_text(done.deleted_bytes)};"
        f" {done.kept} of {size_text(done.kept_bytes)} {'would be ' if dry_run else ''}left"
    )
    common.emit("prune", done.data(dry_run=dry_run), "\n".join(lines))
