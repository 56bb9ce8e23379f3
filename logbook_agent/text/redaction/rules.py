r"""Secrets known by their shape, within one line: the rules of `shapes`, and the credentials in an address.

The rules run in RE2, whose time is linear in the text whatever the pattern: the text comes from a command, and users'
own rules from a repository that somebody else may have written. A rule is compiled when one of its keywords is first
met: all of them would take longer than most commands run.
"""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from logbook_agent.text.redaction.names import is_reference, mark
from logbook_agent.text.redaction.shapes import RULES, Rule


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
