"""Secrets that this machine no longer knows, found again in what was printed later.

A value that was handed to a job cannot be written down. A salted digest can, in a folder that only this user may read:
by it a word of a log is known for the value.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence

from logbook_agent.store.spool import HiddenValue
from logbook_agent.text.redaction.secrets import Secret

_IN_WORD, _IN_LINE = r"\S", r"[^\n]"
_DIGEST_CHARS = 32


def hidden_values(salt: str, found: Iterable[Secret]) -> tuple[HiddenValue, ...]:
    """The digests of these secrets."""
    return tuple(
        HiddenValue(
            shown=secret.shown,
            chars=len(secret.value),
            is_word=re.search(r"\s", secret.value) is None,
            digest=_digest(salt, secret.value),
        )
        for secret in found
        if "\n" not in secret.value
    )


def without_values(salt: str, values: Sequence[HiddenValue], text: str) -> str:
    """The text without these values, as far as each begins where a word does."""
    shown = {(value.chars, value.digest): value.shown for value in values}
    # The longest first: a shorter one may be a part of it. Most words of a log are too short to be looked at.
    for chars, is_word in sorted({(value.chars, value.is_word) for value in values}, reverse=True):
        begins = re.compile(rf"(?<![A-Za-z0-9_])(?={_IN_WORD if is_word else _IN_LINE}{{{chars}}})")
        out: list[str] = []
        done = 0
        for begin in begins.finditer(text):
            at = begin.start()
            if at >= done and (name := shown.get((chars, _digest(salt, text[at : at + chars])))) is not None:
                out += [text[done:at], name]
                done = at + chars
        text = "".join([*out, text[done:]])
    return text


def _digest(salt: str, value: str) -> str:
    return hashlib.sha256(f"{salt} {value}".encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_CHARS]
