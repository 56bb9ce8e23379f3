"""Secrets out of text, argument vectors and mappings."""

from __future__ import annotations

import bisect
import functools
import hashlib
import itertools
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from logbook_agent.text.escapes import without_escapes
from logbook_agent.text.redaction import rules
from logbook_agent.text.redaction.lines import LineRedactor, Prefilter, key_blocks, open_key
from logbook_agent.text.redaction.named_values import NamedFinders, is_no_image, may_stand_alone
from logbook_agent.text.redaction.names import Names, is_secret_value, kind_of, mark
from logbook_agent.text.redaction.rules import Edit, Finder, ShapeFinders, built_in_shapes, find_keys
from logbook_agent.text.redaction.secrets import MIN_LENGTH, KnownForms, Secret, is_looked_for
from logbook_agent.text.redaction.shapes import RULES, Rule

_NAME = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII)
_FLAG = re.compile(r"--?[A-Za-z][\w.-]*", re.ASCII)
# `sh -c`, `bash -lc`: what follows is a script, not one value.
_SHELL_FLAG = re.compile(r"-[a-z]*c", re.ASCII)
_ASSIGNMENT = re.compile(r"(?P<head>(?P<name>(?:--?)?[A-Za-z_][\w.-]*)=)(?P<value>.*)", re.ASCII | re.DOTALL)
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*", re.ASCII)
# Words in UTF-16, whichever byte comes first.
_WIDE = re.compile(rb"(?:[\x20-\x7e]\0){8,}[\x20-\x7e]?")
_MARK = re.compile(r"\[redacted:[a-z0-9-]{1,60}\]")
# A replacement may, together with its surroundings, look like another secret; twice is already rare.
_MAX_PASSES = 8
# Of so many texts up to this length it is remembered whether they may hold a secret.
_SHORT = 64
_MOST_SHORT = 4096


