"""Whether values that people wrote are what they stand for."""

from __future__ import annotations

from datetime import date

from logbook_agent.model.codec import CodecError
from logbook_agent.model.entry import CONFIDENCES
from logbook_agent.model.errors import UsageError
from logbook_agent.model.header import Baseline


def stated_baseline(baseline: Baseline, option: str) -> Baseline:
    """As `checked_baseline`, of one that options state; `option` is the one of its confidence. Raises UsageError."""
    try:
        return checked_baseline(baseline)
    except CodecError as error:
        raise UsageError(
            str(error), cause="an option or the file sets this", hint=f"{option} 'replicated (three runs)'"
        ) from error


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
