"""`logbook start`: a header from options and what a file or a recipe states, checked, then written; and `logbook
summary`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Any

from msgspec import field, structs

from logbook_agent.entries.stated import (
    Scope,
    check_distinct,
    checked_prefix,
    checked_topic,
    derived_prefix,
    parse_budget,
)
from logbook_agent.model.errors import UsageError
from logbook_agent.model.header import Baseline, BaselineNumbers, Criterion, Header, HeaderParts, Metric
from logbook_agent.model.units import Direction
from logbook_agent.model.values import Scalar, parse_values
from logbook_agent.pages.blocks import Blocks
from logbook_agent.pages.templates import templates_of
from logbook_agent.pages.views import changing, check_citations, refresh
from logbook_agent.store.book import Book
from logbook_agent.store.new_book import create
from logbook_agent.store.workspace import Workspace, naming, prefix_of
from logbook_agent.text.markdown import clean
from logbook_agent.text.phrases import zone_called


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
    book = create(
        workspace.root,
        header,
        ignore_view=workspace.config.ignore_views,
        redactor=lambda: workspace.redactor,
        places=workspace.places,
    )
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
    return Baseline(
        date=base.date or workspace.stamp()[:10],
        code_refs=base.code_refs,
        config=config,
        numbers=(*base.numbers, *((BaselineNumbers(metrics=numbers),) if numbers else ())),
        entry=base.entry,
        source=clean(request.baseline_source or base.source or "") or None,
        confidence=clean(base.confidence or "") or None,
        text=base.text,
    )
