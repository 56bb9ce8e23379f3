"""The plots that entries and the header name, as the issue shows them: by their address at the pushed commit."""

from __future__ import annotations

from collections.abc import Sequence

from logbook_agent.issue.excerpts import escape, left_out, link, words
from logbook_agent.pages.plotted import NamedPlot
from logbook_agent.text.links import Links

# Of one entry, so that a comment about several has room for them.
_MOST_PLOTS = 6
_TITLE_BYTES = 300
_WHY_BYTES = 200


def pictures(links: Links, plots: Sequence[NamedPlot]) -> list[str]:
    """Each plot as a picture, or where others cannot see it, its title with why."""
    more = left_out(links, max(0, len(plots) - _MOST_PLOTS), "more plot", "more plots")
    return [*(_picture(links, plot) for plot in plots[:_MOST_PLOTS]), *([more] if more else [])]


def all_pictured(links: Links, plots: Sequence[NamedPlot]) -> bool:
    """Whether there are plots, and each is shown as a picture."""
    return bool(plots) and all(_address(links, plot) for plot in plots)


def _picture(links: Links, plot: NamedPlot) -> str:
    title = words(plot.title, _TITLE_BYTES)
    address = _address(links, plot)
    if address is not None:
        return f"!{link(title, address)}"
    pushed = links.why if links.commit is None else "not pushed"
    return f"Not shown ({escape(words(plot.missing or pushed, _WHY_BYTES))}): {escape(title)}"


def _address(links: Links, plot: NamedPlot) -> str | None:
    return None if plot.missing else links.plots.get(plot.key)
