"""`logbook noise`: one command again and again, and what its scatter says of experiments to come."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from logbook_agent.campaign.ab_prepare import with_bench
from logbook_agent.campaign.repeats import RunRequest, RunResult, check_count, run
from logbook_agent.findings.case_repeats import FEWEST_PAIRS, Noise, noise_of
from logbook_agent.model.codec import encode
from logbook_agent.model.entry import Entry
from logbook_agent.model.errors import UsageError
from logbook_agent.running.order import Display
from logbook_agent.store.workspace import Workspace

_FORECASTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseResult:
    """The runs just made, and what all runs of the entry say."""

    made: RunResult
    found: tuple[Noise, ...]

    def data(self) -> dict[str, Any]:
        return {**self.made.data(), "noise": [encode(f) for f in self.found]}


def noise(workspace: Workspace, request: RunRequest, display: Display) -> NoiseResult:
    """Run a command several times. Nothing is written when the request does not fit."""
    book = workspace.book(request.entry_id)
    check_count("--repeat", request.repeat)
    if request.entry_id is not None:
        _check_kind(book.entry(request.entry_id))
    elif request.repeat < 2 * FEWEST_PAIRS:
        raise UsageError(
            f"--repeat {request.repeat} is too few to tell how far pairs scatter",
            cause=f"two runs are a pair, and {FEWEST_PAIRS} pairs are the fewest that say something",
            hint="--repeat 12",
        )
    request = dataclasses.replace(with_bench(request, "noise"), noise=True)
    made = run(workspace, request, display, tell=display.progress)
    return NoiseResult(
        made=made, found=tuple(noise_of(book.record(made.entry.id), book.header.metrics, forecasts=_FORECASTS))
    )


def _check_kind(entry: Entry) -> None:
    """Raises UsageError for an entry whose runs are there for something else."""
    if not entry.noise:
        raise UsageError(
            f"{entry.id} is not a measurement of noise",
            cause="its runs are not repeats of one command, and runs that are added would change what it says",
            hint="to start a new entry, leave --id out",
        )
