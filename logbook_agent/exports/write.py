"""`logbook export`: the rows in one of the forms, at one place."""

from __future__ import annotations

from collections.abc import Iterator

from logbook_agent.exports import frames
from logbook_agent.exports.as_csv import csv_lines
from logbook_agent.exports.as_json import json_pieces
from logbook_agent.exports.columns import columns_of
from logbook_agent.exports.measured_rows import Exported
from logbook_agent.exports.place import ENDINGS, ExportPlace, building, check_replaceable
from logbook_agent.exports.tracked import tracked
from logbook_agent.model.header import Header
from logbook_agent.store.files import write_pieces

FORMS = tuple(ENDINGS)
# Those that are text, which may go to stdout.
TEXTS = ("csv", "json")


def pieces(found: Exported, header: Header, form: str) -> Iterator[bytes]:
    """The content of a form that is a file. Raises UsageError where a library is missing."""
    if form == "csv":
        return csv_lines(columns_of(found.rows))
    if form == "json":
        return json_pieces(found, header)
    return iter([frames.parquet(columns_of(found.rows))])


def write(found: Exported, header: Header, place: ExportPlace) -> None:
    """Write the rows there, whole or not at all. Raises Taken for what may not be replaced, UsageError where a library
    is missing."""
    check_replaceable(place)
    if ENDINGS[place.form]:
        write_pieces(place.path, pieces(found, header, place.form), within=place.within)
        return
    if place.form == "mlflow":
        from logbook_agent.exports.to_mlflow import write as write_tracker
    elif place.form == "trackio":
        from logbook_agent.exports.to_trackio import write as write_tracker
    else:
        from logbook_agent.exports.to_wandb import write as write_tracker
    with building(place) as folder:
        write_tracker(tracked(found), header.topic, folder, final=place.path)


def how_to_open(place: ExportPlace, topic: str) -> str:
    """What to type to look at it; empty where any program does."""
    path = place.path
    return {
        "mlflow": f"mlflow ui --backend-store-uri sqlite:///{path}/mlflow.db",
        "wandb-offline": f"wandb sync {path}/offline-run-*",
        "trackio": f"TRACKIO_DIR={path} trackio show --project {topic}",
    }.get(place.form, "")
