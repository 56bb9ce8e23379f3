"""A cheap scan over many lines at once: which of them need the rules at all.

Ordinary output has to pass at tens of megabytes a second. RE2 searches a block in one pass for what the rules look for
and for the beginning of every form of a known secret. Where it finds a secret-looking name, the line is looked at for
its value. The gate flags every line that the rules would change.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from typing import Any

from logbook_agent.text.redaction import keys, names
from logbook_agent.text.redaction.lines import awaited_after
from logbook_agent.text.redaction.named import NamedFinders
from logbook_agent.text.redaction.rules import compile_linear
from logbook_agent.text.redaction.shapes import Rule

# Every line in which a value stands with its name, and every one whose value stands in the next, has one of these.
_KEYS, _OWNERS = ("|".join(sorted(words)).lower() for words in (names.KEY_KINDS, names.PASS_OWNERS))
_PARTS = (
    rf"token(?:[^s]|s[a-z]|s?$)|secret|passw|passphrase|(?:{_OWNERS})[_.-]?pass|(?:{_KEYS})[_.-]?key|auth(?:[^oe]|o[^r]|e[^n]|$)"
    r"|credential|jwt|bearer|pwd|[a-z0-9_.-]pat(?:[^a-z]|$)|contrasena"
)
_LOOSE_SEPARATOR = (
    r"""\s*(?:[:=!,("'`|>]|&gt;|\xe2\x94[\x82\x83]|\xe2\x95\x91|\xc2\xa6|\S{0,2}\s*["'`]"""
    r"""|[ \t](?:[0-9]\S{5}|\S[0-9]\S{4}|\S\S[0-9]\S{3}|\S{3}\S*[0-9]))"""
)
_LOOSE = (
    rf"""(?:{_PARTS}|pw)[a-z0-9_.-]*[\\"'*\]\[0-9]*{_LOOSE_SEPARATOR}""",
    rf"(?:config|configure|setenv)\s[a-z0-9_.\s-]*(?:{_PARTS})",
    rf"""(?:token|auth|pat)[\\"'*\]\[0-9]*{_LOOSE_SEPARATOR}""",
    r":/(?:/[^\s/]+|[^\s/:]*:[^\s/]+)@",
    rf"""(?:name|key|variable|env)[\\"']*\s*[:=]\s*[\\"']*[a-z0-9_.-]*(?:{_PARTS})""",
    rf"[!=]=\s*[a-z0-9_.-]*(?:{_PARTS})",
    rf"-[a-z0-9_.-]*(?:[ =]\s*[\"']?[a-z0-9_.-]*)?(?:{_PARTS}|token|auth|pat)[a-z0-9_.-]*[\"']?\s",
)
_ADDRESS = r":/(?:/[^\s/]+|[^\s/:]*:[^\s/:]+)@"
# Parts of the names; before a value that is looked for in what is not complete, any of them counts.
_NAME_STARTS = r"token|secret|pass|key|auth|credential|jwt|bearer|contrasena|pwd|pat|name|variable|env|config|setenv"
# RE2 looks for so many first characters of a known secret: a line with no more than these is only looked at in vain.
_NEEDLE_START = 24
_GATE_BYTES = 64 * 2**20
# What colours a part of a line.
_SGR = re.compile(rb"\x1b\[[0-9;:]{0,40}m")


class Gate:
    """The keywords of `rules`, the known secrets (`needles`) and the further names of one redactor."""

    def __init__(self, rules: Sequence[Rule], needles: Sequence[bytes], extra_names: Sequence[str]) -> None:
        self._keywords = tuple(dict.fromkeys(k for rule in rules for k in rule.keywords))
        self._open = tuple(rule.regex for rule in rules if not rule.keywords)
        self._needle_starts = sorted({needle[:_NEEDLE_START] for needle in needles})
        self._extra = tuple(extra_names)
        self._named = NamedFinders(frozenset(extra_names))

    def flags(self, data: bytes) -> bool:
        """Whether any line of the data may need redaction."""
        return any(True for _ in self._flagged(data)) or (
            b"\x1b[" in data and any(True for _ in self._flagged(_SGR.sub(b"", data)))
        )

    def flagged_lines(self, block: bytes) -> list[int]:
        """Where the lines start that may need redaction, ascending; `block` is whole lines."""
        found = set(self._flagged(block))
        if b"\x1b[" in block:
            found.update(start for start, end in _lines(_coloured(), block) if self.flags(block[start:end]))
        return sorted(found)

    def _flagged(self, block: bytes) -> Iterator[int]:
        """Where they start, with the colours that stand in a line as they are."""
        yield from (start for start, _ in _lines(self._shapes, block))
        yield from (start for start, end in _lines(_names(), block) if self._names_value(block[start:end]))

    def _names_value(self, line: bytes) -> bool:
        """Whether a value stands with its name in a line, or in the next."""
        text = line.decode("utf-8", "surrogateescape")
        return bool(self._named.in_line(text)) or awaited_after(text) != ""

    def first_start(self, data: bytes) -> int:
        """Where the first thing stands that may become part of a secret by its shape; else the length."""
        m = self._starts.search(data)
        return len(data) if m is None else int(m.start()) + data[m.start() : m.start() + 1].isspace()

    @functools.cached_property
    def _shapes(self) -> Any:
        """One pattern for all keywords, rules without keywords, further names and known secrets."""
        literals = "|".join(map(re.escape, (*self._keywords, *self._extra)))
        needles = ("".join(f"\\x{byte:02x}" for byte in start) for start in self._needle_starts)
        parts = [f"(?i:{literals})", keys.GATE, _ADDRESS, *(f"(?:{regex})" for regex in self._open), *needles]
        return compile_linear("|".join(parts), max_bytes=_GATE_BYTES)

    @functools.cached_property
    def _starts(self) -> Any:
        """In a line that is not complete even a part counts: a word of a keyword or name, a flag, a quote."""
        words = {keyword.partition(" ")[0] for keyword in self._keywords} | {*self._extra}
        literals = "|".join(map(re.escape, sorted(words)))
        return compile_linear(
            rf"""(?i:{literals}|{_NAME_STARTS})|----|:/|["'`]|(?:^|\s)--?[A-Za-z]""", max_bytes=_GATE_BYTES
        )


def _lines(pattern: Any, block: bytes) -> Iterator[tuple[int, int]]:
    """The lines, as (start, end), in which the pattern matches."""
    at = 0
    while at < len(block) and (m := pattern.search(block, at)) is not None:
        # A pattern may begin with the end of the line before.
        place = m.start() + (block[m.start() : m.start() + 1] == b"\n")
        end = block.find(b"\n", place)
        end = len(block) if end < 0 else end
        yield block.rfind(b"\n", 0, place) + 1, end
        at = end + 1


@functools.cache
def _coloured() -> Any:
    return compile_linear(r"\x1b\[[0-9;:]*m")


@functools.cache
def _names() -> Any:
    return compile_linear(f"(?i:{'|'.join(_LOOSE)})")
