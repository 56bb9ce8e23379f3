r"""The finders: each gives the places in a text where secrets stand.

known        values of secret-named variables, in the forms of `secrets`
keys         prefixes of `shapes` before random characters
patterns     the rules of `shapes`, and those of a project
credentials  user and password in an address
named        a value behind the name of a secret: `NAME sep VALUE`, `--name VALUE`
key_blocks   private keys, which may go on over several lines

They read a text of many lines at once, and find in it what they would find in each line alone. Only a private key, and
the value behind a name at the end of a line, may stand in the next lines.
"""

from __future__ import annotations

import functools
import re
import string
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from logbook_agent.text.redaction.names import (
    OF_MANY,
    STEMS,
    VARIABLE,
    WORDS,
    is_reference,
    is_secret_value,
    looks_random,
    looks_secret,
    mark,
)
from logbook_agent.text.redaction.secrets import Secret
from logbook_agent.text.redaction.shapes import KEY_BEGINS, KEY_ENDS, RULES, START, STRONG, WEAK, Rule


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
    pieces, at, last = [], 0, 0
    for span in sorted(spans, key=lambda span: span.start):
        if span.start >= at or not pieces:
            pieces += [text[at : span.start], span.shown]
            last = span.start
        words = text.count(PART, max(last, at), span.end)
        pieces += [PART, pieces[-1]] * words
        at = last = max(at, span.end)
    return "".join([*pieces, text[at:]])


def joined(argv: Sequence[str]) -> str:
    """The words of a command in one text, since a shell may have split what shows a secret: `wandb login X`, a key. One
    word alone is a script."""
    return PART.join(("", *argv) if len(argv) > 1 else argv)


def lowered(text: str) -> bytes:
    """The text in small letters, each in its place; what is not ASCII becomes a question mark."""
    return text.encode("ascii", "replace").lower()


def any_of(words: Mapping[str, str]) -> str:
    """A pattern for any of these words with what follows it, by their first letters: alternatives one by one would take
    ten times as long."""
    heads: dict[str, dict[str, str]] = {}
    for word, tail in words.items():
        heads.setdefault(word[:1], {})[word[1:]] = tail
    ends = list(heads.pop("", {}).values())
    branches = [*(re.escape(head) + any_of(tails) for head, tails in heads.items()), *ends]
    return branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})"


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


# -- keys and other shapes -------------------------------------------------------------------------------

_IDS = {prefix: id_ for table in (WEAK, STRONG) for id_, prefixes in table.items() for prefix in prefixes.split()}
_IS_STRONG = {prefix for prefixes in STRONG.values() for prefix in prefixes.split()}
_LONGEST_FIRST = sorted(_IDS, key=len, reverse=True)
_LETTERS = "[A-Za-z0-9_+/.~-]"
_KEY = re.compile(rf"{_LETTERS}{{11,}}[A-Za-z0-9_-](?:={{1,2}}(?![A-Za-z0-9]))?")
_PIECE = re.compile(r"[A-Za-z0-9]+")
_DIGEST = re.compile(r"[0-9a-f]+|[0-9A-F]+|01[0-9A-HJKMNP-TV-Z]{24}")


def _ends_of_prefixes() -> Iterator[re.Pattern[str]]:
    """Patterns for the end of a prefix, each with one first letter: a search for any of many takes ten times as long."""
    for sign in "_-.":
        widths: dict[int, list[str]] = {}
        for prefix in (prefix for prefix in _IDS if prefix.endswith(sign)):
            widths.setdefault(len(prefix), []).append(re.escape(prefix))
        before = "|".join(f"(?<={'|'.join(same)})" for same in widths.values())
        yield re.compile(rf"{re.escape(sign)}(?={_LETTERS}{{12}})(?:{before})")
    others = [prefix for prefix in _IDS if prefix[-1] not in "_-."]
    for first in {prefix[0] for prefix in others}:
        yield re.compile(any_of({prefix: "" for prefix in others if prefix[0] == first}))


_ENDS = tuple(_ends_of_prefixes())


