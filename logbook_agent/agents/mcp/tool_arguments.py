"""The arguments of each tool: a class for each, whose fields are the schema that is published and checked.

The text behind a type is what the schema says of the argument.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from logbook_agent.model.values import Scalar

# The longest that `wait` waits, in seconds: hosts give up a call after 60.
LONGEST_WAIT_S = 45.0
# The lines of output that `wait` shows.
TAIL_LINES = 20

Logbook = Annotated[str | None, "Topic or prefix"]
Names = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class StatusArguments:
    """Of `status`."""

    budget: Annotated[int | None, "Most bytes of the answer (8000); the least useful is left out"] = None
    logbook: Logbook = None


@dataclass(frozen=True, kw_only=True)
class SearchArguments:
    """Of `search`."""

    words: Annotated[Names, "All must occur; with tried, also KEY=VALUE"] = ()
    tried: Annotated[bool, "What did not work: failures, no gain, abandoned"] = False
    state: str | None = None
    kind: str | None = None
    last: Annotated[int | None, "Only the last N"] = None
    logbook: Logbook = None


@dataclass(frozen=True, kw_only=True)
class ShowArguments:
    """Of `show`."""

    id: str
    tail: Annotated[int | None, "Instead, the last N lines of its last run's output"] = None
    full: Annotated[bool, "Every sample and all provenance"] = False


@dataclass(frozen=True, kw_only=True)
class CompareArguments:
    """Of `compare`."""

    references: Annotated[Names, "An entry with a comparison; or rows: ID, ID/RUN or ID:LABEL, the base first"]
    axis: Annotated[str | None, "What differs: a config key, commit, env:NAME"] = None
    base: Annotated[str | None, "The value of the axis to compare with"] = None
    metrics: Names = ()
    where: Annotated[Mapping[str, Scalar], "Only rows with these values"] | None = None
    baseline: Annotated[bool, "Compare with the baseline"] = False


@dataclass(frozen=True, kw_only=True)
class _Texts:
    """The texts of an entry."""

    title: str | None = None
    hypothesis: Annotated[str | None, "What is expected, and why"] = None
    interpretation: str | None = None
    next: Annotated[str | None, "Next action"] = None
    fields: Annotated[Mapping[str, str], "Texts with labels of your own"] | None = None
    continues: Annotated[str | None, "Entry ID"] = None
    completes: Annotated[str | None, "Entry ID"] = None
    supersedes: Annotated[str | None, "The entry that this one corrects"] = None


@dataclass(frozen=True, kw_only=True)
class PlanArguments(_Texts):
    """Of `plan`."""

    title: str = field()
    commands: Annotated[Names, "'LABEL: COMMAND' or 'COMMAND', quoted as in a shell"] = ()
    logbook: Logbook = None


@dataclass(frozen=True, kw_only=True)
class RunArguments(_Texts):
    """Of `run`; with `axis` or `code` of an A/B, with `recipe` or `resume` of a sweep."""

    argv: Annotated[Names, "The command as a list of words; in an A/B, {axis} stands for the value"] = ()
    id: Annotated[str | None, "Add to this entry; without argv, run its planned commands"] = None
    label: str | None = None
    repeat: Annotated[int | None, "Runs"] = None
    pairs: Annotated[int | None, "A/B: exactly N pairs, judged once"] = None
    discard: Annotated[int | None, "Warm-up runs first"] = None
    noise: Annotated[bool, "Measure how much runs vary"] = False
    axis: Annotated[str | None, "A/B in pairs, base first: NAME=V,V or env:NAME=V,V"] = None
    code: Annotated[Names, "A/B of two commits, or a commit and WORK"] = ()
    min_effect: Annotated[str | None, "A/B: smallest change that matters, such as 2%"] = None
    max_pairs: int | None = None
    max_time: Annotated[str | None, "A/B: 30m, 2h"] = None
    seed: Annotated[int | None, "A/B: seed of the order"] = None
    metrics: Annotated[Names, "A/B: the metrics that decide"] = ()
    recipe: Annotated[str | None, "Sweep: name or file"] = None
    sets: Annotated[Names, "Sweep: K=V"] = ()
    scale: Annotated[str | None, "Sweep: such as tiny"] = None
    resume: Annotated[str | None, "Sweep: entry to resume"] = None
    config: Annotated[Mapping[str, Scalar], "Config that the command does not report"] | None = None
    env: Annotated[Mapping[str, str], "Variables"] | None = None
    timeout: Annotated[str | None, "90s, 30m, 2h"] = None
    stall: Annotated[str | None, "End it when it prints nothing for so long"] = None
    cwd: str | None = None
    on: Annotated[str | None, "Executor or launcher"] = None
    logbook: Logbook = None


@dataclass(frozen=True, kw_only=True)
class WaitArguments:
    """Of `wait`."""

    ids: Annotated[Names, "Default: all that are running"] = ()
    any: Annotated[bool, "Return when one has ended"] = False
    timeout_s: Annotated[float, f"At most {LONGEST_WAIT_S:.0f}"] = LONGEST_WAIT_S
    tail: Annotated[int, "Last lines of output to show"] = TAIL_LINES
    logbook: Logbook = None


@dataclass(frozen=True, kw_only=True)
class CancelArguments:
    """Of `cancel`."""

    id: str


@dataclass(frozen=True, kw_only=True)
class RecordArguments(_Texts):
    """Of `record`."""

    action: Annotated[
        Literal["note", "edit", "summary", "criterion"],
        "Add an entry, change one, set the summary, or judge a stop criterion met",
    ]
    id: Annotated[str | None, "edit: the entry; criterion: the evidence"] = None
    criterion: int | None = None
    text: Annotated[str | None, "note, summary: the text"] = None
    kind: Annotated[Literal["note", "decision", "incident"] | None, "note: its kind"] = None
    result: Annotated[str | None, "Result in words; numbers come from runs"] = None
    confidence: Annotated[str | None, "edit: exploratory, replicated, stable, computed"] = None
    state: Annotated[str | None, "edit: planned, blocked, abandoned, void, computed"] = None
    reason: Annotated[str | None, "edit: why this confidence or void"] = None
    append: Annotated[bool, "edit: add to the fields"] = False
    logbook: Logbook = None


@dataclass(frozen=True, kw_only=True)
class SyncArguments:
    """Of `sync`."""

    digest: Annotated[str | None, "Digest of the plan to apply; without it, show the plan"] = None
    create: Annotated[bool, "Open the issue when there is none"] = False
    repository: Annotated[str | None, "With create: OWNER/REPO"] = None
    logbook: Logbook = None
