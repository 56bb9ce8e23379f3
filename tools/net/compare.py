"""What two versions said, compared: pure functions over answers."""

from __future__ import annotations

import difflib
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

ID = re.compile(r"\b[A-Z][A-Z0-9]*(-[A-Z0-9]+)*-\d{3}\b|\bE\d{2,3}[b-e]?\b")
ABSENT = "(absent)"
# The answer to a command or an option that a version does not have.
UNKNOWN = "(not in this version)"


@dataclass(frozen=True, kw_only=True)
class Difference:
    """What two versions said at one place of the answer to a command: a value of JSON, or lines of a text."""

    store: str
    line: str
    path: str
    was: str
    now: str

    @property
    def kind(self) -> str:
        """Command and place without numbers and IDs: differences with one cause have one kind."""
        words = [word for word in re.sub(r"^(\d+|ask) ", "", self.line).split(" ") if word != "-L"]
        command = " ".join(words[1:2] if words[0] == "logbook" else words[:1])
        if words[0] == "file":
            command = f"file {words[1]}"
        as_json = " --json" if "--json" in words else ""
        return re.sub(r"\d+", "N", ID.sub("ID", f"{command}{as_json}{self.path}"))

    def __str__(self) -> str:
        return f"{self.store}: {self.line:.200}{self.path}\n    was {self.was:.600}\n    is  {self.now:.600}"


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """Why differences are wanted: patterns for the whole of their kind and of `WAS -> NOW`, and a part of the line."""

    why: str
    place: str
    change: str
    command: str = ""

    def covers(self, difference: Difference) -> bool:
        change = f"{difference.was} -> {difference.now}"
        whole = ((self.place, difference.kind), (self.change, change))
        return all(re.fullmatch(*pair, re.DOTALL) for pair in whole) and bool(re.search(self.command, difference.line))


def differences(store: str, once: Any, twice: Any, now: Any) -> Iterator[Difference]:
    """Where `now` differs from `once`, without what differs between `once` and `twice`: each a {line: answer}.

    A command that one of the versions does not have is left out.
    """
    for line in dict.fromkeys([*once, *now]):
        if UNKNOWN in (once.get(line), now.get(line)):
            continue
        for path, was, new in _compared("", *(answers.get(line, ABSENT) for answers in (once, twice, now))):
            yield Difference(store=store, line=line, path=path, was=_as_text(was), now=_as_text(new))


def _compared(path: str, once: Any, twice: Any, now: Any) -> Iterator[tuple[str, Any, Any]]:
    if once == now:
        return
    if isinstance(once, dict) and isinstance(now, dict):
        again = twice if isinstance(twice, dict) else once
        for key in dict.fromkeys([*once, *now]):
            yield from _compared(f"{path}/{key}", *(answer.get(key, ABSENT) for answer in (once, again, now)))
    elif isinstance(once, list) and isinstance(now, list):
        yield from _of_lists(path, once, twice if isinstance(twice, list) else once, now)
    elif isinstance(once, str) and isinstance(twice, str) and isinstance(now, str):
        if not _same_words(once, twice, now):
            yield path, once, now
    elif once == twice:
        yield path, once, now


def _same_words(once: str, twice: str, now: str) -> bool:
    """Whether `now` is `once` in all words but those in which `twice` differs from it."""
    a, b, c = (re.split(r"(\W)", text) for text in (once, twice, now))
    if len(a) != len(b):
        return True
    return len(a) == len(c) and all(old == new for old, again, new in zip(a, b, c, strict=True) if old == again)


def _of_lists(path: str, once: list[Any], twice: list[Any], now: list[Any]) -> Iterator[tuple[str, Any, Any]]:
    """The items that were replaced, one by one where they are as many; else what went, and what came."""
    again = twice if len(twice) == len(once) else once
    old, new = ([json.dumps(item) for item in items] for items in (once, now))
    for change, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if change != "equal" and b - a == d - c:
            for i, j in zip(range(a, b), range(c, d), strict=True):
                yield from _compared(f"{path}/{i}", once[i], again[i], now[j])
        elif change != "equal":
            yield f"{path}/{a}", "\n".join(map(_as_text, once[a:b])), "\n".join(map(_as_text, now[c:d]))


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def report(found: Iterable[Difference], explained: Sequence[Explanation]) -> tuple[list[str], int]:
    """Lines that count what each explanation covers and list the other differences by kind; the number of these."""
    covered = {item.why: 0 for item in explained}
    others: dict[str, list[Difference]] = defaultdict(list)
    for difference in found:
        reason = next((item for item in explained if item.covers(difference)), None)
        if reason is not None:
            covered[reason.why] += 1
        else:
            others[difference.kind].append(difference)
    lines = [f"{number:6} {why}" for why, number in covered.items()]
    lines += [f"{len(some):6} NOT EXPLAINED: {kind}\n  {some[0]}" for kind, some in sorted(others.items())]
    total = sum(map(len, others.values()))
    counts = f"{sum(covered.values()) + total} differences; {total} without an explanation, of {len(others)} kinds"
    return [*lines, counts], total
