"""An entry: one experiment, note, decision or incident. Prose; people may edit it. And its ID: `PREFIX-NNN`, three
digits and more when needed. Its whole name has five characters behind, `PREFIX-NNN.k3x9q`, which tell entries of two
clones apart that gave out one number; the ID is the whole name where another entry has the number, too."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal, get_args

from msgspec import Struct, field

from logbook_agent.model.comparison import Comparison
from logbook_agent.model.gates import parse_gate
from logbook_agent.model.values import UID

Kind = Literal["experiment", "note", "decision", "incident"]
KINDS: tuple[Kind, ...] = ("experiment", "note", "decision", "incident")
# What a heading names; the others show what they are.
NAMED_KINDS: tuple[Kind, ...] = ("decision", "incident")

Confidence = Literal["exploratory", "replicated", "stable"]
CONFIDENCES: tuple[Confidence, ...] = ("exploratory", "replicated", "stable")

# What a person may set; every other state follows from the runs.
SettableState = Literal["planned", "blocked", "abandoned", "void"]
SETTABLE_STATES: tuple[SettableState, ...] = get_args(SettableState)

State = Literal[
    "planned",
    "submitted",
    "running",
    "finished",
    "failed",
    "timeout",
    "stalled",
    "interrupted",
    "lost",
    "never-started",
    "orphaned",
    "unknown",
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
PLOTS = "Plots"
ARTIFACTS = "Artifacts"
CONFIDENCE = "Confidence"
INTERPRETATION = "Interpretation"
NEXT_ACTION = "Next action"
NEGATIVE_RESULT = "Negative result"
DECISION = "Decision"
# Blocked work goes on one day; a void ID never was an entry.
_SETTLED: frozenset[State] = frozenset(
    {"finished", "failed", "timeout", "stalled", "interrupted", "lost", "never-started", ABANDONED, "noted"}
)
# In the order of how much they want attention.
OPEN: tuple[State, ...] = (
    *("running", "submitted", "orphaned", "unknown", "lost", "never-started", "interrupted", "blocked", "planned"),
)

# What an entry may say of an earlier one, each a field of `Entry`; and what the page of that one calls it, if it does.
Relation = Literal["continues", "completes", "supersedes", "decides"]
RELATIONS: tuple[Relation, ...] = get_args(Relation)
INVERSE: Mapping[Relation, str] = {
    "completes": "completed_by",
    "supersedes": "superseded_by",
    "decides": "decided_by",
}


# What a plot can show.
PLOT_KINDS = ("sweep", "pairs", "crossover", "noise", "best", "forest")


def parse_plot(text: str) -> tuple[str, str | None]:
    """Kind and metric of a plot as entries, headers and recipes name it: `pairs`, or `pairs tflops`. Raises
    ValueError for what is no kind of plot."""
    kind, _, metric = text.strip().partition(" ")
    if kind not in PLOT_KINDS:
        raise ValueError(f"{kind[:80]!r} is not a kind of plot: expected {', '.join(PLOT_KINDS)}")
    return kind, metric.strip() or None


def is_withdrawn(state: State | None) -> bool:
    """Whether an entry in this state was taken back. (`findings.thread` says what follows from it.)"""
    return state in (VOID, ABANDONED)


class Field(Struct, frozen=True, kw_only=True):
    """One labelled piece of prose (Markdown). Labels are free and keep their order."""

    label: str
    text: str


class PlannedCommand(Struct, frozen=True, kw_only=True):
    """A command to be executed in the folder `cwd`, seen from the top of its repository where it lies in one; what was
    executed stands in the runs. `until`: it stays, and is ready once its output matches this regular expression."""

    label: str | None = None
    argv: tuple[str, ...] = ()
    shell: bool = False
    cwd: str = "."
    until: str | None = None

    @classmethod
    def natural(cls, data: object) -> object:
        """A list of words is a command, and so is `{shell: TEXT}`."""
        if isinstance(data, list):
            return {"argv": data}
        match data:
            case {"shell": str(text), **rest} if "argv" not in rest:
                return {**rest, "argv": [text], "shell": True}
        return data


class RecipeUse(Struct, frozen=True, kw_only=True):
    """The recipe whose plan an entry carries out, so that it can be taken up again.

    `file` is set for a recipe that was named by its path, seen from the folder above the root; `sets` are the values
    that were changed, as typed; `on` is the launcher; `digest` is that of the plan, `runs` how many it has, `seed`
    draws their order (None: it is fixed); `metric` says which case is best (None: nothing does).
    """

    name: str
    file: str | None = None
    scale: str | None = None
    sets: tuple[str, ...] = ()
    on: str | None = None
    digest: str
    runs: int
    seed: int | None = None
    metric: str | None = None


def entry_of(reference: str) -> str:
    """The ID in `ID`, `ID/RUN` or `ID:LABEL`."""
    return reference.partition(":")[0].partition("/")[0]


class Acceptance(Struct, frozen=True, kw_only=True):
    """Somebody's word that withheld numbers of these runs count, and why."""

    runs: tuple[int, ...]
    why: str
    at: str


class Imported(Struct, frozen=True, kw_only=True):
    """The first and last of the `lines` of an imported source that an entry was made of, and the digest of their text.
    `source` is what the file is called in the folder `imports` of the logbook."""

    source: str
    lines: tuple[int, ...]
    sha256: str


