"""A cheap scan over many lines at once: which of them need the rules at all.

Ordinary output has to pass at tens of megabytes a second. What the rules look for in a large block, and
the beginning of every form of a known secret, is searched for by RE2 in one pass; a line with a secret-looking word in
it is looked at again, by patterns that begin with the word. Short texts need neither: a substring search for each
keyword is enough, and RE2 stays unloaded. The gate flags every line that the rules would change.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from logbook_agent.text.redaction import keys, names
from logbook_agent.text.redaction.rules import compile_linear
from logbook_agent.text.redaction.secrets import Needles
from logbook_agent.text.redaction.shapes import Rule

# Between a name and its value: a sign, a quote, the line of a table, the end of a tag; or blanks before a word with a
# digit.
_SEPARATOR = (
    rb"""\s{0,200}+(?:[:=!,("'`|>]|&gt;|\xe2\x94[\x82\x83]|\xe2\x95\x91|\xc2\xa6|\S{0,2}\s{0,40}["'`]"""
    rb"""|(?<=\s)(?=\S{6})(?=[^\s0-9]{0,40}[0-9]))"""
)
# After a name, which may go on, and whose quotes and brackets may close.
_VALUE = rb"""[a-z0-9_.-]{0,127}+(?:\\{0,7}["'*]{1,3})?+(?:\[[0-9]{0,9}\])?\]?""" + _SEPARATOR

# The same where the name must end there.
_END = rb"""(?:\\{0,7}["'*]{1,3})?(?:\[[0-9]{0,9}\])?\]?""" + _SEPARATOR


def _after(owners: Iterable[str], word: bytes) -> bytes:
    """Behind `word`: that it follows one of the owners, with or without a separator."""
    befores = sorted(o.lower().encode() for o in owners)
    return b"(?:" + b"|".join(rb"(?<=%s%s)|(?<=%s[_.-]%s)" % (o, word, o, word) for o in befores) + b")"


_TOKEN = rb"(?!s(?![a-z])|iz)"
# flops_per_token, pad_token: a unit, or an item of a vocabulary.
_NO_UNIT = b"".join(rb"(?<!(?<![a-z0-9])%s[_.-]token)" % unit.lower().encode() for unit in sorted(names.TOKEN_UNITS))
# A plain number as the whole value is a count.
_NO_COUNT = rb"""(?!\s{0,40}[-+]?[0-9][0-9_,]*(?:\.[0-9]*)?(?:e[-+]?[0-9]+)?[,\]}]*(?:[\s"'`;&|()<>\\\x1b]|$))"""
_KEY = _after(names.KEY_KINDS, b"key")
_PASS = _after(names.PASS_OWNERS, b"pass")
# The words of a secret-looking name, for the names of flags and the variables behind them.
_WORDS = rb"(?:token%s|key%s|pass%s|pass(?:w|phrase)|pat(?![a-z])|auth(?!or|entic)|%s)" % (
    _TOKEN,
    _KEY,
    _PASS,
    b"secret|credential|jwt|bearer|pwd|contrasena",
)

# The value follows under a key of its own: `name: DB_PASSWORD`, and in this line or the next `value: ...`.
_NAME_OF = rb"""(?:\\{0,7}["'])?\s{0,40}[:=]\s{0,40}(?:\\{0,7}["'])?[a-z0-9_.-]{0,127}?""" + _WORDS

# A literal, and what else the text must have from there on: the names before values (see `named`).
_NAMED: tuple[tuple[bytes, bytes], ...] = (
    (b"token", _NO_UNIT + _TOKEN + _VALUE + _NO_COUNT),
    (b"secret", _VALUE),
    (b"pass", rb"(?:(?:w|phrase)" + _VALUE + rb"|" + _PASS + rb"[0-9]{0,9}" + _END + rb")"),
    (b"key", _KEY + _VALUE),
    (b"auth", rb"(?!or|entic)" + _VALUE + _NO_COUNT),
    (b"credential", _VALUE),
    (b"jwt", _VALUE),
    (b"bearer", _VALUE),
    (b"contrasena", _VALUE),
    (b"pwd", _VALUE),
    (b"pat", rb"(?<=[a-z0-9_.-]pat)[0-9]{0,9}" + _END),
    *((lit, _NAME_OF) for lit in (b"name", b"key", b"variable", b"env")),
    *(
        (lit, rb"\s{1,40}(?:[\w-]{1,40}\s{1,40}){0,4}?[a-z0-9_.-]{0,127}?" + _WORDS)
        for lit in (b"config", b"configure", b"setenv")
    ),
    (b"pw", rb"[0-9]{0,3}" + _VALUE),
    (
        b"-",
        rb"-?(?=[a-z])[a-z0-9_.-]{0,63}?(?:[ =]\s{0,7}[\"']?[a-z0-9_.-]{0,127}?)?"
        + _WORDS
        + rb"[a-z0-9_.-]{0,63}[\"']?\s",
    ),
)
_ADDRESS = (b":/", rb"""(?:/[^\s/"'<>`\\]+|[^\s/:"'<>`\\]*:[^\s/"'<>`\\]+)@""")
_COMPARED = tuple((sign, rb"=?\s{0,40}[a-z0-9_.-]{0,127}?" + _WORDS) for sign in (b"==", b"!="))
_TRIGGERS = (*_NAMED, _ADDRESS, *_COMPARED)
# Every line that a trigger finds holds a match of one of these, which RE2 finds quickly in a large block.
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
# Texts up to this size are searched for each keyword in turn, until so many were that RE2's pattern, which takes
# milliseconds to compile, is worth it.
_SMALL_BYTES = 4096
_FEW_TEXTS = 50
_SHORT_BYTES = 128
# RE2 looks for so many first characters of a known secret: a line with no more than these is only looked at in vain.
_NEEDLE_START = 24
_GATE_BYTES = 64 * 2**20


class Gate:
    """The keywords of `rules`, the known secrets (`needles`) and the further names of one redactor."""

    def __init__(self, rules: Sequence[Rule], needles: Sequence[bytes] = (), extra_names: Iterable[str] = ()) -> None:
        self._needles = tuple(needles)
        self._known = Needles(self._needles)
        self._keywords = tuple(dict.fromkeys(k.encode() for rule in rules for k in rule.keywords))
        short = frozenset(k for k in self._keywords if len(k) < 3)
        self._keyword_starts = (short, frozenset(k[:3] for k in self._keywords) - short)
        self._open = tuple(rule for rule in rules if not rule.keywords)
        self._extra = tuple(n.lower().encode() for n in extra_names)
        extra = tuple((name, _END) for name in self._extra)
        self._triggers = tuple((lit, re.escape(lit) + rest) for lit, rest in _TRIGGERS + extra)
        self._small_texts = 0
        # In a line that is not complete, even the start of a secret counts.
        named = (lit for lit, _ in _NAMED if len(lit) > 2)
        self._starts = (b"----", b":/", *self._keywords, *named, *self._extra)

    def flags(self, data: bytes) -> bool:
        """Whether any line of the data may need redaction."""
        return self._flags(data) or (b"\x1b[" in data and self._flags(_SGR.sub(b"", data)))

    def _flags(self, data: bytes) -> bool:
        """The same, with the colours that stand in a line as they are."""
        if len(data) > _SMALL_BYTES:
            return bool(self._flagged(data))
        self._small_texts += 1
        if self._small_texts > _FEW_TEXTS:
            return self._shapes.search(data) is not None or (
                _names().search(data) is not None and self.names_value(data.lower())
            )
        low = data.lower()
        return (
            self._has_keyword(low)
            or _may_hold_key(data)
            or self._known.may_be_in(data)
            or any(_compiled(rule.regex.encode()).search(data) for rule in self._open)
            or self.names_value(low)
        )

    def _has_keyword(self, low: bytes) -> bool:
        if len(low) <= _SHORT_BYTES:  # most texts of a record: quicker than one search for each keyword
            two, three = self._keyword_starts
            places = range(len(low))
            if two.isdisjoint(low[i : i + 2] for i in places) and three.isdisjoint(low[i : i + 3] for i in places):
                return False
        return any(keyword in low for keyword in self._keywords)

    def flagged_lines(self, block: bytes) -> list[int]:
        """Where the lines start that may need redaction, ascending; `block` is whole lines."""
        found = self._flagged(block)
        if b"\x1b[" in block:
            found.update(start for start, end in _lines(_coloured(), block) if self.flags(block[start:end]))
        return sorted(found)

    def _flagged(self, block: bytes) -> set[int]:
        """The same, with the colours that stand in a line as they are."""
        found = {start for start, _ in _lines(self._shapes, block)}
        found.update(start for start, end in _lines(_names(), block) if self.names_value(block[start:end].lower()))
        return found

    def first_start(self, data: bytes) -> int:
        """Where the first thing stands that may become part of a secret by its shape; else the length."""
        low = data.lower()
        first = min((i for s in self._starts if (i := low.find(s)) >= 0), default=len(data))
        # Keywords of several words may have begun.
        for keyword in (k for k in self._keywords if b" " in k):
            begun = next((n for n in range(len(keyword) - 1, 2, -1) if low.endswith(keyword[:n])), 0)
            first = min(first, len(data) - begun)
        for open_end in (_FLAG_OPEN.search(data), _QUOTE_OPEN.search(data)):
            first = min(first, open_end.start(1) if open_end is not None else first)
        # A variable may stand behind a flag (`-e NAME value`), which tells that its value follows.
        flag = _FLAG_BEFORE.search(data[: _word_start(data, first)]) if first < len(data) else None
        return first if flag is None else flag.start("flag")

    def names_value(self, low: bytes) -> bool:
        """Whether a name may stand before its value in a line, given in lower case."""
        return any(_compiled(trigger).search(low) for literal, trigger in self._triggers if literal in low)

    @functools.cached_property
    def _shapes(self) -> Any:
        """One pattern for all keywords, rules without keywords, further names and known secrets."""
        literals = [re.escape(k.decode()) for k in (*self._keywords, *self._extra)]
        parts = [f"(?i:{'|'.join(literals)})", keys.GATE, *(f"(?:{rule.regex})" for rule in self._open)]
        starts = sorted({needle[:_NEEDLE_START] for needle in self._needles})
        parts += ["".join(f"\\x{byte:02x}" for byte in start) for start in starts]
        return compile_linear("|".join(parts), max_bytes=_GATE_BYTES)


_UNKNOWN_KEY = re.compile(rb"[_-][A-Za-z0-9]{20}")
_PREFIXES: dict[bytes, tuple[bytes, ...]] = {}
for _prefix in map(str.encode, keys.PREFIXES):
    _PREFIXES[_prefix[:3]] = (*_PREFIXES.get(_prefix[:3], ()), _prefix)


def _may_hold_key(data: bytes) -> bool:
    if _UNKNOWN_KEY.search(data) is not None:
        return True
    for word in keys.LETTERS.finditer(data):
        for at in range(word.start(), word.end()):
            prefixes = _PREFIXES.get(data[at : at + 3])
            if prefixes is not None and data.startswith(prefixes, at):
                return True
    return False


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


# What colours a part of a line.
_SGR = re.compile(rb"\x1b\[[0-9;:]{0,40}m")


@functools.cache
def _coloured() -> Any:
    return compile_linear(r"\x1b\[[0-9;:]*m")


@functools.cache
def _names() -> Any:
    return compile_linear(f"(?i:{'|'.join(_LOOSE)})")


_FLAG_OPEN = re.compile(rb"(?:^|\s)(?P<flag>--?[A-Za-z][\w-]{0,63}[ =][ ]{0,7}[\"']?[\w.-]{0,127})$")
# A value that the line may go on to compare with a name: `"..." == db_password`.
_QUOTE_OPEN = re.compile(rb"""(?P<quote>["'])[^"'\n]{1,500}(?:(?P=quote)\s{0,40}(?:[!=]=?\s{0,40}[\w.-]{0,127})?)?$""")
_FLAG_BEFORE = re.compile(rb"(?:^|\s)(?P<flag>--?[A-Za-z][\w-]{0,63}[ =][ ]{0,7}[\"']?)$")


def _word_start(data: bytes, at: int) -> int:
    """Where the name begins that a part of it, found at `at`, belongs to."""
    while at > 0 and (data[at - 1 : at].isalnum() or data[at - 1] in b"_.-"):
        at -= 1
    return at


@functools.cache
def _compiled(pattern: bytes) -> re.Pattern[bytes]:
    return re.compile(pattern)
