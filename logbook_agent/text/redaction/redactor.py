"""Secrets out of text and argument vectors."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct, structs

from logbook_agent.text.escapes import with_places, without_escapes
from logbook_agent.text.redaction import finders, named
from logbook_agent.text.redaction.names import VARIABLE, is_secret_value, secret_kind
from logbook_agent.text.redaction.secrets import MIN_LENGTH, Secret, forms_of, is_looked_for
from logbook_agent.text.redaction.shapes import KEY_BEGINS, Rule
from logbook_agent.text.redaction.spans import PART, Finder, Span, edited, joined

_MARK = re.compile(r"\[redacted:[a-z0-9-]{1,60}\]")
# A replacement may, together with its surroundings, look like another secret; twice is already rare.
_MOST_PASSES = 6
_SHORT, _LONG = 256, re.compile("[A-Za-z0-9]{20}")
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
    # Only known values are looked for.
    by_value: bool = False

    def knowing(self, more: Iterable[Secret]) -> Redactor:
        """The same redactor with further known secrets; itself where there are none."""
        new = tuple(secret for secret in dict.fromkeys(more) if secret not in self.secrets)
        return structs.replace(self, secrets=(*self.secrets, *new)) if new else self

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
    def _finders(self) -> tuple[Finder, Finder, Finder]:
        """For secrets, for what the end of a text leaves open, and for words that stand with secrets."""
        known = finders.known(self.forms)
        if self.by_value:
            return known, _nothing, _nothing
        kind_of = self.kind_of if self._names else secret_kind
        patterns, behind = finders.patterns(self.extra_rules), named.named(kind_of, self._names)
        found = (known, patterns, finders.keys, finders.credentials, finders.key_blocks, behind)
        hints = named.hints(self.extra_rules, self._names)
        return lambda text: (span for find in found for span in find(text)), named.unfinished(kind_of), hints

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
        found = list(_seen(self._finders[0], text))
        # What stands for a secret is none: a rule that matches there would go on for ever.
        return [s for s in found if not _is_mark(text, s)] if found and "[redacted:" in text else found

    def unfinished(self, text: str) -> int:
        """Where that begins of which the lines that follow may show that it is a secret; else the length of the
        text."""
        return min((span.begin for span in _seen(self._finders[1], text)), default=len(text))

    def may_hold(self, text: str) -> bool:
        """Whether the beginning of a line holds a secret, or a word that stands with secrets."""
        return any(True for find in (self._finders[2], self._finders[0]) for _ in _seen(find, text))

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
        looks = (data, b"\n".join(words[::2] for words in _WIDE.findall(data)))
        if any(needle in look for needle in self.needles for look in looks):
            return True
        texts = [look.decode("latin-1") for look in looks]
        keys = ((text, span) for text in texts for span in finders.keys(text))
        is_long = any(_LONG.search(text, span.start, span.end) is not None for text, span in keys)
        return is_long or any(KEY_BEGINS.search(text) is not None for text in texts)


def _nothing(_: str) -> tuple[Span, ...]:
    return ()


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
