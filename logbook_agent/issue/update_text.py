"""Values of the templates of comments: the entries of an update, and the repro bundle of a snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from logbook_agent.findings import facts
from logbook_agent.findings.computed_texts import ComputedTexts
from logbook_agent.findings.trust import NOT_COMPARED, Compared, trust_of
from logbook_agent.issue.excerpts import Piece, code, escape, line, link, one_line, prose, shortened, words
from logbook_agent.issue.issue_body import IssueValues
from logbook_agent.issue.issue_results import LeftFile, files, pictures, results
from logbook_agent.model.entry import HYPOTHESIS, INTERPRETATION, NEXT_ACTION, RESULT, Field
from logbook_agent.model.header import Snapshot
from logbook_agent.model.record import Record
from logbook_agent.model.run import Run
from logbook_agent.pages.plotted import NamedPlot
from logbook_agent.pages.sections import LATER, NO_LATER
from logbook_agent.text import markdown as md
from logbook_agent.text.phrases import listed
from logbook_agent.text.shell_words import command_line, folded

CHANGE = "Change"
_NEXT_STEP = "Next step"
_TITLE_BYTES = 400
_SNAPSHOT_TITLE_BYTES = 200
_LABEL_BYTES = 100
_TABLE_WEIGHT = _COMMAND_WEIGHT = 4
# More commands than this are folded away, and so is one of more lines.
_OPEN_COMMANDS = 1
_OPEN_LINES = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdatedEntry:
    """One entry of an update. `later`: what later entries say of it; `compared`: what its comparison
    say; `plots`: those that it names; `files`: those that its runs left."""

    record: Record
    later: Mapping[str, Sequence[str]] = field(default_factory=lambda: NO_LATER)
    compared: Compared = NOT_COMPARED
    plots: Sequence[NamedPlot] = ()
    files: Sequence[LeftFile] = ()


def entry_values(thread: IssueValues, updated: UpdatedEntry, said: ComputedTexts) -> dict[str, object]:
    """The values of one entry in the template of updates."""
    record, compared = updated.record, updated.compared
    entry = record.entry
    trust = trust_of(entry, len(record.runs), compared)
    fields = [f for f in entry.fields if f.text.strip()]
    commands = _commands(record)
    return {
        "id": entry.id,
        "title": line(entry.title, _TITLE_BYTES),
        "opened": thread.date(entry.opened),
        "url": thread.links.entry(entry.id),
        "link": thread.id_link(entry.id),
        "kind": entry.kind,
        "state": record.state,
        "confidence": one_line(trust.text) if trust is not None else None,
        "continues": _link(thread, entry.continues),
        "completes": _link(thread, entry.completes),
        "supersedes": _link(thread, entry.supersedes),
        **{key: list(map(thread.id_link, updated.later.get(key, ()))) for key in LATER},
        "change": _take(fields, CHANGE),
        "hypothesis": _take(fields, HYPOTHESIS),
        "commands": commands,
        "folded": len(commands) > _OPEN_COMMANDS or any(_is_long(command) for command in commands),
        "config": shortened(said.config),
        "result": _take(fields, RESULT),
        "measured": shortened(said.result, _TABLE_WEIGHT),
        "compared": shortened(md.items(list(compared.lines))),
        "plots": pictures(thread.links, updated.plots),
        "artifacts": files(thread.links, updated.files),
        "interpretation": _take(fields, INTERPRETATION),
        "next": _take(fields, NEXT_ACTION, _NEXT_STEP),
        # Those with other labels, and further ones with a label that was taken, in their order.
        "more": [{"label": escape(words(f.label, _LABEL_BYTES)), "text": prose(f.text)} for f in fields],
    }


def _take(left: list[Field], *labels: str) -> Piece | str:
    """The prose of a field with the first of the labels that there is. Each field is shown once."""
    for label in labels:
        found = next((f for f in left if f.label.casefold() == label.casefold()), None)
        if found is not None:
            left.remove(found)
            return prose(found.text)
    return ""


def _commands(record: Record) -> list[Piece]:
    """What was executed, with how many others were, and what is yet to be; each once."""
    found = facts.commands_of(record)
    more = len(found) - facts.SHOWN_COMMANDS
    planned = dict.fromkeys((c.label, facts.planned(c)) for c in record.pending_commands)
    return [
        *(_command(c.label, c.text, times=c.times) for c in found[: facts.SHOWN_COMMANDS]),
        *([_command(None, "", more=more)] if more > 0 else []),
        *(_command(label, text, planned=True) for label, text in planned),
    ]


def _command(label: str | None, text: str, *, times: int = 1, planned: bool = False, more: int = 0) -> Piece:
    """A command, verbatim or not at all: half of one must not be copied."""
    text = folded(text)
    size = len(text.encode())

    def within(room: int) -> dict[str, object]:
        fits = size <= room
        return {
            "label": escape(words(label, _LABEL_BYTES)) if label else "",
            "text": text if fits else "",
            "left_out": 0 if fits else size,
            "times": times,
            "planned": planned,
            "more": more,
        }

    return Piece(size=size, within=within, weight=_COMMAND_WEIGHT)


def _is_long(command: Piece) -> bool:
    text: str = command.within(command.size)["text"]
    return text.count("\n") >= _OPEN_LINES


def _link(thread: IssueValues, entry_id: str | None) -> str | None:
    return thread.id_link(entry_id) if entry_id is not None else None


# -- snapshots ---------------------------------------------------------------------------------------


def snapshot_values(thread: IssueValues, snapshot: Snapshot, records: Sequence[Record]) -> dict[str, object]:
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
            {
                "id": r.id,
                "link": thread.id_link(r.id),
                "title": line(r.entry.title, _SNAPSHOT_TITLE_BYTES),
                "commands": shown,
            }
            for r in records
            if (shown := _commands(r))
        ],
        "code": _gathered([(i, _code(run)) for i, run in runs], len(runs)),
        "hardware": _gathered([(i, facts.devices_text(run)) for i, run in runs], len(runs)),
        "env": _gathered([(i, text) for i, run in runs for text in _env(run)], len(runs)),
        "software": _gathered([(i, text) for i, run in runs for text in _software(run)], len(runs)),
        "results": results(thread.thread, thread.links, {r.id for r in records}),
        "logbook": thread.logbook,
    }


def commit_url(snapshot: Snapshot) -> str | None:
    """The commit in the repository that the tag's address is in; None when that address says nothing of it."""
    for part in ("/releases/tag/", "/tree/", "/commit/"):
        base, found, _ = snapshot.url.partition(part)
        if found:
            return f"{base}/commit/{snapshot.commit}"
    return None


def _gathered(found: Sequence[tuple[str, str]], runs: int) -> list[Piece]:
    """Each text once, as code; with the entries it holds for where it does not hold for all runs."""
    where: dict[str, list[str]] = {}
    for entry_id, text in found:
        if text:
            where.setdefault(text, []).append(entry_id)
    return [code(text, _only(ids) if len(ids) < runs else "") for text, ids in where.items()]


def _only(ids: Sequence[str]) -> str:
    return f" ({listed(list(dict.fromkeys(ids)), 5)})"


def _code(run: Run) -> str:
    if run.code is None or (run.code.commit is None and run.code.branch is None):
        return facts.no_code(run)
    if run.code.commit is None:
        return "no commit yet"
    return run.code.commit + (" with uncommitted changes" if run.code.dirty else "")


def _env(run: Run) -> list[str]:
    return [command_line((), {name: value}) for name, value in run.env.variables.items()]


def _software(run: Run) -> list[str]:
    return [f"{name} {version}" for name, version in sorted(facts.software_of(run).items())]
