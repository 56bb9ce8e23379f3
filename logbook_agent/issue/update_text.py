"""Values of the templates of comments: the entries of an update, and the repro bundle of a snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import structs

from logbook_agent.findings import facts
from logbook_agent.findings.computed_texts import RenderTable, said_of
from logbook_agent.findings.trust import trust_of
from logbook_agent.issue import inert
from logbook_agent.issue.issue_body import IssueValues, pictures
from logbook_agent.model.header import Snapshot
from logbook_agent.model.record import Record
from logbook_agent.pages.blocks import artifacts_text
from logbook_agent.pages.embedded import NamedPlot
from logbook_agent.pages.sections import sections
from logbook_agent.text import markdown as md
from logbook_agent.text.fit import size
from logbook_agent.text.shell_words import folded

# A table may have as many bytes as several other texts.
_TABLE_WEIGHT = 4


def entry_values(
    values: IssueValues,
    record: Record,
    plots: Sequence[NamedPlot],
    render: RenderTable,
    cap: int,
) -> dict[str, object]:
    """The values of one entry in the template of updates: its sections as in the view, with links, and with the plots
    that it names; `cap`: the bytes of a section."""
    entry, found = record.entry, values.found
    answer = found.answer_of(entry)
    trust = trust_of(entry, len(record.runs), answer)

    def linked(entry_id: str | None) -> str | None:
        return values.id_link(entry_id) if entry_id is not None else None

    continues, completes, supersedes = map(linked, (entry.continues, entry.completes, entry.supersedes))
    shown = sections(
        structs.replace(
            record, entry=structs.replace(entry, continues=continues, completes=completes, supersedes=supersedes)
        ),
        structs.replace(said_of(record, values.header.metrics, render), command=_commands(record, cap)),
        later={key: [*map(values.id_link, ids)] for key, ids in found.thread.standing[entry.id].later.items()},
        answer=answer,
        plots=pictures(values.links, plots),
        artifacts=artifacts_text(record, values.links.files.get),
    )
    return {
        "id": entry.id,
        "title": inert.line(entry.title, 2 * inert.TITLE_CHARS),
        "opened": values.date(entry.opened),
        "url": values.links.entries.get(entry.id),
        "link": values.id_link(entry.id),
        "kind": entry.kind,
        "state": record.state,
        "confidence": trust.word if trust is not None else None,
        "sections": [
            {
                "label": inert.line(one.label, inert.TITLE_CHARS),
                "text": inert.shortened(one.text, cap * _TABLE_WEIGHT) if one.computed else inert.prose(one.text, cap),
                "computed": one.computed,
            }
            for one in shown
        ],
    }


def _commands(record: Record, cap: int = inert.TEXT_BYTES) -> str:
    """The commands that were executed, each once: verbatim and fenced, or not at all, since half of one must not be
    copied."""
    found, parts = facts.commands_of(record), []
    for one in found[: inert.MOST_ITEMS]:
        times = f"×{one.times}" if one.times > 1 else ""
        about = ", ".join(filter(None, (inert.words(one.label or ""), times)))
        shown = md.fence(folded(one.text), "bash")
        if size(shown) > cap:
            shown = f"*(a command of {size(one.text):,} bytes, in the logbook)*"
        parts.append(f"{inert.escape(about)}:\n\n{shown}" if about else shown)
    more = len(found) - len(parts)
    return "\n\n".join([*parts, *([f"*(and {more:,} more commands, in the logbook)*"] if more else [])])


# -- snapshots ---------------------------------------------------------------------------------------


def snapshot_values(
    values: IssueValues, snapshot: Snapshot, entries: Sequence[Mapping[str, object]]
) -> dict[str, object]:
    """The repro bundle of the entries that it covers: exact commands, what they ran on and with, and the results."""
    return {
        "name": inert.escape(inert.words(snapshot.name)),
        "tag": inert.link(snapshot.name, snapshot.url),
        "url": snapshot.url,
        "commit": snapshot.commit,
        "commit_url": commit_url(snapshot),
        "at": values.date(snapshot.at),
        "entries": entries,
        "results": values.results([str(entry["id"]) for entry in entries]),
    }


def commit_url(snapshot: Snapshot) -> str | None:
    """The commit in the repository that the tag's address is in; None when that address says nothing of it."""
    for part in ("/releases/tag/", "/tree/", "/commit/"):
        base, found, _ = snapshot.url.partition(part)
        if found:
            return f"{base}/commit/{snapshot.commit}"
    return None
