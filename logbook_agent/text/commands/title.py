"""A title for a command nobody has named."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence

from logbook_agent.text.commands.script import Simple, simple_commands_of

TITLE_CHARS = 60

_PYTHON = re.compile(r"python[\d.]*w?")
_PYTHON_VALUES = frozenset({"-W", "-X", "--check-hash-based-pycs"})
# Commands of a script that prepare; the title names the first one that does the work.
_PREPARING = (
    "set cd export mkdir read echo printf source . : true sleep rm cp mv touch ulimit unset shift "
    "trap pushd popd local declare test [ [[ break continue exit wait module"
)
_SETUP = frozenset(_PREPARING.split())


def title_of(argv: Sequence[str]) -> str:
    """At most 60 characters: the program's own name and as many of its words as fit, `…` when cut."""
    commands = simple_commands_of(argv)
    if not commands:
        return _first([*argv, "(empty command)"])
    main = next((c for c in commands if c[0].text not in _SETUP), commands[0])
    words = [w.text for w in _program(main)]
    name = posixpath.basename(words[0]).removesuffix(".py") or words[0]
    return _first([" ".join([name, *words[1:]]), *argv, "(empty command)"])


def _first(candidates: Sequence[str]) -> str:
    return next(title for title in map(_fit, candidates) if title)


def _program(words: Simple) -> Simple:
    """`python -u x.py a` is about `x.py a`, `python -m pkg a` about `pkg a`; the rest about itself."""
    if not _PYTHON.fullmatch(posixpath.basename(words[0].text)):
        return words
    i = 1
    while i < len(words) and words[i].text.startswith("-") and words[i].text not in ("-c", "-"):
        if words[i].text == "-m":
            return words[i + 1 :] or words
        i += 2 if words[i].text in _PYTHON_VALUES else 1
    if i >= len(words) or words[i].text in ("-c", "-"):
        return words
    return words[i:]


def _fit(text: str) -> str:
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    if len(text) <= TITLE_CHARS:
        return text
    cut = text[: TITLE_CHARS - 1]
    # A whole last word reads better, unless it would cost most of the title.
    head = cut.rpartition(" ")[0]
    return (head if len(head) > TITLE_CHARS // 2 else cut).rstrip() + "…"
