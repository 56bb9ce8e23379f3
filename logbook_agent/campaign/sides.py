"""What the sides of an A/B are made of: their commands, their code, and what prepares their folders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from logbook_agent.campaign.ab_axis import AbAxis
from logbook_agent.campaign.code_guard import CodeGuard
from logbook_agent.model.run import Scalar
from logbook_agent.running.order import RunPlan
from logbook_agent.running.prepare import Command
from logbook_agent.running.provenance.git import CodeFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class AbCase:
    """What is run for each side: `commands` in the order of the sides, and the config beside the axis; or `sides`, the
    config of each. `name` tells it from other cases; empty: its config does."""

    commands: tuple[Command, ...]
    sides: tuple[Mapping[str, Scalar], ...] = ()
    config: Mapping[str, Scalar] = field(default_factory=dict)
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """The `commands` of an A/B in the order of the `axis`, or those of its `cases` where there are several; `argv` has
    the place of the value, and `guard` sees that the code stays as it is. `code` is what is known of it, by side, and
    `branches` those that hold it; `lines` say which code each side is. `setup` and `teardown` have the commands of each
    folder. `needs`: files beside the code that git does not hold. `in_process`: they are functions of this process."""

    axis: AbAxis
    argv: Sequence[str]
    commands: tuple[Command, ...]
    guard: CodeGuard | None = None
    code: Mapping[str, CodeFacts] = field(default_factory=dict)
    branches: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    cases: tuple[AbCase, ...] = ()
    setup: tuple[tuple[RunPlan, ...], ...] = ()
    teardown: tuple[tuple[RunPlan, ...], ...] = ()
    lines: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    in_process: bool = False
