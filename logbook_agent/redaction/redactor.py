"""Secrets out of text, argument vectors and mappings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from logbook_agent.redaction import rules
from logbook_agent.redaction.gate import Gate
from logbook_agent.redaction.names import is_secret_value, kind_of, mark
from logbook_agent.redaction.secrets import MIN_LENGTH, Secret, forms

_NAME = re.compile(r"[A-Za-z][\w.-]*", re.ASCII)
_FLAG = re.compile(r"--?[A-Za-z][\w.-]*", re.ASCII)
# `sh -c`, `bash -lc`: what follows is a script, not one value.
_SHELL_FLAG = re.compile(r"-[a-z]*c", re.ASCII)
_ASSIGNMENT = re.compile(r"(?P<head>(?P<name>(?:--?)?[A-Za-z_][\w.-]*)=)(?P<value>.*)", re.ASCII | re.DOTALL)
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*", re.ASCII)
# A replacement may, together with its surroundings, look like another secret; twice is already rare.
_MAX_PASSES = 4


@dataclass(frozen=True)
class Redactor:
    """Known secrets become `$NAME`, those known by their shape `[redacted:kind]`.

    Redacting twice changes nothing more. `extra_names` are further names that hold secrets.
    """

    secrets: tuple[Secret, ...] = ()
    extra_names: tuple[str, ...] = ()
    # Every printed form of every secret, longest first, with its `$NAME`.
    _forms: tuple[tuple[str, str], ...] = field(init=False, repr=False, compare=False)
    _placeholder: re.Pattern[str] = field(init=False, repr=False, compare=False)
    _extra: frozenset[str] = field(init=False, repr=False, compare=False)
    gate: Gate = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names: dict[str, str] = {}
        for secret in self.secrets:
            for form in forms(secret.value):
                names.setdefault(form, f"${secret.name}")
        ordered = sorted(names.items(), key=lambda item: (-len(item[0]), item[0]))
        shown = "|".join(re.escape(s.name) for s in sorted(self.secrets, key=lambda s: -len(s.name)))
        extra = frozenset(self.extra_names) | {s.name for s in self.secrets}
        set_ = object.__setattr__
        set_(self, "_forms", tuple(ordered))
        set_(self, "_placeholder", re.compile(rf"\$(?:{shown or '(?!)'})(?!\w)|\[redacted:[a-z-]+\]", re.ASCII))
        set_(self, "_extra", extra)
        set_(self, "gate", Gate([f.encode("utf-8", "surrogateescape") for f in names], sorted(extra)))

    @property
    def needles(self) -> tuple[bytes, ...]:
        """Every form of every known secret, as bytes."""
        return tuple(form.encode("utf-8", "surrogateescape") for form, _ in self._forms)

    def text(self, text: str) -> str:
        """The text without secrets. A key block over several lines becomes one mark."""
        if not self.may_hold_some(text):
            return text
        lines = LineRedactor(self)
        done = (lines.line(line) for line in text.split("\n"))
        return "\n".join(line for line in done if line is not None)

    def may_hold_some(self, text: str) -> bool:
        """A cheap look at the whole: most texts hold none, and the rules would look at every line of them."""
        try:
            return self.gate.flags(text.encode("utf-8", "surrogateescape"))
        except UnicodeEncodeError:
            return True

    def argv(self, argv: Sequence[str]) -> tuple[str, ...]:
        """An argument vector; the word after a flag such as `--token` is its value."""
        out: list[str] = []
        flag = kind = None
        for word in map(self.known, argv):
            if flag is not None and kind is not None and not word.startswith("-"):
                out.append(mark(kind) if is_secret_value(flag, kind, word) else self.text(word))
                flag = None
                continue
            is_script = len(argv) == 1 or (bool(out) and _SHELL_FLAG.fullmatch(out[-1]) is not None)
            out.append(self.text(word) if is_script else self._word(word))
            kind = kind_of(word.lstrip("-"), self._extra) if _FLAG.fullmatch(word) else None
            flag = word.lstrip("-") if kind is not None else None
        return tuple(out)

    def secrets_in_argv(self, argv: Sequence[str]) -> tuple[Secret, ...]:
        """What `argv` hides, as secrets of their own: a value given to a flag may be printed bare later."""
        found: dict[str, str] = {}
        before = ""
        for word, shown in zip(argv, self.argv(argv), strict=True):
            for value in self._hidden(word, shown):
                name = (before if before.startswith("-") and value == word else _name_of(word, shown)).strip("-")
                found.setdefault(value, re.sub(r"\W+", "_", name).upper() if _NAME.fullmatch(name) else "SECRET")
            before = word
        return tuple(Secret(name=name, value=value) for value, name in found.items() if len(value) >= MIN_LENGTH)

    def _hidden(self, word: str, shown: str) -> list[str]:
        """The parts of one word that were hidden."""
        if word == shown:
            return []
        if any(c.isspace() for c in word):
            return [line[a:b] for line in word.split("\n") for a, b in self.spans(line)]
        start = _common(word, shown)
        end = _common(word[start:][::-1], shown[start:][::-1])
        return [word[start : len(word) - end]]

    def _word(self, word: str) -> str:
        """One argument; in `NAME=value` all the rest is the value, whatever it contains."""
        m = _ASSIGNMENT.fullmatch(word)
        name = m["name"].lstrip("-") if m is not None else ""
        kind = kind_of(name, self._extra) if name else None
        if m is None or kind is None or not is_secret_value(name, kind, m["value"]):
            return self.text(word)
        head = self.text(m["head"])
        is_variable = head == m["head"] and _VARIABLE.fullmatch(m["name"]) is not None
        return head + (f"${name}" if is_variable else mark(kind))

    def mapping(self, mapping: Mapping[str, str]) -> dict[str, str]:
        """Names with their values; a value under a secret-looking name becomes `$NAME` as a whole."""
        return {name: self._named(name, value) for name, value in mapping.items()}

    def _named(self, name: str, value: str) -> str:
        value = self.known(value)
        kind = kind_of(name, self._extra)
        if kind is not None and ((name in self._extra and value) or is_secret_value(name, kind, value)):
            return f"${name}"
        return self.text(value)

    def line(self, text: str) -> str:
        """One line without secrets, apart from a key block that goes on in the next."""
        for _ in range(_MAX_PASSES):
            done = rules.apply(self.known(text), self._extra)
            if done == text:
                break
            text = done
        return text

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where secrets by their shape stand in one line; a key block without an end takes the rest."""
        found = rules.spans(text, self._extra)
        last_end = max((m.end() for m in rules.KEY_ENDS.finditer(text)), default=0)
        begin = rules.KEY_BEGINS.search(text, last_end)
        return found if begin is None else [*found, (begin.start(), len(text))]

    def known(self, text: str) -> str:
        """The text with the known secrets replaced; of those that overlap nothing is left."""
        hits = [(a, b, shown) for form, shown in self._forms for a, b in _occurrences(form, text)]
        if not hits:
            return text
        kept = [m.span() for m in self._placeholder.finditer(text)]
        out: list[str] = []
        at = -1
        done = 0
        for start, end, shown in sorted(hits, key=lambda hit: (hit[0], -hit[1])):
            if any(a <= start and end <= b for a, b in kept):
                continue
            if start >= at:
                out += [text[done:start], shown]
            at = max(at, end)
            done = at
        return "".join([*out, text[done:]])


