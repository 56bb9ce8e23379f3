"""`logbook run --noise`: runs of one command, for how much they differ."""

from __future__ import annotations

from dataclasses import dataclass

from logbook_agent.campaign.repeats import NOISE_RUNS, RunRequest, RunResult, check_count, run
from logbook_agent.findings.case_repeats import FEWEST_PAIRS, Noise, noise_of
from logbook_agent.model.codec import encode
from logbook_agent.model.errors import UsageError
from logbook_agent.running.order import Display
from logbook_agent.store.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseResult:
    """The runs just made, and what all runs of the entry say."""

    made: RunResult
    found: tuple[Noise, ...]

    def data(self) -> dict[str, object]:
        return {**self.made.data(), "noise": [encode(f) for f in self.found]}


def noise(workspace: Workspace, request: RunRequest, display: Display) -> NoiseResult:
    """Run a command several times, as a request of `noise`. Nothing is written when it does not fit."""
    book = workspace.book(request.entry_id)
    check_count("--repeat", request.times)
    if request.entry_id is not None:
        entry = book.entry(request.entry_id)
        if not entry.noise:
            raise UsageError(
                f"{entry.id} is not a measurement of noise",
                cause="its runs are not repeats of one command, and runs that are added would change what it says",
                hint="to start a new entry, leave --id out",
            )
    elif request.times < 2 * FEWEST_PAIRS:
        raise UsageError(
            f"--repeat {request.times} is too few to measure noise",
            cause=f"noise is measured on pairs of runs, and takes at least {FEWEST_PAIRS} pairs",
            hint=f"--repeat {NOISE_RUNS}",
        )
    made = run(workspace, request, display, tell=display.progress)
    return NoiseResult(made=made, found=tuple(noise_of(book.record(made.entry.id), book.header.metrics)))
