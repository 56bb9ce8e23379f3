"""Options that several commands share, and how their values are read."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from typer import Option

from logbook_agent.cli.output import redact_by
from logbook_agent.model.errors import UsageError
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace, checkouts_folder, utc_now

if TYPE_CHECKING:
    from logbook_agent.entries.drafts import Prose

# The clock and sleep that waits go by; empty: this machine's. Tests put their own here.
timing: dict[str, Callable[..., Any]] = {}

# What an option holds: one text, or those that were given.
Text: TypeAlias = str | None
Texts: TypeAlias = list[str] | None

# Options of every command, which `logbook --help` explains once.
_LOGBOOK, _ROOT, _JSON = ("-L", "--logbook"), ("--root",), ("--json",)
LogbookOption = Annotated[Text, Option(*_LOGBOOK, metavar="TOPIC", hidden=True)]
RootOption = Annotated[Text, Option(*_ROOT, metavar="DIR", hidden=True)]
JsonOption = Annotated[bool, Option(*_JSON, hidden=True)]

DetachOption = Annotated[
    bool, Option("--detach", help="Run in the background: print the ID and return. See `logbook wait`.")
]

_PROSE = "Text, @FILE, or - for standard input."
HypothesisOption = Annotated[Text, Option("--hypothesis", metavar="TEXT", help=f"What is expected, and why. {_PROSE}")]
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
ResultOption = Annotated[
    Text, Option("--result", metavar="TEXT", help=f"Result in words; numbers come from runs. {_PROSE}")
]


def workspace(logbook: str | None, root: str | None) -> Workspace:
    """The workspace of this process."""
    if sys.platform not in ("linux", "darwin"):
        raise UsageError(
            f"{sys.platform} is not supported",
            cause="logbook needs process groups to end runs and flock to lock logbooks",
            hint="use Linux, macOS, or WSL",
        )
    space = Workspace(
        cwd=Path.cwd(),
        environ=os.environ,
        root_option=root,
        logbook_option=logbook,
        now=utc_now,
        timing=timing,
        arrive=collect,
    )
    redact_by(lambda: space.redactor)
    _SPACES.append(space)
    return space


# Those of the command that is being carried out.
_SPACES: list[Workspace] = []


def take_spaces() -> list[Workspace]:
    """The workspaces that were made since this was asked last."""
    found = [*_SPACES]
    _SPACES.clear()
    return found


def collect(space: Workspace, book: Book) -> None:
    """Whatever is asked for, runs that have ended meanwhile are part of the answer, and what a killed process left in
    the folder of checkouts is removed."""
    if book.spools():
        from logbook_agent.campaign.detached_runs import collect_ended

        collect_ended(space, book)
    if os.path.isdir(above := checkouts_folder(space.environ)):  # noqa: PTH112 - costs less, on every command
        from logbook_agent.running.provenance.worktrees import clean

        clean(above, space.environ)


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
class Words:
    """The words of an entry, as options."""

    title: Annotated[Text, Option("--title", metavar="TEXT", help=f"Title. {_PROSE}")] = None
    hypothesis: HypothesisOption = None
    interpretation: Annotated[
        Text, Option("--interpretation", metavar="TEXT", help=f"What the result means. {_PROSE}")
    ] = None
    next_action: Annotated[Text, Option("--next", metavar="TEXT", help=f"Next action. {_PROSE}")] = None
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


@dataclass(frozen=True, kw_only=True)
class Common:
    """Which logbook, and how it answers."""

    logbook: LogbookOption = None
    root: RootOption = None
    as_json: JsonOption = False

    def space(self) -> Workspace:
        return workspace(self.logbook, self.root)


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
