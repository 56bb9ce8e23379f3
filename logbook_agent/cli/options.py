"""Options that several commands share, and how their values are read."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias, get_args, get_type_hints

from typer import Option

from logbook_agent.cli.common import Common as Common
from logbook_agent.model.errors import UsageError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from logbook_agent.entries.drafts import Prose

# What an option holds: one text, or those that were given.
Text: TypeAlias = str | None
Texts: TypeAlias = list[str] | None

DetachOption = Annotated[
    bool, Option("--detach", help="Run in the background: print the ID and return. See `logbook wait`.")
]

PROSE = "Text, @FILE, or - for standard input."
HypothesisOption = Annotated[Text, Option("--hypothesis", metavar="TEXT", help=f"What is expected, and why. {PROSE}")]
GateOption = Annotated[
    Texts,
    Option(
        "--gate",
        metavar="GATE",
        help="What a row must fulfil to count: 'ok == 1', 'max_error <= 1e-3', 'same checksum'; repeatable.",
    ),
]
FreeOption = Annotated[
    Texts,
    Option("--free", metavar="NAME", help="A label, such as checksum, that may differ between sides; repeatable."),
]
BudgetOption = Annotated[
    Texts,
    Option(
        "--budget",
        metavar="runs=N|hours=H",
        help="Start no run once this much is spent; repeatable. runs= or hours= removes that limit.",
    ),
]
ResultOption = Annotated[
    Text, Option("--result", metavar="TEXT", help=f"Result in words; numbers come from runs. {PROSE}")
]


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


@dataclass(frozen=True, kw_only=True)
class ScopeOptions:
    """The scope of a logbook, as options."""

    goal: Annotated[Text, Option("--goal", metavar="TEXT", help=f"What to find out. {PROSE}")] = None
    metric: Annotated[
        Texts,
        Option(
            "--metric",
            metavar="NAME[:max|min][:UNIT]",
            help="A primary metric, or with :watched a further one; repeatable. For a curve, add :best, :mean=N or"
            " :over=KEY.",
        ),
    ] = None
    gate: GateOption = None
    constraint: Annotated[Texts, Option("--constraint", metavar="TEXT", help=f"A constraint; repeatable. {PROSE}")] = (
        None
    )
    link: Annotated[Texts, Option("--link", metavar="LABEL=URL", help="A link; repeatable.")] = None
    matrix: Annotated[
        Texts,
        Option(
            "--matrix",
            metavar="KEY=V,V",
            help="An axis of the experiment matrix; quote a value that has a comma; repeatable.",
        ),
    ] = None

    template: Annotated[
        Texts, Option("--template", metavar="'LABEL: CMD'", help="A command template that the view shows; repeatable.")
    ] = None

    def constraints(self) -> list[str]:
        """Each constraint read."""
        return [prose(text) or "" for text in self.constraint or ()]


def given_options(group: DataclassInstance) -> list[str]:
    """The options of a group that were typed, by their names."""
    hints = get_type_hints(type(group), include_extras=True)
    typed = [f.name for f in fields(group) if getattr(group, f.name) != f.default]
    # Without a default of its own, an option has its name in that place.
    return [get_args(hints[name])[1].default for name in typed]


@dataclass(frozen=True, kw_only=True)
class Words:
    """The words of an entry, as options."""

    title: Annotated[Text, Option("--title", metavar="TEXT", help=f"Title. {PROSE}")] = None
    hypothesis: HypothesisOption = None
    interpretation: Annotated[
        Text, Option("--interpretation", metavar="TEXT", help=f"What the result means. {PROSE}")
    ] = None
    next_action: Annotated[Text, Option("--next", metavar="TEXT", help=f"Next action. {PROSE}")] = None
    field: Annotated[
        Texts, Option("--field", metavar="LABEL=TEXT", help="A field with a label of your own; may be repeated.")
    ] = None
    continues: Annotated[Text, Option("--continues", metavar="ID", help="The entry that this one continues.")] = None
    completes: Annotated[
        Text, Option("--completes", metavar="ID", help="The entry whose unfinished part this one completes.")
    ] = None
    supersedes: Annotated[Text, Option("--supersedes", metavar="ID", help="The entry that this one corrects.")] = None

    def read(self, *, result: str | None = None) -> Prose:
        """Each text read."""
        # Here, because commands that only read have no use for it.
        from logbook_agent.entries.drafts import Prose

        return Prose(
            title=prose(self.title),
            hypothesis=prose(self.hypothesis),
            result=prose(result),
            interpretation=prose(self.interpretation),
            next_action=prose(self.next_action),
            fields=prose_fields(self.field),
            continues=self.continues,
            completes=self.completes,
            supersedes=self.supersedes,
        )


def prose_fields(texts: list[str] | None) -> tuple[str, ...]:
    """`LABEL=TEXT` options with `LABEL=@FILE` and `LABEL=-` read."""
    found = []
    for text in texts or ():
        label, separator, value = text.partition("=")
        found.append(f"{label}{separator}{prose(value) or ''}" if separator else text)
    return tuple(found)


def minimum_effect_of(text: str | None) -> float | None:
    """The value of --min-effect, `1%` or `0.01`, as a fraction; None for no text. Raises UsageError for anything
    else."""
    if text is None:
        return None
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
