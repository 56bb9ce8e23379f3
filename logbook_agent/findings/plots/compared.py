"""What the figures of the answer to a comparison have in common. What they show was found before."""

from __future__ import annotations

import math
from collections.abc import Sequence

from logbook_agent.findings.comparison import words
from logbook_agent.findings.comparison.answers import Answer, Finding
from logbook_agent.findings.plots.figure import PlotPoint, PlotSeries
from logbook_agent.findings.plots.words import NAME_CHARS, name_of
from logbook_agent.text.markdown import cut_line

SAID_CHARS = 240
_SHOWN_FINDINGS = 6


def side_name(answer: Answer, side: str) -> str:
    return cut_line(words.label(answer, side), NAME_CHARS)


def finding_name(answer: Answer, finding: Finding) -> str:
    """What tells a finding from the others of its metric; empty for a single one."""
    several = len(answer.question.sides) > 1
    return " ".join(filter(None, [side_name(answer, finding.side) if several else "", name_of(finding.case)]))


def title_of(answer: Answer, found: Sequence[Finding], what: str) -> str:
    """With the finding where there is one."""
    sides = dict.fromkeys(side_name(answer, f.side) for f in found)
    base = side_name(answer, answer.question.base)
    text = f"{answer.entry}: {found[0].metric} {what}, "
    text += f"{base} → {next(iter(sides))}" if len(sides) == 1 else f"against {base}"
    return text + (f": {words.change_text(found[0])}, {found[0].outcome.value}" if len(found) == 1 else "")


def findings_text(answer: Answer, found: Sequence[Finding]) -> str:
    """`int8 topk=2: +5.99%, better; ...`, for the note of a figure of several findings."""
    said = [
        f"{finding_name(answer, f) or f.metric}: {words.change_text(f)}, {f.outcome.value}"
        for f in found[:_SHOWN_FINDINGS]
    ]
    more = len(found) - len(said)
    return "; ".join(said) + (f"; and {more} more" if more > 0 else "")


def said(answer: Answer, finding: Finding) -> str:
    """What a mark says of a finding."""
    return cut_line(f"{answer.entry} {words.sentence(answer, finding)}", SAID_CHARS)


def percent_of(part: float | None) -> float | None:
    return None if part is None or not math.isfinite(part) else 100 * part


def no_change(answer: Answer, ends: Sequence[float | str]) -> list[PlotSeries]:
    """The line of no change, and the band of changes that do not matter."""
    zero = PlotPoint(x=ends[0], y=0.0, said="no change", entry=answer.entry)
    found = [PlotSeries(name="no change", shape="rule", points=(zero,), beside=True)]
    if reach := 100 * answer.question.minimum_effect:
        text = f"changes within the minimum effect of {reach:g}% do not matter"
        band = tuple(PlotPoint(x=x, y=0.0, low=-reach, high=reach, said=text, entry=answer.entry) for x in ends)
        found.append(PlotSeries(name=f"minimum effect {reach:g}%", shape="band", points=band, beside=True))
    return found
