"""Places in a text, and what stands there instead; what every finder of them needs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from logbook_agent.text.redaction.names import mark


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
