"""Secrets that this machine no longer knows, found again in what was printed later.

A value that was handed to a job cannot be written down. Its keyed digest can, since the key is this user's alone: by it
a word of a log is known for the value.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable, Mapping, Sequence

from logbook_agent.store.signing import key_of
from logbook_agent.store.spool import HiddenValue
from logbook_agent.text.redaction.secrets import Secret

_IN_WORD, _IN_LINE = r"\S", r"[^\n]"
_DIGEST_CHARS = 32


def hidden_values(environ: Mapping[str, str], found: Iterable[Secret]) -> tuple[HiddenValue, ...]:
    """The digests of these secrets. Raises UsageError where there is no place for a key."""
    secrets = [secret for secret in found if "\n" not in secret.value]
    if not secrets:
        return ()
    key = key_of(environ, make=True) or ""
    return tuple(
        HiddenValue(
            shown=secret.shown,
            chars=len(secret.value),
            is_word=re.search(r"\s", secret.value) is None,
            digest=_digest(key, secret.value),
        )
        for secret in secrets
    )


def without_values(environ: Mapping[str, str], values: Sequence[HiddenValue], text: str) -> str:
    """The text without these values, as far as each begins where a word does."""
    key = key_of(environ, make=False) if values else None
    if key is None:
        return text
    shown = {(value.chars, value.digest): value.shown for value in values}
    # The longest first: a shorter one may be a part of it. Most words of a log are too short to be looked at.
    for chars, is_word in sorted({(value.chars, value.is_word) for value in values}, reverse=True):
        begins = re.compile(rf"(?<![A-Za-z0-9_])(?={_IN_WORD if is_word else _IN_LINE}{{{chars}}})")
        out: list[str] = []
        done = 0
        for begin in begins.finditer(text):
            at = begin.start()
            if at >= done and (name := shown.get((chars, _digest(key, text[at : at + chars])))) is not None:
                out += [text[done:at], name]
                done = at + chars
        text = "".join([*out, text[done:]])
    return text


def _digest(key: str, value: str) -> str:
    data = f"value {value}".encode("utf-8", "surrogatepass")
    return hmac.digest(key.encode(), data, hashlib.sha256).hex()[:_DIGEST_CHARS]