def _name_of(word: str, shown: str) -> str:
    """What stands before the `=` of a word, where nothing of it was hidden; a bare word has no name but itself."""
    name, is_assigned, _ = word.partition("=")
    return name if is_assigned and shown.startswith(f"{name}=") else ""


def _common(a: str, b: str) -> int:
    """The length of what two texts begin with alike."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def _occurrences(form: str, text: str) -> Iterator[tuple[int, int]]:
    at = text.find(form)
    while at >= 0:
        yield at, at + len(form)
        at = text.find(form, at + 1)


class LineRedactor:
    """Line after line, with the memory that a key block goes on."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._key_lines_left = 0

    @property
    def in_key(self) -> bool:
        return self._key_lines_left > 0

    def line(self, line: str) -> str | None:
        """The line (no newline in it) without secrets; None when all of it belonged to a key block."""
        if self._key_lines_left:
            end = rules.KEY_ENDS.search(line)
            if end is not None:
                self._key_lines_left = 0
                rest = line[end.end() :]
                return self.line(rest) if rest.strip() else None
            if rules.KEY_BODY.fullmatch(line) is not None:
                self._key_lines_left -= 1
                return None
            self._key_lines_left = 0
        line = self._redactor.line(line)
        begin = rules.KEY_BEGINS.search(line)
        if begin is None:
            return line
        self._key_lines_left = rules.MAX_KEY_LINES
        return self._redactor.line(line[: begin.start()] + mark("private-key"))
