"""Values behind the name of a secret: `NAME sep VALUE`, `--name VALUE`."""

from __future__ import annotations

import functools
import re
import string
from collections.abc import Callable, Iterable, Iterator

from logbook_agent.text.redaction import names
from logbook_agent.text.redaction.finders import key_lines
from logbook_agent.text.redaction.shapes import RULES, Rule
from logbook_agent.text.redaction.spans import PART, Finder, Span, any_of, before, lowered

KindOf = Callable[[str], str | None]
NAME = r"[A-Za-z_][A-Za-z0-9_.-]{1,127}"
NAMES = re.compile(NAME)
_NAME_LETTERS = string.ascii_letters + string.digits + "_.-"
# A blank on the same line.
_B = r"[^\S\n]"
# What a log, a diff or a list puts before each line.
_MARGIN = rf"(?:\([^()\n]{{0,200}}\)|[+|>#]|{_B}|-(?![-\w]))*"
_NEXT_LINE = rf"{_B}{{0,40}}\n{_MARGIN}"
# The sign of a flag before a name.
_DASH = re.compile(r"(?:(?<![\w-])|(?<=[0-9;\[]m))--?\Z", re.ASCII)
# Quotes, and what shells and JSON make of quotes within quotes.
_QUOTES = r"""[\\"'`*]{0,200}+"""
_INDEX = r"(?:\[[0-9]{0,9}\])?\]?"
# In small letters: the rest of a name, and what parts it from a value.
_REST = rf"""[a-z0-9_.-]{{0,127}}+(?=["'`*]{{0,200}}+{_INDEX}[\s\x1c-\x1f:=!|,>(;&?\\])"""
# Behind the name: what closes it, what assigns, and what opens the value.
_BETWEEN = re.compile(
    rf"(?P<close>(?:[\"'`*]|\\(?!n)){{0,200}}+{_INDEX})(?:"
    rf"{_B}{{0,40}}(?::{_B}{{0,4}}[A-Za-z\[\]]{{1,20}}(?:{_B}?\|{_B}?None)?{_B}{{0,40}}(?==))?"
    rf"(?P<assign>={{1,3}}>?|!==?|:=|::?)(?:{_B}{{1,40}}[|>][+-]?{_NEXT_LINE}|{_B}{{0,40}}@?)"
    rf"|(?:{_NEXT_LINE}|{_B}|[,;]|\\{{1,7}}n){{1,40}}+{_QUOTES}(?P<keyed>(?i:value)){_QUOTES}{_B}{{0,40}}[:=]{_B}{{0,40}}"
    rf"|(?P<loose>(?<=[\"']){_B}{{0,40}},{_NEXT_LINE}"
    rf"|{_B}{{0,40}}(?:[|,>(\u2502\u2503\u2551\xa6]|&gt;)(?:<!\[CDATA\[)?{_B}{{0,40}}"
    rf"|(?:\\{_NEXT_LINE}|{_B}|\\n|\\(?=[\\\s])){{1,200}}+))"
    rf"(?P<open>(?:[rbfuRBFU]{{1,2}}(?=[\"'])|(?:SecretStr|Secret|str|bytes)\(|[\[{{(]{_B}{{0,40}}"
    rf"(?:{_QUOTES}\w{{1,40}}{_QUOTES}{_B}{{0,40}}[:=]{_B}{{0,40}})?){{1,3}}(?=[\\\"'`]))?"
)
# Before a name whose value stands in the next line: `name: DB_PASSWORD`.
_KEY_OF_NAME = re.compile(rf"\b(?i:name|key|variable|env)[\"']?{_B}{{0,40}}[:=]{_B}{{0,40}}[\"']?\Z")
_OPENED, _CLOSED = r"""(?P<q>["'\\]{4,200}|\"{3}|'{3}|\\{0,7}["'`])""", r"(?P=q)(?!(?P=q))"
_CHAR = rf"[^\n{PART}]"
# What is escaped or doubled does not close it.
_QUOTED = re.compile(rf"{_OPENED}(?P<value>(?>\\{_CHAR}|(?P=q){{2}}|{_CHAR}){{0,4096}}?){_CLOSED}")
# As much of a word as tells whether it is a secret: each of many names may stand before one long word.
_BARE_CHAR = rf"""[^\s"'`;&|()<>\\\x1b{PART}]"""
_BARE, _REST_OF_BARE = re.compile(rf"[\"']?(?P<value>{_BARE_CHAR}{{0,512}})"), re.compile(rf"{_BARE_CHAR}*")
_WHOLE = re.compile(rf"(?P<value>[^{PART}]*)")
_LINE_END = re.compile(rf"{_B}*(?:\n|\Z)")
# What stands before a name that a word of a command begins with. Behind `sh -c` that word is a script, not one value.
_WORD = re.compile(rf"(?P<script>{PART}-[a-z]*c)?{PART}-{{0,2}}\Z")
# What shows a name that may pass a variable on alone, so that the next word is an image (`docker run -e NAME`).
_PASSES_ON = ("docker", "podman", "nerdctl")
# A value is not followed into for other names further than this: time would grow with the square.
_FOLLOWED = 4096


