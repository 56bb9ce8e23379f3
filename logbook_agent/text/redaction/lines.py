"""What one line of a text tells about the next: a name whose value follows there, a private key that goes on. And a
cheap scan over many lines: which of them need the rules at all.

Ordinary output has to pass at tens of megabytes a second. RE2 searches a block in one pass for what the rules look for
and for the beginning of every form of a known secret. Where it finds a secret-looking name, the line is looked at for
its value. The gate flags every line that the rules would change.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from logbook_agent.text.escapes import has_escape, without_escapes
from logbook_agent.text.redaction import rules
from logbook_agent.text.redaction.named_values import MARGIN, WORD_NAME, NamedFinders
from logbook_agent.text.redaction.names import KEY_KINDS, PASS_OWNERS, mark
from logbook_agent.text.redaction.shapes import Rule

# The end of a line whose value stands in the next: `--token \`, `-e NAME \`; `"--token",`; `name: NAME`; `token: |`.
_CONTINUED = re.compile(
    rf"(?<!\S)(?P<tail>--?[A-Za-z][\w.-]{{0,63}}(?:[ =]\s{{0,7}}{WORD_NAME})?)\s{{1,40}}\\\s*$", re.ASCII
)
_LIST_GOES_ON = re.compile(rf"(?P<tail>(?P<open>\\{{0,7}}[\"'])(?:--?)?{WORD_NAME}(?P=open)\s{{0,40}},)\s*$", re.ASCII)
_KEY_GOES_ON = re.compile(
    rf"(?i:\b(?:name|key|variable|env))[\"']?\s{{0,40}}[:=]\s{{0,40}}[\"']?(?P<name>{WORD_NAME})[\"']?\s{{0,40}},?\s*$",
    re.ASCII,
)
_BLOCK_SCALAR = re.compile(rf"(?P<tail>(?<![A-Za-z_.-]){WORD_NAME}:)\s{{1,40}}[|>][+-]?\s*$", re.ASCII)
# By the last sign of the line.
_GOES_ON = {"\\": _CONTINUED, ",": _LIST_GOES_ON, **dict.fromkeys("|>+-", _BLOCK_SCALAR)}
_KEY_WORD = re.compile(r"(?i:name|key|variable|env)[\"']?\s{0,40}[:=]", re.ASCII)
_LONGEST_END = 300


class LineRedactor:
    """Redacts one line after another. `redact` does it for a line by itself."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        self._redact = redact
        self._key_lines_left = 0
        # What stands before the key block in its first line, and so before each of its lines.
        self._key_margin = ""
        self._awaited = ""

    @property
    def wants_next(self) -> bool:
        """Whether the next line may hold a secret that nothing in it tells."""
        return self._key_lines_left > 0 or bool(self._awaited)

    def line(self, line: str) -> str | None:
        """The line (no newline in it) without secrets; None when all of it belonged to a key block."""
        bare = without_escapes(line)
        if self._key_lines_left:
            end = rules.KEY_ENDS.search(bare)
            if end is not None:
                self._key_lines_left = 0
                rest = bare[end.end() :]
                return self.line(rest) if rest.strip() else None
            if rules.KEY_BODY.fullmatch(bare.removeprefix(self._key_margin)) is not None:
                self._key_lines_left -= 1
                return None
            self._key_lines_left = 0
        # Before anything else of the line is replaced: a known secret may be a part of the key or of its frame.
        line = line if open_key(bare) is None else bare
        begin = open_key(line)
        if begin is not None:
            self._key_lines_left = rules.MAX_KEY_LINES
            self._key_margin = line[:begin]
            line = line[:begin] + mark("private-key")
        return self._after(line)

    def _after(self, line: str) -> str:
        """The line, read as what goes on behind the line before it."""
        awaited, self._awaited = self._awaited, awaited_after(line) or awaited_after(without_escapes(line))
        if awaited:
            margin = MARGIN.match(line)
            at = margin.end() if margin is not None else 0
            done = self._redact(awaited + line[at:])
            if done.startswith(awaited):
                return self._redact(line[:at] + done[len(awaited) :])
        return self._redact(line)


def open_key(text: str) -> int | None:
    """Where a key block begins that has no end in this text."""
    last_end = max((m.end() for m in rules.KEY_ENDS.finditer(text)), default=0)
    begin = rules.KEY_BEGINS.search(text, last_end)
    return None if begin is None else begin.start()


def key_blocks(text: str) -> Iterator[tuple[int, int, int]]:
    """Where each key block begins, where its first frame ends, and where it ends: with the text, if it lacks an end."""
    place = 0
    while (begin := rules.KEY_BEGINS.search(text, place)) is not None:
        end = rules.KEY_ENDS.search(text, begin.end())
        place = len(text) if end is None else end.end()
        yield begin.start(), begin.end(), place


def awaited_after(line: str) -> str:
    """The text to put before the next line, so that it reads as the value of a name at the end of this one; or ""."""
    end = line[-_LONGEST_END:].rstrip()
    if _KEY_WORD.search(end) is not None and (m := _KEY_GOES_ON.search(end)) is not None:
        return f"name: {m['name']}, "
    form = _GOES_ON.get(end[-1:])
    m = form.search(end) if form is not None else None
    return "" if m is None else f"{m['tail']} "


# -- which lines need the rules at all ---------------------------------------------------------------------

# Every line in which a value stands with its name, and every one whose value stands in the next, has one of these.
_KEYS, _OWNERS = ("|".join(sorted(words)).lower() for words in (KEY_KINDS, PASS_OWNERS))
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


class Prefilter:
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
            has_escape(data) and any(True for _ in self._flagged(_without_escapes(data)))
        )

    def flagged_lines(self, block: bytes) -> list[int]:
        """Where the lines start that may need redaction, ascending; `block` is whole lines."""
        found = set(self._flagged(block))
        if has_escape(block):
            found.update(start for start, end in _lines(_escaped(), block) if self.flags(block[start:end]))
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
        parts = [f"(?i:{literals})", rules.GATE, _ADDRESS, *(f"(?:{regex})" for regex in self._open), *needles]
        return rules.compile_linear("|".join(parts), max_bytes=_GATE_BYTES)

    @functools.cached_property
    def _starts(self) -> Any:
        """In a line that is not complete even a part counts: a word of a keyword or name, a flag, a quote."""
        words = {keyword.partition(" ")[0] for keyword in self._keywords} | {*self._extra}
        literals = "|".join(map(re.escape, sorted(words)))
        return rules.compile_linear(
            rf"""(?i:{literals}|{_NAME_STARTS})|----|:/|["'`]|(?:^|\s)--?[A-Za-z]""", max_bytes=_GATE_BYTES
        )


def _lines(pattern: Any, block: bytes) -> Iterator[tuple[int, int]]:
    """The lines, as (start, end), in which the pattern matches. A search begins with the newline before its line, so
    that what must not stand within a word is seen at the start of it."""
    at = 0
    while at < len(block) and (m := pattern.search(block, at)) is not None:
        # A pattern may begin with the end of the line before.
        place = m.start() + (block[m.start() : m.start() + 1] == b"\n")
        end = block.find(b"\n", place)
        end = len(block) if end < 0 else end
        yield block.rfind(b"\n", 0, place) + 1, end
        at = end


def _without_escapes(data: bytes) -> bytes:
    return without_escapes(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


@functools.cache
def _escaped() -> Any:
    return rules.compile_linear(r"\x1b|\xc2\x9b")


@functools.cache
def _names() -> Any:
    return rules.compile_linear(f"(?i:{'|'.join(_LOOSE)})")
