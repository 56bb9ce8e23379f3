"""Values of secret-looking variables, and the forms in which programs print them."""

from __future__ import annotations

import base64
import binascii
import bisect
import functools
import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from logbook_agent.text.redaction.names import is_secret_value, mark, secret_kind

# Shorter values are too common as ordinary words to be replaced everywhere.
MIN_LENGTH = 8
# Nor is one such word looked for, which ordinary text has too (PGPASSWORD=postgres): hiding it there would tell it.
_ORDINARY = re.compile(r"[A-Z]?[a-z]{1,11}|[A-Z]{1,12}")
# A longer value is looked for in pieces, so that a stream need hold back no more than this.
MAX_FORM_BYTES = 8192
_URL_SAFE = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
# `base64` wraps at 76 columns, PEM at 64.
_BASE64_COLUMNS = (76, 64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """A known value. It is shown as `$NAME`; one that has a `kind` was found under no variable's name, and is shown as
    `[redacted:KIND]`."""

    name: str
    value: str
    kind: str | None = None

    @property
    def forms(self) -> tuple[str, ...]:
        """The texts that it is found by."""
        return forms(self.value)

    @property
    def shown(self) -> str:
        return f"${self.name}" if self.kind is None else mark(self.kind)


def is_looked_for(value: str) -> bool:
    """Whether a known secret is replaced wherever it stands, not behind its name alone."""
    return len(value) >= MIN_LENGTH and _ORDINARY.fullmatch(value) is None


def secrets_in(environ: Mapping[str, str], extra_names: Sequence[str] = ()) -> tuple[Secret, ...]:
    """Values of eight characters or more whose name looks secret or is in `extra_names`."""
    extra = frozenset(extra_names)
    found: dict[str, str] = {}
    for name, value in environ.items():
        if len(value) < MIN_LENGTH:
            continue
        kind = secret_kind(name)
        if name in extra or (kind is not None and is_looked_for(value) and is_secret_value(name, kind, value)):
            found.setdefault(value, name)
    return tuple(Secret(name=name, value=value) for value, name in found.items())


@functools.lru_cache(maxsize=1024)
def forms(value: str) -> tuple[str, ...]:
    """The value as it may be printed: line by line, quoted, escaped for JSON, HTML and addresses, reversed, in
    hexadecimal, in base32 and in base64; none is short."""
    length = MAX_FORM_BYTES // 4
    found = itertools.chain(_as_it_stands(value), _encoded(value))
    pieces = (form[start : start + length] for form in found for start in range(0, len(form), length))
    return tuple(dict.fromkeys(piece for piece in pieces if len(piece) >= MIN_LENGTH))


def _as_it_stands(value: str) -> Iterator[str]:
    lines = [line.strip() for line in value.splitlines()]
    # The frame of a key block is no secret, and it is what the rule for key blocks looks for.
    yield from (line for line in lines if not line.startswith("-----"))
    if len(lines) == 1:
        yield value
        yield value.replace("\\", "\\\\").replace('"', '\\"')
        yield value.replace("\\", "\\\\").replace("'", "\\'")
        yield value.replace("'", "'\"'\"'")
        yield value.replace('"', '""')
        yield value.replace("'", "''")
        yield json.dumps(value)[1:-1]
        yield from _html(value)


def _html(value: str) -> Iterator[str]:
    """The value in HTML and XML, whose writers spell quotes in several ways, or leave them; and as JSON in a script."""
    escaped = value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for double, single in (('"', "'"), ("&quot;", "&#x27;"), ("&#34;", "&#39;"), ("&quot;", "&apos;"), ("&quot;", "'")):
        yield escaped.replace('"', double).replace("'", single)
    yield "".join(f"\\u{ord(c):04x}" if c in "<>&'" else c for c in json.dumps(value)[1:-1])


def _encoded(value: str) -> Iterator[str]:
    raw = value.encode("utf-8", "surrogateescape")
    for safe in (_URL_SAFE - set(b"-._~"), _URL_SAFE, _URL_SAFE | set(b"/")):
        encoded = _percent(raw, safe)
        yield from (encoded, _lower_escapes(encoded), encoded.replace("%20", "+"))
    yield value[::-1]
    yield from (raw.hex(), raw.hex().upper())
    yield from _base32(raw)
    yield from _base64(raw)


def _percent(raw: bytes, safe: frozenset[int]) -> str:
    return "".join(chr(b) if b in safe else f"%{b:02X}" for b in raw)


def _lower_escapes(encoded: str) -> str:
    head, *rest = encoded.split("%")
    return head + "".join(f"%{part[:2].lower()}{part[2:]}" for part in rest)


def _base32(raw: bytes) -> Iterator[str]:
    """base32 of the value, and of the value inside something longer: the characters that its neighbours have no part
    in."""
    yield base64.b32encode(raw).decode("ascii")
    for offset in range(5):
        text = base64.b32encode(b"\0" * offset + raw).decode("ascii")
        start = -(-offset * 8 // 5)
        form = text[start : (offset + len(raw)) * 8 // 5]
        yield from (form, form.lower())


def _base64(raw: bytes) -> Iterator[str]:
    for text in _base64_at_any_offset(raw):
        yield from (text, text.replace("+", "-").replace("/", "_"))
        for columns in _BASE64_COLUMNS:
            if len(text) > columns:
                yield from (text[i : i + columns] for i in range(0, len(text), columns))


def _base64_at_any_offset(raw: bytes) -> Iterator[str]:
    """base64 of the value, with padding, and of the value inside something longer (`user:value`)."""
    yield binascii.b2a_base64(raw, newline=False).decode("ascii")
    for offset in range(3):
        text = binascii.b2a_base64(b"\0" * offset + raw, newline=False).decode("ascii")
        # Only the characters that the neighbours have no part in.
        yield text[(0, 2, 3)[offset] : (offset + len(raw)) * 8 // 6]


# -- known secrets in a text -----------------------------------------------------------------------


class KnownForms:
    """Texts to be replaced, each with what it becomes; none is shorter than MIN_LENGTH."""

    def __init__(self, shown: Mapping[str, str], placeholder: re.Pattern[str]) -> None:
        self._placeholder = placeholder
        by_start: dict[str, dict[int, dict[str, str]]] = {}
        for form, new in shown.items():
            by_start.setdefault(form[:MIN_LENGTH], {}).setdefault(len(form), {})[form] = new
        # By the first characters, the longest first.
        self._by_start = {start: sorted(forms.items(), reverse=True) for start, forms in by_start.items()}

    def replaced(self, text: str) -> str:
        """The text without them; of those that overlap nothing is left. What stands for one already stays."""
        hits = list(self._hits(text))
        if not hits:
            return text
        kept = [m.span() for m in self._placeholder.finditer(text)]
        out: list[str] = []
        at = -1
        done = 0
        for start, end, new in hits:
            last = bisect.bisect_right(kept, (start, len(text))) - 1
            if last >= 0 and end <= kept[last][1]:
                continue
            if start >= at:
                out += [text[done:start], new]
            at = max(at, end)
            done = at
        return "".join([*out, text[done:]])

    def _hits(self, text: str) -> Iterator[tuple[int, int, str]]:
        """The longest form at each place where one begins."""
        starts = self._by_start
        for at in range(len(text) - MIN_LENGTH + 1) if starts else ():
            for length, forms in starts.get(text[at : at + MIN_LENGTH], ()):
                new = forms.get(text[at : at + length])
                if new is not None:
                    yield at, at + length, new
                    break
