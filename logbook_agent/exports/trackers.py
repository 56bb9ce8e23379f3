"""Rows as runs of an experiment tracker, in a folder that its own program opens:

wandb-offline   `wandb sync FOLDER/offline-run-*`
mlflow          `mlflow ui --backend-store-uri sqlite:///FOLDER/mlflow.db`
trackio         `TRACKIO_DIR=FOLDER trackio show --project TOPIC`

Each writer fills `folder`, which will be called `final`, and raises UsageError without its library.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from logbook_agent.exports.libraries import alone, needed
from logbook_agent.exports.tracker_run import TrackedRun, named, series, shortened
from logbook_agent.model.values import spelt
from logbook_agent.store.folder import Folder

_WHAT = "logbook export --as"

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
        host=run.facts.get("host", "unknown"),
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
        config={**run.config, "logbook": run.facts, "row": run.data},
        settings=settings,
        reinit="create_new",
    )
    for step, values in series(run):
        made.log(values, step=step)
    for name, value in run.summary.items():
        made.summary[name] = value
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
_STATUS = {"finished": "FINISHED", "failed": "FAILED", "killed": "KILLED", "running": "RUNNING"}


def to_mlflow(runs: Sequence[TrackedRun], topic: str, folder: Path, final: Path) -> None:
    """Write an SQLite store with whole paths below `final`.

    Config are parameters, facts tags `logbook.NAME`, every sample a step of its metric; `row.json` among the artifacts
    holds the row whole.
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
        entities.Metric(key, value, run.started_ms, step)
        for step, values in series(run)
        for key, value in values.items()
    ]
    params = [entities.Param(k, shortened(spelt(v), _PARAM_CHARACTERS)) for k, v in run.config.items()]
    keys = named(f"logbook.{fact}" for fact in run.facts)
    facts = {keys[f"logbook.{fact}"]: text for fact, text in run.facts.items()} | {"mlflow.note.content": run.title}
    tags = [entities.RunTag(key, shortened(text, _TAG_CHARACTERS)) for key, text in facts.items()]
    for kind, items, most in (("metrics", metrics, _METRICS), ("params", params, _OTHERS), ("tags", tags, _OTHERS)):
        for some in _parts(items, most):
            client.log_batch(name, **{kind: some})
    place = folder / _ARTIFACTS / name / "artifacts"
    Folder(folder).make(place)
    Folder(folder).write(place / "row.json", json.dumps(run.data, ensure_ascii=False, indent=1), durable=False)
    if run.status != "running":
        client.set_terminated(name, _STATUS[run.status], end_time=run.ended_ms or run.started_ms)


def _parts(items: Sequence[Any], most: int) -> Iterator[Sequence[Any]]:
    return (items[at : at + most] for at in range(0, len(items), most))


# -- Trackio ------------------------------------------------------------------------------------------------


def to_trackio(runs: Sequence[TrackedRun], topic: str, folder: Path, final: Path) -> None:
    """Write a project by the function that Trackio itself imports CSV with: `trackio.init` would ask huggingface.co for
    the name of whoever is logged in there, and stamp every sample with the time of the export."""
    with alone({"TRACKIO_DIR": str(folder)}):
        storage = needed("trackio.sqlite_storage", extra="trackio", what=f"{_WHAT} trackio").SQLiteStorage
        for run in runs:
            steps, made = series(run) or [(0, {})], _time(run.started_ms)
            storage.bulk_log(
                project=topic,
                run=run.name,
                metrics_list=[values for _, values in steps],
                steps=[step for step, _ in steps],
                timestamps=[made] * len(steps),
                config={**run.config, "logbook": run.facts, "row": run.data, "_Group": run.group, "_Created": made},
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