def named(kind_of: KindOf, extra: Iterable[str] = ()) -> Finder:
    """The values behind the names for which `kind_of` knows a kind: one of `extra`, or with a stem of a secret's."""
    # A key without an owner before it is none.
    words = dict.fromkeys(names.STEMS, _REST) | {"key": rf"(?<=[a-z0-9_.-]key){_REST}"}
    words |= {lowered(name).decode(): _REST for name in extra}
    hint = re.compile(any_of(words).encode())

    @functools.lru_cache(maxsize=4096)
    def may_end(rest: str) -> bool:
        """Whether a name may hold a secret that goes on so from its stem on."""
        return kind_of(rest) is not None or kind_of(f"db_{rest}") is not None

    def find(text: str) -> Iterator[Span]:
        behind = 0
        for stem in hint.finditer(lowered(text)):
            start, end = stem.span()
            if start < behind or not may_end(text[start:end]):
                continue
            name = _name_at(text, start)
            kind = kind_of(name[0]) if name is not None else None
            if name is not None and kind is not None and (span := _behind(text, name, kind)) is not None:
                behind = span.end if span.end - span.start > _FOLLOWED else 0
                yield span

    return find


def _name_at(text: str, at: int) -> re.Match[str] | None:
    """The whole name that has its stem at this place."""
    head = text[max(0, at - 64) : at]
    return NAMES.search(text, at - len(head) + len(head.rstrip(_NAME_LETTERS)))


def _behind(text: str, named: re.Match[str], kind: str) -> Span | None:
    """The value behind a name."""
    name, head = named[0], _BETWEEN.match(text, named.end())
    loose = head["loose"] if head is not None else None
    if head is None or (loose is not None and text.startswith("-", head.end())):
        return None
    dash = _DASH.search(text, max(0, named.start() - 3), named.start())
    is_blank = loose is not None and ("\n" in loose or loose.strip(", ") in ("", PART))
    # `-TOKEN = read()` is a line that a diff takes out.
    is_taken_out = dash is not None and dash[0] == "-" and " " in text[named.end() : head.start("assign") + 1]
    is_flag = dash is not None and not is_taken_out and (loose is None or (is_blank and dash[0] == "--"))
    word = _WORD.search(text, max(0, named.start() - 12), named.start()) if head["assign"] == "=" else None
    is_word = (is_flag and loose == PART) or (word is not None and word["script"] is None and not head["close"])
    found = (_WHOLE if is_word else _QUOTED).match(text, head.end()) or _BARE.match(text, head.end())
    if found is None:
        return None
    is_quoted = found.re is _QUOTED
    # What closes a list around an unquoted value is not part of it.
    value = found["value"].rstrip(",]}") if found.re is _BARE else found["value"]
    if not value or not names.is_secret_value(name, kind, value) or (is_quoted and found["q"] == "`" and " " in value):
        return None
    if loose is not None and not is_flag:
        is_ordinary = not _stands_beside(before(text, named.start()), kind, value)
    elif head["open"] is not None:
        is_ordinary = not names.looks_secret(value)
    elif head["keyed"] and "\n" in text[named.end() : head.start("keyed")]:
        is_ordinary = _KEY_OF_NAME.search(before(text, named.start())) is None
    else:
        is_bare = head["assign"] is not None and not is_quoted and not is_flag and not is_word
        is_ordinary = is_bare and _is_prose_or_code(text, kind, named, head, found)
    if is_ordinary:
        return None
    is_variable = not head["close"] and dash is None and names.VARIABLE.fullmatch(name)
    start, rest = found.start("value"), _REST_OF_BARE.match(text, found.end())
    end = rest.end() if rest is not None and found.re is _BARE and rest[0] else start + len(value)
    return Span(named.start(), start, end, kind, name if is_variable else "")


