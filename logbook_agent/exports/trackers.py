"""Rows as runs of an experiment tracker, in a folder that its own program opens:

wandb-offline   `wandb sync FOLDER/offline-run-*`
mlflow          `mlflow ui --backend-store-uri sqlite:///FOLDER/mlflow.db`
trackio         `TRACKIO_DIR=FOLDER trackio show --project TOPIC`

One row is one run there, every sample a step. The row of the table is kept whole beside it. Each writer fills `folder`,
which will be called `final`, and raises UsageError without its library.
"""

from __future__ import annotations

import json
import logging
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from msgspec import Struct

from logbook_agent.exports.columns import DataColumn, moment, rows_of
from logbook_agent.exports.curve_rows import PointsOf
from logbook_agent.exports.frames import alone, needed
from logbook_agent.exports.measured_rows import MeasuredRow
from logbook_agent.model.codec import utf8
from logbook_agent.model.record import GOING
from logbook_agent.model.stats import median
from logbook_agent.model.values import row_key, spelt
from logbook_agent.store.folder import Folder

_WHAT = "logbook export --as"
_STATES = {"finished": "finished", "failed": "failed", "timeout": "failed", "stalled": "failed"}
# What no tracker takes in a name, and what Trackio keeps for itself.
_ODD, _NAME_CHARACTERS = re.compile(r"[^A-Za-z0-9_./-]"), 200
_RESERVED = frozenset({"project", "run", "timestamp", "step", "time", "metrics"})
# Whole numbers beyond that are no floats, which is what JSON is read as elsewhere.
_EXACT = 2**53


class TrackedRun(Struct, frozen=True, kw_only=True):
    """`row`: what the table says of it. `steps`: the values at each step. Times are milliseconds since 1970."""

    name: str
    title: str
    group: str
    status: str
    started_ms: int
    ended_ms: int | None
    config: dict[str, Any]
    steps: list[tuple[int, dict[str, float]]]
    row: dict[str, Any]

    @property
    def key(self) -> str:
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower())


def tracked(rows: Sequence[MeasuredRow], columns: Sequence[DataColumn], points: PointsOf) -> list[TrackedRun]:
    """The rows, of which `columns` are the table, as runs with the points of their curves."""
    return [_tracked(row, said, points) for row, said in zip(rows, rows_of(columns), strict=True)]


def _tracked(row: MeasuredRow, said: dict[str, Any], points: PointsOf) -> TrackedRun:
    config = {tracker_name(name): value for name, value in row.row.config.items()}
    going = "running" if row.status.state in GOING else "killed"
    return TrackedRun(
        name=row.name,
        title=utf8(row.entry.title),
        group=row.entry.id,
        status=_STATES.get(row.status.state, going) if row.row.failed is None else "failed",
        started_ms=_milliseconds(row.run.started) or 1,
        ended_ms=_milliseconds(row.run.ended),
        # Other whole numbers would be rounded.
        config={k: str(v) if isinstance(v, int) and abs(v) > _EXACT else v for k, v in config.items()},
        steps=[*_steps(row, points)],
        row=said,
    )


def tracker_name(name: str) -> str:
    """A name that every tracker takes."""
    found = _ODD.sub("_", name)[:_NAME_CHARACTERS]
    return found if found not in _RESERVED and found[:1].isalpha() else f"m_{found}"


def _milliseconds(text: str | None) -> int | None:
    found = moment(text or "")
    return max(1, round(found.timestamp() * 1000)) if found is not None else None


def _steps(row: MeasuredRow, points: PointsOf) -> Iterator[tuple[int, dict[str, float]]]:
    """What is logged at each step: the points of curves, the samples of other metrics; at step 0 the observations, and
    the median of each metric with several samples as `NAME.median`."""
    curves = _curves(row, points)
    seen = {name: value for name, value in row.row.observations.items() if value is not None}
    found: dict[int, dict[str, float]] = {0: {tracker_name(name): v for name, v in seen.items() if name not in curves}}
    for name, m in row.row.metrics.items():
        for step, value in enumerate(m.samples) if name not in curves else ():
            found.setdefault(step, {})[tracker_name(name)] = value
        if len(m.samples) > 1 and name not in curves:
            found[0][f"{tracker_name(name)}.median"] = median(m.samples)
    for name, of in curves.items():
        for step, value in of:
            found.setdefault(step, {})[tracker_name(name)] = value
    return iter(sorted((step, values) for step, values in found.items() if values))


