"""`logbook doctor`, `migrate` and `prune`."""

from __future__ import annotations

import re
from typing import Annotated, Any

from typer import Option

from logbook_agent.cli.options import Common, Text
from logbook_agent.cli.output import emit
from logbook_agent.doctor.finding import Trouble
from logbook_agent.model.errors import UsageError
from logbook_agent.store.workspace import Workspace

DryRunOption = Annotated[bool, Option("--dry-run", help="Say what would be done, and do nothing.")]
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def doctor_command(
    *,
    fix: Annotated[bool, Option("--fix", help="Fix what is safe to fix, after backups.")] = False,
    stop_id: Annotated[
        Text, Option("--stop", metavar="ID", help="Stop this entry's command if its logbook process is gone.")
    ] = None,
    secrets: Annotated[
        bool, Option("--secrets", help="Look for secrets in all files and in git's history; change nothing.")
    ] = False,
    common: Common,
) -> int:
    """Problems in the store.

    Exit code 1 when problems are left. Example: logbook doctor --fix
    """
    space = common.space()
    if secrets:
        return _secrets(space, fix=fix or stop_id is not None, as_json=common.as_json)
    if stop_id is not None:
        if fix:
            raise UsageError(
                "--stop and --fix cannot be used together",
                cause="one stops a command, the other repairs the store",
                hint=f"logbook doctor --stop {stop_id}, then: logbook doctor --fix",
            )
        return _stop(space, stop_id, as_json=common.as_json)
    from logbook_agent.doctor.examine import examine, summary

    book = space.book()
    found = examine(space, book, fix=fix)
    data = summary(book, found)
    emit("doctor", data, _text(space, data, found), as_json=common.as_json, warnings=space.warnings)
    return 0 if data["ok"] else 1


def _secrets(space: Workspace, *, fix: bool, as_json: bool) -> int:
    from logbook_agent.doctor.examine import summary
    from logbook_agent.doctor.secrets import find_secrets

    if fix:
        raise UsageError(
            "--fix and --stop cannot be used with --secrets",
            cause="the search for secrets changes nothing",
            hint="logbook doctor --secrets",
        )
    book = space.book()
    found = find_secrets(space, book)
    data = summary(book, found)
    emit("doctor", data, _text(space, data, found), as_json=as_json, warnings=space.warnings)
    return 0 if data["ok"] else 1


def _stop(space: Workspace, entry_id: str, *, as_json: bool) -> int:
    from logbook_agent.doctor.unfinished import stop

    found = stop(space, space.book(entry_id), entry_id)
    data = {"stopped": [{"id": s.run.entry, "run": s.run.run, "signal": s.signal} for s in found]}
    lines = [
        f"{s.run.entry} run {s.run.run}: ended{f' by {s.signal}' if s.signal else ''}, {len(s.run.rows)} rows kept"
        for s in found
    ]
    emit("doctor", data, "\n".join(lines), as_json=as_json, warnings=space.warnings)
    return 0


def _text(space: Workspace, data: dict[str, Any], found: list[Trouble]) -> str:
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


def _last_line(data: dict[str, Any]) -> str:
    counts = [
        f"{data[name]} {name.removesuffix('s') if data[name] == 1 else name}"
        for name in ("errors", "warnings", "notes")
        if data[name]
    ]
    mended = [f"{data['mended']} mended"] if data["mended"] else []
    verdict = "" if not data["ok"] else ", nothing is wrong" if counts or mended else "nothing is wrong"
    return f"{data['topic']}: {', '.join([*mended, *counts])}{verdict}"


def migrate_command(
    *,
    dry_run: DryRunOption = False,
    common: Common,
) -> None:
    """Upgrade a logbook from an older format.

    The old files are kept in TOPIC/backups/. Example: logbook migrate --dry-run
    """
    from logbook_agent.store.migrations import migrate

    space = common.space()
    book = space.book()
    done = migrate(book.folder, dry_run=dry_run, durable=book.durable)
    data = {
        "topic": book.topic,
        "from": done.old,
        "to": done.new,
        "dry_run": dry_run,
        "files": [str(p) for p in done.files],
        "backups": [str(p) for p in done.backups] if not dry_run else [],
    }
    text = f"{book.topic} has format {done.new}: nothing to migrate"
    if done.files:
        verb = "would migrate" if dry_run else "migrated"
        text = f"{verb} {len(done.files)} files of {book.topic} from format {done.old} to {done.new}"
        text += "" if dry_run else f"; the old ones are in {', '.join(str(p) for p in done.backups)}"
    emit("migrate", data, text, as_json=common.as_json, warnings=space.warnings)


def prune_command(
    *,
    keep_days: Annotated[
        int | None,
        Option(
            "--keep-days",
            metavar="N",
            help="Keep logs of runs that ended in the last N days; without --max-bytes, delete all older ones.",
        ),
    ] = None,
    max_bytes: Annotated[
        Text,
        Option(
            "--max-bytes", metavar="SIZE", help="Stop when all logs together fit in this: 500M, 2G. [logbook_bytes]"
        ),
    ] = None,
    dry_run: DryRunOption = False,
    common: Common,
) -> None:
    """Delete old output logs, never a record.

    The oldest go first; the head and the tail of each output stay in its record. Example: logbook prune --max-bytes 1G
    """
    from logbook_agent.doctor.leftovers import prune

    if keep_days is not None and keep_days < 0:
        raise UsageError(
            f"--keep-days {keep_days} is not a number of days", cause="it is negative", hint="--keep-days 30"
        )
    space = common.space()
    limit = _bytes(max_bytes) if max_bytes is not None else None
    done = prune(space, space.book(), keep_days=keep_days, max_bytes=limit, dry_run=dry_run)
    data = done.data(dry_run=dry_run)
    verb = "would delete" if dry_run else "deleted"
    lines = [f"{verb} {space.shown(log.path)}" for log in done.deleted]
    lines.append(
        f"{verb} {len(done.deleted)} logs of {_size(data['deleted_bytes'])};"
        f" {done.kept} of {_size(done.kept_bytes)} {'would be ' if dry_run else ''}left"
    )
    emit("prune", data, "\n".join(lines), as_json=common.as_json, warnings=space.warnings)


def _bytes(text: str) -> int:
    """`500M`, `2G`, `1.5GiB`, `4096`: powers of 1024."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise UsageError(
            f"--max-bytes {text!r} is not a size",
            cause="a size is a number, which K, M, G or T may follow",
            hint="write: 2G",
        )
    return int(float(match[1]) * _UNITS[match[2].upper()])


def _size(count: int) -> str:
    if count < 1024:
        return f"{count} B"
    size = count / 1024
    for unit in ("KiB", "MiB"):
        if size < 1024:
            return f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"
