r"""Secrets known by their shape, within one line: the rules of `shapes`, the credentials in an address, and keys: a
service's prefix (the table KEYS of `shapes`) followed by random characters.

The rules run in RE2, whose time is linear in the text whatever the pattern: the text comes from a command, and users'
own rules from a repository that somebody else may have written. A rule is compiled when one of its keywords is first
met: all of them would take longer than most commands run.
"""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from logbook_agent.text.redaction.names import is_reference, mark
from logbook_agent.text.redaction.shapes import KEYS, RULES, SHORT_KEYS, Rule


@dataclass(frozen=True, slots=True)
class Edit:
    """`text[start:end]`, a secret of a kind, becomes `new`; the whole finding begins at `begin`, and ends at `last`
    where that is behind the secret."""

    begin: int
    start: int
    end: int
    new: str
    kind: str
    last: int = 0


# Takes a line and the same in lower case; gives what it finds, in order and without overlap.
Finder = Callable[[str, str], list[Edit]]


# What compiling and matching one rule may take; the largest of ours needs a tenth.
_RULE_BYTES = 8 * 2**20


class RuleError(ValueError):
    """A pattern that cannot be used, with the reason."""


@functools.cache
def _compiled(regex: str) -> Any:
    return compile_linear(regex)


def compile_linear(regex: str, *, max_bytes: int = _RULE_BYTES) -> Any:
    """A pattern over bytes that matches in linear time. Raises RuleError when RE2 does not accept it."""
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    options.max_mem = max_bytes
    try:
        return re2.compile(regex.encode("utf-8", "surrogatepass"), options)
    except re2.error as error:
        reason = error.args[0] if error.args else error
        raise RuleError(reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)) from None


@functools.cache
def built_in_shapes() -> ShapeFinders:
    return ShapeFinders(RULES)


