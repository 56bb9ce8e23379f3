"""Secrets out of text and argument vectors."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from logbook_agent.text.escapes import with_places, without_escapes
from logbook_agent.text.redaction import finders
from logbook_agent.text.redaction.finders import NAME, PART, Finder, Span
from logbook_agent.text.redaction.names import VARIABLE, is_secret_value, mark, secret_kind
from logbook_agent.text.redaction.secrets import MIN_LENGTH, Secret, forms_of, is_looked_for
from logbook_agent.text.redaction.shapes import KEY_BEGINS, Rule

_MARK = re.compile(r"\[redacted:[a-z0-9-]{1,60}\]")
_ASSIGNMENT = re.compile(rf"(?P<head>(?:--?)?(?P<name>{NAME})=)(?P<value>.*)", re.ASCII | re.DOTALL)
# `sh -c`, `bash -lc`: what follows is a script, not one value.
_SHELL_FLAG = re.compile(r"-[a-z]*c", re.ASCII)
# A replacement may, together with its surroundings, look like another secret; twice is already rare.
_MOST_PASSES = 6
_SHORT = 256
# Words in UTF-16, whichever byte comes first.
_WIDE = re.compile(rb"(?:[\x20-\x7e]\0){8,}[\x20-\x7e]?")


@dataclass(frozen=True)
class Redactor:
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
    def _find(self) -> Finder:
        kind_of = self.kind_of if self._names else secret_kind
        known, patterns = finders.known(self.forms), finders.patterns(self.extra_rules)
        named = finders.named(kind_of, self._names)
        found = (known, patterns, finders.keys, finders.credentials, finders.key_blocks, named)
        return lambda text: (span for find in found for span in find(text))

    @functools.cached_property
    def _hints(self) -> Finder:
        return finders.hints(self.extra_rules, self._names)

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
            text = finders.edited(text, spans)
        return text

    @functools.cached_property
    def _short(self) -> Callable[[str], str]:
        """Records repeat most of their short texts: names, hosts, words of commands."""
        return functools.lru_cache(maxsize=2**15)(self._whole)

    @functools.cached_property
    def harmless(self) -> set[object]:
        """What `redacted` has found nothing in: records repeat most of their keys and values, too."""
        return set()

    def spans(self, text: str) -> list[Span]:
        """Where secrets stand in a text."""
        found = list(_seen(self._find, text))
        # What stands for a secret is none: a rule that matches there would go on for ever.
        return [s for s in found if not _is_mark(text, s)] if found and "[redacted:" in text else found

    def unfinished(self, text: str) -> int:
        """Where that begins of which the lines that follow may show that it is a secret; else the length of the
        text."""
        return min((span.begin for span in _seen(finders.unfinished(self.kind_of), text)), default=len(text))

    def may_hold(self, text: str) -> bool:
        """Whether the beginning of a line holds a secret, or a word that stands with secrets."""
        return any(True for find in (self._hints, self._find) for _ in _seen(find, text))

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
                words[i] = self.text(m["head"]) + secret.shown
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
        found = []
        for span in self.spans(text):
            hidden = without_escapes(text[span.start : span.end])
            parts = re.split(rf"\n|\\n|{PART}", hidden) if span.kind == "private-key" else hidden.split(PART)
            if span.kind == "private-key":
                parts = [part.strip() for part in parts if len(part.strip()) >= 2 * MIN_LENGTH and "-----" not in part]
            kind = None if span.variable else span.kind
            found += [Secret(name=span.variable or "SECRET", value=part, kind=kind) for part in parts]
        return found

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
        keys = (text[span.start : span.end] for text in texts for span in finders.keys(text))
        is_long = any(len(piece) >= 20 for key in keys for piece in re.findall("[A-Za-z0-9]+", key))
        return is_long or any(KEY_BEGINS.search(text) is not None for text in texts)


def _seen(find: Finder, text: str) -> Iterator[Span]:
    """What is found in the text as it is, and as a terminal shows it: colours may stand between name and value."""
    yield from find(text)
    if "\x1b" in text or "\x9b" in text:
        plain, places = with_places(text)
        for span in find(plain):
            begin, start, last = (places[at] for at in (span.begin, span.start, span.end - 1))
            yield span._replace(begin=begin, start=start, end=last + 1)


def _is_mark(text: str, span: Span) -> bool:
    """Whether a place is within what stands for a secret."""
    at = text.rfind("[redacted:", max(0, span.start - 80), span.start + 10)
    m = _MARK.match(text, at) if at >= 0 else None
    return m is not None and span.end <= m.end()


@functools.cache
def by_shape() -> Redactor:
    """The redactor that knows no secret, only what secrets look like and are called."""
    return Redactor()
