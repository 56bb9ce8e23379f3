"""Rows as offline runs of Weights & Biases, as `wandb sync` takes them: `FOLDER/offline-run-*/run-*.wandb`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from logbook_agent.exports.libraries import alone, needed
from logbook_agent.exports.tracked import TrackedRun, series
from logbook_agent.store.files import create_folder, move, remove_tree

_WHAT = "logbook export --as wandb-offline"
_WORK = "work"
_EXIT = {"finished": 0, "failed": 1, "killed": 255, "running": 255}


def write(runs: Sequence[TrackedRun], topic: str, folder: Path, *, final: Path) -> None:
    """Fill `folder`. Raises UsageError without wandb.

    The library starts a program of its own, which talks to this process alone in offline mode. It records nothing of
    this machine: host, code and packages are those of the row, among the config.
    """
    work = folder / _WORK
    create_folder(work, within=folder)
    settings = {
        "WANDB_MODE": "offline",
        "WANDB_ERROR_REPORTING": "false",
        "WANDB_SILENT": "true",
        **{f"WANDB_{name}_DIR": str(work) for name in ("CONFIG", "CACHE", "DATA", "ARTIFACT")},
        "WANDB_DIR": str(work),
    }
    with alone(settings):
        wandb = needed("wandb", extra="wandb", what=_WHAT)
        try:
            for run in runs:
                _write_run(wandb, run, topic, work)
        finally:
            wandb.teardown()
    for made in sorted((work / "wandb").glob("offline-run-*")):
        place = folder / made.name
        create_folder(place, within=folder)
        for file in made.glob("run-*.wandb"):
            move(file, place / file.name, within=folder)
    # Logs and settings of the library.
    remove_tree(work, within=folder)


def _write_run(wandb: Any, run: TrackedRun, topic: str, work: Path) -> None:
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
