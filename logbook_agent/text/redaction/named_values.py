r"""Secrets known by the name that stands before them, within one line of text.

`NAME=value`, `"name": "value"`, `--name value`; a variable and its value as two words behind a flag (`-e NAME value`);
a name and a value as neighbours in a list (`"NAME", "value"`) or under keys that say so (`name: X, value: Y`); a
comparison (`"value" == name`); a statement (`name "value";`). Names are those of `names`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from logbook_agent.text.redaction.names import (
    Names,
    is_plain,
    is_secret_value,
    is_told_by_its_end,
    kind_of,
    looks_secret,
    mark,
)
from logbook_agent.text.redaction.rules import WORDS, Edit

Match = re.Match[str]

WORD_NAME = r"[A-Za-z_][A-Za-z0-9_.-]{2,127}"
# A quote; what a shell makes of one within quotes is `'"'"'`, and of that again a longer one.
_QUOTE = r"""[\\"']{1,200}+"""
# A name, as a flag or not, and never within a word.
_NAMES = re.compile(
    r"(?:(?P<dash>(?:(?<![\w-])|(?<=[0-9;\[]m))--?)|(?<![A-Za-z_.-])(?<!\[redacted:))" rf"(?P<name>{WORD_NAME})",
    re.ASCII,
)
# A quoted value in a call, a list or below a key of its own: `"password": {"value": "X"}`, `b'X'`, `SecretStr("X")`.
_OPENERS = re.compile(
    rf"(?:[rbfuRBFU]{{1,2}}|(?:SecretStr|Secret|str|bytes)\(|[\[{{(]\s{{0,40}}(?:(?:{_QUOTE})?\w{{1,40}}(?:{_QUOTE})?"
    rf"\s{{0,40}}[:=]\s{{0,40}})?){{1,3}}(?={_QUOTE})",
    re.ASCII,
)


@dataclass(frozen=True, slots=True, eq=False)
class _Form:
    """A form in which a value stands with its name: what is between the two, and what must stand before the name.

    `flag`: with a flag alone (True), or with no flag alone. `is_loose`: an ordinary word may stand there, too, so the
    value has to look like a secret. `is_beside`: so may anything, so it can be no word or number. `is_command`: in the
    words of a command each is seen by itself. What stands before the name is looked for in the last `reach` characters,
    where one of the words `has` must be.
    """

    name: str
    between: re.Pattern[str]
    before: re.Pattern[str] | None = None
    flag: bool | None = False
    is_loose: bool = False
    is_beside: bool = False
    is_command: bool = False
    has: tuple[str, ...] = ()
    reach: int = 300


def _form(name: str, between: str, before: str | None = None, **more: Any) -> _Form:
    compiled = None if before is None else re.compile(rf"(?:{before})\Z", re.ASCII)
    return _Form(name, re.compile(between, re.ASCII), compiled, **more)


_FORMS = (
    # `--name value`
    _form("flag", r"(?P<close>)(?P<sep>=|(?:\s|\\n|\\(?=[\\\s])){1,32}+(?!-))", flag=True, is_command=True),
    # `name = value`, `"name": value`
    _form(
        "name",
        rf"(?P<close>(?:{_QUOTE})?(?:\[[0-9]{{0,9}}\])?\]?)(?P<sep>\s{{0,40}}(?::\s{{0,4}}(?:str|bytes|SecretStr|"
        r"Optional\[str\])(?:\s?\|\s?None)?\s{0,40})?(?:={2,3}|=>|!==?|:?=)\s{0,40}@?|\s{0,40}::?\s{0,40}@?)",
    ),
    # `-e NAME value`
    _form(
        "pair",
        r"[\"']?(?P<close>)(?P<sep>\s{1,40})(?!-)",
        r"(?:(?<!\S)|(?<=[0-9;\[]m)|(?<=[\"'`(]))--?[A-Za-z][\w-]{0,63}[ =]\s{0,7}[\"']?",
        is_loose=True,
        is_command=True,
        has=("-",),
        reach=80,
    ),
    # `["name", "value"]`
    _form(
        "listed", rf"(?P<close>{_QUOTE})(?P<sep>\s{{0,40}},\s{{0,40}})(?={_QUOTE})", _QUOTE, flag=None, is_loose=True
    ),
    # `name: NAME, value: X`
    _form(
        "keyed",
        rf"(?P<close>(?:{_QUOTE}(?!n)|\\{{0,7}}[\"'])?)(?P<sep>(?:[\s,;]|\\{{1,7}}n){{1,40}}+(?:{_QUOTE})?(?i:value)"
        rf"(?:{_QUOTE})?\s{{0,40}}[:=]\s{{0,40}})",
        rf"(?i:\b(?:name|key|variable|env))(?:{_QUOTE})?\s{{0,40}}[:=]\s{{0,40}}(?:{_QUOTE})?",
    ),
    # `name "value";`
    _form(
        "stated",
        r"[\"'\]]{0,2}(?P<close>)(?P<sep>[(\s]\s{0,40})(?=[\"'`][^\"'`]{1,1000}[\"'`]\)?;)",
        is_loose=True,
    ),
    # `name: {"value": "X"}`
    _form(
        "nested", rf"(?P<close>(?:{_QUOTE})?\]?)(?P<sep>\s{{0,40}}[:=]\s{{0,40}}(?={_OPENERS.pattern}))", is_loose=True
    ),
    # `git config user.password X`, `setenv NAME X`
    _form(
        "set",
        r"(?P<close>)(?P<sep>\s{1,40})(?!-)",
        r"\b(?:setenv|config|configure\s+set|config\s+set)\s{1,40}(?:--[\w-]+\s{1,40}){0,4}",
        is_loose=True,
        has=("config", "setenv"),
    ),
    # A cell of a table or of aligned columns behind the name's; a variable and its value (`ENV HF_TOKEN X`).
    _form(
        "cell",
        r"(?P<close>[\"'`*]{0,3})"
        r"(?P<sep>[ \t]{0,200}+[|\u2502\u2503\u2551\xa6][ \t]{0,40}+|[ \t]{2,200}+|\t|(?<=[A-Z0-9]) )",
        is_beside=True,
        is_command=True,
    ),
    # `<name>X</name>`, `<entry key="name">X</entry>`, also with `&lt;` and `&gt;`
    _form(
        "tag",
        r"(?P<close>)(?P<sep>[\"']?(?:>|&gt;)(?:<!\[CDATA\[)?\s{0,40})(?=[^<>]{1,4096}(?:>\s{0,40})?(?:</|&lt;/))",
        r"[<\"':;]",
        reach=1,
    ),
)
# Those of the names with a dash before them, and of the others; in the words of a command, and in a line.
_FORMS_OF = {
    (in_words, dash): tuple(f for f in _FORMS if f.flag in (None, dash) and not (in_words and f.is_command))
    for in_words in (False, True)
    for dash in (False, True)
}
# What may stand between a name and its value in any of these forms, but for those that are told by a word before both.
_BETWEEN = {
    key: re.compile("|".join(re.sub(r"\(\?P<\w+>", "(?:", f.between.pattern) for f in forms if not f.has), re.ASCII)
    for key, forms in _FORMS_OF.items()
}
_TEXT = re.compile(r"(?P<value>(?:[^<>&\]]|&(?![lg]t;)|\](?!\]>))*)(?<!\s)")
_OPENED, _CLOSED = r"""(?P<open>["'\\]{4,200}|\"{3}|'{3}|\\{0,7}["'`])""", r"(?P=open)(?!(?P=open))"
# What is escaped or doubled does not close it. Atomic, so that no text is read in more than one way; where only an
# escaped quote is left to close it, that one does.
_QUOTED = re.compile(rf"{_OPENED}(?P<value>(?>\\.|(?P=open){{2}}|.){{0,4096}}?){_CLOSED}")
_QUOTED_LOOSELY = re.compile(rf"{_OPENED}(?P<value>.{{0,4096}}){_CLOSED}")
_WORD = re.compile(r"""["']?(?P<value>[^\s"'`;&|()<>\\\x1b]*)""", re.ASCII)
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*", re.ASCII)
# The other way round: `"value" == name`.
_QUOTES = "\\\"'`"
_COMPARED = re.compile(
    rf"(?P<open>`|{_QUOTE})(?P<value>[^\\\"'`]{{1,1000}})(?P=open)\s{{0,40}}[!=]={{1,2}}\s{{0,40}}\Z", re.ASCII
)
# Their `-e NAME` passes a variable on by its name alone: the next word is no value.
_NAME_ALONE = frozenset({"docker", "podman", "nerdctl", "finch"})
# What a log, a diff or a list puts before each line.
MARGIN = re.compile(r"(?:\([^()]{0,200}\)|[+|>#\s]|-(?![-\w]))*", re.ASCII)
_BRACKETS = ("", "[", "{", "(")
# Kinds whose names have other meanings, too.
_OF_MANY = ("token", "auth", "credential")
# A call, a date, an attribute of a module.
_NO_VALUE = re.compile(r"[\w.]*\(|[0-9]{4}-[0-9]{2}-[0-9]{2}|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$", re.ASCII)
# How long a value is followed into for the names within it.
_LONGEST_FOLLOWED = 4096


class NamedFinders:
    """The values that stand with a name; `extra` are further names that hold secrets."""

    def __init__(self, extra: Names) -> None:
        self._extra = extra

    def in_line(self, text: str, low: str = "") -> list[Edit]:
        """Those of one line."""
        return list(self._found(text, in_words=False))

    def in_words(self, text: str, low: str = "") -> list[Edit]:
        """Those in several words of a command; single words, and pairs of them, are seen one by one."""
        return list(self._found(text, in_words=True))

    def _found(self, text: str, *, in_words: bool) -> Iterator[Edit]:
        followed: dict[_Form, tuple[int, int]] = {}
        # Most names stand in no form at all, and a hostile line has nothing but names.
        told = {form for form in _FORMS if any(word in text for word in form.has)}
        for m in _NAMES.finditer(text):
            kind = kind_of(m["name"], self._extra)
            if kind is None:
                continue
            key = in_words, m["dash"] is not None
            is_beside = _BETWEEN[key].match(text, m.end()) is not None
            for form in _FORMS_OF[key] if is_beside or told else ():
                if not (form in told if form.has else is_beside):
                    continue
                start, end = followed.get(form, (0, 0))
                # A value may hold the next name; were it followed into each of a long one, time would grow with the
                # square.
                if m.start() < end and end - start > _LONGEST_FOLLOWED:
                    continue
                edit = _value(text, m, kind, form)
                if edit is not None:
                    followed[form] = edit.start, edit.end
                    yield edit
            edit = _compared(text, m, kind)
            if edit is not None:
                yield edit


def _value(text: str, m: Match, kind: str, form: _Form) -> Edit | None:
    """The value of a name that stands in this form."""
    name, first = m["name"], max(0, m.start() - form.reach)
    if form.has and not any(text.find(word, first, m.start()) >= 0 for word in form.has):
        return None
    head = form.between.match(text, m.end())
    if head is None or (form.flag and (name[0] == "_" or len(name) > 64)):
        return None
    before = None
    if form.before is not None:
        before = form.before.search(text, first, m.start())
        if before is None or (form.name == "listed" and before[0] != head["close"]):
            return None
    opened = _OPENERS.match(text, head.end()) if form.name == "nested" else None
    at = head.end() if opened is None else opened.end()
    found = (
        _TEXT.match(text, at)
        if form.name == "tag"
        else _QUOTED.match(text, at) or _QUOTED_LOOSELY.match(text, at) or _WORD.match(text, at)
    )
    if found is None or found["value"] in _BRACKETS:
        return None
    is_quoted = found.re in (_QUOTED, _QUOTED_LOOSELY)
    value = found["value"] if is_quoted else _without_closers(found["value"])
    is_beside = form.is_beside or (form.name == "tag" and kind in _OF_MANY)
    if (
        not is_secret_value(name, kind, value)
        or (form.is_loose and not looks_secret(value))
        or (is_beside and (text[m.start() - 1 : m.start()] == "$" or not _is_in_cell(name, kind, value)))
        or (is_quoted and found["open"] == "`" and " " in value)  # a command whose output is the value
        or (form.name == "name" and not is_quoted and _is_prose_or_code(text, kind, m, head, found))
        or (form.name == "flag" and head["sep"].isspace() and m["dash"] != "--")
        or (
            form.name in ("pair", "cell")
            and may_stand_alone(text[: m.start() if before is None else before.start()])
            and not is_no_image(value)
        )
    ):
        return None
    is_variable = form.name == "name" and not head["close"] and _VARIABLE.fullmatch(name) is not None
    start = found.start("value")
    begin = m.start() if before is None else before.start()
    return Edit(begin, start, start + len(value), f"${name}" if is_variable else mark(kind), kind)


def _compared(text: str, name: Match, kind: str) -> Edit | None:
    first = max(0, name.start() - 1100)
    before = text[first : name.start()].rstrip()
    if not before.endswith("="):
        return None
    # The value stands between the quotes before the operator and the next ones before these.
    value = before.rstrip("=!").rstrip().rstrip(_QUOTES)
    opening = value[: max(map(value.rfind, _QUOTES)) + 1].rstrip(_QUOTES)
    m = _COMPARED.search(text, first + len(opening), name.start())
    if m is None or not is_secret_value(name["name"], kind, m["value"]):
        return None
    return Edit(m.start(), m.start("value"), m.end("value"), mark(kind), kind, name.end())


def may_stand_alone(words: str) -> bool:
    """Whether a variable's name behind a flag of this command may stand without its value."""
    return any(word.rpartition("/")[2] in _NAME_ALONE for word in words.split())


def is_no_image(value: str) -> bool:
    """Whether a word behind such a name is its value, and not the image that is run."""
    return looks_secret(value) and "/" not in value and ":" not in value


def _without_closers(value: str) -> str:
    """What closes a list around an unquoted value is not part of it; what closes a mark is."""
    bare = value.rstrip(",]}")
    opened = bare.rfind(mark("")[:-1])
    return bare + "]" if opened >= 0 and "]" not in bare[opened:] else bare


def _is_prose_or_code(text: str, kind: str, named: Match, head: Match, value: Match) -> bool:
    name, sep = named["name"], head["sep"]
    if ":" in sep and "=" not in sep:
        # `token: what the router sees`, `[token]: dropped`; but a header, a quoted key, a variable or a line of YAML
        # is no prose.
        is_alone = MARGIN.fullmatch(text, 0, named.start()) is not None and not text[value.end() :].strip()
        return not (
            head["close"].strip("]") or name.isupper() or "-" in name or is_alone or _is_no_word(kind, value["value"])
        )
    if sep.strip() != sep and not _is_random(value["value"]):
        return True  # token = tokenizer.next()
    # token=os.environ["TOKEN"], token=read()
    return value["value"].endswith("[") or text[value.end() : value.end() + 1] == "("


def _is_no_word(kind: str, value: str) -> bool:
    """Whether a value within a sentence cannot be a word of it: `password: hunter22`, not `the secret: int8 tiles`."""
    least = 8 if kind == "password" or kind.endswith("key") else 12
    return len(value) >= least and any(c.isdigit() for c in value) and any(c.isalpha() for c in value)


def _is_in_cell(name: str, kind: str, value: str) -> bool:
    """Whether a value beside its name, with nothing but blanks or a line of a table between, is no word or number."""
    if not is_told_by_its_end(name) or _NO_VALUE.match(value) is not None or is_plain(value):
        return False
    is_typed = kind not in _OF_MANY
    least = 6 if kind == "password" else 8 if is_typed else 12
    has_both = any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
    return has_both and len(value) >= least and (is_typed or WORDS.fullmatch(value) is None)


def _is_random(value: str) -> bool:
    return len(value) >= 16 and any(c.isdigit() for c in value) and "." not in value
