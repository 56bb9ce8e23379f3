"""The plots that texts name and the files that runs left, by their address at a pushed commit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from logbook_agent.issue import inert
from logbook_agent.issue.values import Links
from logbook_agent.pages.plotted import NamedPlot
from logbook_agent.store.layout import PLOTS

# Of one entry, so that a comment about several has room for them.
_MOST_PLOTS = 6
_MOST_FILES = 10


def pictures(links: Links, plots: Sequence[NamedPlot]) -> list[str]:
    """Each plot as a picture, or where others cannot see it, its title with why."""
    more = inert.left_out(links, max(0, len(plots) - _MOST_PLOTS), "more plot", "more plots")
    return [*(_picture(links, plot) for plot in plots[:_MOST_PLOTS]), *([more] if more else [])]


def all_pictured(links: Links, plots: Sequence[NamedPlot], left: Sequence[LeftFile] = ()) -> bool:
    """Whether there are pictures, and all plots are shown. (Files that runs left are shown where they are in git.)"""
    found = [_address(links, plot) for plot in plots]
    pushed = (links.files.get(file.path or "") for file in left[:_MOST_FILES] if file.is_picture)
    found += filter(None, pushed)
    return bool(found) and all(found)


class LeftFile(Protocol):
    """A file that a run left, of the feature that keeps them. `path` is its copy in the folder of the logbook."""

    run: int
    name: str
    about: str
    digest: str
    path: str | None
    is_picture: bool


def files(links: Links, found: Sequence[LeftFile]) -> list[str]:
    """Each file with its size and digest: linked where its copy is pushed, and as a picture where it is one."""
    more = inert.left_out(links, max(0, len(found) - _MOST_FILES), "more file", "more files")
    return [*(_file(links, file) for file in found[:_MOST_FILES]), *([more] if more else [])]


def _file(links: Links, file: LeftFile) -> str:
    name = inert.words(file.name)
    about = inert.escape(inert.words(f"{file.about}, run {file.run}"))
    address = links.files.get(file.path or "")
    if address is None:
        return f"{inert.escape(name)} ({about}, sha256 {file.digest[:16]})"
    return f"{inert.link(name, address)} ({about})" + (f"\n\n!{inert.link(name, address)}" if file.is_picture else "")


def _picture(links: Links, plot: NamedPlot) -> str:
    title = inert.words(plot.title)
    address = _address(links, plot)
    if address is not None:
        return f"!{inert.link(title, address)}"
    pushed = links.why if links.commit is None else "not pushed"
    return f"Not shown ({inert.escape(inert.words(plot.missing or pushed))}): {inert.escape(title)}"


def _address(links: Links, plot: NamedPlot) -> str | None:
    return None if plot.missing else links.files.get(f"{PLOTS}/{plot.key}.svg")
