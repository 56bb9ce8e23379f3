"""What features put into texts that are shown: the numbers that people cite, and the plots that entries and the header
name, as pictures in the view; and which plots have to be drawn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol, TypeVar

from msgspec import Struct, structs

from logbook_agent.features import hook_module
from logbook_agent.findings.opening import Failed, InWords, Opening
from logbook_agent.findings.read import Findings
from logbook_agent.model.entry import Entry
from logbook_agent.model.errors import StoreError
from logbook_agent.store.book import Book
from logbook_agent.store.names import PLOTS
from logbook_agent.store.workspace import Workspace
from logbook_agent.text import markdown as md

T = TypeVar("T", InWords, Failed)
_OPENS = "[["
# Of a picture: its first element.
_START_BYTES = 4096


def with_numbers(found: Findings, text: str, *, plain: bool = False) -> str:
    """The text with the numbers that it cites; `plain`: without the citations beside them."""
    if _OPENS not in text or (cites := hook_module("cites")) is None:
        return text
    shown: str = cites.shown(found, text, plain=plain)
    return shown


def check_citations(workspace: Workspace, texts: Iterable[str]) -> None:
    """Raises UsageError for a citation in texts that are to be written, of which the record has no number."""
    citing = [text for text in texts if _OPENS in text]
    if citing and (cites := hook_module("cites")) is not None:
        cites.check(workspace, citing)


def opening_with_numbers(found: Findings) -> Opening:
    """The first lines of the thread, with the numbers that people's words cite."""

    def texts(of: Sequence[T]) -> tuple[T, ...]:
        return tuple(structs.replace(one, text=with_numbers(found, one.text, plain=True)) for one in of)

    first = found.opening
    return structs.replace(
        first,
        in_words=texts(first.in_words),
        negative=texts(first.negative),
        failed=texts(first.failed),
        next=with_numbers(found, first.next, plain=True),
    )


# -- plots ---------------------------------------------------------------------------------------------


class NamedFigure(Protocol):
    """A figure of the feature that has them: what the view shows of it."""

    @property
    def key(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def digest(self) -> str: ...


class NamedPlot(Struct, frozen=True, kw_only=True):
    """A plot that the view shows. `missing` says why there is no picture of its data; empty where there is one."""

    key: str
    title: str
    missing: str = ""


def plots_of(found: Findings, entry: Entry | None) -> list[str]:
    """The pictures that an entry names, or without one the header, as Markdown. They follow from the records alone,
    whether they are drawn or not."""
    return [_picture(found.records.topic, figure) for figure in _figures_of(found, entry)]


def named_plots(book: Book, found: Findings, entry: Entry | None) -> list[NamedPlot]:
    """The plots that an entry names, or without one the header, and whether they are drawn."""
    return [
        NamedPlot(key=figure.key, title=figure.title, missing=_missing(book, figure))
        for figure in _figures_of(found, entry)
    ]


def _figures_of(found: Findings, entry: Entry | None) -> tuple[NamedFigure, ...]:
    """The figures that an entry names, or without one the header; none where the feature that has figures is not
    there. Statistics and tables are loaded for those that name some."""
    if not (entry if entry is not None else found.records.header).plots or (made := hook_module("figures")) is None:
        return ()
    figures: tuple[NamedFigure, ...] = made.named(found, entry)
    return figures


def _missing(book: Book, figure: NamedFigure) -> str:
    try:
        with book.files.open(plot_path(book, figure.key)) as file:
            start = file.read(_START_BYTES)
    except StoreError:
        return "not drawn"
    return "" if f'data-digest="{figure.digest}"'.encode() in start else "drawn from other data"


def _picture(topic: str, figure: NamedFigure) -> str:
    title = md.escape(md.one_line(figure.title)).replace("[", "\\[").replace("]", "\\]")
    return f"![{title}]({topic}/plots/{figure.key}.svg)"


def plot_path(book: Book, key: str) -> Path:
    """Where the picture of a plot lies, if it was drawn."""
    return book.folder / PLOTS / f"{key}.svg"


def naming_plots(found: Findings) -> Iterator[Entry]:
    """The entries that name plots. Files of others are not parsed."""
    for entry_id in found.order:
        with suppress(StoreError):  # who renders it warns about it
            if "\nplots:" in found.records.entry_text(entry_id):
                yield found.entry(entry_id)


def mark_due(workspace: Workspace, book: Book, ids: Iterable[str]) -> None:
    """Note that these entries were rendered, so that their plots are drawn once before the command ends, and not while
    something is measured."""
    names = {*ids}
    if names or book.header.plots:
        workspace.due_plots.setdefault(book.topic, set()).update(names)
