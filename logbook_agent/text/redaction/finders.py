r"""The finders: each gives the places in a text where secrets stand.

keys         prefixes of `shapes` before random characters
patterns     the rules of `shapes`, and those of a project
credentials  user and password in an address
key_blocks   private keys, which may go on over several lines

Values of secret-named variables are found by `known_values`, values behind the name of a secret by `redactor`. All read
a text of many lines at once, and find in it what they would find in each line alone. Only a private key, and the value
behind a name at the end of a line, may stand in the next lines.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence

from logbook_agent.text.redaction import shapes
from logbook_agent.text.redaction.known_values import PART, Finder, Span
from logbook_agent.text.redaction.names import WORDS, is_reference
from logbook_agent.text.redaction.shapes import Rule


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


def before(text: str, at: int) -> str:
    """What stands before a place on the same line, as far as it matters."""
    return text[max(0, at - 512) : at].rpartition("\n")[2]


# -- keys and other shapes -------------------------------------------------------------------------------

_IDS = {prefix: id_ for id_, prefixes in shapes.PREFIXES.items() for prefix in prefixes.replace("~", "").split()}
_WEAK = {prefix[1:] for prefixes in shapes.PREFIXES.values() for prefix in prefixes.split() if prefix[0] == "~"}
_LONGEST_FIRST = sorted(_IDS, key=len, reverse=True)
_LETTERS = "[A-Za-z0-9_+/.~-]"
_KEY = re.compile(rf"{_LETTERS}{{11,}}[A-Za-z0-9_-](?:={{1,2}}(?![A-Za-z0-9]))?")
_PIECE = re.compile(r"[A-Za-z0-9]+")
_DIGEST = re.compile(r"[0-9a-f]+|[0-9A-F]+|01[0-9A-HJKMNP-TV-Z]{24}")


def _ends_of_prefixes() -> Iterator[re.Pattern[str]]:
    """Patterns for the end of a prefix, each with one first letter: any of many are ten times as slow to search for."""
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
            if _is_key(prefix, m[0], is_word=shapes.START.match(text, start) is not None):
                found[start] = Span(start, start, m.end(), _IDS[prefix])
    return iter(found.values())


def _is_key(prefix: str, letters: str, *, is_word: bool) -> bool:
    """Whether the letters behind a prefix look random; behind a weak one, a digest does not. Within a word they have to
    be many."""
    pieces = _PIECE.findall(letters)
    if prefix not in _WEAK:
        return (is_word and WORDS.fullmatch(letters) is None) or max(map(len, pieces)) >= 20
    if not is_word or _DIGEST.fullmatch(letters) is not None:
        return False
    least = 20 if letters == letters.lower() else 12
    random = (p for p in pieces if len(p) >= 6 and WORDS.fullmatch(p) is None and _DIGEST.fullmatch(p) is None)
    return sum(map(len, random)) >= least


@functools.cache
def patterns(extra: tuple[Rule, ...]) -> Finder:
    """The matches of the rules. One look over the text names the lines on which those with keywords are tried; those
    of `shapes` that have none find the same in a text as in its lines."""
    rules = [(rule, _pattern(rule)) for rule in (*shapes.RULES, *extra)]
    by_keyword = [(lowered(word), find) for rule, find in rules for word in rule.keywords]
    by_keyword += [(b"", find) for rule, find in rules if not rule.keywords and rule not in shapes.RULES]
    gate = re.compile(any_of(dict.fromkeys((word.decode() for word, _ in by_keyword), "")).encode())
    wordless = [find for rule, find in rules if not rule.keywords and rule in shapes.RULES]

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
            is_placed = not rule.is_word or shapes.START.match(text, m.start()) is not None
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
    return (span for span, _ in key_lines(text))


def key_lines(text: str) -> Iterator[tuple[Span, bool]]:
    """Each private key, and whether the text ends before it does."""
    at = 0 if "PRIVATE" in text or "PuTTY" in text else len(text)
    while (begin := shapes.KEY_BEGINS.search(text, at)) is not None:
        margin = before(text, begin.start())
        at, is_open = begin.end(), True
        for count in range(_MOST_KEY_LINES):
            end = text.find("\n", at + (count > 0))
            end = len(text) if end < 0 else end
            if (last := shapes.KEY_ENDS.search(text, at, end)) is not None:
                at, is_open = last.end(), False
                break
            if count and _KEY_BODY.fullmatch(text[at + 1 : end].removeprefix(margin)) is None:
                is_open = False
                break
            at = end
            if end == len(text):
                break
        yield Span(begin.start(), begin.start(), at, "private-key"), is_open and at == len(text)