def keys(text: str) -> Iterator[Span]:
    """Keys by their prefix: of two prefixes with one beginning, by the longer one."""
    found: dict[int, Span] = {}
    last = behind = 0
    for end in sorted(m.end() for pattern in _ENDS for m in pattern.finditer(text)):
        prefix = next(prefix for prefix in _LONGEST_FIRST if text.startswith(prefix, end - len(prefix)))
        start = end - len(prefix)
        if (start >= behind or start == last) and (m := _KEY.match(text, end)) is not None:
            last, behind = start, m.end()
            if _is_key(prefix, m[0], is_word=START.match(text, start) is not None):
                found[start] = Span(start, start, m.end(), _IDS[prefix])
    return iter(found.values())


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


def patterns(extra: Iterable[Rule]) -> Finder:
    """The matches of the rules. One look over the text names the lines on which those with keywords are tried; those
    of `shapes` that have none find the same in a text as in its lines."""
    rules = [(rule, _pattern(rule)) for rule in (*RULES, *extra)]
    by_keyword = [(lowered(word), find) for rule, find in rules for word in rule.keywords]
    by_keyword += [(b"", find) for rule, find in rules if not rule.keywords and rule not in RULES]
    gate = re.compile(any_of(dict.fromkeys((word.decode() for word, _ in by_keyword), "")).encode())
    wordless = [find for rule, find in rules if not rule.keywords and rule in RULES]

    def find(text: str) -> Iterator[Span]:
        yield from (span for find in wordless for span in find(text))
        low, end = lowered(text).replace(PART.encode(), b" "), -1
        while end < len(text) and (m := gate.search(low, end + 1)) is not None:
            start = low.rfind(b"\n", end + 1, m.start()) + 1 or end + 1
            end = low.find(b"\n", m.end())
            end = len(text) if end < 0 else end
            line, low_line = text[start:end], low[start:end]
            for find in dict.fromkeys(find for word, find in by_keyword if word in low_line):
                for span in find(line):
                    yield Span(span.begin + start, span.start + start, span.end + start, span.kind)

    return find


def _pattern(rule: Rule) -> Finder:
    """The matches of one rule, which is compiled when it is first needed: all would take longer than most commands."""

    def find(text: str) -> Iterator[Span]:
        for m in re.compile(rule.regex).finditer(text):
            group = 1 if m.re.groups and m.start(1) >= 0 else 0
            is_placed = not rule.is_word or START.match(text, m.start()) is not None
            if m[group] and is_placed and not is_reference(m[group]):
                yield Span(m.start(), *m.span(group), rule.id)

    return find


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


# -- private keys over several lines ---------------------------------------------------------------------

# Base64 at the end of a line, perhaps after a log prefix or in a quoted string; RFC 1421 headers; blank.
_KEY_BODY = re.compile(
    r"(?:.*[\s|>\"'])?[A-Za-z0-9+/]{16,}={0,2}(?:\\[nr])*[\"',+\\\s]*|\s*[\"']?[A-Za-z0-9+/]{1,64}={0,2}[\"',+\\\s]*"
    r"|(?:.*[\s|>\"'+])?(?:Proc-Type|DEK-Info|Version|Comment|Subject|Hash|Charset|Encryption|Key-Derivation|Argon2-\w+"
    r"|Public-Lines|Private-Lines):.*|\s*"
)
# The longest key seen has some 200 lines; a lost END must not swallow the rest of the output.
_MOST_KEY_LINES = 400


def key_blocks(text: str) -> Iterator[Span]:
    """Private keys, each with all of its lines."""
    return (span for span, _ in _key_blocks(text))


def _key_blocks(text: str) -> Iterator[tuple[Span, bool]]:
    """Each private key, and whether the text ends before it does."""
    at = 0 if "PRIVATE" in text or "PuTTY" in text else len(text)
    while (begin := KEY_BEGINS.search(text, at)) is not None:
        margin = _before(text, begin.start())
        at, is_open = begin.end(), True
        for count in range(_MOST_KEY_LINES):
            end = text.find("\n", at + (count > 0))
            end = len(text) if end < 0 else end
            if (last := KEY_ENDS.search(text, at, end)) is not None:
                at, is_open = last.end(), False
                break
            if count and _KEY_BODY.fullmatch(text[at + 1 : end].removeprefix(margin)) is None:
                is_open = False
                break
            at = end
            if end == len(text):
                break
        yield Span(begin.start(), begin.start(), at, "private-key"), is_open and at == len(text)


