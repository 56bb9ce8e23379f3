"""What an update says of its entries, and what a snapshot says of how to repeat them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from logbook_agent.findings import facts
from logbook_agent.findings.measured import measured
from logbook_agent.findings.said import Said, trust_in
from logbook_agent.findings.trust import trust_of
from logbook_agent.issue.told.best import deltas
from logbook_agent.issue.told.results import Results
from logbook_agent.issue.told.texts import Room, escape, line, link, prose, shortened, words
from logbook_agent.issue.told.values import IssueValues
from logbook_agent.model.entry import HYPOTHESIS, INTERPRETATION, NEXT_ACTION, RESULT
from logbook_agent.model.header import Header, Snapshot
from logbook_agent.model.record import Record
from logbook_agent.text import markdown as md
from logbook_agent.text.words import command_line, folded

if TYPE_CHECKING:
    from logbook_agent.findings.facts import RenderTable
    from logbook_agent.findings.tables.spec import Table
    from logbook_agent.model.run import Run

CHANGE = "Change"
_NEXT_STEP = "Next step"
_CASE_BYTES = 300
_LABEL_BYTES = 100
# More commands than this are folded away, and so is one of more lines.
_OPEN_COMMANDS = 1
_OPEN_LINES = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownRuns:
    """What is known of the runs of a long entry without reading them; `measured` as of `report.measured`."""

    said: Said
    measured: Mapping[str, Any]


class Told:
    """What the runs of one entry of an update say: computed once, however often the update is rendered."""

    def __init__(
        self,
        thread: IssueValues,
        record: Record,
        render: RenderTable,
        compared: Sequence[str] = (),
        known: KnownRuns | None = None,
    ) -> None:
        self.thread = thread
        self._known = known
        self.compared = md.items(list(compared))
        self.record = record
        self._render = render

    @cached_property
    def header(self) -> Header:
        """With the baseline that there was when the entry was opened."""
        return self.thread.header.as_of(self.record.id, self.record.entry.opened)

    @cached_property
    def measured(self) -> Mapping[str, Any]:
        if self._known is not None:
            return self._known.measured
        return measured(self.record, self.header)

    @cached_property
    def trust(self) -> str | None:
        if self._known is not None:
            trust = trust_in(self.record, self._known.said)
        else:
            trust = trust_of(self.record, self.thread.header.metrics)
        return trust.text if trust is not None else None

    @cached_property
    def config(self) -> str:
        if self._known is not None:
            return self._known.said.config
        return facts.config_section(self.record, self._table) if self.record.runs else ""

    @cached_property
    def result(self) -> str:
        if self._known is not None:
            return self._known.said.result
        return facts.result_section(self.record, self._table, self._render) if self.record.runs else ""

    @cached_property
    def commands(self) -> tuple[Sequence[facts.Executed], int, Sequence[int]]:
        """The commands that are told, how many others were executed, and the places of those that are yet to be."""
        if self._known is not None:
            return self._known.said.commands, self._known.said.more_commands, self._known.said.pending
        return _executed(self.record)

    @cached_property
    def _table(self) -> Table | None:
        return facts.table_of(self.record, self.thread.header.metrics)


def entry_values(told: Told, later: Mapping[str, Sequence[str]], room: Room) -> dict[str, Any]:
    """One entry of an update."""
    thread, record = told.thread, told.record
    entry = record.entry
    prose_of = _Fields(record, room)
    change = prose_of.take(CHANGE)
    hypothesis = prose_of.take(HYPOTHESIS)
    result = prose_of.take(RESULT)
    interpretation = prose_of.take(INTERPRETATION)
    next_action = prose_of.take(NEXT_ACTION) or prose_of.take(_NEXT_STEP)
    shown = _shown_commands(record, *told.commands, room)
    return {
        "id": entry.id,
        "title": line(entry.title, min(room.prose, 400)),
        "opened": thread.date(entry.opened),
        "url": thread.links.entry(entry.id),
        "link": thread.id_link(entry.id),
        "kind": entry.kind,
        "state": record.state,
        "confidence": line(told.trust, room.prose) if told.trust else None,
        "continues": _link(thread, entry.continues),
        "completes": _link(thread, entry.completes),
        "supersedes": _link(thread, entry.supersedes),
        "completed_by": [thread.id_link(i) for i in later.get("completed_by", ())],
        "superseded_by": [thread.id_link(i) for i in later.get("superseded_by", ())],
        "change": change,
        "hypothesis": hypothesis,
        "commands": shown,
        "folded": len(shown) > _OPEN_COMMANDS or any(c["text"].count("\n") >= _OPEN_LINES for c in shown),
        "config": shortened(told.config, room.prose),
        "result": result,
        "measured": shortened(told.result, 4 * room.prose),
        "compared": shortened(told.compared, 2 * room.prose),
        "deltas": deltas(told.header, entry.id, told.measured, min(room.prose, _CASE_BYTES), thread.unlike),
        "interpretation": interpretation,
        "next": next_action,
        "more": prose_of.rest(),
    }


class _Fields:
    """The prose fields of an entry, each of which is shown once."""

    def __init__(self, record: Record, room: Room) -> None:
        self._left = [f for f in record.entry.fields if f.text.strip()]
        self._room = room

    def take(self, label: str) -> str:
        found = next((f for f in self._left if f.label.casefold() == label.casefold()), None)
        if found is None:
            return ""
        self._left.remove(found)
        return prose(found.text, self._room.prose)

    def rest(self) -> list[dict[str, str]]:
        """Fields with other labels, and further ones with a label that was taken, in their order."""
        return [
            {"label": escape(words(f.label, _LABEL_BYTES)), "text": prose(f.text, self._room.prose)} for f in self._left
        ]


def commands(record: Record, room: Room) -> list[dict[str, Any]]:
    """What was executed and what is yet to be, each once, verbatim or not at all."""
    return _shown_commands(record, *_executed(record), room)


def _executed(record: Record) -> tuple[Sequence[facts.Executed], int, Sequence[int]]:
    found = facts.commands_of(record)
    return found[: facts.SHOWN_COMMANDS], max(0, len(found) - facts.SHOWN_COMMANDS), record.pending


def _shown_commands(
    record: Record, found: Sequence[facts.Executed], more: int, pending: Sequence[int], room: Room
) -> list[dict[str, Any]]:
    shown = [_command(c.label, c.text, c.times, room) for c in found]
    if more:
        shown.append({**_command(None, "", 1, room), "more": more})
    planned = {(c.label, facts.planned(c)): None for c in (record.entry.commands[place] for place in pending)}
    return shown + [{**_command(label, text, 1, room), "planned": True} for label, text in planned]


def _command(label: str | None, text: str, times: int, room: Room) -> dict[str, Any]:
    text = folded(text)
    size = len(text.encode())
    return {
        "label": escape(words(label, _LABEL_BYTES)) if label else "",
        "text": text if size <= room.command else "",
        "left_out": 0 if size <= room.command else size,
        "times": times,
        "planned": False,
        "more": 0,
    }


def _link(thread: IssueValues, entry_id: str | None) -> str | None:
    return thread.id_link(entry_id) if entry_id is not None else None


# -- snapshots ---------------------------------------------------------------------------------------


def snapshot_values(thread: IssueValues, snapshot: Snapshot, records: Sequence[Record], room: Room) -> dict[str, Any]:
    """The repro bundle of the entries that it covers: exact commands, what they ran on and with, and the results."""
    runs = [(record.id, status.run) for record in records for status in record.runs]
    return {
        "name": escape(words(snapshot.name, _LABEL_BYTES)),
        "tag": link(snapshot.name, snapshot.url),
        "url": snapshot.url,
        "commit": snapshot.commit,
        "commit_url": commit_url(snapshot),
        "at": thread.date(snapshot.at),
        "entries": [
            {"id": r.id, "link": thread.id_link(r.id), "title": line(r.entry.title, 200), "commands": shown}
            for r in records
            if (shown := commands(r, room))
        ],
        "code": _gathered([(i, _code(run)) for i, run in runs], len(runs), room),
        "hardware": _gathered([(i, facts.devices_text(run)) for i, run in runs], len(runs), room),
        "env": _gathered([(i, text) for i, run in runs for text in _env(run)], len(runs), room),
        "software": _gathered([(i, text) for i, run in runs for text in _software(run)], len(runs), room),
        "results": Results(thread.thread, thread.id_link, thread.left_out, {r.id for r in records}).values(room.table),
        "logbook": thread.logbook,
    }


def commit_url(snapshot: Snapshot) -> str | None:
    """The commit in the repository that the tag's address is in; None when that address says nothing of it."""
    for part in ("/releases/tag/", "/tree/", "/commit/"):
        base, found, _ = snapshot.url.partition(part)
        if found:
            return f"{base}/commit/{snapshot.commit}"
    return None


def _gathered(found: Sequence[tuple[str, str]], runs: int, room: Room) -> list[str]:
    """Each text once, as code; with the entries it holds for where it does not hold for all runs."""
    where: dict[str, list[str]] = {}
    for entry_id, text in found:
        if text:
            where.setdefault(text, []).append(entry_id)
    lines = []
    for text, ids in where.items():
        distinct = list(dict.fromkeys(ids))
        some = len(ids) < runs
        only = f" ({', '.join(distinct[:5])}{f' and {len(distinct) - 5} more' if len(distinct) > 5 else ''})"
        lines.append(md.inline_code(words(text, max(room.prose, _CASE_BYTES))) + (only if some else ""))
    return lines


def _code(run: Run) -> str:
    if run.code is None or (run.code.commit is None and run.code.branch is None):
        return "not in a git repository"
    if run.code.commit is None:
        return "no commit yet"
    return run.code.commit + (" with uncommitted changes" if run.code.dirty else "")


def _env(run: Run) -> list[str]:
    return [command_line((), {name: value}) for name, value in run.env.variables.items()]


def _software(run: Run) -> list[str]:
    reported = {name: version for row in run.rows for name, version in row.software.items()}
    return [f"{name} {version}" for name, version in sorted((reported or run.software).items())]