class ShapeFinders:
    """A search for each rule, and one for credentials in addresses."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._all: list[Finder] = [*(functools.partial(_found, rule) for rule in rules), _credentials]
        self._always = {i for i, rule in enumerate(rules) if not rule.keywords} | {len(rules)}
        self._by_keyword: dict[str, list[int]] = {}
        for i, rule in enumerate(rules):
            for keyword in rule.keywords:
                self._by_keyword.setdefault(keyword, []).append(i)

    def for_line(self, low: str) -> list[Finder]:
        """Those that can find anything in a line, given in lower case."""
        there = [i for keyword, rules in self._by_keyword.items() if keyword in low for i in rules]
        return [self._all[i] for i in sorted(self._always.union(there))]


def _found(rule: Rule, text: str, low: str) -> list[Edit]:
    data = text.encode("utf-8", "surrogatepass")
    pattern, found = _compiled(rule.regex), []
    group = rule.group if rule.group is not None else min(pattern.groups, 1)
    for m in pattern.finditer(data):
        # An alternative without the group is a secret as a whole.
        start, end = _whole_characters(data, *m.span(group if m.start(group) >= 0 else 0))
        begin, _ = _whole_characters(data, m.start(), end)
        if len(data) != len(text):
            begin, start, end = (len(data[:at].decode("utf-8", "surrogatepass")) for at in (begin, start, end))
        value = text[start:end]
        if value and not is_reference(value) and not (rule.entropy and entropy(value) < rule.entropy):
            found.append(Edit(begin, start, end, mark(rule.id), rule.id))
    return found


def _whole_characters(data: bytes, start: int, end: int) -> tuple[int, int]:
    """The span, widened where it begins or ends within a character of several bytes."""
    while start > 0 and data[start] & 0xC0 == 0x80:
        start -= 1
    while end < len(data) and data[end] & 0xC0 == 0x80:
        end += 1
    return start, end


# A program that takes an address for a path shows it with one slash.
_ADDRESS = re.compile(
    r":/(?:/(?P<any>[^\s/\"'<>`\\]+)|(?P<both>[^\s/:\"'<>`\\]*:[^\s/\"'<>`\\]+))@(?!sha256:)", re.ASCII
)


def _credentials(text: str, low: str) -> list[Edit]:
    """User and password in an address. A name alone is none (ssh://git@host); a long one is a token in its place, and
    an image's digest (docker://name:tag@sha256:...) is no host."""
    found = []
    for m in _ADDRESS.finditer(text) if ":/" in low else ():
        group = m.lastgroup or ""
        user, colon, password = m[group].partition(":")
        if group == "both" and (len(password) < 6 or not any(c.isalpha() for c in password)):
            continue  # pci:/0000:01:00.0@x, host:/path:ro@x
        if is_reference(m[group]) or is_reference(password if colon else user):
            continue
        if colon or (len(user) >= 16 and any(c.isdigit() for c in user)):
            found.append(Edit(m.start(), m.start(group), m.end(group), mark("credentials"), "credentials"))
    return found


def entropy(text: str) -> float:
    """Shannon entropy of the characters of a text, in bits per character."""
    counts = Counter(text).values()
    return -sum(n / len(text) * math.log2(n / len(text)) for n in counts)


# A private key that goes on in the next lines.
KEY_BEGINS = re.compile(
    r"-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,20}-{4,5}|PuTTY-User-Key-File-[0-9]:", re.ASCII
)
KEY_ENDS = re.compile(r"-{4,5} ?END [A-Z0-9 ]{0,40}-{4,5}|Private-(?:MAC|Hash): ?[0-9a-f]*", re.ASCII)
# Base64 at the end of a line, perhaps after a log prefix or in a quoted string; RFC 1421 headers; blank.
KEY_BODY = re.compile(
    r"(?:.*[\s|>\"'])?[A-Za-z0-9+/]{16,}={0,2}(?:\\[nr])*[\"',+\\\s]*|\s*[\"']?[A-Za-z0-9+/]{1,64}={0,2}[\"',+\\\s]*"
    r"|(?:.*[\s|>\"'+])?(?:Proc-Type|DEK-Info|Version|Comment|Subject|Hash|Charset|Encryption|Key-Derivation|Argon2-\w+"
    r"|Public-Lines|Private-Lines):.*|\s*",
    re.ASCII,
)
# The longest key seen has some 200 lines; a lost END must not swallow the rest of the output.
MAX_KEY_LINES = 400


# -- keys of services -----------------------------------------------------------------------------------

_LETTER = "[A-Za-z0-9_+/.~-]"
_LEAST, _LEAST_SHORT = 12, 20
# What may stand before a key: no letter, or one of an escape.
_BOUNDARY = r"(?:^|[^A-Za-z0-9]|\[[0-9;]{0,8}[A-Za-z]|\\[abefnrtv]|%[0-9A-F]{2}|\\u00[0-9a-f]{2})"
# Before what base64 and names may hold by chance: no sign of theirs either.
_START = r"""(?:^|[\s"'`=:,;|(<>{@])"""
# resnet50, laion2b, GroupedMatmul, 128x128, 20260131: pieces of names, not of keys.
_WORD = r"(?:[a-z]*+(?:[A-Z]++[a-z]{2,}+)*+[A-Z]*+[0-9]{0,4}+[a-z]?|[0-9]++(?:x[0-9]++)*+)"
WORDS = re.compile(rf"{_WORD}(?:[_+/.~-]++{_WORD})*+")
# The whole key; a sentence may end behind it.
_REST = re.compile(rf"{_LETTER}*[A-Za-z0-9_-](?:={{1,2}}(?![A-Za-z0-9]))?".encode())
_PIECE = re.compile(r"[A-Za-z0-9]+")
# An md5, a commit, a part of a UUID; a ULID.
_DIGEST = re.compile(r"[0-9a-f]+|[0-9A-F]+|01[0-9A-HJKMNP-TV-Z]{24}")
# What a key stands in.
LETTERS = re.compile(rb"[A-Za-z0-9_+/.~-]{15,}")

_IDS = {prefix: id_ for table in (SHORT_KEYS, KEYS) for id_, prefixes in table.items() for prefix in prefixes.split()}
PREFIXES = tuple(sorted(_IDS, key=len, reverse=True))


def _any(prefixes: Iterable[str]) -> str:
    return "|".join(re.escape(prefix) for prefix in prefixes)


_SHORT = {prefix for prefixes in SHORT_KEYS.values() for prefix in prefixes.split()}
_CHANCE = {prefix for prefix in _SHORT if len(prefix) < 4 and prefix.isalnum()}
_FORMS = (
    f"({_any(p for p in PREFIXES if p not in _SHORT)})",
    f"{_BOUNDARY}({_any(p for p in PREFIXES if p in _SHORT - _CHANCE)})|{_START}({_any(sorted(_CHANCE))})",
)
# Every line with a key in it, and some others: for a large block of text.
GATE = f"{_FORMS[0]}{_LETTER}{{4}}|(?:{_FORMS[1]}){_LETTER}{{10}}"


@functools.cache
def _pattern(form: int) -> Any:
    """A pattern for a prefix of this form and as many of the letters behind it as `_is_key` needs."""
    return compile_linear(f"(?:{_FORMS[form]}){_LETTER}{{{_LEAST},64}}")


def find_keys(text: str, low: str) -> list[Edit]:
    """The keys in one line. Known prefixes win over others that overlap them."""
    data = text.encode("utf-8", "surrogatepass")
    found: list[tuple[int, int, str]] = []
    for form in range(len(_FORMS)) if LETTERS.search(data) is not None else ():
        for start, end, kind in _keys_of(form, data):
            if all(end <= a or b <= start for a, b, _ in found):
                found.append((start, end, kind))

    def at(place: int) -> int:
        return len(data[:place].decode("utf-8", "surrogatepass"))

    return [Edit(at(start), at(start), at(end), mark(kind), kind) for start, end, kind in sorted(found)]


def has_key(data: bytes) -> bool:
    """Whether bytes that are no text hold a private key, or a key that hardly stands there by chance: the prefix of a
    service before many letters and digits."""
    if KEY_BEGINS.search(data.decode("latin-1")) is not None:
        return True
    found = (data[start:end].decode("ascii") for start, end, _ in _keys_of(0, data))
    return any(len(piece) >= _LEAST_SHORT for key in found for piece in _PIECE.findall(key))


def _keys_of(form: int, data: bytes) -> Iterator[tuple[int, int, str]]:
    search, at = _pattern(form).search, 0
    while (m := search(data, at)) is not None:
        start, behind = m.span(m.lastindex)
        prefix = data[start:behind].decode()
        at = max(behind, at + 1)
        if _is_key(form, prefix, data[behind : m.end()].decode()):
            rest = _REST.match(data, behind)
            at = m.end() if rest is None else rest.end()
            yield start, at, _IDS.get(prefix, "api-key")


def _is_key(form: int, prefix: str, letters: str) -> bool:
    """Whether the letters behind a prefix of this form (0 known, 1 short) look random; behind a short one, a digest is
    none that does."""
    found = _PIECE.findall(letters)
    pieces = [piece for piece in found if len(piece) >= 6 and WORDS.fullmatch(piece) is None]
    if form == 0:
        looks = WORDS.fullmatch(letters) is None if len(prefix) > 4 else bool(pieces)  # a short one may end a word
        return looks or max(map(len, found), default=0) >= _LEAST_SHORT
    if _DIGEST.fullmatch(prefix + letters) is not None:
        return False
    least = _LEAST_SHORT if letters == letters.lower() else _LEAST
    return sum(len(piece) for piece in pieces if _DIGEST.fullmatch(piece) is None) >= least
