"""Rows as runs of an MLflow experiment in a SQLite store: `mlflow ui --backend-store-uri sqlite:///FOLDER/mlflow.db`."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from logbook_agent.exports.libraries import alone, needed
from logbook_agent.exports.tracked import TrackedRun, named, series, shortened
from logbook_agent.model.values import spelt
from logbook_agent.store.files import make_folder, write_text

DATABASE = "mlflow.db"
_ARTIFACTS = "artifacts"
_WHAT = "logbook export --as mlflow"
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


def write(runs: Sequence[TrackedRun], topic: str, folder: Path, *, final: Path) -> None:
    """Fill `folder`, which will be called `final`: MLflow keeps whole paths. Raises UsageError without MLflow.

    Config are parameters, facts tags `logbook.NAME`, every sample a step of its metric; `row.json` among the artifacts
    holds the row whole.
    """
    with alone(_SETTINGS):
        needed("sqlalchemy", extra="mlflow", what=_WHAT)
        needed("alembic", extra="mlflow", what=_WHAT)
        mlflow = needed("mlflow", extra="mlflow", what=_WHAT)
        logging.getLogger("mlflow").setLevel(logging.WARNING)
        client = mlflow.MlflowClient(tracking_uri=f"sqlite:///{folder / DATABASE}")
        artifacts = (final / _ARTIFACTS).as_uri()
        experiment = client.create_experiment(topic, artifact_location=artifacts)
        for run in runs:
            _write_run(mlflow.entities, client, experiment, run, folder)


def _write_run(entities: Any, client: Any, experiment: str, run: TrackedRun, folder: Path) -> None:
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
    make_folder(place, within=folder)
    write_text(place / "row.json", json.dumps(run.data, ensure_ascii=False, indent=1), within=folder, durable=False)
    if run.status == "running":
        return
    client.set_terminated(name, _STATUS[run.status], end_time=run.ended_ms or run.started_ms)


def _parts(items: Sequence[Any], most: int) -> Iterator[Sequence[Any]]:
    return (items[at : at + most] for at in range(0, len(items), most))