def _curves(row: MeasuredRow, points: PointsOf) -> dict[str, list[tuple[int, float]]]:
    """The points of the curves of a row. Trackers count steps: where one is no whole number, points are numbered."""
    found = {}
    for curve, steps, values in points(row.run) if row.run.curves else ():
        if row_key(curve.config) != row_key(row.row.config):
            continue
        whole = all(step.is_integer() and 0 <= step < _EXACT for step in steps)
        numbers = map(int, steps) if whole else range(len(steps))
        kept = [(step, value) for step, value in zip(numbers, values, strict=True) if math.isfinite(value)]
        if kept and (curve.name in row.row.metrics or curve.name in row.row.observations):
            found[curve.name] = kept
    return found


# -- Weights & Biases ---------------------------------------------------------------------------------------

_WORK = "work"
_EXIT = {"finished": 0, "failed": 1, "killed": 255, "running": 255}


def to_wandb(runs: Sequence[TrackedRun], topic: str, folder: Path, final: Path) -> None:
    """Write `offline-run-*/run-*.wandb`.

    The library starts a program of its own, which talks to this process alone in offline mode. It records nothing of
    this machine: host, code and packages are those of the row, among the config.
    """
    work = folder / _WORK
    Folder(folder).make(work)
    settings = {
        "WANDB_MODE": "offline",
        "WANDB_ERROR_REPORTING": "false",
        "WANDB_SILENT": "true",
        **{f"WANDB_{name}_DIR": str(work) for name in ("CONFIG", "CACHE", "DATA", "ARTIFACT")},
        "WANDB_DIR": str(work),
    }
    with alone(settings):
        wandb = needed("wandb", extra="wandb", what=f"{_WHAT} wandb-offline")
        try:
            for run in runs:
                _write_wandb(wandb, run, topic, work)
        finally:
            wandb.teardown()
    for made in sorted((work / "wandb").glob("offline-run-*")):
        place = folder / made.name
        Folder(folder).make(place)
        for file in made.glob("run-*.wandb"):
            Folder(folder).move(file, place / file.name)
    # Logs and settings of the library.
    Folder(folder).remove_tree(work)


def _write_wandb(wandb: Any, run: TrackedRun, topic: str, work: Path) -> None:
    settings = wandb.Settings(
        mode="offline",
        root_dir=str(work),
        console="off",
        silent=True,
        disable_git=True,
        disable_code=True,
        disable_job_creation=True,
        host=run.row.get("host", "unknown"),
        username="logbook",
        program="logbook",
        x_disable_meta=True,
        x_disable_stats=True,
        x_disable_machine_info=True,
        x_save_requirements=False,
    )
    made = wandb.init(
        project=topic,
        id=run.key,
        name=run.name,
        group=run.group,
        notes=run.title,
        config={**run.config, "row": run.row},
        settings=settings,
        reinit="create_new",
    )
    for step, values in run.steps:
        made.log(values, step=step)
    made.finish(exit_code=_EXIT[run.status])


# -- MLflow -------------------------------------------------------------------------------------------------

DATABASE = "mlflow.db"
_ARTIFACTS = "artifacts"
# Below the limits of MLflow: so many in one request (of at most 1 MB), and the length of a parameter and a tag.
_METRICS, _OTHERS = 1000, 20
_PARAM_CHARACTERS, _TAG_CHARACTERS = 5900, 4900
_SETTINGS = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    # What is too long is cut here, where it is said.
    "MLFLOW_TRUNCATE_LONG_VALUES": "false",
    "MLFLOW_ENABLE_ASYNC_LOGGING": "false",
}
# What stands in metrics and parameters already.
_MEASURED = ("config.", "metric.", "samples.", "unit.", "observation.")


