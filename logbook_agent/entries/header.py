"""The header: at the start from options and what a file or a recipe states, checked, then written; its changes after
that, each of which has a reason, and is a decision in the log; and `logbook summary`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import field, structs

from logbook_agent.entries.edit import with_gates
from logbook_agent.entries.new_entry import Prose, create_entry, draft_entry
from logbook_agent.entries.stated import (
    Scope,
    check_distinct,
    checked_prefix,
    checked_topic,
    derived_prefix,
    parse_budget,
)
from logbook_agent.model.entry import DECISION, Entry
from logbook_agent.model.errors import UsageError
from logbook_agent.model.header import Baseline, BaselineNumbers, Criterion, Header, HeaderParts, Metric
from logbook_agent.model.units import Direction
from logbook_agent.model.values import Scalar, parse_values
from logbook_agent.pages.blocks import Blocks
from logbook_agent.pages.templates import templates_of
from logbook_agent.pages.views import changing, check_citations, refresh, render
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace, create, naming, prefix_of
from logbook_agent.text.markdown import clean, cut_line, one_line
from logbook_agent.text.phrases import zone_called

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


# -- `logbook start` ------------------------------------------------------------------------------------


class StartRequest(Scope, frozen=True, kw_only=True):
    """The options of `start`, as typed; they win over what is `stated` by a file or a recipe, or add to it."""

    topic: str | None = None
    prefix: str | None = None
    title: str | None = None
    stops: Sequence[str] = ()
    baseline: Sequence[str] = ()
    baseline_source: str | None = None
    zone: str | None = None
    budget: Sequence[str] = ()
    stated: HeaderParts = field(default_factory=HeaderParts)


def start(workspace: Workspace, request: StartRequest) -> Book:
    """Create the logbook and its view. Raises UsageError, Taken or StoreError; then nothing is written."""
    header = header_of(workspace, request)
    # A template that does not fit is met before anything is written.
    Blocks(templates_of(workspace), header).header()
    book = workspace.book_of(header.topic)
    create(book, header, ignore_view=workspace.config.ignore_views)
    refresh(workspace, book)
    named = " ".join(["logbook edit", *naming(workspace, book), "--metric"])
    workspace.warnings += [
        f"no direction is stated for {m.name}, so nothing is ranked or judged by it; to state one, min or max:"
        f" {named} {shlex.quote(f'{m.name}:{_likely(m.name)}' + (f':{m.unit}' if m.unit else ''))} --reason '...'"
        for m in header.metrics
        if m.primary and m.direction is None
    ]
    return book


# What is better the larger it is, by the words of its name.
_LARGER = re.compile(
    r"(?i)flops|tok|per_s|/s|acc|score|f1|auc|bleu|rouge|recall|precision|reward|through|speed|mfu|util"
)


def _likely(name: str) -> Direction:
    """The direction that a metric of this name usually has."""
    return "max" if _LARGER.search(name) else "min"


def summarise(workspace: Workspace, book: Book, text: str) -> Header:
    """Set the summary of the thread; an empty text removes it. Raises UsageError for a citation without a number."""
    check_citations(workspace, [text])
    with changing(workspace, book):
        said = clean(text) or None
        at = workspace.stamp() if said else None
        return book.change_header(lambda h: structs.replace(h, summary=said, summary_at=at))


def header_of(workspace: Workspace, request: StartRequest) -> Header:
    """The header that a request describes. Raises UsageError naming the option that does not fit."""
    data = request.stated
    named = _no_secret(workspace, "topic", request.topic or data.topic) or ""
    topic = checked_topic(named)
    given = _no_secret(workspace, "prefix", request.prefix or data.prefix)
    prefix = checked_prefix(given or derived_prefix(topic, _taken(workspace)))
    zone = zone_called(request.zone or data.zone or "UTC")
    lists: dict[str, Any] = {name: (*getattr(data, name), *typed) for name, typed in request.lists.items()}
    check_distinct(lists["metrics"])
    return Header(
        topic=topic,
        title=clean(request.title or data.title or named.replace("_", " ").replace("-", " ")),
        prefix=prefix,
        opened=workspace.stamp(),
        zone=zone,
        goal=clean(request.goal or data.goal or "") or None,
        summary=clean(data.summary or "") or None,
        free=data.free,
        baseline=_baseline(workspace, request, data.baseline, lists["metrics"]),
        stop_criteria=(*data.stop_criteria, *(Criterion(text=clean(text)) for text in request.stops)),
        budget=parse_budget(request.budget, data.budget),
        **lists,
    )


def _taken(workspace: Workspace) -> set[str]:
    """The prefixes of the logbooks there are."""
    return {prefix for book in workspace.books() if (prefix := prefix_of(book)) is not None}


def _no_secret(workspace: Workspace, what: str, name: str | None) -> str | None:
    """What files are called cannot be written under another name."""
    if name is not None and workspace.redactor.text(name) != name:
        raise UsageError(
            f"the {what} looks like a secret: {workspace.redactor.text(name)}",
            cause="files and entries are named after it, so everyone who reads the logbook would see it",
            hint="choose another one, such as: logbook start moe_ep_int8",
        )
    return name


def _baseline(
    workspace: Workspace, request: StartRequest, given: Baseline | None, metrics: Sequence[Metric]
) -> Baseline | None:
    """The file's baseline with the options on top: `K=V` is a number where K is a declared metric."""
    if not (request.baseline or request.baseline_source or given):
        return None
    base = given or Baseline()
    names = {m.name for m in metrics}
    config: dict[str, Scalar] = dict(base.config)
    numbers: dict[str, float] = {}
    for key, value in parse_values(map(clean, request.baseline), "--baseline").items():
        if key in names and isinstance(value, int | float):
            numbers[key] = float(value)
        else:
            config[key] = value
    return structs.replace(
        base,
        date=base.date or workspace.stamp()[:10],
        config=config,
        numbers=(*base.numbers, *((BaselineNumbers(metrics=numbers),) if numbers else ())),
        source=clean(request.baseline_source or base.source or "") or None,
        confidence=clean(base.confidence or "") or None,
    )
