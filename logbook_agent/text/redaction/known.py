"""Known secrets in a text, found in one pass whatever their number: a record may be full of them."""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Iterator, Mapping

from logbook_agent.text.redaction.secrets import MIN_LENGTH


class KnownForms:
    """Texts to be replaced, each with what it becomes; none is shorter than MIN_LENGTH."""

    def __init__(self, shown: Mapping[str, str], placeholder: re.Pattern[str]) -> None:
        self._placeholder = placeholder
        by_start: dict[str, dict[int, dict[str, str]]] = {}
        for form, new in shown.items():
            by_start.setdefault(form[:MIN_LENGTH], {}).setdefault(len(form), {})[form] = new
        # By the first characters, the longest first.
        self._by_start = {start: sorted(forms.items(), reverse=True) for start, forms in by_start.items()}

    def replaced(self, text: str) -> str:
        """The text without them; of those that overlap nothing is left. What stands for one already stays."""
        hits = list(self._hits(text))
        if not hits:
            return text
        kept = [m.span() for m in self._placeholder.finditer(text)]
        out: list[str] = []
        at = -1
        done = 0
        for start, end, new in hits:
            last = bisect.bisect_right(kept, (start, len(text))) - 1
            if last >= 0 and end <= kept[last][1]:
                continue
            if start >= at:
                out += [text[done:start], new]
            at = max(at, end)
            done = at
        return "".join([*out, text[done:]])

    def _hits(self, text: str) -> Iterator[tuple[int, int, str]]:
        """The longest form at each place where one begins."""
        starts = self._by_start
        for at in range(len(text) - MIN_LENGTH + 1) if starts else ():
            for length, forms in starts.get(text[at : at + MIN_LENGTH], ()):
                new = forms.get(text[at : at + length])
                if new is not None:
                    yield at, at + length, new
                    break


class Needles:
    """The same as bytes, only to tell whether one may be there."""

    def __init__(self, needles: tuple[bytes, ...]) -> None:
        self._needles = needles
        self._starts = frozenset(needle[:MIN_LENGTH] for needle in needles)

    def may_be_in(self, data: bytes) -> bool:
        if len(self._needles) < len(data) // 8:
            return any(needle in data for needle in self._needles)
        ends = range(MIN_LENGTH, len(data) + 1)
        return any(data[a:b] in self._starts for a, b in zip(itertools.count(), ends, strict=False))
