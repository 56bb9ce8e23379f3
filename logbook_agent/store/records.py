"""Header and entry files (YAML that people edit) and run files (JSON by the tool) as values and back.

What a record's form does not say is checked where it is read: above all names that become part of a path, so that none
leads elsewhere.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

from logbook_agent.model.codec import CodecError, decode, encode
from logbook_agent.model.entry import PREFIX, RELATIONS, TOPIC, Entry, typed_id
from logbook_agent.model.errors import RecordError, StoreError
from logbook_agent.model.header import Header
from logbook_agent.model.values import UID, as_written, run_number
from logbook_agent.store.folder import Folder
from logbook_agent.store.names import PROSE_BYTES, RUN_BYTES, renamed
from logbook_agent.store.parse import dump_yaml, line_of, parse_json, parse_yaml, place_of

if TYPE_CHECKING:
    from logbook_agent.model.run import Run

T = TypeVar("T")
FORMAT = 2
# What changed later than this before it was read is not kept: a second change could not be told from the first.
RACY_NS = 1_000_000_000
# Device, inode, time of the last change of any kind (ns), size.
Stamp: TypeAlias = tuple[int, int, int, int]
# What this process has read, by file.
_read: dict[Path, tuple[Stamp, Any]] = {}
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_ID = re.compile(rf"{PREFIX.pattern}-(?:\d{{3}}|[1-9]\d{{3,}})(?:\.{UID.pattern})?", re.ASCII)
# A file in `code/` of the logbook, or, from earlier versions, in the folder of the run.
_KEPT = re.compile(r"(?:(?!\.\.?/)[^/\0]+/)?(?!\.\.?\Z)[^/\0]+")
# A file system has names of 255 bytes, of which an ID, a number and an ending need some.
_MOST_CHARS, _MOST_PATH = 200, 512
# What a larger file holds takes more memory than it takes time to read again.
_KEPT_BYTES = 2**21


def read_header(files: Folder, path: Path, id_of: Callable[[str], str] = str) -> Header:
    """The header of the logbook in whose folder `path` lies; `id_of` calls the entries that it names."""
    text = files.text(path)
    return _decode(
        Header,
        renamed(parse_yaml(text, path), id_of),
        path,
        text,
        lambda header: check_header(header, path.parent.name),
    )


def read_entry(files: Folder, path: Path) -> Entry:
    """An entry, with the names of its file and of other entries as they stand there."""
    return _once(path, lambda: entry_of(files.text(path), path))


def _once(path: Path, load: Callable[[], T]) -> T:
    """What `load` makes of a file. A file that this process has read and that did not change is not read again."""
    stamp = file_stamp(path)
    known = _read.get(path)
    if known is not None and known[0] == stamp:
        return cast(T, known[1])
    value = load()
    is_certain = stamp is not None and time.time_ns() - stamp[2] > RACY_NS
    if stamp is not None and is_certain and stamp[3] <= _KEPT_BYTES:
        _read[path] = stamp, value
    return value


def file_stamp(path: Path) -> Stamp | None:
    """Changes whenever the file does; None where it cannot be looked at."""
    try:
        state = path.lstat()
    except OSError:
        return None
    return state.st_dev, state.st_ino, state.st_ctime_ns, state.st_size


def read_run(files: Folder, path: Path) -> Run:
    """A run, which is the one that its folders name."""
    return _once(path, lambda: run_of(files.text(path, limit=RUN_BYTES), path))


def entry_of(text: str, path: Path) -> Entry:
    data = parse_yaml(text, path)
    if isinstance(data, dict):
        data = {**_entry_data(data), "id": path.stem, "name": path.stem}
    return _decode(Entry, data, path, text, check_entry)


def run_of(text: str, path: Path) -> Run:
    # Loaded with the first run that is read: whoever only writes a note pays nothing for it.
    from logbook_agent.model.run import Run

    data = parse_json(text, path)
    if isinstance(data, dict):
        entry, run = path.parts[-3:-1]
        data |= {"entry": entry, "run": run_number(run), "name": f"{entry}/{run}"}
        for former in ("spool", "tool", "child"):
            data.pop(former, None)
    return _decode(Run, data, path, text, check_run)


def write_header(
    files: Folder, path: Path, header: Header, whole_name: Callable[[str], str] = str, *, durable: bool = True
) -> None:
    _check_readable(path, header, lambda header: check_header(header, path.parent.name))
    text = dump_yaml(renamed(_stored(header), whole_name))
    files.write(path, _checked(path, text.encode(), PROSE_BYTES), durable=durable)


def write_entry(files: Folder, path: Path, entry: Entry, *, durable: bool = True) -> None:
    _check_readable(path, entry, check_entry)
    files.write(path, _checked(path, dump_yaml(_stored(entry)).encode(), PROSE_BYTES), durable=durable)


def _stored(record: Any) -> dict[str, Any]:
    """A record as its file holds it: the file's own place says which entry and run it is."""
    data = encode(record)
    for key in ("id", "name", "entry", "run"):
        data.pop(key, None)
    return {"format": FORMAT, **data}


def write_run(files: Folder, path: Path, run: Run, *, durable: bool = True) -> None:
    _check_readable(path, run, check_run)
    text = json.dumps(_stored(run), ensure_ascii=False, indent=1, allow_nan=False)
    files.write(path, _checked(path, text.encode() + b"\n", RUN_BYTES), durable=durable)


