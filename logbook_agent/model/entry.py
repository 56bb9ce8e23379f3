"""An entry: one experiment, note, decision or incident. Prose; people may edit it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from logbook_agent.model.values import Scalar

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

# What somebody took back: it counts for nothing, and says nothing of other entries.
VOID: State = "void"
ABANDONED: State = "abandoned"
HYPOTHESIS = "Hypothesis"
EARLIER_HYPOTHESIS = "Earlier hypothesis"
COMMAND = "Command"
CONFIG = "Config"
RESULT = "Result"
COMPARISON = "Comparison"
CONFIDENCE = "Confidence"
INTERPRETATION = "Interpretation"
NEXT_ACTION = "Next action"
NEGATIVE_RESULT = "Negative result"
DECISION = "Decision"
# Blocked work goes on one day; a void ID never was an entry.
_SETTLED: frozenset[State] = frozenset({"finished", "failed", "timeout", "interrupted", ABANDONED, "noted"})
# In the order of how much they want attention.
OPEN: tuple[State, ...] = ("running", "orphaned", "interrupted", "blocked", "planned")


def is_withdrawn(state: State | None) -> bool:
    """Whether an entry in this state was taken back. (`findings.standing` says what follows from it.)"""
    return state in (VOID, ABANDONED)


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
class RecipeUse:
    """The recipe whose plan an entry carries out, so that it can be taken up again.

    `file` is set for a recipe that was named by its path, seen from the folder above the root; `sets` are the values
    that were changed, as typed; `on` is the launcher; `digest` is that of the plan, `runs` how many it has; `metric`
    says which case is best (None: nothing does, or it was not recorded).
    """

    name: str
    file: str | None = None
    scale: str | None = None
    sets: tuple[str, ...] = ()
    on: str | None = None
    digest: str
    runs: int
    metric: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A question about measured rows, never the answer: that is computed from the records wherever it is shown.

    `references` are `ID`, `ID/RUN` or `ID:LABEL`: two, of which the first is the base; or with an `axis` any number,
    whose rows are compared by its values, against `base_value` (None: the first). `allowed` and `implied` are
    differences that are meant, by name; `metrics` empty means the primary ones; `minimum_effect` is a fraction.
    """

    references: tuple[str, ...]
    axis: str | None = None
    base_value: str | None = None
    metrics: tuple[str, ...] = ()
    where: dict[str, Scalar] = field(default_factory=dict)
    allowed: tuple[str, ...] = ()
    implied: tuple[str, ...] = ()
    minimum_effect: float = 0.01

    @property
    def entries(self) -> tuple[str, ...]:
        """The IDs of the entries whose rows are compared."""
        return tuple(dict.fromkeys(entry_of(reference) for reference in self.references))


def entry_of(reference: str) -> str:
    """The ID in `ID`, `ID/RUN` or `ID:LABEL`."""
    return reference.partition(":")[0].partition("/")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """entries/ID.yaml. `state` and `confidence` None mean: follow from the runs. `confidence_reason` is why a person
    states another one.

    `aliases` are IDs this entry had before it was renumbered; commands accept them.
    """

    format: int = 1
    id: str
    title: str
    opened: str
    kind: Kind = "experiment"
    state: SettableState | None = None
    confidence: Confidence | None = None
    confidence_reason: str | None = None
    continues: str | None = None
    completes: str | None = None
    supersedes: str | None = None
    aliases: tuple[str, ...] = ()
    commands: tuple[PlannedCommand, ...] = ()
    recipe: RecipeUse | None = None
    comparisons: tuple[Comparison, ...] = ()
    fields: tuple[Field, ...] = ()
    extra: dict[str, object] = field(default_factory=dict)

    @property
    def touches(self) -> tuple[str, ...]:
        """The entry and those whose pages say something of it."""
        return tuple(i for i in (self.id, self.completes, self.supersedes) if i is not None)

    def text(self, label: str) -> str | None:
        """The text of the first field with this label (case-insensitive), or None."""
        wanted = label.casefold()
        return next((f.text for f in self.fields if f.label.casefold() == wanted), None)


def settled(state: State) -> bool:
    """Whether an entry in this state can be told about as done."""
    return state in _SETTLED
