"""Header and entry files (YAML that people edit) and run files (JSON by the tool) as values and back."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from logbook_agent.model.codec import CodecError, decode, encode
from logbook_agent.model.entry import Entry
from logbook_agent.model.errors import RecordError, StoreError
from logbook_agent.model.header import Header
from logbook_agent.store.files import write_atomic
from logbook_agent.store.lines import line_of
from logbook_agent.store.names import check_entry, check_header, check_run, check_run_place
from logbook_agent.store.parse import parse_json, parse_yaml, place_of
from logbook_agent.store.reading import PROSE_BYTES, RUN_BYTES, read_text, text_of
from logbook_agent.text.redaction.records import clean_run

if TYPE_CHECKING:
    from logbook_agent.model.run import Run
    from logbook_agent.text.redaction import Redactor

T = TypeVar("T")
FORMAT = 1


def read_header(path: Path) -> Header:
    """The header of the logbook in whose folder `path` lies."""
    text = read_text(path, within=path.parents[1])
    return _decode(Header, parse_yaml(text, path), path, text, lambda header: check_header(header, path.parent.name))


def load_entry(path: Path) -> Entry:
    """An entry whatever its file is called."""
    text = read_text(path, within=path.parents[2])
    return _decode(Entry, parse_yaml(text, path), path, text, check_entry)


def read_entry(path: Path) -> Entry:
    entry = load_entry(path)
    if entry.id != path.stem:
        raise RecordError(
            f"{path.name} holds entry {entry.id}",
            cause="the file was renamed or copied by hand",
            hint=f"rename it to {entry.id}.yaml, or correct its id",
        )
    return entry


def load_run(path: Path, redactor: Redactor | None = None) -> Run:
    """A run whatever its place is; without its secrets where a redactor is given."""
    # Loaded with the first run that is read: whoever only writes a note pays nothing for it.
    from logbook_agent.model.run import Run

    text = read_text(path, within=path.parents[4], limit=RUN_BYTES)
    run = _decode(Run, parse_json(text, path), path, text, check_run)
    # One look at the text is cheap, and most runs hold none: what the tool writes has passed a redactor before.
    return clean_run(run, redactor) if redactor is not None and redactor.may_hold_some(text) else run


def read_run(path: Path, redactor: Redactor | None = None) -> Run:
    """A run that stands where its names say; without its secrets where a redactor is given."""
    run = load_run(path, redactor)
    try:
        check_run_place(run, path)
    except CodecError as error:
        raise RecordError(
            f"{place_of(path)}: {error}",
            cause="the file was moved or copied by hand, or a merge joined two runs",
            hint="logbook doctor",
        ) from error
    return run


def entry_of(data: bytes, path: Path) -> Entry:
    """An entry of bytes that stand elsewhere, in git for example; `path` is named in errors."""
    text = data.decode("utf-8", "replace")
    return _decode(Entry, parse_yaml(text, path), path, text, check_entry)


def run_of(data: bytes, path: Path) -> Run:
    """A run of bytes that stand elsewhere."""
    from logbook_agent.model.run import Run

    text = text_of(data, path)
    return _decode(Run, parse_json(text, path), path, text, check_run)


def write_header(path: Path, header: Header, *, durable: bool = True) -> None:
    _write(path, dump_yaml(encode(header)).encode(), path.parents[1], PROSE_BYTES, durable=durable)


def write_entry(path: Path, entry: Entry, *, durable: bool = True) -> None:
    _write(path, dump_yaml(encode(entry)).encode(), path.parents[2], PROSE_BYTES, durable=durable)


def write_run(path: Path, run: Run, *, durable: bool = True) -> None:
    text = json.dumps(encode(run), ensure_ascii=False, indent=1, allow_nan=False)
    _write(path, text.encode() + b"\n", path.parents[4], RUN_BYTES, durable=durable)


def _write(path: Path, data: bytes, within: Path, limit: int, *, durable: bool) -> None:
    """Nothing is written that could not be read again."""
    if len(data) > limit:
        raise StoreError(
            f"{place_of(path)} would have {len(data)} bytes",
            cause=f"a file of this kind holds at most {limit // 2**20} MiB",
            hint="keep large texts in separate files, and name those",
        )
    write_atomic(path, data, within=within, durable=durable)


def dump_yaml(data: Any) -> str:
    """YAML with block scalars for text of several lines, keys in their order."""
    import yaml

    text: str = yaml.dump(
        data, Dumper=_dumper(), sort_keys=False, allow_unicode=True, width=110, default_flow_style=False
    )
    return text


@cache
def _dumper() -> Any:
    import yaml

    # The pure-Python emitter: the C one ignores block style for text with long lines or wide characters.
    class Dumper(yaml.SafeDumper):
        pass

    def represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
        style = "|" if "\n" in text else None
        # YAML 1.1 counts them as ends of lines, and reads any but "\n" as something else.
        if not text.isascii() and any(end in text for end in "\x85\u2028\u2029"):
            style = '"'
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    Dumper.add_representer(str, represent_text)
    return Dumper


def _decode(cls: type[T], data: Any, path: Path, text: str, check: Callable[[T], None]) -> T:
    """A value of the data of a file, whose names are sound. `text` is what the file holds."""
    check_format(data, path)
    try:
        value = decode(cls, data)
        check(value)
    except CodecError as error:
        found = RecordError(
            f"{place_of(path)}: {error}",
            cause="the record does not have the form this version writes",
            hint="correct the file, or restore it from git; the other entries are not affected",
        )
        found.line = line_of(text, str(error).split(": ")[0])
        raise found from error
    return value


def check_format(data: Any, path: Path, current: int = FORMAT) -> int:
    """The format of a record. Raises RecordError when this version does not read it."""
    number = data.get("format", current) if isinstance(data, dict) else current
    if not isinstance(number, int) or number == current:
        return current
    if number > current:
        raise RecordError(
            f"{place_of(path)} has format {number}; this version reads up to {current}",
            cause="a newer logbook-agent wrote it",
            hint="upgrade with: pip install --upgrade logbook-agent",
        )
    raise RecordError(
        f"{place_of(path)} has format {number}; this version reads format {current}",
        cause="an older logbook-agent wrote it",
        hint="logbook migrate",
    )
