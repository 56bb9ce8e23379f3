"""Where the points of a run's curves are kept, by the feature that has curves."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from logbook_agent.features import hook_module
from logbook_agent.running.results.curve_points import PointSink
from logbook_agent.store.folder import Folder


def point_sink(files: Folder) -> PointSink | None:
    """What keeps the points of a run in its folder; None where no feature does."""
    feature = hook_module("points")
    sink: PointSink | None = feature.point_sink(files) if feature is not None else None
    return sink


def event_points(folder: Path) -> Iterable[tuple[str, int, float]]:
    """Tag, step and value of the scalars in TensorBoard's files below a folder; none where no feature reads them."""
    feature = hook_module("points")
    found: Iterable[tuple[str, int, float]] = feature.event_points(folder) if feature is not None else ()
    return found
