"""Where an answer holds: what its rows share, and the rows of other comparisons do not. An A/B of one size says nothing
of another: its answer names the size."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from logbook_agent.findings.comparison.answer import Answer
from logbook_agent.findings.comparison.pairs import Tried
from logbook_agent.model.values import canonical

# Of what is named in a sentence.
_CHARS = 40


def placed(answers: Iterable[Answer], tried: Sequence[Tried], declared: Collection[str]) -> tuple[Answer, ...]:
    """The answers with what their rows share added to each case: keys in which comparisons of the thread differ, and
    those that the logbook has `declared`."""
    names = apart(tried, declared)
    if not names:
        return tuple(answers)
    return tuple(_placed(answer, tried, names) for answer in answers)


def apart(tried: Iterable[Tried], declared: Collection[str]) -> set[str]:
    """The config keys that tell comparisons apart: those in which they differ, and those that the logbook declares."""
    return {name for name, values in _values(tried).items() if len(values) > 1 or name in declared}


def following(tried: Sequence[Tried], changed: Collection[str], declared: Collection[str]) -> set[str]:
    """The entries whose answers, or the words of them, follow from these: those that ask the same, of any code; and
    all, where comparisons differ in another part of the config than without these."""
    own = [one for one in tried if one["entry"] in changed]
    rest = [one for one in tried if one["entry"] not in changed]
    if apart(rest, declared) != apart(tried, declared):
        return {one["entry"] for one in tried}
    asked = {s["asks"] for one in own for s in one["series"]}
    return {one["entry"] for one in tried if not asked.isdisjoint(s["asks"] for s in one["series"])}


def _placed(answer: Answer, tried: Sequence[Tried], apart: Collection[str]) -> Answer:
    own = _values([one for one in tried if one["entry"] in answer.entries])
    shared: dict[str, str] = {}
    room = _CHARS
    for name, values in own.items():
        if name not in apart or len(values) > 1:
            continue
        [value] = values
        room -= len(name) + len(value) + 2
        if room >= 0:
            shared[name] = value
    cases = [{**f.case, **{n: v for n, v in shared.items() if n not in f.case}} for f in answer.findings]
    findings = tuple(replace(f, case=case) for f, case in zip(answer.findings, cases, strict=True))
    return replace(answer, findings=findings)


def _values(tried: Iterable[Tried]) -> dict[str, set[str]]:
    """The values of each config key, beside the axis of each comparison."""
    found: dict[str, set[str]] = {}
    for series in (s for one in tried for s in one["series"]):
        for name, value in series["config"].items():
            found.setdefault(name, set()).add(canonical(value))
    return found