# -- values behind a name --------------------------------------------------------------------------------

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
_BARE = re.compile(rf"""["']?(?P<value>[^\s"'`;&|()<>\\\x1b{PART}]{{0,512}})""")
_REST_OF_BARE = re.compile(rf"""[^\s"'`;&|()<>\\\x1b{PART}]*""")
_WHOLE = re.compile(rf"(?P<value>[^{PART}]*)")
_LINE_END = re.compile(rf"{_B}*(?:\n|\Z)")
# What stands before a name that a word of a command begins with. Behind `sh -c` that word is a script, not one value.
_WORD = re.compile(rf"(?P<script>{PART}-[a-z]*c)?{PART}-{{0,2}}\Z")
# What shows a name that may pass a variable on alone, so that the next word is an image (`docker run -e NAME`).
_PASSES_ON = ("docker", "podman", "nerdctl")
# A value is not followed into for other names further than this: time would grow with the square.
_FOLLOWED = 4096


def named(kind_of: Callable[[str], str | None], names: Iterable[str] = ()) -> Finder:
    """The values behind the names for which `kind_of` knows a kind: one of `names`, or with a stem of a secret's."""
    words = dict.fromkeys((*STEMS, *map(str.lower, names)), _REST)
    words["key"] = rf"(?<=[a-z0-9_.-]key){_REST}"
    hint = re.compile(any_of(words).encode("ascii", "replace"))

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
            kind = kind_of(name[0])
            if kind is not None and (span := _behind(text, name, kind)) is not None:
                behind = span.end if span.end - span.start > _FOLLOWED else 0
                yield span

    return find


def _name_at(text: str, at: int) -> re.Match[str]:
    """The whole name that has its stem at this place."""
    before = text[max(0, at - 64) : at]
    name = NAMES.search(text, at - len(before) + len(before.rstrip(_NAME_LETTERS)))
    assert name is not None
    return name


def _before(text: str, at: int) -> str:
    """What stands before a place on the same line, as far as it matters."""
    return text[max(0, at - 512) : at].rpartition("\n")[2]


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
        is_ordinary = not _stands_beside(_before(text, named.start()), kind, value)
    elif head["open"] is not None:
        is_ordinary = not looks_secret(value)
    elif head["keyed"] and "\n" in text[named.end() : head.start("keyed")]:
        is_ordinary = _KEY_OF_NAME.search(_before(text, named.start())) is None
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
        is_first = re.fullmatch(_MARGIN, _before(text, named.start())) is not None
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


def unfinished(kind_of: Callable[[str], str | None]) -> Finder:
    """The private key, or the name of a secret, whose next lines are missing."""

    def names(text: str, end: int) -> bool:
        """Whether the line that ends here ends with the name of a secret."""
        m = _LAST_NAME.search(_before(text, end))
        return m is not None and kind_of(m["name"]) is not None

    def find(text: str) -> Iterator[Span]:
        blocks = list(_key_blocks(text))
        last = text.rfind("\n") + 1 if names(text, len(text)) else len(text)
        at = min((span.begin for span, is_open in blocks if is_open), default=last)
        while at < len(text):
            line = text.rfind("\n", 0, at) + 1
            earlier = [span.begin for span, _ in blocks if span.begin < line < span.end]
            earlier += [line - 1] if line and names(text, line - 1) else []
            if not earlier:
                yield Span(line, line, len(text), "")
                break
            at = min(earlier)

    return find


def hints(rules: Iterable[Rule], names: Iterable[str]) -> Finder:
    """The words that stand with secrets: in a text that goes on, a secret may follow."""
    words = (*STEMS, *names, *(keyword for rule in (*RULES, *rules) for keyword in rule.keywords))
    pattern = re.compile(any_of(dict.fromkeys(map(str.lower, words), "")).encode("ascii", "replace"))
    return lambda text: (Span(m.start(), *m.span(), "") for m in pattern.finditer(lowered(text)))
