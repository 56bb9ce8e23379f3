"""An entry: one experiment, note, decision or incident. Prose; people may edit it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["experiment", "note", "decision", "incident"]
KINDS: tuple[Kind, ...] = ("experiment", "note", "decision", "incident")

Confidence = Literal["exploratory", "replicated", "stable"]
CONFIDENCES: tuple[Confidence, ...] = ("exploratory", "replicated", "stable")

# What a person may set; every other state follows from the runs.
SettableState = Literal["planned", "blocked", "abandoned", "void"]
SETTABLE_STATES: tuple[SettableState, ...] = ("planned", "blocked", "abandoned", "void")

State = Literal[
    "planned",
    "running",
    "finished",
    "failed",
    "timeout",
    "interrupted",
    "orphaned",
    "blocked",
    "abandoned",
    "void",
    "noted",
]

HYPOTHESIS = "Hypothesis"
COMMAND = "Command"
CONFIG = "Config"
RESULT = "Result"
INTERPRETATION = "Interpretation"
NEXT_ACTION = "Next action"


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One labelled piece of prose (Markdown). Labels are free and keep their order."""

    label: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCommand:
    """A command to be executed; what was executed stands in the runs."""

    label: str | None = None
    argv: tuple[str, ...] = ()
    shell: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """entries/ID.yaml. `state` and `confidence` None mean: follow from the runs.

    `aliases` are IDs this entry had before it was renumbered; commands accept them.
    """

    format: int = 1
    id: str
    title: str
    opened: str
    kind: Kind = "experiment"
    state: SettableState | None = None
    confidence: Confidence | None = None
    continues: str | None = None
    completes: str | None = None
    supersedes: str | None = None
    aliases: tuple[str, ...] = ()
    commands: tuple[PlannedCommand, ...] = ()
    fields: tuple[Field, ...] = ()
    extra: dict[str, object] = field(default_factory=dict)

    def text(self, label: str) -> str | None:
        """The text of the first field with this label (case-insensitive), or None."""
        wanted = label.casefold()
        return next((f.text for f in self.fields if f.label.casefold() == wanted), None)