@dataclass(frozen=True)
class Redactor:
    """Known secrets become `$NAME`, those known by their shape `[redacted:kind]`.

    Redacting twice changes nothing more. `extra_names` are further names that hold secrets, `extra_rules` further
    shapes; they come after the built-in ones, and can hide more, but keep nothing from being hidden.
    """

    secrets: tuple[Secret, ...] = ()
    extra_names: tuple[str, ...] = ()
    extra_rules: tuple[Rule, ...] = ()
    # Every form of every known secret, as bytes.
    needles: tuple[bytes, ...] = field(init=False, repr=False, compare=False)
    _known: KnownForms = field(init=False, repr=False, compare=False)
    _extra: Names = field(init=False, repr=False, compare=False)
    _shapes: ShapeFinders = field(init=False, repr=False, compare=False)
    _named: NamedFinders = field(init=False, repr=False, compare=False)
    _short: dict[str, bool] = field(init=False, repr=False, compare=False, default_factory=dict)
    gate: Prefilter = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names: dict[str, str] = {}
        for secret in self.secrets:
            for form in secret.forms:
                names.setdefault(form, secret.shown)
        shown = "|".join(re.escape(s.name) for s in sorted(self.secrets, key=lambda s: -len(s.name)))
        extra = frozenset(self.extra_names) | {s.name for s in self.secrets if s.kind is None}
        needles = tuple(f.encode("utf-8", "surrogatepass") for f in names)
        placeholder = re.compile(rf"\$(?:{shown or '(?!)'})(?!\w)|\[redacted:[a-z0-9-]+\]", re.ASCII)
        set_ = object.__setattr__
        set_(self, "needles", needles)
        set_(self, "_known", KnownForms(names, placeholder))
        set_(self, "_extra", extra)
        shapes = ShapeFinders((*RULES, *self.extra_rules)) if self.extra_rules else built_in_shapes()
        set_(self, "_shapes", shapes)
        set_(self, "_named", NamedFinders(extra))
        set_(self, "gate", Prefilter((*RULES, *self.extra_rules), needles, sorted(extra)))

    def knowing(self, more: Iterable[Secret]) -> Redactor:
        """The same redactor with further known secrets; itself where there are none."""
        new = tuple(secret for secret in dict.fromkeys(more) if secret not in self.secrets)
        if not new:
            return self
        return Redactor(secrets=(*self.secrets, *new), extra_names=self.extra_names, extra_rules=self.extra_rules)

    @property
    def settings_key(self) -> str:
        """A digest of the names and rules that a project's settings add."""
        return hashlib.sha256(repr((self.extra_names, self.extra_rules)).encode()).hexdigest()[:16]

    def kind_of(self, name: str) -> str | None:
        """`password`, `token` ... for a name that holds secrets, else None."""
        return kind_of(name, self._extra)

    def text(self, text: str) -> str:
        """The text without secrets. A key block over several lines becomes one mark."""
        if not self.may_hold_some(text):
            return text
        lines = LineRedactor(self.line)
        done = (lines.line(line) if lines.wants_next or self.may_hold_some(line) else line for line in text.split("\n"))
        return "\n".join(line for line in done if line is not None)

    def may_hold_some(self, text: str) -> bool:
        """A cheap look at the whole: most texts hold none, and the rules would look at every line of them."""
        if len(text) > _SHORT:
            return self.gate.flags(text.encode("utf-8", "surrogatepass"))
        # Records repeat the same keys and words.
        answer = self._short.get(text)
        if answer is None:
            answer = self.gate.flags(text.encode("utf-8", "surrogatepass"))
            if len(self._short) < _MOST_SHORT:
                self._short[text] = answer
        return answer

    def argv(self, argv: Sequence[str]) -> tuple[str, ...]:
        """An argument vector. The word after a flag such as `--token` is its value; so is the one after a secret's name
        that stands behind a flag (`-e HF_TOKEN value`)."""
        words = tuple(argv)
        for _ in range(_MAX_PASSES):
            done = self._argv_once(words)
            if done == words:
                break
            words = done
        return words

    def _argv_once(self, argv: Sequence[str]) -> tuple[str, ...]:
        out: list[str] = []
        before: _Before | None = None
        for word in self._across(argv):
            word = self._known_but_in_keys(word)
            if before is not None and word == "\\":  # what ended a line that goes on
                out.append(word)
                continue
            if before is not None and before.takes(word):
                out.append(mark(before.kind))
                before = None
                continue
            is_script = len(argv) == 1 or (bool(out) and _SHELL_FLAG.fullmatch(out[-1]) is not None)
            out.append(self.text(word) if is_script else self._word(word))
            before = self._awaited(word, out)
        return tuple(out)

    def _across(self, words: Sequence[str]) -> Sequence[str]:
        """The words without what shapes find in several of them: `wandb login X`, a key that a shell has split."""
        joined = " ".join(words)
        if len(words) < 2 or not self.may_hold_some(joined):
            return words
        low = joined.lower()
        starts = list(itertools.accumulate((len(word) + 1 for word in words), initial=0))
        finders = (*self._shapes.for_line(low), find_keys, self._named.in_words)
        edits = _outside_marks(joined, [edit for find in finders for edit in find(joined, low)])

        def at(place: int) -> int:
            return bisect.bisect_right(starts, place) - 1

        # A key within one word is seen there, line by line.
        split = [key for key in key_blocks(joined) if at(key[0]) < at(key[1] - 1)]
        keys = [Edit(start, start, end, mark("private-key"), "private-key") for start, _, end in split]
        cuts: dict[int, list[Edit]] = {}
        for e in (*keys, *edits):
            is_split = at(e.begin) < at(max(e.end, e.last) - 1)
            for i in range(at(e.start), at(e.end - 1) + 1) if is_split else ():
                a, b = max(e.start - starts[i], 0), min(e.end - starts[i], len(words[i]))
                if all(b <= cut.start or cut.end <= a for cut in cuts.get(i, ())):
                    cuts.setdefault(i, []).append(Edit(a, a, b, e.new, e.kind))
        return [_edited(word, sorted(cuts.get(i, ()), key=lambda cut: cut.start)) for i, word in enumerate(words)]

    def _awaited(self, word: str, shown: Sequence[str]) -> _Before | None:
        """The name whose value the next word may be; None if there is none."""
        name = word.lstrip("-")
        kind = self.kind_of(name) if _NAME.fullmatch(name) else None
        if kind is None:
            return None
        if word != name:
            return _Before(name, kind) if _FLAG.fullmatch(word) else None
        if len(shown) < 2 or _FLAG.fullmatch(shown[-2]) is None:
            return None
        return _Before(name, kind, is_pair=True, may_stand_alone=may_stand_alone(" ".join(shown)))

    def secrets_in_argv(self, argv: Sequence[str]) -> tuple[Secret, ...]:
        """The values that `argv` hides, as known secrets: a value given to a flag may be printed bare later."""
        found: dict[str, str] = {}
        before = ""
        for word, shown in zip(argv, self.argv(argv), strict=True):
            for value in self._hidden(word, shown):
                name = (before if value == word and before else _name_of(word, shown)).strip("-")
                found.setdefault(value, re.sub(r"\W+", "_", name).upper() if _NAME.fullmatch(name) else "SECRET")
            before = word if _FLAG.fullmatch(word) or self.kind_of(word) is not None else ""
        return tuple(Secret(name=name, value=value) for value, name in found.items() if _is_learned(value))

    def _hidden(self, word: str, shown: str) -> list[str]:
        """The parts of one word that were hidden."""
        if word == shown:
            return []
        if rules.KEY_BEGINS.search(word) is not None:
            return [line for line in _key_lines(word) if len(line) >= MIN_LENGTH]
        if any(c.isspace() for c in word):
            return [value for value, _ in self.secrets_in_text(word)] + self._hidden_in_script(word)
        start = _common(word, shown)
        end = _common(word[start:][::-1], shown[start:][::-1])
        return [word[start : len(word) - end]]

    def _hidden_in_script(self, script: str) -> list[str]:
        try:
            words = shlex.split(script, comments=True)
        except ValueError:
            return []
        return [secret.value for secret in self.secrets_in_argv(words)] if len(words) > 1 else []

    def _word(self, word: str) -> str:
        """One argument; in `NAME=value` all the rest is the value, whatever it contains."""
        m = _ASSIGNMENT.fullmatch(word)
        name = m["name"].lstrip("-") if m is not None else ""
        kind = self.kind_of(name) if name else None
        if m is None or kind is None or not is_secret_value(name, kind, m["value"]):
            return self.text(word)
        head = self.text(m["head"])
        is_variable = head == m["head"] and _VARIABLE.fullmatch(m["name"]) is not None
        return head + (f"${name}" if is_variable else mark(kind))

    def mapping(self, mapping: Mapping[str, str]) -> dict[str, str]:
        """Names with their values; a value under a secret-looking name becomes `$NAME` as a whole."""
        return {name: self.named(name, value) for name, value in mapping.items()}

    def named(self, name: str, value: str) -> str:
        """A value that stands under a name."""
        value = self._known_but_in_keys(value)
        kind = self.kind_of(name)
        if kind is not None and ((name in self._extra and value) or is_secret_value(name, kind, value)):
            return f"${name}" if _VARIABLE.fullmatch(name) or name in self._extra else mark(kind)
        return self.text(value)

    def _known_but_in_keys(self, text: str) -> str:
        """The text with the known secrets replaced, unless it holds a key block: a known secret may be a part of that,
        and without this part it would no longer be one."""
        return self.known(text) if rules.KEY_BEGINS.search(text) is None else text

    def line(self, text: str) -> str:
        """One line without secrets, apart from a key block that goes on in the next."""
        done, plain = self._fixed(text), without_escapes(text)
        if plain == text:
            return done
        # Colours may stand between a name and its value. Where they hid something, the line goes without them.
        bare, other = without_escapes(done), self._fixed(plain)
        if bare == other:
            return done
        if done == text:
            return other
        # Each look hides something of its own: what they agree on stays.
        start = _common(bare, other)
        end = _common(bare[start:][::-1], other[start:][::-1])
        return self._fixed(bare[:start] + mark("secret") + bare[len(bare) - end :])

    def _fixed(self, text: str) -> str:
        for _ in range(_MAX_PASSES):
            done = self._once(self.known(text))
            if done == text:
                break
            text = done
        return text

    def _finders(self, low: str) -> list[Finder]:
        return [*self._shapes.for_line(low), find_keys, self._named.in_line]

    def _once(self, text: str) -> str:
        """One line with every rule applied once, each to the line as it is: what one hides may be a name to another. Of
        findings that overlap nothing is left."""
        low = text.lower()
        edits = [edit for find in self._finders(low) for edit in find(text, low)]
        if not edits:
            return text
        # What stands for a secret is none: a rule that matches there would go on for ever.
        edits = _outside_marks(text, edits)
        return _edited(text, sorted(edits, key=lambda edit: edit.start)) if edits else text

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where secrets by their shape or name stand in one raw line; findings that overlap are listed apart. A key
        block without an end takes the rest."""
        low = text.lower()
        found = [(edit.begin, edit.end) for find in self._finders(low) for edit in find(text, low)]
        begin = open_key(text)
        return found if begin is None else [*found, (begin, len(text))]

    def secrets_in_text(self, text: str) -> list[tuple[str, str]]:
        """Every value that the rules find in a text, with its kind; of a key block its lines without the frame."""
        if not self.may_hold_some(text):
            return []
        lines = [(line, line.lower()) for line in text.split("\n")]
        edits = ((line, edit) for line, low in lines for find in self._finders(low) for edit in find(line, low))
        found = [(line[edit.start : edit.end], edit.kind) for line, edit in edits]
        keys = [(line, "private-key") for line in _key_lines(text) if len(line) >= MIN_LENGTH]
        return [*keys, *((value, kind) for value, kind in found if rules.KEY_BEGINS.search(value) is None)]

    def in_binary(self, data: bytes) -> bool:
        """Whether data that is no text holds a known secret or a key with the prefix of a service, also as UTF-16. What
        is compressed is not looked into."""
        looks = (data, b"\n".join(words[::2] for words in _WIDE.findall(data)))
        return any(needle in look for needle in self.needles for look in looks) or any(map(rules.has_key, looks))

    def known(self, text: str) -> str:
        """The text with the known secrets replaced; of those that overlap nothing is left."""
        return self._known.replaced(text)


@functools.cache
def by_shape() -> Redactor:
    """The redactor that knows no secret, only what secrets look like and are called."""
    return Redactor()


@dataclass(frozen=True, slots=True)
class _Before:
    """What the next word of an argument vector may be the value of."""

    name: str
    kind: str
    is_pair: bool = False
    may_stand_alone: bool = False

    def takes(self, word: str) -> bool:
        if not is_secret_value(self.name, self.kind, word):
            return False
        if word.startswith("-") and not (self.is_pair and len(word) >= MIN_LENGTH and not _FLAG.fullmatch(word)):
            return False
        return not self.may_stand_alone or is_no_image(word)


def _outside_marks(text: str, edits: Sequence[Edit]) -> list[Edit]:
    """Those that do not stand within what was redacted before."""
    marks = [m.span() for m in _MARK.finditer(text)]
    return [e for e in edits if not any(a <= e.start and e.end <= b for a, b in marks)]


def _edited(text: str, edits: Sequence[Edit]) -> str:
    out, at = [], 0
    for edit in edits:
        if edit.start >= at:
            out += [text[at : edit.start], edit.new]
        at = max(at, edit.end)
    return "".join([*out, text[at:]])


def _key_lines(text: str) -> Iterator[str]:
    """The lines within the key blocks of a text, without their frames."""
    inside = False
    for line in text.replace("\\n", "\n").split("\n"):
        if rules.KEY_ENDS.search(line) is not None:
            inside = False
        elif inside:
            yield line.strip()
        inside = inside or rules.KEY_BEGINS.search(line) is not None


def _is_learned(value: str) -> bool:
    """Whether a value is looked for elsewhere. The frame of a key is no secret, and tells where one begins."""
    return is_looked_for(value) and not (value.startswith("-----") or value.endswith("-----"))


def _name_of(word: str, shown: str) -> str:
    """The name before the `=` of a word, if it was not hidden itself; else ""."""
    name, is_assigned, _ = word.partition("=")
    return name if is_assigned and shown.startswith(f"{name}=") else ""


def _common(a: str, b: str) -> int:
    """The length of what two texts begin with alike."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