class Entry(Struct, frozen=True, kw_only=True):
    """entries/NAME.yaml, which does not repeat `id` and `name`: the whole name, empty until the entry is written.
    `state` and `confidence` None mean: follow from the runs. `confidence_reason` is why a person states another one.

    `comparison` is the question that its runs answer, with their design. `noise`: its runs repeat one command,
    to tell how far they scatter. `plots`: those that its page shows, as `parse_plot` reads them.

    `gates` and `free` are its own, beside the header's; `accepted` are runs whose withheld problems somebody accepted.

    A decision may be about the code of the entry that it `decides`: whether that is `kept`, and the `commit` that
    holds it. An imported experiment whose source says so is `kept`, or not, by itself. `next_at`: when
    the next action was written. `imported`: the parts of a source that it was made of.
    """

    id: str
    name: str = ""
    title: str
    opened: str
    kind: Kind = "experiment"
    state: SettableState | None = None
    confidence: Confidence | None = None
    confidence_reason: str | None = None
    continues: str | None = None
    completes: str | None = None
    supersedes: str | None = None
    decides: str | None = None
    kept: bool | None = None
    commit: str | None = None
    next_at: str | None = None
    commands: tuple[PlannedCommand, ...] = ()
    recipe: RecipeUse | None = None
    comparison: Comparison | None = None
    noise: bool = False
    gates: tuple[str, ...] = ()
    free: tuple[str, ...] = ()
    accepted: tuple[Acceptance, ...] = ()
    plots: tuple[str, ...] = ()
    imported: tuple[Imported, ...] = ()
    fields: tuple[Field, ...] = ()
    extra: dict[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in self.plots:
            parse_plot(name)
        for gate in self.gates:
            parse_gate(gate)

    def text(self, label: str) -> str | None:
        """The text of the first field with this label (case-insensitive), or None."""
        wanted = label.casefold()
        return next((f.text for f in self.fields if f.label.casefold() == wanted), None)


def settled(state: State) -> bool:
    """Whether an entry in this state can be told about as done."""
    return state in _SETTLED


PREFIX = re.compile(r"[A-Z][A-Z0-9]*(?:-[A-Z0-9]+)*")
_UID_END = rf"(?P<uid>\.{UID.pattern})?"
ID = re.compile(rf"(?P<prefix>{PREFIX.pattern})-(?P<number>\d{{3,}}){_UID_END}")
_TYPED = re.compile(rf"(?P<prefix>{PREFIX.pattern})-(?P<number>\d{{1,9}}){_UID_END}", re.ASCII | re.IGNORECASE)
TOPIC = re.compile(r"[a-z0-9][a-z0-9_-]*")


def format_id(prefix: str, number: int) -> str:
    """`format_id("MOE-I8", 3) == "MOE-I8-003"`."""
    return f"{prefix}-{number:03d}"


def parse_id(text: str) -> tuple[str, int] | None:
    """Prefix and number of an ID or a whole name; None when the text is not exactly one (`X-0003` is not `X-003`)."""
    match = ID.fullmatch(text)
    if match is None:
        return None
    prefix, number = match["prefix"], int(match["number"])
    return (prefix, number) if format_id(prefix, number) == bare_id(text) else None


def bare_id(name: str) -> str:
    """`MOE-003` of the whole name `MOE-003.k3x9q`."""
    return name.partition(".")[0]


def ids_in_order(names: Iterable[str]) -> list[str]:
    """IDs of one prefix by number; those of one number by what follows it."""
    return sorted(names, key=lambda name: (len(bare_id(name)), name))


def is_up_to(entry_id: str, last: str | None) -> bool:
    """Whether the number of an entry is at most that of the last one."""
    own, end = parse_id(entry_id), parse_id(last or "")
    return own is not None and end is not None and own[1] <= end[1]


def typed_id(text: str) -> str:
    """An ID as people type it, in its one form: `s-2` and `s_2` are `S-002`. Other texts as they are."""
    match = _TYPED.fullmatch(text.strip().replace("_", "-"))
    if match is None:
        return text
    return format_id(match["prefix"].upper(), int(match["number"])) + (match["uid"] or "").lower()


def id_number(entry_id: str, prefix: str) -> int | None:
    """The number of an ID that belongs to `prefix`, else None. (No pattern: it is asked ten thousand times.)"""
    head, _, digits = entry_id.rpartition("-")
    digits, dot, uid = digits.partition(".")
    if head != prefix or not (digits.isascii() and digits.isdigit()) or (dot and UID.fullmatch(uid) is None):
        return None
    number = int(digits)
    return number if digits == f"{number:03d}" else None


def sorted_ids(names: Iterable[str], prefix: str) -> list[str]:
    """Those of `names` that are IDs of `prefix`, in order."""
    found = ids_in_order(name for name in names if name.startswith(f"{prefix}-"))
    # One pattern over all of them, instead of ten thousand questions one by one.
    one = rf"{re.escape(prefix)}-(?:\d{{3}}|[1-9]\d{{3,}})(?:\.{UID.pattern})?\n"
    if re.fullmatch(rf"(?:{one})*", "\n".join([*found, ""])):
        return found
    return [name for name in found if id_number(name, prefix) is not None]
