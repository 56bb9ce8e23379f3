"""The Python API of this feature: blocks of a script as runs, functions in pairs, and data frames."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from logbook_agent.api import Logbook
from logbook_agent.campaign.ab_request import AbRequest
from logbook_agent.campaign.run_request import RunRequest
from logbook_agent.campaign.stderr_display import ProgressDisplay
from logbook_agent.entries.new_entry import Prose
from logbook_agent.exports import frames
from logbook_agent.exports.columns import DataColumn, columns_of
from logbook_agent.exports.measured_rows import exported
from logbook_agent.exports.scripting.blocks import BlockRequest, ExperimentBlock
from logbook_agent.exports.scripting.functions import FunctionsResult, ab_functions
from logbook_agent.findings.read import read
from logbook_agent.model.values import Scalar

if TYPE_CHECKING:
    import pandas
    import polars


def experiment(
    logbook: Logbook,
    *,
    title: str | None = None,
    hypothesis: str | None = None,
    label: str | None = None,
    config: Mapping[str, Scalar] | None = None,
    entry_id: str | None = None,
) -> ExperimentBlock:
    """A block of this script or notebook as a run, which `with` begins and ends: what it prints, its rows (`log`),
    its duration, the traceback of an exception."""
    prose = Prose(title=title, hypothesis=hypothesis)
    request = BlockRequest(prose=prose, label=label, config=config or {}, entry_id=entry_id)
    return ExperimentBlock(logbook.workspace, request, ProgressDisplay())


def ab(
    logbook: Logbook,
    functions: Mapping[str, Callable[[], object]],
    *,
    title: str | None = None,
    hypothesis: str | None = None,
    config: Mapping[str, Scalar] | None = None,
    metrics: Sequence[str] | None = None,
    minimum_effect: float | None = None,
    pairs: int | None = None,
    max_pairs: int | None = None,
    max_time_s: float | None = None,
    warm_up: int = 0,
    calls: int = 1,
    new: bool = False,
) -> FunctionsResult:
    """Compare functions in pairs of runs, by the rule of `logbook ab`; the first is the base. A run measures the
    time of `calls` calls (`time_s`), and the numbers that they return. What another process can import is called
    there; with other functions the answer says `within-process`. Called again with the same functions, it adds pairs
    to their entry; `new` starts another."""
    run = RunRequest(prose=Prose(title=title, hypothesis=hypothesis), config=config or {})
    request = AbRequest(
        run=run,
        fixed=pairs,
        max_pairs=max_pairs,
        max_time_s=max_time_s,
        minimum_effect=minimum_effect,
        metrics=tuple(metrics or ()),
        new=new,
    )
    return ab_functions(logbook.workspace, functions, request, ProgressDisplay(), warm_up=warm_up, calls=calls)


def to_pandas(logbook: Logbook, *entry_ids: str) -> pandas.DataFrame:
    """The measured rows of these entries, or of all, as a data frame with the columns of `logbook export --as csv`.
    Raises UsageError without pandas."""
    return frames.to_pandas(_columns(logbook, entry_ids))


def to_polars(logbook: Logbook, *entry_ids: str) -> polars.DataFrame:
    """The same for polars."""
    return frames.to_polars(_columns(logbook, entry_ids))


def _columns(logbook: Logbook, entry_ids: Sequence[str]) -> list[DataColumn]:
    return columns_of(exported(read(logbook.workspace, logbook.book), entry_ids=entry_ids).rows)
