"""Changes of the header after the start: each has a reason, and is a decision in the log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import structs

from logbook_agent.entries.judging import with_gates
from logbook_agent.entries.new_entry import Prose, create_entry, draft_entry
from logbook_agent.entries.stated import Scope
from logbook_agent.model.entry import DECISION, Entry
from logbook_agent.model.errors import UsageError
from logbook_agent.model.header import Header
from logbook_agent.pages.views import changing, render
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.markdown import clean, cut_line, one_line

_TITLE_CHARS = 80
# The lists that a change adds to, and the name of an item in each.
LISTS: dict[str, Callable[[Any], str]] = {
    "gates": str,
    "free": str,
    "metrics": lambda metric: metric.name,
    "constraints": str,
    "links": lambda link: link.label,
    "matrix": lambda axis: axis.axis,
    "command_templates": lambda template: template.label,
}


class ScopeChange(Scope, frozen=True, kw_only=True):
    """What changes, as typed: texts to set, items to add, where an item of the same name is replaced, and the names of
    items to `drop`."""

    title: str | None = None
    free: Sequence[str] = ()
    drop: Sequence[str] = ()

    @property
    def what(self) -> str:
        """The change in words; empty where there is none."""
        said = [f"{name} {text!r}" for name, text in (("title", self.title), ("goal", self.goal)) if text is not None]
        said += [f"{name} may differ" for name in self.free]
        for name, texts in (
            ("metric", self.metrics),
            ("gate", self.gates),
            ("constraint", self.constraints),
            ("link", self.links),
            ("axis", self.matrix),
            ("template", self.templates),
            ("without", self.drop),
        ):
            said += [f"{name} {text}" for text in texts]
        return one_line(", ".join(said))


def change_scope(workspace: Workspace, book: Book, wanted: ScopeChange, reason: str | None) -> tuple[Entry, str]:
    """Change the scope of a logbook, and render its view again; returns the decision, and what changed. Raises
    UsageError where the change does not fit, changes nothing, or has no reason."""
    if not wanted.what:
        raise UsageError(
            "no entry given",
            cause="without an ID, only the header of the logbook can be changed: goal, metrics, gates and the like",
            hint="logbook edit ID, or logbook list for the IDs",
        )
    added = wanted.lists
    gates = added.pop("gates")
    at = workspace.stamp()

    def change(header: Header) -> Header:
        _check_dropped(header, wanted.drop)
        texts: dict[str, Any] = {
            "title": clean(wanted.title) if wanted.title else header.title,
            "goal": header.goal if wanted.goal is None else clean(wanted.goal) or None,
        }
        lists: dict[str, Any] = {
            name: _merged(name, getattr(header, name), of, wanted.drop) for name, of in added.items()
        }
        judged = with_gates(header, gates, wanted.free, wanted.drop)
        since = {**dict.fromkeys(judged.gates, at), **dict.fromkeys(header.gates, ""), **header.gates_since}
        since = {gate: since[gate] for gate in judged.gates if since[gate]}
        return structs.replace(judged, **texts, **lists, gates_since=since)

    after = change(book.header)
    gone = {*book.header.gates, *book.header.free} - {*after.gates, *after.free}
    dropped = {*map(_key, wanted.drop)}
    what = ", ".join([wanted.what, *(f"without {text}" for text in sorted(gone) if _key(text) not in dropped)])
    return change_header(workspace, book, change, what=what, reason=reason), what


def change_header(
    workspace: Workspace, book: Book, change: Callable[[Header], Header], *, what: str, reason: str | None
) -> Entry:
    """Change the header, and record as a decision what changed and why. Raises UsageError without a reason, and where
    nothing changes."""
    reason = clean(reason or "").strip()
    if not reason:
        raise UsageError(
            "changing the header needs a reason",
            cause="it may change answers that others have already read",
            hint="add: --reason '...' (text, @FILE or - for standard input)",
        )
    # Without its secrets: one that the title cuts off would no longer be known.
    whole = f"Change the logbook: {workspace.redactor.text(what)}"
    title = cut_line(whole, _TITLE_CHARS)
    fields = (f"{DECISION}={reason}", *(() if title == whole else (f"Change={what}",)))
    draft = draft_entry(workspace, Prose(fields=fields), title=title, kind="decision")
    with changing(workspace, book), book.lock():
        before = book.reread_header()
        if (header := change(before)) == before:
            raise UsageError(
                f"nothing to change in {book.topic}", cause="the header says so already", hint="logbook status"
            )
        entry = create_entry(workspace, book, draft)
        book.write_header(header)
    render(workspace, book)
    return entry


def _key(text: str) -> str:
    """A name of an item without its blanks: `ok==1` is `ok == 1`."""
    return "".join(text.split())


def _merged(name: str, before: Sequence[Any], added: Sequence[Any], drop: Sequence[str]) -> tuple[Any, ...]:
    items = {_key(LISTS[name](item)): item for item in (*before, *added)}
    return tuple(item for key, item in items.items() if key not in map(_key, drop))


def _check_dropped(header: Header, drop: Sequence[str]) -> None:
    names = [one_line(of(item)) for name, of in LISTS.items() for item in getattr(header, name)]
    for text in drop:
        if _key(text) not in map(_key, names):
            raise UsageError(
                f"--drop {text!r} names nothing that {header.topic} has",
                cause=f"it has {', '.join(map(repr, names)) or 'nothing to drop'}",
                hint="to drop a stop criterion: logbook criteria --drop N --reason '...'",
            )
