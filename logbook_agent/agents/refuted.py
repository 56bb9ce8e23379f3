"""What was tried and did not work out, and what has changed since; pure.

An idea that was refuted is proposed again only when something that its entry names has changed: the code, a version of
a package, or the baseline's config.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from logbook_agent.findings.attempts import FAILURE, VERDICT, chosen, command_key
from logbook_agent.findings.read import Findings
from logbook_agent.model.comparison import CODE_AXIS
from logbook_agent.model.header import Header
from logbook_agent.model.run import Run
from logbook_agent.model.summary import TriedItem
from logbook_agent.model.values import canonical

_TOOL = "logbook-agent"
_CHARS = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeNow:
    """The code and the packages that a command would run now; what is not known is left out."""

    identity: str | None = None
    software: Mapping[str, str] = field(default_factory=dict)


# What a command that was run would find now.
Now = Callable[[Run], CodeNow]


class Refuted:
    """The refuted ideas of a thread."""

    def __init__(self, found: Findings, now: Now) -> None:
        self._found, self._now = found, now
        # What a later run of the same command did is not refuted any more.
        items = chosen(found.tried, found.summaries)
        standing = found.thread.standing
        self._items = [i for i in items if not i.get("since") and standing[i["entry"]].withdrawn != "void"]
        self._changes: dict[str, tuple[str, ...]] = {}

    def of_command(self, command: Sequence[str]) -> TriedItem | None:
        """The last item of the same command whose entry names nothing that has changed."""
        key = command_key(command)
        same = (i for i in reversed(self._items) if i["command"] and command_key(i["command"]) == key)
        return next((item for item in same if not self.changed(item["entry"])), None)

    def of_cell(self, cell: Mapping[str, str]) -> TriedItem | None:
        """The last item about a cell of the matrix, in the same sense."""
        same = (item for item in reversed(self._items) if _is_about(item, cell))
        return next((item for item in same if not self.changed(item["entry"])), None)

    def again(self) -> Iterator[tuple[TriedItem, tuple[str, ...]]]:
        """The last item of each entry that nobody has taken up, with what has changed since; the latest first."""
        by_entry = {item["entry"]: item for item in self._items}
        for entry_id, item in reversed(by_entry.items()):
            if not self._found.thread.standing[entry_id].taken_up_by and (changed := self.changed(entry_id)):
                yield item, changed

    def changed(self, entry_id: str) -> tuple[str, ...]:
        """What has changed of what an entry names."""
        if entry_id not in self._changes:
            record = self._found.records.record(entry_id)
            runs = [s.run for s in record.runs if s.counts]
            comparison = record.entry.comparison
            is_code = comparison is not None and comparison.question.axis == CODE_AXIS
            header = self._found.records.header
            found = changes(runs[-1], self._now(runs[-1]), header, with_code=not is_code) if runs else ()
            self._changes[entry_id] = tuple(found)
        return self._changes[entry_id]


def changes(run: Run, now: CodeNow, header: Header, *, with_code: bool = True) -> Iterator[str]:
    """What differs now from what a run recorded: `code 3f2a9c01d -> 77b0e1f2a`, `jax 0.4.1 -> 0.5.0`, `baseline topk 2
    -> 4`."""
    before = run.code.key if run.code is not None else None
    if with_code and None not in (before, now.identity) and before != now.identity:
        yield f"code {str(before)[:_CHARS]} -> {str(now.identity)[:_CHARS]}"
    for name, version in sorted(run.software.items()):
        later = now.software.get(name)
        if name != _TOOL and later is not None and later != version:
            yield f"{name} {version} -> {later}"
    config = header.baseline.config if header.baseline is not None else {}
    for move in header.baseline_moves:
        old = move.before.config if move.before is not None and move.at > run.started else {}
        for name, value in old.items():
            if name in config and canonical(config[name]) != canonical(value):
                yield f"baseline {name} {canonical(value)} -> {canonical(config[name])}"


def _is_about(item: TriedItem, cell: Mapping[str, str]) -> bool:
    """Whether an item is about a cell: a verdict about its side of the axis, in all cases that it does not tell apart;
    else it says all values of the cell."""
    config = {name: canonical(value) for name, value in item["config"].items()}
    if any(name in config and config[name] != canonical(value) for name, value in cell.items()):
        return False
    return item.get("axis", "") in cell if item["kind"] == VERDICT else all(name in config for name in cell)


def outcome_of(item: TriedItem) -> str:
    """`MOE-I8-003: worse: int8 has 4.98% less tflops`; of a failure how it failed."""
    return f"{item['entry']}: {item['reason'] or item['outcome']}" + (" (failed)" if item["kind"] == FAILURE else "")
