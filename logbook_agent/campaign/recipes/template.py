"""The command of a recipe: words with `{key}` placeholders, and flags made of config keys.

A word is text in which `{key}` stands for the value of a key (`{{` is a brace). An item `{flags: [tokens, topk]}`
becomes `--tokens 512 --topk 2`: underscores turn to dashes, `true` is the flag alone, `false` and null leave it out.
"""

from __future__ import annotations

import functools
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import Formatter

from logbook_agent.campaign.recipes.problem import RecipeProblem
from logbook_agent.model.values import Scalar, as_written

_FORMATTER = Formatter()


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """Literal pieces and keys by turns: `pieces[0] keys[0] pieces[1] keys[1] ... pieces[-1]`."""

    pieces: tuple[str, ...]
    keys: tuple[str, ...] = ()

    def fill(self, config: Mapping[str, Scalar], *, quoted: bool = False) -> str:
        """The text with values in place; `quoted` for a shell. RecipeProblem where a value is null."""
        if not self.keys:
            return self.pieces[0]
        parts = [self.pieces[0]]
        for key, piece in zip(self.keys, self.pieces[1:], strict=True):
            text = written(config[key], key)
            parts += (shlex.quote(text) if quoted else text, piece)
        return "".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """Keys that become flags."""

    keys: tuple[str, ...]

    def fill(self, config: Mapping[str, Scalar]) -> list[str]:
        return [word for key in self.keys for word in _flag(key, config[key])]


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """`words` in order; with `shell` a single text, into which values are put quoted."""

    words: tuple[Text | Flags, ...]
    shell: bool = False

    def argv(self, config: Mapping[str, Scalar]) -> tuple[str, ...]:
        """The words of one case."""
        argv: list[str] = []
        for word in self.words:
            if isinstance(word, Flags):
                argv += word.fill(config)
            else:
                argv.append(word.fill(config, quoted=self.shell))
        return tuple(argv)


@functools.lru_cache(maxsize=16_384, typed=True)
def _flag(key: str, value: Scalar) -> tuple[str, ...]:
    """The words of one flag. Remembered, as a plan asks for the same few again and again (typed: 1 is not True)."""
    if value is None or value is False:
        return ()
    flag = f"--{key.replace('_', '-')}"
    return (flag,) if value is True else (flag, written(value, key))


def written(value: Scalar, key: str) -> str:
    """A value as a word of a command."""
    if value is None:
        raise RecipeProblem(
            f"{key} is null, and a word of the command needs its value",
            place="command",
            cause="only {flags: [...]} can leave out a key without a value",
            hint=f"give {key} a value, or put it into flags",
        )
    return as_written(value)


def parse_text(text: str, place: str) -> Text:
    """A text with placeholders. RecipeProblem for a brace that is neither of a placeholder nor doubled."""
    pieces, keys = [""], []
    try:
        parsed = list(_FORMATTER.parse(text))
    except ValueError as error:
        raise _brace(text, place, str(error)) from error
    for literal, key, form, conversion in parsed:
        pieces[-1] += literal
        if key is None:
            continue
        if not key.isidentifier() or form or conversion:
            raise _brace(text, place, f"{{{key}}} is not the name of a key")
        keys.append(key)
        pieces.append("")
    return Text(pieces=tuple(pieces), keys=tuple(keys))


def _brace(text: str, place: str, why: str) -> RecipeProblem:
    return RecipeProblem(
        f"{text!r} cannot be filled in: {why.lower()}",
        place=place,
        cause="{key} stands for the value of a config key",
        hint="write {{ and }} for braces that belong to the command",
    )


def key_places(words: Sequence[Text | Flags], env: Mapping[str, Text]) -> dict[str, str]:
    """Every key that the command or the environment asks for, with the place that asks first."""
    found: dict[str, str] = {}
    for index, word in enumerate(words):
        for key in word.keys:
            found.setdefault(key, f"command[{index}]")
    for name, text in env.items():
        for key in text.keys:
            found.setdefault(key, f"env.{name}")
    return found
