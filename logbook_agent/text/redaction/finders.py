r"""The finders: each looks at one line, and gives the places where secrets stand.

known        values of secret-named variables, in the forms of `secrets`
keys         prefixes of `shapes` before random characters
patterns     the rules of `shapes`, and those of a project
credentials  user and password in an address
named        a value behind the name of a secret: `NAME sep VALUE`, `--name VALUE`

Private keys over several lines are followed by `redactor.Lines`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from logbook_agent.text.redaction.names import (
    OF_MANY,
    VARIABLE,
    WORDS,
    is_reference,
    is_secret_value,
    looks_random,
    looks_secret,
    mark,
)
from logbook_agent.text.redaction.secrets import Secret
from logbook_agent.text.redaction.shapes import START, STRONG, WEAK, Rule


class Span(NamedTuple):
    """`text[start:end]` is a secret of a kind, or the value of a variable; what shows that it is one begins at
    `begin`."""

    begin: int
    start: int
    end: int
    kind: str
    variable: str = ""

    @property
    def shown(self) -> str:
        return f"${self.variable}" if self.variable else mark(self.kind)


Finder = Callable[[str], Iterable[Span]]
# What parts the words of a command that are looked at together: a blank to every pattern, and in no word.
PART = "\x1f"


def edited(text: str, spans: Iterable[Span]) -> str:
    """The text with every span replaced, in each of the words over which it reaches; of those that overlap nothing is
    left."""
    merged: list[Span] = []
    for span in sorted(spans, key=lambda span: span.start):
        if merged and span.start < merged[-1].end:
            merged[-1] = merged[-1]._replace(end=max(span.end, merged[-1].end))
        else:
            merged.append(span)
    for span in reversed(merged):
        words = text.count(PART, span.start, span.end) + 1
        text = text[: span.start] + PART.join([span.shown] * words) + text[span.end :]
    return text


def known(forms: Mapping[str, Secret]) -> Finder:
    """The known secrets, by each of their forms; the longest first."""
    ordered = sorted(forms.items(), key=lambda form: -len(form[0]))

    def find(text: str) -> Iterator[Span]:
        for form, secret in ordered:
            at = text.find(form)
            while at >= 0:
                yield Span(at, at, at + len(form), secret.kind or "", "" if secret.kind else secret.name)
                at = text.find(form, at + 1)

    return find


def pattern(rule: Rule) -> Finder:
    """The matches of one rule, which is compiled when it is first needed: all would take longer than most commands."""

    def find(text: str) -> Iterator[Span]:
        for m in re.compile(rule.regex).finditer(text):
            group = 1 if m.re.groups and m.start(1) >= 0 else 0
            is_placed = not rule.is_word or START.match(text, m.start()) is not None
            if m[group] and is_placed and not is_reference(m[group]):
                yield Span(m.start(), *m.span(group), rule.id)

    return find


# -- keys ------------------------------------------------------------------------------------------------

_IDS = {prefix: id_ for table in (WEAK, STRONG) for id_, prefixes in table.items() for prefix in prefixes.split()}
# Every key has one of these.
PREFIXES = tuple(_IDS)
_IS_STRONG = {prefix for prefixes in STRONG.values() for prefix in prefixes.split()}


def any_of(words: Iterable[str]) -> str:
    """A pattern for any of them, by their first letters: alternatives one by one would take ten times as long."""
    heads: dict[str, list[str]] = {}
    for word in words:
        heads.setdefault(word[:1], []).append(word[1:])
    if set(heads) <= {""}:
        return ""
    branches = [re.escape(head) + any_of(tails) for head, tails in heads.items() if head]
    optional = "?" if "" in heads else ""
    return branches[0] if len(branches) == 1 and not optional else f"(?:{'|'.join(branches)}){optional}"


_LETTERS = "[A-Za-z0-9_+/.~-]"
KEY = re.compile(rf"(?P<prefix>{any_of(PREFIXES)})(?P<key>{_LETTERS}{{11,}}[A-Za-z0-9_-](?:={{1,2}}(?![A-Za-z0-9]))?)")
_PIECE = re.compile(r"[A-Za-z0-9]+")
_DIGEST = re.compile(r"[0-9a-f]+|[0-9A-F]+|01[0-9A-HJKMNP-TV-Z]{24}")


# Where a key may stand, which is looked for there alone: its prefix has many first letters.
_LONG = re.compile(rf"{_LETTERS}{{14,}}")


def keys(text: str) -> Iterator[Span]:
    """The keys in a line, or in many."""
    words = (word.span() for word in _LONG.finditer(text) if WORDS.fullmatch(word[0]) is None)
    for m in (m for start, end in words for m in KEY.finditer(text, start, end)):
        if _is_key(m["prefix"], m["key"], is_word=START.match(text, m.start()) is not None):
            yield Span(m.start(), *m.span(), _IDS[m["prefix"]])


def _is_key(prefix: str, letters: str, *, is_word: bool) -> bool:
    """Whether the letters behind a prefix look random; behind a weak one, a digest does not. Within a word they have to
    be many."""
    pieces = _PIECE.findall(letters)
    if prefix in _IS_STRONG:
        return (is_word and WORDS.fullmatch(letters) is None) or max(map(len, pieces)) >= 20
    if not is_word or _DIGEST.fullmatch(letters) is not None:
        return False
    least = 20 if letters == letters.lower() else 12
    random = (p for p in pieces if len(p) >= 6 and WORDS.fullmatch(p) is None and _DIGEST.fullmatch(p) is None)
    return sum(map(len, random)) >= least


# -- credentials in addresses ----------------------------------------------------------------------------

# A program that takes an address for a path shows it with one slash.
_ADDRESS = re.compile(r":/(?:/(?P<any>[^\s/\"'<>`\\]+)|(?P<both>[^\s/:\"'<>`\\]*:[^\s/\"'<>`\\]+))@(?!sha256:)")


def credentials(text: str) -> Iterator[Span]:
    """User and password in an address. A name alone is none (ssh://git@host); a long one is a token in its place."""
    for m in _ADDRESS.finditer(text):
        group = m.lastgroup or ""
        user, colon, password = m[group].partition(":")
        if group == "both" and (len(password) < 6 or not any(map(str.isalpha, password))):
            continue  # pci:/0000:01:00.0@x, host:/path:ro@x
        if is_reference(m[group]) or is_reference(password if colon else user):
            continue
        if colon or (len(user) >= 16 and any(map(str.isdigit, user))):
            yield Span(m.start(), *m.span(group), "credentials")


# -- values behind a name --------------------------------------------------------------------------------

NAME = r"[A-Za-z_][A-Za-z0-9_.-]{1,127}"
NAMES = re.compile(NAME)
# The sign of a flag before a name.
_DASH = re.compile(r"(?:(?<![\w-])|(?<=[0-9;\[]m))--?\Z", re.ASCII)
# Quotes, and what shells and JSON make of quotes within quotes.
_QUOTES = r"""[\\"'`*]{0,200}+"""
# Behind the name: what closes it, what assigns, and what opens the value.
_BETWEEN = re.compile(
    r"(?P<close>(?:[\"'`*]|\\(?!n)){0,200}+(?:\[[0-9]{0,9}\])?\]?)(?:"
    r"\s{0,40}(?::\s{0,4}[A-Za-z\[\]]{1,20}(?:\s?\|\s?None)?\s{0,40}(?==))?(?P<assign>={1,3}>?|!==?|:=|::?)\s{0,40}@?"
    rf"|(?:[\s,;]|\\{{1,7}}n){{1,40}}+{_QUOTES}(?P<keyed>(?i:value)){_QUOTES}\s{{0,40}}[:=]\s{{0,40}}"
    r"|(?P<loose>\s{0,40}(?:[|,>(\u2502\u2503\u2551\xa6]|&gt;)(?:<!\[CDATA\[)?\s{0,40}|(?:\s|\\n|\\(?=[\\\s])){1,200}+))"
    rf"(?P<open>(?:[rbfuRBFU]{{1,2}}(?=[\"'])|(?:SecretStr|Secret|str|bytes)\(|[\[{{(]\s{{0,40}}"
    rf"(?:{_QUOTES}\w{{1,40}}{_QUOTES}\s{{0,40}}[:=]\s{{0,40}})?){{1,3}}(?=[\\\"'`]))?"
)
_OPENED, _CLOSED = r"""(?P<q>["'\\]{4,200}|\"{3}|'{3}|\\{0,7}["'`])""", r"(?P=q)(?!(?P=q))"
_CHAR = rf"[^\n{PART}]"
# What is escaped or doubled does not close it.
_QUOTED = re.compile(rf"{_OPENED}(?P<value>(?>\\{_CHAR}|(?P=q){{2}}|{_CHAR}){{0,4096}}?){_CLOSED}")
_BARE = re.compile(rf"""["']?(?P<value>[^\s"'`;&|()<>\\\x1b{PART}]*)""")
_WHOLE = re.compile(rf"(?P<value>[^{PART}]*)")
_COMPARED = re.compile(r"""(?P<q>["'`])(?P<value>[^\\"'`]{1,1000})\\{0,7}(?P=q)\s{0,40}[!=]={1,2}\s{0,40}\Z""")
# What a log, a diff or a list puts before each line.
MARGIN = re.compile(r"(?:\([^()]{0,200}\)|[+|>#\s]|-(?![-\w]))*")
# What shows a name that may pass a variable on alone, so that the next word is an image (`docker run -e NAME`).
_PASSES_ON = ("docker", "podman", "nerdctl")
# A value is not followed into for other names further than this: time would grow with the square.
_FOLLOWED = 4096


def named(kind_of: Callable[[str], str | None]) -> Finder:
    """The values behind the names for which `kind_of` knows a kind."""

    def find(text: str) -> Iterator[Span]:
        if not any(map(kind_of, NAMES.findall(text))):
            return
        behind = 0
        for m in NAMES.finditer(text):
            kind = kind_of(m[0])
            if kind is None or m.start() < behind:
                continue
            for span in (_behind(text, m, kind), _compared(text, m, kind)):
                if span is not None:
                    behind = span.end if span.end - span.start > _FOLLOWED else 0
                    yield span

    return find


def _behind(text: str, named: re.Match[str], kind: str) -> Span | None:
    """The value behind a name."""
    name, head = named[0], _BETWEEN.match(text, named.end())
    if head is None:
        return None
    dash = _DASH.search(text, max(0, named.start() - 3), named.start())
    is_blank = head["loose"] is not None and head["loose"].strip(", ") in ("", PART)
    # `-TOKEN = read()` is a line that a diff takes out.
    is_taken_out = dash is not None and dash[0] == "-" and " " in text[named.end() : head.start("assign") + 1]
    is_flag = dash is not None and not is_taken_out and (head["loose"] is None or (is_blank and dash[0] == "--"))
    if head["loose"] is not None and text.startswith("-", head.end()):
        return None
    forms = (_WHOLE,) if is_flag and head["loose"] == PART else (_QUOTED, _BARE)
    found = next(m for form in forms if (m := form.match(text, head.end())) is not None)
    is_quoted = found.re is _QUOTED
    # What closes a list around an unquoted value is not part of it.
    value = found["value"].rstrip(",]}") if found.re is _BARE else found["value"]
    if not value or not is_secret_value(name, kind, value) or (is_quoted and found["q"] == "`" and " " in value):
        return None
    if head["loose"] is not None and not is_flag:
        is_ordinary = not _stands_beside(text, named, kind, value)
    elif head["open"] is not None:
        is_ordinary = not looks_secret(value)
    else:
        is_bare = head["assign"] is not None and not is_quoted and not is_flag
        is_ordinary = is_bare and _is_prose_or_code(text, kind, named, head, found)
    if is_ordinary:
        return None
    is_variable = not head["close"] and dash is None and VARIABLE.fullmatch(name)
    start = found.start("value")
    return Span(named.start(), start, start + len(value), kind, name if is_variable else "")


def _stands_beside(text: str, named: re.Match[str], kind: str, value: str) -> bool:
    """Whether a word is the value of the name before it though nothing but blanks, a line of a table or a comma says
    so."""
    before = text[max(0, named.start() - 200) : named.start()]
    if before[-1:] in ("$", "{") or "=" in value.rstrip("=") or not looks_random(kind, value):
        return False
    return not (any(word in before for word in _PASSES_ON) and ("/" in value or ":" in value))


def _compared(text: str, named: re.Match[str], kind: str) -> Span | None:
    """The other way round: `"value" == name`."""
    first = max(0, named.start() - 1100)
    if not text[first : named.start()].rstrip().endswith("="):
        return None
    opening = max(map(text[: named.start()].rstrip(f"=! \"'`\\{PART}").rfind, "\"'`"))
    m = _COMPARED.search(text, max(first, opening), named.start()) if opening >= 0 else None
    if m is None or not is_secret_value(named[0], kind, m["value"]):
        return None
    return Span(m.start(), *m.span("value"), kind)


def _is_prose_or_code(text: str, kind: str, named: re.Match[str], head: re.Match[str], found: re.Match[str]) -> bool:
    name, value, behind = named[0], found["value"], text[found.end() : found.end() + 1]
    has_digit_and_letter = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    if head["assign"].startswith(":") and "=" not in head["assign"]:
        # `token: what the router sees`, `[token]: dropped`; but a header, a quoted key, a variable or a line of YAML
        # is no prose, and neither is a value that cannot be a word: `password: hunter22`.
        is_alone = MARGIN.fullmatch(text, 0, named.start()) is not None and not text[found.end() :].strip()
        is_no_word = has_digit_and_letter and len(value) >= (12 if kind in (*OF_MANY, "secret") else 8)
        return not (head["close"].strip("]") or name.isupper() or "-" in name or is_alone or is_no_word)
    gap = text[named.end() : found.start("value")]
    if gap != gap.strip() or " " in gap:  # token = tokenizer.next()
        return not (len(value) >= 16 and has_digit_and_letter and "." not in value)
    # token=os.environ["TOKEN"], token=read()
    return value.endswith("[") or behind == "("
