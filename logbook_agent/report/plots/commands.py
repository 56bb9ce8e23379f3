"""`logbook plot`, and the pictures that are kept beside the view, in `plots/` of a logbook: one SVG for each figure, by
its key, drawn again when what it shows has changed."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from msgspec import structs, to_builtins

from logbook_agent.cli.options import Common, Text, argument, flag, option, repeated
from logbook_agent.cli.output import say
from logbook_agent.findings.read import Findings, read
from logbook_agent.model.entry import PLOT_KINDS, Entry, id_number, typed_id
from logbook_agent.model.errors import LogbookError, StoreError, UsageError
from logbook_agent.model.header import Header
from logbook_agent.pages.views import changing, plot_path
from logbook_agent.report.figures.catalogue import figures, named, own_figures
from logbook_agent.report.figures.figure import Figure, as_csv
from logbook_agent.report.figures.svg import OURS, svg
from logbook_agent.store.book import Book
from logbook_agent.store.folder import Folder
from logbook_agent.store.names import PLOTS
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.phrases import listed, one_of


def keep(book: Book, found: Iterable[Figure]) -> None:
    """Draw figures into their files, of which those that would not change are not written. Raises StoreError for a file
    that cannot be written."""
    for figure in found:
        path, text = plot_path(book, figure.key), svg(figure)
        if _content(book, figure.key) != text:
            book.files.make(path.parent)
            book.files.write(path, text, durable=False)


def keep_due(book: Book, findings: Findings, entry_ids: Collection[str]) -> None:
    """Draw again the figures that these entries and the header name, and those of theirs that are kept; pictures
    without a figure are removed."""
    kept = _keys(book)
    for owner in (*entry_ids, None):
        entry = findings.entry(owner) if owner is not None else None
        wanted = {figure.key: figure for figure in named(findings, entry)}
        own = {key for key in kept if key.startswith(f"{(owner or 'thread').lower()}-")}
        if own - wanted.keys():
            wanted |= {figure.key: figure for figure in own_figures(findings, owner) if figure.key in own}
        keep(book, wanted.values())
        _remove(book, own - wanted.keys())


def keep_all(book: Book, findings: Findings) -> None:
    """Draw every figure of a logbook; of the other pictures none stays."""
    found = figures(findings)
    keep(book, found)
    _remove(book, _keys(book) - {figure.key for figure in found})


def _keys(book: Book) -> set[str]:
    return {name[:-4] for name in book.files.names(book.folder / PLOTS) if name.endswith(".svg")}


def _content(book: Book, key: str) -> str | None:
    return book.files.text(plot_path(book, key)) if key in _keys(book) else None


def _remove(book: Book, keys: Iterable[str]) -> None:
    """Remove pictures that were drawn here; what else people keep in that folder stays."""
    for key in sorted(keys):
        with suppress(StoreError):  # neither is what cannot be read
            if (_content(book, key) or "").startswith(OURS):
                book.files.remove(plot_path(book, key))


_SHOWN = 12
_Record = TypeVar("_Record", Entry, Header)


def plot_command(
    *,
    wanted: Text = argument("[ID|METRIC]", "Plots of one entry, or of one metric. [all]"),
    kind: Sequence[str] = repeated("--kind KIND", f"Only this kind of plot: {', '.join(PLOT_KINDS)}; repeatable."),
    metric: Text = option("--metric NAME", "With an ID: only plots of this metric."),
    out: Path | None = option(
        "--out F.svg", "Write one plot to this file; F.csv: its data. [next to the view]", read=Path
    ),
    save: bool = flag("--save", "Add them to their entries, so that the view shows them."),
    common: Common,
) -> None:
    """Draw measured results as SVG: sweeps, pairs, noise, best so far, all comparisons.

    Example: logbook plot MOE-I8-003 --kind pairs --save
    """
    kind = [one_of("--kind", "kind", name, PLOT_KINDS) for name in kind]
    space = common.space()
    entry, asked = _asked(space, wanted, metric)
    book = space.book(entry)
    found = read(space, book)
    chosen = _chosen(found, entry, asked, kind)
    if save:
        _save(space, book, chosen, asked)
        found = read(space, book)
    if out is not None:
        _check_one(chosen)
        _write(out.absolute(), chosen[0])
    elif wanted is None and metric is None and not kind:
        keep_all(book, found)
    else:
        keep(book, chosen)
    files = {f.key: str(out) if out is not None else space.shown(plot_path(book, f.key)) for f in chosen}
    text = "\n".join(f"{files[figure.key]}: {figure.title}" for figure in chosen)
    common.emit("plot", [{**to_builtins(figure), "file": files[figure.key]} for figure in chosen], text)


def _asked(space: Workspace, wanted: str | None, metric: str | None) -> tuple[str | None, str | None]:
    """The entry and the metric that the words name, each None if not named. A word in the form of an ID is an ID."""
    if wanted is None:
        return None, metric
    name = typed_id(wanted)
    if any(id_number(name, book.header.prefix) is not None for book in space.books()):
        return name, metric
    if metric is not None:
        raise UsageError(
            f"{wanted} is not an entry",
            cause="--metric chooses among the plots of one entry",
            hint=f"name one metric: logbook plot {metric}",
        )
    return None, wanted


def _chosen(found: Findings, entry: str | None, metric: str | None, kinds: Sequence[str]) -> list[Figure]:
    every = figures(found, entry=entry, metric=metric)
    chosen = [figure for figure in every if not kinds or figure.kind in kinds]
    if chosen:
        return chosen
    what = " of ".join(filter(None, [" or ".join(kinds), metric, entry or (None if metric else found.records.topic)]))
    cause, hint = "a plot needs several measured cases, or several runs of one", "logbook run --repeat 6 -- COMMAND"
    if every:
        there = sorted({figure.kind.value for figure in every})
        cause, hint = f"the available kinds are {', '.join(there)}", f"--kind {there[0]}"
    elif metric is not None and metric not in (names := [m.name for m in found.records.header.metrics]):
        cause, hint = f"no row has it; the declared metrics are {', '.join(names) or 'none'}", "logbook table"
    raise UsageError(f"nothing to plot: {what}", cause=cause, hint=hint)


def _check_one(chosen: list[Figure]) -> None:
    if len(chosen) > 1:
        raise UsageError(
            f"--out takes one plot, and there are {len(chosen)}",
            cause=f"they are {listed([figure.key for figure in chosen], _SHOWN)}",
            hint="choose one: logbook plot [ID] --kind KIND --metric NAME --out F.svg",
        )


def _write(path: Path, figure: Figure) -> None:
    if not path.parent.is_dir():
        raise UsageError(
            f"cannot write {path}: there is no folder {path.parent}",
            cause="logbook plot does not create the folder of --out",
            hint=f"mkdir -p {path.parent}",
        )
    ending = path.suffix.lower()
    if ending not in (".svg", ".csv"):
        raise UsageError(
            f"cannot write a plot as {path.name}",
            cause="a picture is written as .svg, and its data as .csv",
            hint=f"type --out {path.stem or 'plot'}.svg instead; see: logbook plot --help",
        )
    Folder(path.parent).write(path, as_csv(figure) if ending == ".csv" else svg(figure))


def draw_due(space: Workspace) -> None:
    """Draw again the plots of the views that a command has rendered. The records stand already, so trouble with a
    picture is a warning."""
    for topic, entry_ids in space.due_plots.items():
        try:
            book = space.named(topic)
            keep_due(book, read(space, book), sorted(entry_ids))
        except LogbookError as error:
            say(f"warning: plots of {topic} were not drawn: {error.message}; fix that, then type: logbook plot")
            say(f"next: {error.hint}")


def _save(space: Workspace, book: Book, chosen: Sequence[Figure], metric: str | None) -> None:
    """Add plots to what their entries, or the header, name; the view follows."""
    with changing(space, book):
        for figure in chosen:
            change = functools.partial(_named, name=" ".join(filter(None, [figure.kind.value, metric])))
            if figure.entry is None:
                book.change_header(change)
            else:
                book.change_entry(figure.entry, change)


def _named(record: _Record, name: str) -> _Record:
    return structs.replace(record, plots=tuple(dict.fromkeys((*record.plots, name))))
