"""What a person may say of the confidence in an entry: less than its runs show, or more with a reason."""

from __future__ import annotations

from collections.abc import Sequence

from logbook_agent.findings.trust import trust_of
from logbook_agent.model.entry import CONFIDENCES, Confidence
from logbook_agent.model.errors import UsageError
from logbook_agent.model.header import Metric
from logbook_agent.model.record import Record
from logbook_agent.text.markdown import one_line

COMPUTED = "computed"


def stated_confidence(
    record: Record, metrics: Sequence[Metric], given: str | None, reason: str | None
) -> tuple[Confidence | None, str | None]:
    """The confidence of an entry and its reason after `edit --confidence GIVEN --reason REASON`.

    Raises UsageError for a word that is none, and for one above what its runs show without a reason.
    """
    old = record.entry.confidence, record.entry.confidence_reason
    reason = one_line(reason) if reason is not None else None
    if given is None and reason is None:
        return old
    if given is None:
        given = record.entry.confidence or COMPUTED
    if given == COMPUTED:
        if reason:
            raise UsageError(
                f"the confidence of {record.id} is computed, so it takes no reason",
                cause="--reason explains a confidence that a person states",
                hint=f"logbook edit {record.id} --confidence replicated --reason '...'",
            )
        return None, None
    word = next((c for c in CONFIDENCES if c == given), None)
    if word is None:
        raise UsageError(
            f"unknown confidence {given!r}",
            cause=f"it is one of {', '.join(CONFIDENCES)}, or {COMPUTED}",
            hint="--confidence exploratory",
        )
    if not reason and not (reason is None and word == old[0]):
        _check_raised(record, metrics, word)
    return word, reason or (old[1] if reason is None and word == old[0] else None)


def _check_raised(record: Record, metrics: Sequence[Metric], word: Confidence) -> None:
    trust = trust_of(record, metrics)
    computed: Confidence = trust.computed if trust is not None else "exploratory"
    if CONFIDENCES.index(word) > CONFIDENCES.index(computed):
        why = "; ".join(trust.reasons[:1]) if trust is not None else "nothing was run"
        raise UsageError(
            f"{word} is more than the runs of {record.id} show, and needs a reason",
            cause=f"computed: {computed} ({why})",
            hint=f"logbook edit {record.id} --confidence {word} --reason '...'",
        )