def to_mlflow(runs: Sequence[TrackedRun], topic: str, folder: Path, final: Path) -> None:
    """Write an SQLite store with whole paths below `final`.

    Config are parameters, every sample is a step of its metric, what else is known are tags `logbook.NAME`; `row.json`
    among the artifacts holds the row whole.
    """
    with alone(_SETTINGS):
        for name in ("sqlalchemy", "alembic"):
            needed(name, extra="mlflow", what=f"{_WHAT} mlflow")
        mlflow = needed("mlflow", extra="mlflow", what=f"{_WHAT} mlflow")
        logging.getLogger("mlflow").setLevel(logging.WARNING)
        client = mlflow.MlflowClient(tracking_uri=f"sqlite:///{folder / DATABASE}")
        artifacts = (final / _ARTIFACTS).as_uri()
        experiment = client.create_experiment(topic, artifact_location=artifacts)
        for run in runs:
            _write_mlflow(mlflow.entities, client, experiment, run, folder)


def _write_mlflow(entities: Any, client: Any, experiment: str, run: TrackedRun, folder: Path) -> None:
    made = client.create_run(experiment, start_time=run.started_ms, run_name=run.name)
    name = made.info.run_id
    metrics = [
        entities.Metric(key, value, run.started_ms, step) for step, values in run.steps for key, value in values.items()
    ]
    params = [entities.Param(k, _shortened(spelt(v), _PARAM_CHARACTERS)) for k, v in run.config.items()]
    facts = {f"logbook.{name}": spelt(value) for name, value in run.row.items() if not name.startswith(_MEASURED)}
    facts = {tracker_name(name): text for name, text in facts.items()} | {"mlflow.note.content": run.title}
    tags = [entities.RunTag(name, _shortened(text, _TAG_CHARACTERS)) for name, text in facts.items()]
    for kind, items, most in (("metrics", metrics, _METRICS), ("params", params, _OTHERS), ("tags", tags, _OTHERS)):
        for some in _parts(items, most):
            client.log_batch(name, **{kind: some})
    place = folder / _ARTIFACTS / name / "artifacts"
    Folder(folder).make(place)
    Folder(folder).write(place / "row.json", json.dumps(run.row, ensure_ascii=False, indent=1), durable=False)
    if run.status != "running":
        client.set_terminated(name, run.status.upper(), end_time=run.ended_ms or run.started_ms)


def _shortened(text: str, limit: int) -> str:
    """The text, or as much of it as a field holds."""
    said = " … (cut; whole in row.json)"
    return text if len(text) <= limit else text[: limit - len(said)] + said


def _parts(items: Sequence[Any], most: int) -> Iterator[Sequence[Any]]:
    return (items[at : at + most] for at in range(0, len(items), most))


# -- Trackio ------------------------------------------------------------------------------------------------


def to_trackio(runs: Sequence[TrackedRun], topic: str, folder: Path, final: Path) -> None:
    """Write a project by the function that Trackio itself imports CSV with: `trackio.init` would ask huggingface.co for
    the name of whoever is logged in there, and stamp every sample with the time of the export."""
    with alone({"TRACKIO_DIR": str(folder)}):
        storage = needed("trackio.sqlite_storage", extra="trackio", what=f"{_WHAT} trackio").SQLiteStorage
        for run in runs:
            steps, made = run.steps or [(0, {})], _time(run.started_ms)
            storage.bulk_log(
                project=topic,
                run=run.name,
                metrics_list=[values for _, values in steps],
                steps=[step for step, _ in steps],
                timestamps=[made] * len(steps),
                config={**run.config, "row": run.row, "_Group": run.group, "_Created": made},
                run_id=run.key,
            )
    for lock in folder.glob("*.lock"):
        Folder(folder).remove(lock)


def _time(milliseconds: int) -> str:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)).isoformat()


WRITERS: Mapping[str, Callable[[Sequence[TrackedRun], str, Path, Path], None]] = {
    "wandb-offline": to_wandb,
    "mlflow": to_mlflow,
    "trackio": to_trackio,
}