def _stands_beside(before: str, kind: str, value: str) -> bool:
    """Whether a word is the value of the name before it though nothing but blanks, a line of a table or a comma says
    so. `before`: what stands before the name."""
    if before[-1:] in ("$", "{") or "=" in value.rstrip("=") or not names.looks_random(kind, value):
        return False
    return not (any(word in before[-200:] for word in _PASSES_ON) and ("/" in value or ":" in value))


def _is_prose_or_code(text: str, kind: str, named: re.Match[str], head: re.Match[str], found: re.Match[str]) -> bool:
    name, value, behind = named[0], found["value"], text[found.end() : found.end() + 1]
    has_digit_and_letter = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    if head["assign"].startswith(":") and "=" not in head["assign"]:
        # `token: what the router sees`, `[token]: dropped`; but a header, a quoted key, a variable or a line of YAML
        # is no prose, and neither is a value that cannot be a word: `password: hunter22`.
        is_first = re.fullmatch(_MARGIN, before(text, named.start())) is not None
        is_alone = is_first and _LINE_END.match(text, found.end()) is not None
        is_no_word = has_digit_and_letter and len(value) >= (12 if kind in (*names.OF_MANY, "secret") else 8)
        return not (head["close"].strip("]") or name.isupper() or "-" in name or is_alone or is_no_word)
    gap = text[named.end() : found.start("value")]
    if gap != gap.strip() or " " in gap:  # token = tokenizer.next()
        return not (len(value) >= 16 and has_digit_and_letter and "." not in value)
    # token=os.environ["TOKEN"], token=read()
    return value.endswith("[") or behind == "("


# -- what the end of a text leaves open ------------------------------------------------------------------

_LAST_NAME = re.compile(rf"(?<![A-Za-z0-9_])(?P<name>{NAME})[^\w\n]*\Z", re.ASCII)


def unfinished(kind_of: KindOf) -> Finder:
    """The last lines of a text that need the next ones: of a private key, or with the name of a secret at their end."""

    def find(text: str) -> Iterator[Span]:
        blocks, at = list(key_lines(text)), len(text)
        while at >= 0:
            m = _LAST_NAME.search(before(text, at))
            is_within = any(span.begin < at < span.end + is_open for span, is_open in blocks)
            if not is_within and (m is None or kind_of(m["name"]) is None):
                break
            at = text.rfind("\n", 0, at)
        if at < len(text):
            yield Span(at + 1, at + 1, len(text), "")

    return find


def hints(rules: Iterable[Rule], extra: Iterable[str]) -> Finder:
    """The words that stand with secrets: in a text that goes on, a secret may follow."""
    words = (*names.STEMS, *extra, *(keyword for rule in (*RULES, *rules) for keyword in rule.keywords))
    pattern = re.compile(any_of({lowered(word).decode(): "" for word in words}).encode())
    return lambda text: (Span(m.start(), *m.span(), "") for m in pattern.finditer(lowered(text)))
