"""A logbook as an issue shows it: the values of its templates, from the header, the summaries and the links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from functools import cached_property, partial
from typing import Literal

from msgspec import Struct, structs, to_builtins

from logbook_agent.findings.best import SHOWN, bests
from logbook_agent.findings.comparison import words
from logbook_agent.findings.opening import best_text
from logbook_agent.findings.read import Findings
from logbook_agent.findings.thread import Thread
from logbook_agent.issue import inert
from logbook_agent.issue.values import Links
from logbook_agent.model.header import Criterion, Header
from logbook_agent.model.summary import Summary
from logbook_agent.pages.blocks import header_values
from logbook_agent.pages.templates import opening_values
from logbook_agent.pages.views import NamedPlot, with_numbers
from logbook_agent.store.names import PLOTS
from logbook_agent.text import markdown as md
from logbook_agent.text.phrases import assignments, bounded, counted, minute


class IssueValues(Struct, frozen=True, kw_only=True, dict=True):
    """A logbook as an issue shows it. `header`: with the numbers that its conclusion cites; `plots` are those that it
    names."""

    found: Findings
    header: Header
    links: Links
    plots: Sequence[NamedPlot] = ()

    @property
    def thread(self) -> Thread:
        return self.found.thread

    def date(self, moment: str) -> str:
        """To the minute in the logbook's zone, on one line."""
        return md.one_line(minute(moment, self.header.zone))

    def id_link(self, entry_id: str) -> str:
        return inert.entry_link(self.links, entry_id)

    # -- parts of several documents ----------------------------------------------------------------

    @cached_property
    def scope(self) -> dict[str, object]:
        """What all templates of an issue know of the logbook: the values of its header in the view, and where that can
        be read."""
        values = {key: inert.header(of, key) for key, of in header_values(self.header).items() if key != "links"}
        if values["baseline"] is not None and (entry := self.header.baseline and self.header.baseline.entry):
            standing = self.thread.standing.get(entry)
            doubt = f", which is {inert.escape(standing.why)}" if standing is not None and standing.why else ""
            values["baseline"]["entry"] = self.id_link(entry) + doubt
        own = self.header.issue.url if self.header.issue is not None else None
        links = [inert.link(f.label, f.url) for f in self.header.links if f.url != own]
        links += [
            f"Snapshot {inert.link(s.name, s.url)} ({self.date(s.at)}, {s.commit[:9]})" for s in self.header.snapshots
        ]
        return values | {
            "links": links,
            "stop_criteria": list(map(self._criterion, self.header.stop_criteria)),
            "url": self.links.view,
            "why": self.links.why,
        }

    @cached_property
    def best(self) -> list[str]:
        """The best case of each problem and metric, in a sentence."""
        return [inert.escape(best_text(one)) for one in bests(self.thread, self.found.answers)[:SHOWN]]

    @cached_property
    def opening(self) -> dict[str, object]:
        """The first lines: what was asked, what was found, what is open, and the next action."""
        first, fill = self.found.opening, partial(with_numbers, self.found, plain=True)
        first = structs.replace(first, in_words=[structs.replace(one, text=fill(one.text)) for one in first.in_words])
        return opening_values(
            first,
            plain=inert.escape,
            prose=inert.line,
            link=self.id_link,
            more=lambda count, noun: inert.left_out(self.links, count, f"more of the {noun}", f"more {noun}"),
        ) | {"asked": inert.prose(first.asked)}

    def _criterion(self, criterion: Criterion) -> str:
        """A stop criterion with its box, and what was judged and computed of it; its evidence is linked."""
        judged, computed, said = criterion.judgement, criterion.computed, list[str]()
        if judged is not None:
            evidence = judged.evidence.strip()
            shown = self.id_link(evidence) if evidence in self.thread.by_id else inert.line(evidence)
            word = "met" if criterion.met else "not met"
            said.append(f"{word}: {shown}; {inert.escape(inert.words(judged.by))}, {self.date(judged.at)}")
        said += [inert.escape(criterion.doubt)] if criterion.doubt else []
        said += [inert.escape(inert.words(f"computed: {computed.text}"))] if computed is not None else []
        box = f"[{'x' if criterion.met else ' '}] {inert.line(criterion.text)}"
        return f"{box} ({'; '.join(said)})" if said else box

    @property
    def closing(self) -> dict[str, object] | None:
        closing = self.header.closing
        return inert.header(to_builtins(closing)) | {"at": self.date(closing.at)} if closing is not None else None

    def results(self, only: Collection[str] | None = None) -> dict[str, object] | None:
        """The table of some entries (`only`; None: of all), the newest that have room, with the result as `list` shows
        it; None where there are none."""
        found = [s for s in self.found.summaries if s["settled"] and s["runs"] and (only is None or s["id"] in only)]
        if not found:
            return None
        return {
            "rows": [self._row(summary) for summary in found[-inert.MOST_ITEMS :]],
            "left_out": inert.left_out(self.links, len(found) - inert.MOST_ITEMS, "earlier entry", "earlier entries"),
        }

    def _row(self, summary: Summary) -> dict[str, object]:
        state, standing = str(summary["state"]), self.thread.standing[summary["id"]]
        if summary["failed_rows"]:
            state += f", {summary['failed_rows']:,} of {counted(summary['rows'], 'case')} failed"
        if standing.why and standing.why != summary["state"]:
            state += f", {standing.why}"
        answer = self.found.comparisons.answer_of(summary["id"]) if summary["comparison"] is not None else None
        case = words.asked(answer) if answer is not None and answer.findings else _case(summary)
        return {
            "id": self.id_link(summary["id"]),
            "title": inert.cell(inert.words(summary["title"], inert.TITLE_CHARS)),
            "state": state,
            "confidence": summary["confidence"] or "",
            "result": inert.cell(inert.words(summary["result"] or "")),
            # A backslash before a pipe counts in code spans of a table, too.
            "case": md.inline_code(inert.words(case, inert.TITLE_CHARS)).replace("|", "\\|") if case else "",
        }

    # -- the body ----------------------------------------------------------------------------------

    def body(self) -> dict[str, object]:
        """The values of all sections; what there is nothing to say of is none, or an empty list."""
        return {
            "opening": self.opening,
            "summary": inert.prose(with_numbers(self.found, self.header.summary or "", plain=True)),
            "status": self._status(),
            "best": self.best,
            "plots": pictures(self.links, self.plots),
            "results": self.results(),
            "decisions": self._entries(self.thread.decisions, "decision"),
            "negative_results": self._entries(self.thread.negative, "negative"),
            "conclusion": self.closing,
            "open": self._entries(self.thread.open, "next_lead"),
            "next_actions": self._entries(self.thread.next_actions, "next_lead"),
        }

    def _status(self) -> dict[str, object]:
        closing, summaries = self.header.closing, self.found.summaries
        return {
            "closed": self.date(closing.at) if closing is not None else None,
            "entries": len(summaries),
            # `3 finished`, `1 failed`: in order of appearance.
            "states": [f"{count:,} {state}" for state, count in Counter(s["state"] for s in summaries).items()],
            "last": self._entry(summaries[-1]) if summaries else None,
        }

    def _entry(self, summary: Summary) -> dict[str, object]:
        title = inert.line(summary["title"], inert.TITLE_CHARS)
        return {"id": self.id_link(summary["id"]), "title": title, "opened": self.date(summary["opened"])}

    def _entries(
        self, found: Sequence[Summary], key: Literal["decision", "negative", "next_lead"]
    ) -> dict[str, object]:
        """Entries with a text each; the newest that have room."""
        shown = [
            self._entry(summary)
            | {
                "state": summary["state"],
                "text": inert.line(summary[key]),
                "superseded_by": list(map(self.id_link, self.thread.superseded_by(summary["id"]))),
            }
            for summary in found[-inert.MOST_ITEMS :]
        ]
        return {
            "shown": shown,
            "left_out": inert.left_out(self.links, len(found) - len(shown), "earlier one", "earlier ones"),
        }


