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
from logbook_agent.store.folder import PROSE_BYTES, RUN_BYTES, Folder
from logbook_agent.store.json_text import parse_json, place_of
from logbook_agent.store.names import renamed
from logbook_agent.store.parse import dump_yaml, line_of, parse_yaml

if TYPE_CHECKING:
    from logbook_agent.model.run import Run

T = TypeVar("T")
_R = TypeVar("_R", bound="Header | Entry | Run")
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
    return _decode(Header, renamed(parse_yaml(text, path), id_of), path, text)


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
    return _decode(Entry, data, path, text)


def run_of(text: str, path: Path) -> Run:
    # Loaded with the first run that is read: whoever only writes a note pays nothing for it.
    from logbook_agent.model.run import Run

    data = parse_json(text, path)
    if isinstance(data, dict):
        entry, run = path.parts[-3:-1]
        data |= {"entry": entry, "run": run_number(run), "name": f"{entry}/{run}"}
        for former in ("spool", "tool", "child"):
            data.pop(former, None)
    return _decode(Run, data, path, text)


def write(files: Folder, path: Path, record: Header | Entry | Run, whole_name: Callable[[str], str] = str) -> None:
    """Write a record: a run as JSON, the others as YAML. The file's own place says which entry and run it is;
    `whole_name` calls the entries that a header names. Nothing is written that could not be read again."""
    try:
        _check_names(record, path)
    except CodecError as error:
        raise RecordError(
            f"{place_of(path)} could not be read again: {error}",
            cause="a secret stands there, or what a rule of [[secret_rules]] in logbook.toml takes for one",
            hint="take the secret out, or make the rule narrower",
        ) from error
    data = {"format": FORMAT, **encode(record)}
    for key in ("id", "name", "entry", "run"):
        data.pop(key, None)
    if path.suffix == ".json":
        text, limit = json.dumps(data, ensure_ascii=False, indent=1, allow_nan=False) + "\n", RUN_BYTES
    else:
        text, limit = dump_yaml(renamed(data, whole_name) if isinstance(record, Header) else data), PROSE_BYTES
    if len(content := text.encode()) > limit:
        raise StoreError(
            f"{place_of(path)} would have {len(content)} bytes",
            cause=f"a file of this kind holds at most {limit // 2**20} MiB",
            hint="keep large texts in separate files, and name those",
        )
    files.write(path, content)


def _decode(cls: type[_R], data: Any, path: Path, text: str) -> _R:
    """A value of the data of a file, whose names are sound. `text` is what the file holds."""
    check_format(data, path)
    if isinstance(data, dict):
        data = {key: value for key, value in data.items() if value is not None and key != "format"}
    try:
        value = decode(cls, data)
        _check_names(value, path)
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
    if isinstance(number, int) and not 1 <= number <= FORMAT:
        is_newer = number > FORMAT
        raise RecordError(
            f"{place_of(path)} has format {number}; this version reads up to {FORMAT}",
            cause="a newer logbook-agent wrote it" if is_newer else "the number was changed by hand",
            hint="upgrade with: pip install --upgrade logbook-agent"
            if is_newer
            else f"correct the number: format: {FORMAT}",
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


def _check_names(record: Header | Entry | Run, path: Path) -> None:
    """Raise CodecError for a name that is none, and for a measurement of nothing. The topic of a logbook is the name of
    its folder, and its prefix makes IDs."""
    if isinstance(record, Header):
        _check("topic", record.topic, TOPIC, "lowercase letters, digits, - and _")
        if record.topic != (folder := path.parent.name):
            raise CodecError(f"expected {folder}, the name of its folder, got {record.topic}", ".topic")
        _check("prefix", record.prefix, PREFIX, "capital letters and digits, in words joined by -")
    elif isinstance(record, Entry):
        _check("id", record.id, _NAME, "PREFIX-NNN")
        if not record.opened:
            raise CodecError("missing: write when it began, such as 2026-02-10T10:43:00+00:00", ".opened")
        for key in RELATIONS:
            _check(key, getattr(record, key), _ID, "the ID of an entry, PREFIX-NNN")
        _check("commit", record.commit, _COMMIT, "the SHA of a commit")
        if record.recipe is not None:
            _check("recipe.name", record.recipe.name, _NAME, "the name of a recipe")
    else:
        _check("entry", record.entry, _NAME, "the ID of an entry, PREFIX-NNN")
        for place, row in enumerate(record.rows):
            for name, measurement in row.metrics.items():
                if not measurement.samples:
                    where = f".rows[{place}].metrics.{name}", ".samples"
                    raise CodecError("expected at least one sample, got none", *where)
        for kept in record.code.kept if record.code is not None else ():
            _check("code", kept, _KEPT, "kept files beside the record", most=_MOST_PATH)


def _check(place: str, name: str | None, wanted: re.Pattern[str], what: str, *, most: int = _MOST_CHARS) -> None:
    if name is not None and (len(name) > most or wanted.fullmatch(name) is None):
        shown = repr(name) if len(name) <= _MOST_CHARS else f"{len(name):,} characters"
        raise CodecError(f"expected {what}, got {shown}", f".{place}")
