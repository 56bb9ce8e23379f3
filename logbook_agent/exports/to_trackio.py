"""Rows as runs of a Trackio project: `TRACKIO_DIR=FOLDER trackio show --project TOPIC`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from logbook_agent.exports.libraries import alone, needed
from logbook_agent.exports.tracked import TrackedRun, series
from logbook_agent.store.files import remove

_WHAT = "logbook export --as trackio"


def write(runs: Sequence[TrackedRun], topic: str, folder: Path, *, final: Path) -> None:
    """Fill `folder`. Raises UsageError without trackio.

    By the function that Trackio itself imports CSV with: `trackio.init` would ask huggingface.co for the name of
    whoever is logged in there, and stamp every sample with the time of the export.
    """
    with alone({"TRACKIO_DIR": str(folder)}):
        storage = needed("trackio.sqlite_storage", extra="trackio", what=_WHAT).SQLiteStorage
        for run in runs:
            steps = series(run) or [(0, {})]
            storage.bulk_log(
                project=topic,
                run=run.name,
                metrics_list=[values for _, values in steps],
                steps=[step for step, _ in steps],
                timestamps=[_time(run.started_ms)] * len(steps),
                config={
                    **run.config,
                    "logbook": run.facts,
                    "row": run.data,
                    "_Group": run.group,
                    "_Created": _time(run.started_ms),
                },
                run_id=run.key,
            )
    for lock in folder.glob("*.lock"):
        remove(lock, within=folder)


def _time(milliseconds: int) -> str:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)).isoformat()
