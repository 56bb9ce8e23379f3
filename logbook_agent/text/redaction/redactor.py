"""Secrets out of text and argument vectors."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from logbook_agent.text.escapes import without_escapes
from logbook_agent.text.redaction import finders
from logbook_agent.text.redaction.finders import NAME, NAMES, PART, Finder, Span, edited
from logbook_agent.text.redaction.lines import Lines
from logbook_agent.text.redaction.names import STEMS, VARIABLE, is_secret_value, mark, secret_kind
from logbook_agent.text.redaction.secrets import MIN_LENGTH, Secret, forms_of, is_looked_for
from logbook_agent.text.redaction.shapes import KEY_BEGINS, KEY_ENDS, RULES, Rule

_MARK = re.compile(r"\[redacted:[a-z0-9-]{1,60}\]")
_ASSIGNMENT = re.compile(rf"(?P<head>(?:--?)?(?P<name>{NAME})=)(?P<value>.*)", re.ASCII | re.DOTALL)
# `sh -c`, `bash -lc`: what follows is a script, not one value.
_SHELL_FLAG = re.compile(r"-[a-z]*c", re.ASCII)
# A replacement may, together with its surroundings, look like another secret; twice is already rare.
_MOST_PASSES = 6
_SHORT = 256
# Words in UTF-16, whichever byte comes first.
_WIDE = re.compile(rb"(?:[\x20-\x7e]\0){8,}[\x20-\x7e]?")


class Redactor(Struct, frozen=True, dict=True):
    """Known secrets become `$NAME`, those known by their shape or name `[redacted:KIND]`.

    Redacting twice changes nothing more. `extra_names` are further names that hold secrets, `extra_rules` further
    shapes; they can hide more, but keep nothing from being hidden.
    """

    secrets: tuple[Secret, ...] = ()
    extra_names: tuple[str, ...] = ()
    extra_rules: tuple[Rule, ...] = ()

    def knowing(self, more: Iterable[Secret]) -> Redactor:
        """The same redactor with further known secrets; itself where there are none."""
        new = tuple(secret for secret in dict.fromkeys(more) if secret not in self.secrets)
        return Redactor((*self.secrets, *new), self.extra_names, self.extra_rules) if new else self

    @property
    def settings_key(self) -> str:
        """A digest of the names and rules that a project's settings add."""
        return hashlib.sha256(repr((self.extra_names, self.extra_rules)).encode()).hexdigest()[:16]

    @functools.cached_property
    def needles(self) -> tuple[bytes, ...]:
        """Every form of every known secret."""
        return tuple(form.encode("utf-8", "surrogatepass") for form in self.forms)

    @functools.cached_property
    def forms(self) -> dict[str, Secret]:
        """The known secrets by each of their forms."""
        return {form: secret for secret in reversed(self.secrets) for form in forms_of(secret.value)}

    @functools.cached_property
    def _names(self) -> frozenset[str]:
        return frozenset({*self.extra_names, *(s.name for s in self.secrets if s.kind is None)})

    @functools.cached_property
    def _rules(self) -> tuple[tuple[str, Finder], ...]:
        """The patterns with the keywords that they need; those without a keyword are tried on every line."""
        found = ((rule, finders.pattern(rule)) for rule in (*RULES, *self.extra_rules))
        return tuple((keyword.lower(), find) for rule, find in found for keyword in rule.keywords or ("",))

    @functools.cached_property
    def _open(self) -> tuple[Finder, ...]:
        return tuple(find for keyword, find in self._rules if not keyword)

    def _any_of(self, *words: str) -> re.Pattern[str]:
        """In small letters: any of these, or what every line has that a rule with keywords matches, an address or an
        escape."""
        keywords = (keyword for keyword, _ in self._rules if keyword)
        return re.compile(finders.any_of(sorted({"@", "\x1b", "\x9b", *keywords, *words})))

    @functools.cached_property
    def _words(self) -> re.Pattern[str]:
        """`_any_of` these, or what every line has in which a value stands behind a name."""
        return self._any_of(*STEMS, *(name.lower() for name in self._names))

    @functools.cached_property
    def _other_words(self) -> re.Pattern[str]:
        return self._any_of()

    def next_line(self, low: str, at: int) -> int | None:
        """Where the next line of a text in small letters begins, at `at` or behind it, that has a word which stands
        with secrets. A secret without such a word is one of those that `has_bare` finds."""
        m = self._words.search(low, at)
        return None if m is None else max(at, low.rfind("\n", at, m.start()) + 1)

    def names_secret(self, line: str) -> bool:
        """Whether a line that `next_line` stops at has the name of a secret, and not only a part of one, or another
        word."""
        is_named = any(map(self.kind_of, NAMES.findall(line)))
        return is_named or self._other_words.search(line.lower()) is not None

    def has_bare(self, text: str) -> bool:
        """Whether a text of many lines holds a secret that is known without any other word: by its value, by its
        prefix, or by a rule without keywords."""
        finds = (find(text) for find in (*self._open, finders.keys))
        return any(form in text for form in self.forms) or any(True for find in finds for _ in find)

    @functools.cached_property
    def _known(self) -> Finder:
        return finders.known(self.forms)

    @functools.cached_property
    def _named(self) -> Finder:
        return finders.named(self.kind_of if self._names else secret_kind)

    def kind_of(self, name: str) -> str | None:
        """`password`, `token` ... for a name that holds secrets, else None."""
        return secret_kind(name) or ("secret" if name in self._names else None)

    def text(self, text: str) -> str:
        """The text without secrets. A key block over several lines becomes one mark."""
        return self._short(text) if len(text) <= _SHORT else self._whole(text)

    def _whole(self, text: str) -> str:
        return "\n".join(Lines(self).lines(text))

    @functools.cached_property
    def _short(self) -> Callable[[str], str]:
        """Records repeat most of their short texts: names, hosts, words of commands."""
        return functools.lru_cache(maxsize=2**15)(self._whole)

    @functools.cached_property
    def harmless(self) -> set[object]:
        """What `redacted` has found nothing in: records repeat most of their keys and values, too."""
        return set()

    def line(self, text: str) -> str:
        """One line without secrets, apart from a key block that goes on in the next."""
        done = self._settled(text)
        plain = without_escapes(done)
        # Colours may stand between a name and its value. Where they hid something, the line goes without them.
        return done if plain == done or (bare := self._settled(plain)) == plain else bare

    def _settled(self, text: str) -> str:
        for _ in range(_MOST_PASSES):
            spans = self.spans(text)
            if not spans:
                break
            text = edited(text, spans)
        return text

    def spans(self, text: str) -> list[Span]:
        """Where secrets stand in one line."""
        low, found = text.lower().replace(PART, " "), [*self._known(text)]
        by_rule = dict.fromkeys(find for word, find in self._rules if word in low)
        for find in (*by_rule, finders.keys, finders.credentials, self._named):
            found += find(text)
        if found and "[redacted:" in text:
            # What stands for a secret is none: a rule that matches there would go on for ever.
            marks = [m.span() for m in _MARK.finditer(text)]
            found = [s for s in found if not any(a <= s.start and s.end <= b for a, b in marks)]
        return found

    def argv(self, argv: Sequence[str]) -> tuple[str, ...]:
        """An argument vector. A word after a flag such as `--token` is its value, and so is all that follows `NAME=`
        in a word."""
        return self._argv(argv)[0]

    def secrets_in_argv(self, argv: Sequence[str]) -> tuple[Secret, ...]:
        """The values that `argv` hides, as known secrets: a value given to a flag may be printed bare later."""
        return self._argv(argv)[1]

    def _argv(self, argv: Sequence[str]) -> tuple[tuple[str, ...], tuple[Secret, ...]]:
        words, found = list(argv), []
        for i, word in enumerate(argv):
            is_script = len(argv) == 1 or (i > 0 and _SHELL_FLAG.fullmatch(argv[i - 1]) is not None)
            m = _ASSIGNMENT.fullmatch(word) if not is_script else None
            kind = self.kind_of(m["name"]) if m is not None else None
            if m is not None and kind is not None and is_secret_value(m["name"], kind, m["value"]):
                is_variable = m["head"][0] != "-" and VARIABLE.fullmatch(m["name"])
                secret = Secret(name=m["name"], value=m["value"], kind=None if is_variable else kind)
                words[i] = self.line(m["head"]) + secret.shown
                found.append(secret)
        # Together, since a shell may have split what shows the secret: `wandb login X`, a key block.
        joined = PART.join(words)
        safe = self.text(joined)
        if safe != joined:
            found += self.found(joined)
        known = {secret.value: secret for secret in found if is_looked_for(secret.value)}
        return tuple(safe.split(PART)), tuple(known.values())

    def found(self, text: str) -> list[Secret]:
        """The secrets that a text without it would hide."""
        spans = ((line, span) for line in text.split("\n") for span in self.spans(line))
        found = [
            Secret(name=span.variable or "SECRET", value=part, kind=None if span.variable else span.kind)
            for line, span in spans
            for part in line[span.start : span.end].split(PART)
            if KEY_BEGINS.search(part) is None
        ]
        blocks = (m[0] for m in re.finditer(rf"(?s)(?:{KEY_BEGINS.pattern}).*?(?:{KEY_ENDS.pattern}|\Z)", text))
        lines = (line.strip() for block in blocks for line in re.split(rf"\n|\\n|{PART}", block))
        whole = [line for line in lines if len(line) >= 2 * MIN_LENGTH and "-----" not in line]
        return found + [Secret(name="SECRET", value=line, kind="private-key") for line in whole]

    def named(self, name: str, value: str) -> str:
        """A value that stands under a name."""
        kind = self.kind_of(name)
        if kind is not None and ((name in self._names and value) or is_secret_value(name, kind, value)):
            return f"${name}" if VARIABLE.fullmatch(name) or name in self._names else mark(kind)
        return self.text(value)

    def in_binary(self, data: bytes) -> bool:
        """Whether data that is no text holds a known secret, a private key or a key with a long random part, also as
        UTF-16. What is compressed is not looked into."""
        looks = (data, b"\n".join(words[::2] for words in _WIDE.findall(data)))
        if any(needle in look for needle in self.needles for look in looks):
            return True
        texts = [look.decode("latin-1") for look in looks]
        keys = (m["key"] for text in texts for m in finders.KEY.finditer(text))
        is_long = any(len(piece) >= 20 for key in keys for piece in re.findall("[A-Za-z0-9]+", key))
        return is_long or any(KEY_BEGINS.search(text) is not None for text in texts)


@functools.cache
def by_shape() -> Redactor:
    """The redactor that knows no secret, only what secrets look like and are called."""
    return Redactor()
