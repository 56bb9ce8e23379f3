"""The leases of a logbook, a file each: `TOPIC/leases/ID.json`."""

from __future__ import annotations

import json
import os
import re
import secrets

from logbook_agent.model.codec import CodecError, decode, encode
from logbook_agent.model.errors import RecordError
from logbook_agent.model.lease import Lease, wrong_in
from logbook_agent.store.book import Book
from logbook_agent.store.files import make_folder, write_atomic
from logbook_agent.store.parse import parse_json, place_of
from logbook_agent.store.reading import names_in, read_text
from logbook_agent.text.redaction.plain import clean_record

_FOLDER = "leases"
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,80}")
_BYTES = 64 * 1024


def new_id(book: Book, allocator: str) -> str:
    """What a new lease is called, here and at its allocator; nobody else has that name."""
    words = re.sub(r"[^a-z0-9]+", "-", f"{book.header.prefix}-{allocator}".lower()).strip("-")
    return f"{words[:60]}-{secrets.token_hex(4)}"


def leases(book: Book) -> list[Lease]:
    """All leases, the latest last. Raises RecordError for a file that cannot be read."""
    folder = book.folder / _FOLDER
    names = [name.removesuffix(".json") for name in names_in(folder, within=book.root) if name.endswith(".json")]
    found = [_read(book, name) for name in names if _NAME.fullmatch(name)]
    return sorted(found, key=lambda lease: (lease.requested, lease.id))


def write_lease(book: Book, lease: Lease) -> Lease:
    """Write a lease without secrets; returns what was written."""
    lease = clean_record(lease, book.redactor)
    make_folder(book.folder / _FOLDER, within=book.root)
    data = json.dumps(encode(lease), ensure_ascii=False, indent=1).encode("utf-8", "replace") + b"\n"
    write_atomic(book.folder / _FOLDER / f"{lease.id}.json", data, within=book.root, durable=book.durable)
    return lease


def has_leases(book: Book) -> bool:
    return os.path.isdir(book.folder / _FOLDER)  # noqa: PTH112 - most logbooks have none


def _read(book: Book, name: str) -> Lease:
    path = book.folder / _FOLDER / f"{name}.json"
    try:
        lease = decode(Lease, parse_json(read_text(path, within=book.root, limit=_BYTES), path))
        if lease.id != name:
            raise CodecError(f"id: {lease.id!r} is not the name of its file")
        if (wrong := wrong_in(lease)) is not None:
            raise CodecError(wrong)
    except (CodecError, ValueError) as error:
        raise RecordError(
            f"{place_of(path)}: {error}", cause="it was changed by hand", hint="logbook doctor"
        ) from error
    return lease
