"""Records of an older format, brought to the current one: checked as a whole first, then backed up, then written.

The header comes last, and every other command refuses a logbook whose header is of an older format. So a
migration that is cut off anywhere is gone on with by the same command, and nobody sees half of one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from logbook_agent.model.codec import CodecError, decode
from logbook_agent.model.entry import Entry
from logbook_agent.model.errors import RecordError, StoreError
from logbook_agent.model.header import Header
from logbook_agent.model.run import Run
from logbook_agent.store.files import locked, make_folder, write_atomic
from logbook_agent.store.parse import parse_json, parse_yaml
from logbook_agent.store.processes import is_alive
from logbook_agent.store.reading import PROSE_BYTES, RUN_BYTES, read_bytes, read_text
from logbook_agent.store.records import FORMAT, check_format, dump_yaml

Kind = Literal["header", "entry", "run"]
# From plain data of one format to plain data of the next; the engine sets `format`.
Migration = Callable[[dict[str, Any], Kind], dict[str, Any]]

# Format 1 is the first.
MIGRATIONS: Mapping[int, Migration] = {}

_CLASSES: dict[Kind, type[Any]] = {"header": Header, "entry": Entry, "run": Run}


@dataclass(frozen=True, slots=True, kw_only=True)
class Migrated:
    """`old`: the oldest format that was found; `files`: those that had (or would have) to be changed."""

    old: int
    new: int
    files: tuple[Path, ...] = ()
    backups: tuple[Path, ...] = ()


def migrate(
    folder: Path,
    *,
    dry_run: bool = False,
    migrations: Mapping[int, Migration] = MIGRATIONS,
    current: int = FORMAT,
    durable: bool = True,
) -> Migrated:
    """Bring every record below a logbook's folder to the format `current`.

    Raises RecordError for a record that is newer, that cannot be read or would not fit afterwards; then nothing
    was changed. Raises StoreError while a run goes on.
    """
    root = folder.parent
    with locked(folder / ".lock", within=root):
        found: dict[Path, int] = {}
        for path, kind in _records(folder):
            data = _read(path, root)
            old = _format(data, path, current)
            if old < current:
                _migrated(data, kind, path, old, current, migrations)
                found[path] = old
        if found and not dry_run:
            _refuse_while_running(folder)
            for path, old in found.items():
                _back_up(path, _backup_of(folder, path, old), root, durable=durable)
            for path, kind in _records(folder):
                if path in found:
                    data = _migrated(_read(path, root), kind, path, found[path], current, migrations)
                    write_atomic(path, _dump(data, path), within=root, durable=durable)
    folders = sorted({folder / "backups" / f"format-{old}" for old in found.values()})
    return Migrated(old=min(found.values(), default=current), new=current, files=tuple(found), backups=tuple(folders))


def _records(folder: Path) -> Iterator[tuple[Path, Kind]]:
    """Every record, the header last."""
    for path in sorted((folder / "entries").glob("*.yaml")):
        yield path, "entry"
    for path in sorted((folder / "runs").glob("*/*/run.json")):
        yield path, "run"
    yield folder / "logbook.yaml", "header"


def _read(path: Path, root: Path) -> dict[str, Any]:
    is_run = path.suffix == ".json"
    text = read_text(path, within=root, limit=RUN_BYTES if is_run else PROSE_BYTES)
    place = "/".join(path.parts[-4:] if is_run else path.parts[-2:])
    try:
        data = parse_json(text, place) if is_run else parse_yaml(text, place)
    except RecordError as error:
        raise _unfit(error.message) from error
    if not isinstance(data, dict):
        raise _unfit(f"{place}: expected a mapping, got {type(data).__name__}")
    return data


def _format(data: dict[str, Any], path: Path, current: int) -> int:
    number = data.get("format", current)
    if isinstance(number, int) and number < current:
        return number
    return check_format(data, path, current)


def _migrated(
    data: dict[str, Any], kind: Kind, path: Path, old: int, current: int, migrations: Mapping[int, Migration]
) -> dict[str, Any]:
    """Plain data of the current format, which fits its class."""
    for number in range(old, current):
        if number not in migrations:
            raise _unfit(f"{path.name} has format {number}, which no migration starts from")
        changed = migrations[number](dict(data), kind)
        data = {"format": number + 1, **{k: v for k, v in changed.items() if k != "format"}}
    try:
        decode(_CLASSES[kind], data)
    except CodecError as error:
        raise _unfit(f"{path.parent.name}/{path.name} does not match format {current}: {error}") from error
    return data


def _unfit(message: str) -> RecordError:
    return RecordError(
        message,
        cause="the record does not match its format; nothing was changed",
        hint="correct that file, or restore it from git, then: logbook doctor --migrate",
    )


def _dump(data: dict[str, Any], path: Path) -> bytes:
    if path.suffix == ".json":
        text = json.dumps(data, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
        return text.encode("utf-8", "backslashreplace")
    return dump_yaml(data).encode()


def _backup_of(folder: Path, path: Path, old: int) -> Path:
    return folder / "backups" / f"format-{old}" / path.relative_to(folder)


def _back_up(path: Path, backup: Path, root: Path, *, durable: bool) -> None:
    make_folder(backup.parent, within=root)
    write_atomic(backup, read_bytes(path, within=root, limit=RUN_BYTES), within=root, durable=durable)


def _refuse_while_running(folder: Path) -> None:
    """A tool that still works on a run would write its record in the old format."""
    for marker in sorted((folder / "open").glob("*.*")):
        entry_id, _, number = marker.name.rpartition(".")
        path = folder / "runs" / entry_id / number / "run.json"
        data = _read(path, folder.parent) if path.is_file() else {}
        if data.get("exit") is not None:
            continue
        processes = [p for p in (data.get("tool"), data.get("child")) if isinstance(p, dict)]
        living = [p["pid"] for p in processes if is_alive(p)]
        if living:
            raise StoreError(
                f"{entry_id} has a run in progress (pid {living[0]})",
                cause="its record would be written in the old format",
                hint="wait for it to end, then: logbook doctor --migrate",
            )
