"""Header and entry files (YAML that people edit) and run files (JSON by the tool) as values and back."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from logbook_agent.errors import RecordError
from logbook_agent.model.codec import CodecError, decode, encode
from logbook_agent.model.entry import Entry
from logbook_agent.model.header import Header
from logbook_agent.store.files import read_text, write_atomic, write_text
from logbook_agent.store.lines import line_of

if TYPE_CHECKING:
    from logbook_agent.model.run import Run

T = TypeVar("T")
FORMAT = 1


def read_header(path: Path) -> Header:
    return _decode(Header, _yaml(path), path)


def load_entry(path: Path) -> Entry:
    """An entry whatever its file is called."""
    return _decode(Entry, _yaml(path), path)


def read_entry(path: Path) -> Entry:
    entry = load_entry(path)
    if entry.id != path.stem:
        raise RecordError(
            f"{path.name} holds entry {entry.id}",
            cause="the file was renamed or copied by hand",
            hint=f"rename it to {entry.id}.yaml, or correct its id",
        )
    return entry


def read_run(path: Path) -> Run:
    # Loaded with the first run that is read: whoever only writes a note pays nothing for it.
    from logbook_agent.model.run import Run

    text = read_text(path)
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        found = RecordError(
            f"{_place(path)}, line {error.lineno}: {error.msg}",
            cause="the file was edited or cut off by something other than the tool",
            hint="restore it from git; the other entries are not affected",
        )
        found.line = error.lineno
        raise found from error
    return _decode(Run, data, path)


def entry_of(data: bytes, path: Path) -> Entry:
    """An entry of bytes that stand elsewhere, in git for example; `path` is named in errors."""
    return _decode(Entry, parse_yaml(data.decode("utf-8", "replace"), _place(path)), path)


def run_of(data: bytes, path: Path) -> Run:
    """A run of bytes that stand elsewhere."""
    from logbook_agent.model.run import Run

    return _decode(Run, json.loads(data), path)


def write_header(path: Path, header: Header, *, durable: bool = True) -> None:
    write_text(path, dump_yaml(encode(header)), durable=durable)


def write_entry(path: Path, entry: Entry, *, durable: bool = True) -> None:
    write_text(path, dump_yaml(encode(entry)), durable=durable)


def write_run(path: Path, run: Run, *, durable: bool = True) -> None:
    text = json.dumps(encode(run), ensure_ascii=False, indent=1, allow_nan=False)
    # backslashreplace turns a lone surrogate (an argument that is no UTF-8) into JSON's own escape.
    write_atomic(path, text.encode("utf-8", "backslashreplace") + b"\n", durable=durable)


def parse_yaml(text: str, where: str | Path) -> Any:
    """Plain data of YAML text. Raises RecordError with the place, line and column of the trouble."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return yaml.load(text, Loader=loader)  # noqa: S506  one of the two safe loaders
    except ValueError as error:
        # A plain scalar that looks like a date and is none: 2026-02-30.
        raise RecordError(
            f"{_place(where)}: {error}", cause="a value looks like a date and is none", hint="correct it, or quote it"
        ) from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        at = f", line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
        problem = getattr(error, "problem", None) or str(error).split("\n")[0]
        found = RecordError(
            f"{_place(where)}{at}: {problem}",
            cause="the file is not valid YAML",
            hint="correct that line; text of several lines is safest as a block: `text: |`",
        )
        found.line = mark.line + 1 if mark is not None else None
        raise found from error


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
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    Dumper.add_representer(str, represent_text)
    return Dumper


def _yaml(path: Path) -> Any:
    return parse_yaml(read_text(path), path)


def _decode(cls: type[T], data: Any, path: Path) -> T:
    check_format(data, path)
    try:
        return decode(cls, data)
    except CodecError as error:
        found = RecordError(
            f"{_place(path)}: {error}",
            cause="the record does not have the form this version writes",
            hint="correct the file, or restore it from git; the other entries are not affected",
        )
        found.line = line_of(read_text(path), str(error).split(": ")[0])
        raise found from error


def check_format(data: Any, path: Path, current: int = FORMAT) -> int:
    """The format of a record. Raises RecordError when this version does not read it."""
    number = data.get("format", current) if isinstance(data, dict) else current
    if not isinstance(number, int) or number == current:
        return current
    if number > current:
        raise RecordError(
            f"{_place(path)} has format {number}; this version reads up to {current}",
            cause="a newer logbook-agent wrote it",
            hint="upgrade with: pip install --upgrade logbook-agent",
        )
    raise RecordError(
        f"{_place(path)} has format {number}; this version reads format {current}",
        cause="an older logbook-agent wrote it",
        hint="logbook migrate",
    )


def _place(path: str | Path) -> str:
    """The file as a reader finds it: the last folders tell which entry and run it is."""
    if isinstance(path, str):
        return path
    return "/".join(path.parts[-4:] if path.name == "run.json" else path.parts[-2:])
