"""Secrets out of text and argument vectors; and the values behind names, `NAME sep VALUE`, `--name VALUE`."""

from __future__ import annotations

import functools
import hashlib
import re
import string
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import structs

from logbook_agent.text.phrases import without_escapes
from logbook_agent.text.redaction import finders
from logbook_agent.text.redaction.finders import any_of, before, joined, key_lines, lowered
from logbook_agent.text.redaction.known_values import PART, Finder, KnownValues, Span, edited, looks, seen
from logbook_agent.text.redaction.names import (
    MIN_LENGTH,
    OF_MANY,
    STEMS,
    VARIABLE,
    Secret,
    is_looked_for,
    is_secret_value,
    looks_random,
    looks_secret,
    secret_kind,
)
from logbook_agent.text.redaction.shapes import KEY_BEGINS, RULES, Rule

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
# if token == "else": a parser's, most likely.
_COMPARED = ("==", "===", "!=", "!==")
# `bf16[128,256]{1,0}` and `--max_seq_len=4096` are what a parser meets.
_NO_KEY = re.compile(r"^--|[][{}(), ]")
_LONG_DIGEST = re.compile(r"[0-9a-f]{32,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
# What stands before a name that a word of a command begins with. Behind `sh -c` that word is a script, not one value.
_WORD = re.compile(rf"(?P<script>{PART}-[a-z]*c)?{PART}-{{0,2}}\Z")
# What shows a name that may pass a variable on alone, so that the next word is an image (`docker run -e NAME`).
_PASSES_ON = ("docker", "podman", "nerdctl")
# A value is not followed into for other names further than this: time would grow with the square.
_FOLLOWED = 4096


def behind_names(kind_of: KindOf, extra: Iterable[str] = ()) -> Finder:
    """The values behind the names for which `kind_of` knows a kind: one of `extra`, or with a stem of a secret's."""
    # A key without an owner before it is none.
    words = dict.fromkeys(STEMS, _REST) | {"key": rf"(?<=[a-z0-9_.-]key){_REST}"}
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
    if not value or not is_secret_value(name, kind, value) or (is_quoted and found["q"] == "`" and " " in value):
        return None
    if loose is not None and not is_flag:
        is_ordinary = not _stands_beside(before(text, named.start()), kind, value)
    elif head["open"] is not None:
        is_ordinary = not looks_secret(value)
    elif kind in OF_MANY and head["assign"] in _COMPARED:
        is_random = looks_random(kind, value) and _NO_KEY.search(value) is None
        is_ordinary = not is_random and _LONG_DIGEST.fullmatch(value) is None
    elif head["keyed"] and "\n" in text[named.end() : head.start("keyed")]:
        is_ordinary = _KEY_OF_NAME.search(before(text, named.start())) is None
    else:
        is_bare = head["assign"] is not None and not is_quoted and not is_flag and not is_word
        is_ordinary = is_bare and _is_prose_or_code(text, kind, named, head, found)
    if is_ordinary:
        return None
    is_variable = not head["close"] and dash is None and VARIABLE.fullmatch(name)
    start, rest = found.start("value"), _REST_OF_BARE.match(text, found.end())
    end = rest.end() if rest is not None and found.re is _BARE and rest[0] else start + len(value)
    return Span(named.start(), start, end, kind, name if is_variable else "")


def _stands_beside(before: str, kind: str, value: str) -> bool:
    """Whether a word is the value of the name before it though nothing but blanks, a line of a table or a comma says
    so. `before`: what stands before the name."""
    if before[-1:] in ("$", "{") or "=" in value.rstrip("=") or not looks_random(kind, value):
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
        is_no_word = has_digit_and_letter and len(value) >= (12 if kind in (*OF_MANY, "secret") else 8)
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
    words = (*STEMS, *extra, *(keyword for rule in (*RULES, *rules) for keyword in rule.keywords))
    pattern = re.compile(any_of({lowered(word).decode(): "" for word in words}).encode())
    return lambda text: (Span(m.start(), *m.span(), "") for m in pattern.finditer(lowered(text)))


# -- texts and argument vectors ------------------------------------------------------------------------

_MARK = re.compile(r"\[redacted:[a-z0-9-]{1,60}\]")
# A replacement may, together with its surroundings, look like another secret; twice is already rare.
_MOST_PASSES = 6
_SHORT, _LONG = 256, re.compile("[A-Za-z0-9]{20}")


class Redactor(KnownValues, frozen=True, dict=True):
    """Known secrets become `$NAME`, those known by their shape or name `[redacted:KIND]`.

    Redacting twice changes nothing more. `extra_names` are further names that hold secrets, `extra_rules` further
    shapes; they can hide more, but keep nothing from being hidden.
    """

    extra_names: tuple[str, ...] = ()
    extra_rules: tuple[Rule, ...] = ()

    def knowing(self, more: Iterable[Secret]) -> Redactor:
        """The same redactor with further known secrets; itself where there are none."""
        new = tuple(secret for secret in dict.fromkeys(more) if secret not in self.secrets)
        return structs.replace(self, secrets=(*self.secrets, *new)) if new else self

    @property
    def settings_key(self) -> str:
        """A digest of the names and rules that a project's settings add."""
        return hashlib.sha256(repr((self.extra_names, self.extra_rules)).encode()).hexdigest()[:16]

    @functools.cached_property
    def values(self) -> KnownValues:
        """The known secrets alone, for a worker."""
        return KnownValues(secrets=self.secrets)

    @functools.cached_property
    def _names(self) -> frozenset[str]:
        return frozenset({*self.extra_names, *(s.name for s in self.secrets if s.kind is None)})

    @functools.cached_property
    def _finders(self) -> tuple[Finder, Finder, Finder]:
        """For secrets, for what the end of a text leaves open, and for words that stand with secrets."""
        kind_of = self.kind_of if self._names else secret_kind
        patterns, behind = finders.patterns(self.extra_rules), behind_names(kind_of, self._names)
        found = (self._known, patterns, finders.keys, finders.credentials, finders.key_blocks, behind)
        words = hints(self.extra_rules, self._names)
        return lambda text: (span for find in found for span in find(text)), unfinished(kind_of), words

    def kind_of(self, name: str) -> str | None:
        """`password`, `token` ... for a name that holds secrets, else None."""
        return secret_kind(name) or ("secret" if name in self._names else None)

    def text(self, text: str) -> str:
        """The text without secrets. A key block over several lines becomes one mark."""
        return self._short(text) if len(text) <= _SHORT else self._whole(text)

    def _whole(self, text: str) -> str:
        for _ in range(_MOST_PASSES):
            if not (spans := self.spans(text)):
                break
            text = edited(text, spans)
        return text

    @functools.cached_property
    def _short(self) -> Callable[[str], str]:
        """Records repeat most of their short texts: names, hosts, words of commands."""
        return functools.lru_cache(maxsize=2**15)(self._whole)

    def spans(self, text: str) -> list[Span]:
        """Where secrets stand in a text."""
        found = list(seen(self._finders[0], text))
        # What stands for a secret is none: a rule that matches there would go on for ever.
        return [s for s in found if not _is_mark(text, s)] if found and "[redacted:" in text else found

    def unfinished(self, text: str) -> int:
        """Where that begins of which the lines that follow may show that it is a secret; else the length of the
        text."""
        return min((span.begin for span in seen(self._finders[1], text)), default=len(text))

    def may_hold(self, text: str) -> bool:
        """Whether the beginning of a line holds a secret, or a word that stands with secrets."""
        return any(True for find in (self._finders[2], self._finders[0]) for _ in seen(find, text))

    def argv(self, argv: Sequence[str]) -> tuple[str, ...]:
        """An argument vector. A word after a flag such as `--token` is its value, and so is all that follows `NAME=`
        in a word."""
        return tuple(self.text(joined(argv)).split(PART)[len(argv) > 1 :]) if argv else ()

    def secrets_in_argv(self, argv: Sequence[str]) -> tuple[Secret, ...]:
        """The values that `argv` hides, as known secrets: a value given to a flag may be printed bare later."""
        found = {secret.value: secret for secret in self.found(joined(argv)) if is_looked_for(secret.value)}
        return tuple(found.values())

    def named(self, name: str, value: str) -> str:
        """A value that stands under a name."""
        secret = self._under(name, value)
        return self.text(value) if secret is None else secret.shown

    def found(self, text: str, name: str = "") -> list[Secret]:
        """The secrets that a text without it would hide, where it stands under a name."""
        if (secret := self._under(name, text)) is not None:
            return [secret]
        found = []
        for span in self.spans(text):
            hidden = without_escapes(text[span.start : span.end])
            parts = hidden.split(PART)
            if span.kind == "private-key":
                lines = map(str.strip, re.split(rf"\n|\\n|{PART}", hidden))
                parts = [line for line in lines if len(line) >= 2 * MIN_LENGTH and "-----" not in line]
            kind = None if span.variable else span.kind
            found += [Secret(name=span.variable or "SECRET", value=part, kind=kind) for part in parts]
        return found

    def _under(self, name: str, value: str) -> Secret | None:
        """The value as a secret, where its name says that it is one."""
        kind, is_own = self.kind_of(name), name in self._names
        if kind is None or not ((is_own and value) or is_secret_value(name, kind, value)):
            return None
        return Secret(name=name, value=value, kind=None if is_own or VARIABLE.fullmatch(name) else kind)

    def in_binary(self, data: bytes) -> bool:
        """Whether data that is no text holds a known secret, a private key or a key with a long random part, also as
        UTF-16. What is compressed is not looked into."""
        if super().in_binary(data):
            return True
        texts = [look.decode("latin-1") for look in looks(data)]
        keys = ((text, span) for text in texts for span in finders.keys(text))
        is_long = any(_LONG.search(text, span.start, span.end) is not None for text, span in keys)
        return is_long or any(KEY_BEGINS.search(text) is not None for text in texts)


def _is_mark(text: str, span: Span) -> bool:
    """Whether a place is within what stands for a secret."""
    at = text.rfind("[redacted:", max(0, span.start - 80), span.start + 10)
    m = _MARK.match(text, at) if at >= 0 else None
    return m is not None and span.end <= m.end()


@functools.cache
def by_shape() -> Redactor:
    """The redactor that knows no secret, only what secrets look like and are called."""
    return Redactor()