def _check_readable(path: Path, record: T, check: Callable[[T], None]) -> None:
    """Nothing is written that could not be read again."""
    try:
        check(record)
    except CodecError as error:
        raise RecordError(
            f"{place_of(path)} could not be read again: {error}",
            cause="a secret stands there, or what a rule of [[secret_rules]] in logbook.toml takes for one",
            hint="take the secret out, or make the rule narrower",
        ) from error


def _checked(path: Path, data: bytes, limit: int) -> bytes:
    """The content of a file, if it could be read again."""
    if len(data) > limit:
        raise StoreError(
            f"{place_of(path)} would have {len(data)} bytes",
            cause=f"a file of this kind holds at most {limit // 2**20} MiB",
            hint="keep large texts in separate files, and name those",
        )
    return data


def _decode(cls: type[T], data: Any, path: Path, text: str, check: Callable[[T], None]) -> T:
    """A value of the data of a file, whose names are sound. `text` is what the file holds."""
    check_format(data, path)
    if isinstance(data, dict):
        data = {key: value for key, value in data.items() if value is not None and key != "format"}
    try:
        value = decode(cls, data)
        check(value)
    except CodecError as error:
        found = RecordError(
            f"{place_of(path)}: {error}",
            cause="the record does not have the form this version writes",
            hint="correct the file, or restore it from git",
        )
        found.line = line_of(text, str(error).split(": ")[0])[0]
        raise found from error
    return value


def check_format(data: Any, path: Path) -> None:
    """Raise RecordError for a record of a format that this version does not read."""
    number = data.get("format", FORMAT) if isinstance(data, dict) else FORMAT
    if isinstance(number, int) and number > FORMAT:
        raise RecordError(
            f"{place_of(path)} has format {number}; this version reads up to {FORMAT}",
            cause="a newer logbook-agent wrote it",
            hint="upgrade with: pip install --upgrade logbook-agent",
        )
    if isinstance(number, int) and number < 1:
        raise RecordError(
            f"{place_of(path)} has format {number}, which no version writes",
            cause="the number was changed by hand",
            hint=f"correct the number: format: {FORMAT}",
        )


# -- an entry as people write it ---------------------------------------------------------------------

_FIELD_KEYS = {"label", "text"}


def _entry_data(data: Mapping[str, Any]) -> dict[str, Any]:
    """The data of an entry, whose `fields` may be a mapping of labels to texts."""
    found = {**data, "opened": data.get("opened") or ""}  # `check_entry` says what to write
    if "fields" in found:
        found["fields"] = _fields(found["fields"])
    for relation in RELATIONS:
        if isinstance(target := found.get(relation), str):
            found[relation] = typed_id(target)
    found.pop("aliases", None)  # of earlier versions: no entry gets another ID any more
    return found


def _fields(value: object) -> list[object]:
    fields: list[object] = []
    for item in value if isinstance(value, list) else [value]:
        if not isinstance(item, Mapping):
            fields.append(item)
        elif _FIELD_KEYS & item.keys():
            fields.append({key: _prose(text) if key == "text" else text for key, text in item.items()})
        else:
            fields += [{"label": label, "text": _prose(text)} for label, text in item.items()]
    return fields


def _prose(value: object) -> str:
    """Markdown of a text, or of what YAML takes for something else: `- speed: 3x` is a list of a mapping."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_prose(item)}" for key, item in value.items())
    if isinstance(value, list):
        return "\n".join("- " + _prose(item).strip("\n").replace("\n", "\n  ") for item in value)
    return as_written(value)


# -- names that become part of a path --------------------------------------------------------------


def check_header(header: Header, folder: str) -> None:
    """Raise CodecError unless the topic is the name of the logbook's folder, and the prefix makes IDs."""
    _check("topic", header.topic, TOPIC, "lowercase letters, digits, - and _")
    if header.topic != folder:
        raise CodecError(f"expected {folder}, the name of its folder, got {header.topic}", ".topic")
    _check("prefix", header.prefix, PREFIX, "capital letters and digits, in words joined by -")


def check_entry(entry: Entry) -> None:
    """Raise CodecError for a name that is none."""
    _check("id", entry.id, _NAME, "PREFIX-NNN")
    if not entry.opened:
        raise CodecError("missing: write when it began, such as 2026-02-10T10:43:00+00:00", ".opened")
    for key in RELATIONS:
        target = getattr(entry, key)
        if target is not None:
            _check(key, target, _ID, "the ID of an entry, PREFIX-NNN")
    if entry.commit is not None:
        _check("commit", entry.commit, _COMMIT, "the SHA of a commit")
    if entry.recipe is not None:
        _check("recipe.name", entry.recipe.name, _NAME, "the name of a recipe")


def check_run(run: Run) -> None:
    """Raise CodecError for a name that is none, and for a measurement of nothing."""
    _check("entry", run.entry, _NAME, "the ID of an entry, PREFIX-NNN")
    for place, row in enumerate(run.rows):
        for name, measurement in row.metrics.items():
            if not measurement.samples:
                raise CodecError("expected at least one sample, got none", f".rows[{place}].metrics.{name}", ".samples")
    for kept in run.code.kept if run.code is not None else ():
        _check("code", kept, _KEPT, "kept files beside the record", most=_MOST_PATH)


def _check(place: str, name: str, wanted: re.Pattern[str], what: str, *, most: int = _MOST_CHARS) -> None:
    if len(name) > most or wanted.fullmatch(name) is None:
        shown = repr(name) if len(name) <= _MOST_CHARS else f"{len(name):,} characters"
        raise CodecError(f"expected {what}, got {shown}", f".{place}")