def _case(summary: Summary) -> str:
    """The case that an entry measured; empty for several."""
    trials = [trial for found in summary["measured"].values() for trial in found.get("trials", ())]
    if len({trial["key"] for trial in trials}) != 1:
        return ""
    return ", ".join(filter(None, [trials[0]["label"], assignments({**trials[0]["config"], **trials[0]["apart"]})]))


# -- plots, by their address at a pushed commit ---------------------------------------------

# Of one entry, so that a comment about several has room for them.
_MOST_PLOTS = 6


def pictures(links: Links, plots: Sequence[NamedPlot]) -> list[str]:
    """Each plot as a picture, or where others cannot see it, its title with why."""
    return bounded([_picture(links, plot) for plot in plots], _MOST_PLOTS, "more plots in the logbook")


def _picture(links: Links, plot: NamedPlot) -> str:
    title = inert.words(plot.title)
    address = address_of(links, plot)
    if address is not None:
        return f"!{inert.link(title, address)}"
    pushed = links.why if links.commit is None else "not pushed"
    return f"Not shown ({inert.escape(inert.words(plot.missing or pushed))}): {inert.escape(title)}"


def address_of(links: Links, plot: NamedPlot) -> str | None:
    """Where others see a plot; None where they cannot."""
    return None if plot.missing else links.files.get(f"{PLOTS}/{plot.key}.svg")
