"""Options that several commands share, and how their values are read."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from logbook_agent.cli.common import Common as Common
from logbook_agent.cli.declared import flag, option, repeated
from logbook_agent.model.errors import UsageError
from logbook_agent.model.values import Scalar, parse_pair, parse_values

# What an option holds: one text, or those that were given.
Text: TypeAlias = str | None
Texts: TypeAlias = list[str] | None

PROSE = "Text, @FILE, or - for standard input."


def prose(text: str | None) -> str | None:
    """The text of a prose option: as typed, `@FILE` for a file's, `-` for standard input's; `@@` is `@`."""
    if text is None or not text.startswith(("@", "-")):
        return text
    if text == "-":
        return sys.stdin.read()
    if text.startswith("@@") or not text.startswith("@"):
        return text.removeprefix("@") if text.startswith("@@") else text
    path = Path(text[1:])
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"cannot read {text[1:]}: {getattr(error, 'strerror', None) or 'it is not UTF-8 text'}",
            cause="a text that starts with @ names a file",
            hint=f"write @{text} for text that starts with @",
        ) from error


def prose_option(form: str, help: str) -> Any:
    """An option that takes prose; its help ends by saying so."""
    return option(form, f"{help} {PROSE}", read=prose)


def prose_options(form: str, help: str) -> Any:
    """An option that takes prose, and may be given several times."""
    return repeated(form, help, read=lambda texts: tuple(prose(text) or "" for text in texts))


def prose_fields(texts: Sequence[str]) -> tuple[str, ...]:
    """`LABEL=TEXT` options with `LABEL=@FILE` and `LABEL=-` read."""
    pairs = (text.partition("=") for text in texts)
    return tuple(f"{label}{equals}{prose(value) or ''}" if equals else label for label, equals, value in pairs)


def typed_pairs(texts: Sequence[str], *, name: str) -> dict[str, Scalar]:
    """`K=V` options, each value as number, true, false or text."""
    return parse_values(texts, name)


def plain_pairs(texts: Sequence[str], *, name: str) -> dict[str, str]:
    """`K=V` options as texts."""
    return dict(parse_pair(text, name) for text in texts)


def minimum_effect_of(text: str) -> float:
    """The value of --min-effect, `1%` or `0.01`, as a fraction. Raises UsageError for anything else."""
    try:
        part = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        part = math.nan
    if 0 <= part < 1:
        return part
    raise UsageError(
        f"--min-effect {text!r}: expected a percentage below 100%, such as 1%, or a fraction below 1, such as 0.01",
        cause="a number without % is a fraction: 1 means 100%",
        hint="--min-effect 1%",
    )


def duration(form: str, help: str, default: str | None = None) -> Any:
    """An option that takes a length of time, in seconds."""

    def seconds(text: str) -> float:
        # Here, because commands that only read have no use for it.
        from logbook_agent.running.prepare import parse_duration

        return parse_duration(text, form.split()[0])

    return option(form, help, default, read=seconds)


DETACH = flag("--detach", "Run in the background: print the ID and return. See `logbook wait`.")
GATE = repeated(
    "--gate GATE", "What a row must fulfil to count: 'ok == 1', 'max_error <= 1e-3', 'same checksum'; repeatable."
)
FREE = repeated("--free NAME", "A label, such as checksum, that may differ between sides; repeatable.")
BUDGET = repeated(
    "--budget runs=N|hours=H",
    "Start no run once this much is spent; repeatable. runs= or hours= removes that limit.",
)
METRICS = partial(repeated, "--metric NAME", read=lambda names: (*dict.fromkeys(names),))
ONLY_WHERE = partial(repeated, "--where K=V", "Only rows whose axis K is V (— for none); repeatable.")


class ScopeOptions:
    """The scope of a logbook."""

    goal = prose_option("--goal TEXT", "What to find out.")
    metrics = repeated(
        "--metric NAME[:max|min][:UNIT]",
        "A primary metric, or with :watched a further one; repeatable. For a curve, add :best, :mean=N or :over=KEY.",
    )
    gates = GATE
    constraints = prose_options("--constraint TEXT", f"A constraint; repeatable. {PROSE}")
    links = repeated("--link LABEL=URL", "A link; repeatable.")
    matrix = repeated(
        "--matrix KEY=V,V", "An axis of the experiment matrix; quote a value that has a comma; repeatable."
    )
    templates = repeated("--template 'LABEL: CMD'", "A command template that the view shows; repeatable.")


class Words:
    """The words of an entry: a `Prose`."""

    title = prose_option("--title TEXT", "Title.")
    hypothesis = prose_option("--hypothesis TEXT", "What is expected, and why.")
    interpretation = prose_option("--interpretation TEXT", "What the result means.")
    next_action = prose_option("--next TEXT", "Next action.")
    fields = repeated("--field LABEL=TEXT", "A field with a label of your own; may be repeated.", read=prose_fields)
    continues = option("--continues ID", "The entry that this one continues.")
    completes = option("--completes ID", "The entry whose unfinished part this one completes.")
    supersedes = option("--supersedes ID", "The entry that this one corrects.")
