"""Whether values that people wrote are what they stand for."""

from __future__ import annotations

from datetime import date

from logbook_agent.model.codec import CodecError
from logbook_agent.model.entry import CONFIDENCES
from logbook_agent.model.header import Baseline


def checked_baseline(baseline: Baseline) -> Baseline:
    """The baseline, when its date is one and its confidence begins with a word of ours.

    Raises CodecError, as for any other misfit of the file.
    """
    if baseline.date is not None:
        try:
            date.fromisoformat(baseline.date)
        except ValueError:
            raise CodecError(f"baseline.date: expected a date such as 2026-02-09, got {baseline.date!r}") from None
    if baseline.confidence is not None and not baseline.confidence.startswith(CONFIDENCES):
        words = ", ".join(CONFIDENCES)
        raise CodecError(f"baseline.confidence: expected {words} (and why), got {baseline.confidence!r}")
    return baseline
