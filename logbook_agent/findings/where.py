"""Where a verdict holds: what tells its pair from the others, and what its rows share that the thread varies elsewhere.

An A/B of one size says nothing of another: its verdict names the size, although no row of its own has another one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from logbook_agent.findings.thread import Thread
from logbook_agent.model.record import digest
from logbook_agent.model.values import canonical, spelt

if TYPE_CHECKING:
    from logbook_agent.findings.contrasts.matching import Pair
    from logbook_agent.findings.evidence.answers import Answer
    from logbook_agent.model.run import Row

# Of the config that the rows of a pair share, as it is kept; and of a case, as it is told.
_KEPT_CHARS, _TOLD_CHARS = 1200, 100
_VALUE_CHARS = 40


def values_of(rows: Iterable[Row]) -> dict[str, list[str]]:
    """By config key one or two of the values that these rows have: a second one says that they differ in it."""
    found: dict[str, list[str]] = {}
    for row in rows:
        for name, value in row.config.items():
            text = canonical(value)
            text = text if len(text) <= _VALUE_CHARS else digest(text)
            known = found.setdefault(name, [])
            if len(known) < 2 and text not in known:
                known.append(text)
    return found


def axes_of(thread: Thread) -> frozenset[str]:
    """The config keys in which rows of the thread differ, and those that the logbook names."""
    values: dict[str, set[str]] = defaultdict(set)
    for summary in thread.counted:
        for name, some in summary["values"].items():
            values[name].update(some)
    return frozenset([*thread.header.case_keys, *(name for name, some in values.items() if len(some) > 1)])


def shared(answer: Answer, pair: Pair) -> dict[str, str]:
    """The config that all rows of a pair agree in, but for what tells the pair from others, as much as is kept."""
    configs = [item.case.row.config for item in (*pair.base.items, *pair.other.items)]
    found: dict[str, str] = {}
    room = _KEPT_CHARS
    for name, value in configs[0].items() if configs else ():
        told = name in pair.case or name == answer.axis
        if told or any(name not in c or canonical(c[name]) != canonical(value) for c in configs):
            continue
        room -= len(name) + len(spelt(value)) + 2
        if room < 0:
            break
        found[name] = spelt(value)
    return found


def case_told(case: Mapping[str, str], shared: Mapping[str, str], axes: Collection[str]) -> dict[str, str]:
    """What is told of where a verdict holds; of what its rows share, as much as a line has room for."""
    found = dict(case)
    room = _TOLD_CHARS
    for name in (n for n in shared if n in axes):
        room -= len(name) + len(shared[name]) + 2
        if room >= 0:
            found[name] = shared[name]
    return found
