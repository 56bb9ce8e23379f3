"""What other libraries write: TensorBoard's event files, and the callbacks that the documents show."""

from __future__ import annotations

from pathlib import Path

import pytest

from logbook_agent.curves.event_files import event_points

HERE = Path(__file__).parents[2] / "contract/curves"


def test_event_files_of_two_writers() -> None:
    """By tensorboardX 2.6, in two folders, with a text among the scalars."""
    found = [*event_points(HERE / "events")]
    assert [tag for tag, _, _ in found] == ["train/loss"] * 10 + ["validation/loss"] * 10
    assert found[1] == ("train/loss", 5, pytest.approx(1 / 6))
    assert found[19] == ("validation/loss", 45, pytest.approx(1 / 46 + 0.5))


def test_event_files_of_tensors() -> None:
    """By TensorBoard's own writer, in the form of TensorFlow 2."""
    assert [*event_points(HERE / "events_of_tensors")] == [
        ("epoch_loss", 0, 0),
        ("epoch_loss", 1, 0.25),
        ("epoch_loss", 2, 0.5),
    ]
