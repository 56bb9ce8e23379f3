"""Where the points of a run's curves are kept, by the feature that has curves."""

from __future__ import annotations

from pathlib import Path

from logbook_agent.features import one
from logbook_agent.running.results.curve_points import PointSink


def point_sink(folder: Path, within: Path) -> PointSink | None:
    """What keeps the points of a run in its folder; None where no feature does."""
    feature = one("points")
    sink: PointSink | None = feature.point_sink(folder, within) if feature is not None else None
    return sink
