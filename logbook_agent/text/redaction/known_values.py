"""The values of known secrets out of text, files and plain data: all that a worker hides. What only a pattern finds is
taken out when the run is taken in (`redactor`).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from msgspec import Struct

from logbook_agent.text.phrases import with_places
from logbook_agent.text.redaction.names import Secret, forms_of, mark

# Words in UTF-16, whichever byte comes first.
_WIDE = re.compile(rb"(?:[\x20-\x7e]\0){8,}[\x20-\x7e]?")
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
# A longer line of a stream leaves in pieces.
_LINE_BYTES = 256 * 1024


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
    pieces, at = [""], 0
    for span in sorted(spans, key=lambda span: span.start):
        start = max(at, span.start)
        if span.start >= at:
            pieces += [text[at:start], span.shown]
        pieces += [PART, pieces[-1]] * text.count(PART, start, span.end)
        at = max(at, span.end)
    return "".join([*pieces, text[at:]])


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


def seen(find: Finder, text: str) -> Iterator[Span]:
    """What is found in the text as it is, and as a terminal shows it: colours may stand between name and value."""
    yield from find(text)
    if "\x1b" in text or "\x9b" in text:
        plain, places = with_places(text)
        for span in find(plain):
            begin, start, last = (places[at] for at in (span.begin, span.start, span.end - 1))
            yield span._replace(begin=begin, start=start, end=last + 1)


class HoldsSecret(ValueError):
    """Why a file that is no text is not kept."""

    def __str__(self) -> str:
        return "it holds the value of a secret"


class KnownValues(Struct, frozen=True, dict=True):
    """Known secrets, which become `$NAME`, or `[redacted:KIND]` where no variable has them."""

    secrets: tuple[Secret, ...] = ()

    @functools.cached_property
    def needles(self) -> tuple[bytes, ...]:
        """Every form of every known secret."""
        return tuple(form.encode("utf-8", "surrogatepass") for form in self.forms)

    @functools.cached_property
    def forms(self) -> dict[str, Secret]:
        """The known secrets by each of their forms."""
        return {form: secret for secret in reversed(self.secrets) for form in forms_of(secret.value)}

    @functools.cached_property
    def _known(self) -> Finder:
        return known(self.forms)

    def text(self, text: str) -> str:
        """The text without secrets."""
        return edited(text, spans) if (spans := list(seen(self._known, text))) else text

    def data(self, data: bytes) -> bytes:
        """A text of any encoding that has ASCII in it, without secrets."""
        return self.text(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")

    def plain(self, data: Any) -> Any:
        """Plain data without secrets in its texts."""
        if isinstance(data, dict):
            return {self.plain(key): self.plain(value) for key, value in data.items()}
        if isinstance(data, list):
            return [self.plain(value) for value in data]
        return self.text(data) if isinstance(data, str) else data

    def file(self, data: bytes) -> bytes:
        """The content of a text without its secrets, also in UTF-16. Raises HoldsSecret for another file that has one:
        nothing can be taken out of it."""
        if data[:2] in _UTF16:
            try:
                text = data.decode("utf-16")
            except UnicodeDecodeError:
                text = ""
            if text and (safe := self.text(text)) != text:
                return safe.encode("utf-16")
        if b"\0" not in data:
            return self.data(data)
        if self.in_binary(data):
            raise HoldsSecret
        return data

    def in_binary(self, data: bytes) -> bool:
        """Whether data that is no text holds a secret, also as UTF-16. What is compressed is not looked into."""
        return any(needle in look for needle in self.needles for look in looks(data))


def looks(data: bytes) -> tuple[bytes, bytes]:
    """The data, and the words in it that stand there as UTF-16."""
    return data, b"\n".join(words[::2] for words in _WIDE.findall(data))


class ValueStream:
    """A byte stream without known secrets, whatever its chunks: `feed` what was read; what comes back is safe to
    write. A line that is not complete is held back up to the next `idle`."""

    def __init__(self, values: KnownValues) -> None:
        self._values, self._pending = values, bytearray()

    def feed(self, data: bytes) -> bytes:
        """The lines that are complete, and what is safe of a very long one."""
        end = data.rfind(b"\n") + 1
        self._pending += data
        if end:
            return self._taken(len(self._pending) - len(data) + end)
        return self.idle() if len(self._pending) > _LINE_BYTES else b""

    def idle(self) -> bytes:
        """What is pending, up to where a secret may have begun."""
        data = bytes(self._pending)
        begun = (n for needle in self._values.needles for n in range(len(needle)) if data.endswith(needle[:n]))
        return self._taken(len(data) - max(begun, default=0))

    def finish(self) -> bytes:
        """The rest."""
        return self._taken(len(self._pending))

    def _taken(self, count: int) -> bytes:
        data = bytes(self._pending[:count])
        del self._pending[:count]
        return self._values.data(data)
