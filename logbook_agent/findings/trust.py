"""The confidence in an entry: computed from its comparison, or stated by a person."""

from __future__ import annotations

from msgspec import Struct

from logbook_agent.findings.comparison.answer import Answer
from logbook_agent.model.entry import CONFIDENCES, Confidence, Entry
from logbook_agent.text.phrases import bounded

_SHOWN_REASONS = 3


class Trust(Struct, frozen=True, kw_only=True):
    """The confidence in an entry: as `computed`, with its reasons, unless a person `stated` another."""

    computed: Confidence
    reasons: tuple[str, ...]
    stated: Confidence | None = None
    stated_reason: str | None = None

    @property
    def word(self) -> Confidence:
        """The confidence that counts."""
        return self.stated or self.computed

    @property
    def is_raised(self) -> bool:
        """Whether a person claims more than the runs show."""
        return CONFIDENCES.index(self.word) > CONFIDENCES.index(self.computed)

    @property
    def text(self) -> str:
        """`replicated (computed: settled in two sittings)`, or `stable (stated by hand: REASON; computed:
        exploratory)`."""
        if self.stated is None:
            basis = "; ".join(bounded(self.reasons, _SHOWN_REASONS))
            return f"{self.word} (computed: {basis})" if basis else self.word
        said = f": {self.stated_reason}" if self.stated_reason else " without a reason" if self.is_raised else ""
        return f"{self.word} (stated by hand{said}; computed: {self.computed})"


def trust_of(entry: Entry, runs: int, answer: Answer | None = None) -> Trust | None:
    """The confidence in an entry with so many runs, and the answer to its comparison; None for entries that claim
    nothing: notes, and experiments without runs, commands or a stated confidence."""
    is_claim = entry.kind == "experiment" and bool(runs or entry.commands)
    if not (is_claim or entry.confidence is not None):
        return None
    return Trust(
        computed=answer.confidence if answer is not None else "exploratory",
        reasons=answer.reasons if answer is not None else (),
        stated=entry.confidence,
        stated_reason=entry.confidence_reason,
    )
