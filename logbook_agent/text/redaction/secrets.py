"""Values of secret-looking variables, and the forms in which programs print them."""

from __future__ import annotations

import base64
import functools
import json
import re
import shlex
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from logbook_agent.text.redaction.names import is_secret_value, mark, secret_kind

# Shorter values are too common as ordinary words to be replaced everywhere.
MIN_LENGTH = 8
# Nor is one such word looked for, which ordinary text has too (PGPASSWORD=postgres): hiding it there would tell it.
_ORDINARY = re.compile(r"[A-Z]?[a-z]{1,11}|[A-Z]{1,12}")
# A longer form is looked for in pieces, so that a stream need hold back no more than this.
MAX_FORM = 2048
# `base64` wraps at 76 columns.
_COLUMNS = 76


class Secret(Struct, frozen=True, kw_only=True):
    """A known value. It is shown as `$NAME`; one that has a `kind` was found under no variable's name, and is shown as
    `[redacted:KIND]`."""

    name: str
    value: str
    kind: str | None = None

    @property
    def shown(self) -> str:
        return f"${self.name}" if self.kind is None else mark(self.kind)


def is_looked_for(value: str) -> bool:
    """Whether a known secret is replaced wherever it stands, not behind its name alone."""
    return len(value) >= MIN_LENGTH and _ORDINARY.fullmatch(value) is None


def secrets_in(environ: Mapping[str, str], extra_names: Sequence[str] = ()) -> tuple[Secret, ...]:
    """Values of eight characters or more whose name looks secret or is in `extra_names`."""
    found: dict[str, str] = {}
    for name, value in environ.items():
        kind = secret_kind(name)
        is_known = kind is not None and is_looked_for(value) and is_secret_value(name, kind, value)
        if is_known or (name in extra_names and len(value) >= MIN_LENGTH):
            found.setdefault(value, name)
    return tuple(Secret(name=name, value=value) for value, name in found.items())


@functools.lru_cache(maxsize=1024)
def forms_of(value: str) -> tuple[str, ...]:
    """The value as it may be printed: each of its lines, quoted for a shell, JSON and addresses, in hexadecimal and in
    base64. None is short."""
    pieces = (form[at : at + MAX_FORM] for form in _forms(value) for at in range(0, len(form), MAX_FORM))
    return tuple(dict.fromkeys(piece for piece in pieces if len(piece) >= MIN_LENGTH))


def _forms(value: str) -> Iterator[str]:
    # The frame of a key block is no secret, and it is what the search for key blocks begins with.
    lines = [line.strip() for line in value.splitlines() if not line.startswith("-----")]
    for line in lines:
        yield from (line, json.dumps(line)[1:-1], json.dumps(line, ensure_ascii=False)[1:-1], repr(line)[1:-1])
        yield from (shlex.quote(line)[1:-1], json.dumps(line)[1:-1].replace("/", r"\/"))
    raw = value.encode("utf-8", "surrogateescape")
    plain = urllib.parse.quote(raw, safe="")
    strict = re.sub("[-._~]", lambda m: f"%{ord(m[0]):02X}", plain)
    for quoted in (plain, strict, urllib.parse.quote(raw, safe="/")):
        yield from (quoted, quoted.replace("%20", "+"), re.sub("%..", lambda m: m[0].lower(), quoted))
    yield from (raw.hex(), raw.hex().upper())
    yield from (base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode())
    for offset in range(3):
        # base64 inside something longer (`user:value`): only the characters that the neighbours have no part in.
        text = base64.b64encode(b"\0" * offset + raw).decode()
        text = text[(0, 2, 3)[offset] : (offset + len(raw)) * 8 // 6]
        for form in (text, text.replace("+", "-").replace("/", "_")):
            yield form
            yield from (form[i : i + _COLUMNS] for i in range(0, len(form), _COLUMNS) if len(form) > _COLUMNS)
