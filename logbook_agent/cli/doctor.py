"""`logbook doctor`."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from logbook_agent.cli.options import Common, Text
from logbook_agent.cli.output import emit
from logbook_agent.doctor.examine import DoctorAnswer, examine, summary
from logbook_agent.doctor.leftovers import prune as prune_logs
from logbook_agent.doctor.unfinished import stop as stop_orphan
from logbook_agent.model.errors import UsageError
from logbook_agent.store.trouble import Trouble
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.phrases import size_text

_KEPT_DAYS = 30


def doctor_command(
    *,
    fix: Annotated[bool, Option("--fix", help="Fix what is safe to fix, after backups.")] = False,
    stop_id: Annotated[
        Text, Option("--stop", metavar="ID", help="Stop this entry's command if its logbook process is gone.")
    ] = None,
    prune: Annotated[bool, Option("--prune", help="Delete old output logs; head and tail stay in the record.")] = False,
    keep_days: Annotated[
        int | None, Option("--keep-days", metavar="N", help="With --prune: keep logs of the last N days. [30]")
    ] = None,
    dry_run: Annotated[bool, Option("--dry-run", help="With --prune: say what would be done, and do nothing.")] = False,
    common: Common,
) -> int:
    """Problems in the store.

    Exit code 1 when problems are left. Examples: logbook doctor --fix; logbook doctor --prune --keep-days 7
    """
    jobs = {"--fix": fix, "--stop": stop_id is not None, "--prune": prune}
    asked = [name for name, given in jobs.items() if given]
    _refuse_mixed(asked, keep=keep_days is not None, dry_run=dry_run)
    space = common.space()
    if prune:
        days = keep_days if keep_days is not None else _KEPT_DAYS
        _prune(space, days, dry_run=dry_run, as_json=common.as_json)
        return 0
    if stop_id is not None:
        _stop(space, stop_id, as_json=common.as_json)
        return 0
    book = space.book()
    found = examine(space, book, fix=fix)
    data = summary(book, found)
    emit("doctor", data, _text(space, data, found), as_json=common.as_json, warnings=space.warnings)
    return 0 if data["ok"] else 1


def _refuse_mixed(asked: list[str], *, keep: bool, dry_run: bool) -> None:
    """Raise UsageError when options are of different jobs."""
    if len(asked) > 1:
        raise UsageError(
            f"cannot combine {asked[0]} and {asked[1]}",
            cause="run them one after the other",
            hint=f"logbook doctor {asked[0]}, then: logbook doctor {asked[1]}",
        )
    if keep and asked != ["--prune"]:
        raise UsageError(
            "--keep-days needs --prune",
            cause="it says which logs are kept",
            hint="logbook doctor --prune --keep-days 7",
        )
    if dry_run and asked != ["--prune"]:
        raise UsageError(
            "--dry-run needs --prune",
            cause="without --fix, logbook doctor changes nothing",
            hint="logbook doctor",
        )


def _stop(space: Workspace, entry_id: str, *, as_json: bool) -> None:
    found = stop_orphan(space, space.book(entry_id), entry_id)
    data = {"stopped": [{"id": s.run.entry, "run": s.run.run, "signal": s.signal} for s in found]}
    lines = [
        f"{s.run.entry} run {s.run.run}: ended{f' by {s.signal}' if s.signal else ''}, {len(s.run.rows)} rows kept"
        for s in found
    ]
    emit("doctor", data, "\n".join(lines), as_json=as_json, warnings=space.warnings)


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
        f"{count} {name}{'s' * (count != 1)}"
        for count, name in ((data["errors"], "error"), (data["warnings"], "warning"), (data["notes"], "note"))
        if count
    ]
    mended = [f"{data['mended']} mended"] if data["mended"] else []
    verdict = "" if not data["ok"] else ", nothing is wrong" if counts or mended else "nothing is wrong"
    return f"{data['topic']}: {', '.join([*mended, *counts])}{verdict}"


def _prune(space: Workspace, keep_days: int, *, dry_run: bool, as_json: bool) -> None:
    if keep_days < 0:
        raise UsageError(
            f"--keep-days {keep_days} is not a number of days", cause="it is negative", hint="--keep-days 30"
        )
    done = prune_logs(space, space.book(), keep_days=keep_days, dry_run=dry_run)
    data = done.data(dry_run=dry_run)
    verb = "would delete" if dry_run else "deleted"
    lines = [f"{verb} {space.shown(log.path)}" for log in done.deleted]
    lines.append(
        f"{verb} {len(done.deleted)} logs of {size_text(done.deleted_bytes)};"
        f" {done.kept} of {size_text(done.kept_bytes)} {'would be ' if dry_run else ''}left"
    )
    emit("prune", data, "\n".join(lines), as_json=as_json, warnings=space.warnings)
