"""What of a status is shown when not all of it fits: the order of usefulness, and how much of it a budget holds.

The order is that of `KINDS`. The three newest of each kind come first, then the rest of each kind; the last entries and
the numbers of single runs come after all else. What is shown is the beginning of this order, so the least useful is
left out first, and a decision never is while a run is shown.
"""

from __future__ import annotations

import bisect
import itertools
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from logbook_agent.text.shell_words import assignments

# Each kind is a key of the answer, or a part of one: `answers.open` stands in `answers`.
KINDS = (
    *("not_settled", "command", "best_so_far", "closed", "summary", "in_words"),
    *("answers.settled", "decisions", "negative_results", "answers.open", "criteria.unmet"),
    *("running", "detached_series", "claimed", "open", "next_actions", "failed", "edited_by_hand", "reserved"),
    *("best", "baseline", "metrics", "gates", "constraints", "criteria.met", "view", "issue", "links"),
    *("last", "runs"),
)
# The keys with one value; with lists by state; and the lists that are there even when they are empty.
_SINGLE = ("not_settled", "command", "best_so_far", "closed", "summary", "baseline", "view", "issue")
_BY_STATE = ("open",)
_ALWAYS = (
    *("answers", "decisions", "negative_results", "criteria", "running", "next_actions", "failed"),
    *("best", "metrics", "last", "runs"),
)
# These are shown once everything else is.
_AFTER_ALL = ("last", "runs")
# So many of each kind come before more of any.
EACH = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusLine:
    """One line of a status: its `kind`, the `value`, and its place by usefulness among its kind (`rank`, from 0) and as
    it is shown under its key (`place`). `config` is shown as far as not all cases share it; the keys in `said` stand in
    the value."""

    kind: str
    value: Any
    rank: int
    place: int
    config: Mapping[str, str] | None = None
    said: frozenset[str] = frozenset()

    @property
    def usefulness(self) -> tuple[bool, int, int]:
        """Lower is more useful."""
        is_first = self.rank < EACH and self.kind not in _AFTER_ALL
        return not is_first, KINDS.index(self.kind), self.rank

    @property
    def key(self) -> str:
        """The key of the answer that it stands under."""
        return _key(self.kind)


def _key(kind: str) -> str:
    return kind.partition(".")[0]


def lines_of(
    kind: str, values: Sequence[Any], ages: Sequence[Any] | None = None, *, first: int = 0
) -> list[StatusLine]:
    """The lines of a kind, in the order in which they are shown, from place `first` on. The one with the least age is
    the most useful; without ages the first one."""
    ranked = sorted(range(len(values)), key=lambda n: ages[n] if ages is not None else n)
    ranks = {n: rank for rank, n in enumerate(ranked)}
    return [StatusLine(kind=kind, value=v, rank=ranks[n], place=first + n) for n, v in enumerate(values)]


def newest_last(kind: str, values: Sequence[Any]) -> list[StatusLine]:
    """The lines of a kind of which the last one is the newest."""
    return lines_of(kind, values, range(len(values), 0, -1))


def answer_of(head: Mapping[str, Any], shown: Sequence[StatusLine], left_out: Sequence[StatusLine]) -> dict[str, Any]:
    """The status with these lines behind its `head`, what all their cases share, and the number of others by key."""
    shared = _shared([line.config for line in shown if line.config is not None])
    parts: dict[str, Any] = {key: [] for key in map(_key, KINDS)}
    for line in sorted(shown, key=lambda line: line.place):
        parts[line.key].append(_value(line, shared))
    for key, values in parts.items():
        if key in _SINGLE:
            parts[key] = values[0] if values else None
        elif key in _BY_STATE:
            parts[key] = {state: [v for s, v in values if s == state] for state in dict.fromkeys(s for s, _ in values)}
        elif key not in _ALWAYS:
            parts[key] = values or None
    counts = Counter(line.key for line in left_out)
    parts |= {
        "shared_config": assignments(shared) or None,
        "left_out": {key: counts[key] for key in parts if counts[key]} or None,
    }
    return {**head, **{key: value for key, value in parts.items() if value is not None}}


def fitting(
    head: Mapping[str, Any], lines: Sequence[StatusLine], size: Callable[[dict[str, Any]], int], budget: int
) -> dict[str, Any]:
    """The status with as many of the most useful lines as the budget of bytes holds, without those that take more than
    half of it alone; without any where the head is too much already. `size` tells what a status takes."""
    fit: dict[bool, list[StatusLine]] = {True: [], False: []}
    for line in lines:
        fit[line.kind in _AFTER_ALL or len(json.dumps(line.value)) <= budget // 2].append(line)
    ranked = sorted(fit[True], key=lambda line: line.usefulness)

    def first(count: int) -> dict[str, Any]:
        return answer_of(head, ranked[:count], [*ranked[count:], *fit[False]])

    return first(_most(lambda count: size(first(count)), [len(json.dumps(line.value)) for line in ranked], budget))


def _most(size: Callable[[int], int], about: Sequence[int], budget: int) -> int:
    """The greatest number of lines of which the size is within the budget; 0 where no line is.

    To ask for a size is dear. A line takes nearly as much more as it is `about`, so what one answer is off tells where
    to look next.
    """
    totals = list(itertools.accumulate(about, initial=0))
    low, high, off = 0, len(about) + 1, 0
    while high - low > 1:
        guess = bisect.bisect_right(totals, budget - off) - 1
        count = min(max(guess, low + 1), high - 1)
        taken = size(count)
        low, high = (count, high) if taken <= budget else (low, count)
        off = taken - totals[count]
    return low


def _shared(configs: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """The keys that all of several cases have with one value."""
    if len(configs) < 2:
        return {}
    return {k: v for k, v in configs[0].items() if all(config.get(k) == v for config in configs)}


def _value(line: StatusLine, shared: Mapping[str, str]) -> Any:
    if line.config is None:
        return line.value
    own = {k: v for k, v in line.config.items() if k not in shared and k not in line.said}
    return {**line.value, **({"config": assignments(own)} if own else {})}
