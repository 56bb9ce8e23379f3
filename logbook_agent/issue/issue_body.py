"""The sections of an issue's body: the values of its template, from the header, the summaries and the links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Literal

from msgspec import Struct, to_builtins

from logbook_agent.findings.best import bests
from logbook_agent.findings.read import Findings
from logbook_agent.findings.thread import Thread
from logbook_agent.issue import inert
from logbook_agent.issue.issue_results import best_lines, pictures, results
from logbook_agent.issue.values import Links
from logbook_agent.model.header import Criterion, Header
from logbook_agent.model.summary import Summary
from logbook_agent.pages.blocks import header_values, opening_values
from logbook_agent.pages.cited import opening_with_numbers
from logbook_agent.pages.plotted import NamedPlot
from logbook_agent.text import markdown as md
from logbook_agent.text.phrases import counted
from logbook_agent.text.times import minute


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

    @property
    def logbook(self) -> dict[str, object]:
        return {"url": self.links.view, "why": self.links.why}

    def date(self, moment: str) -> str:
        """To the minute in the logbook's zone, on one line."""
        return md.one_line(minute(moment, self.header.zone))

    def id_link(self, entry_id: str) -> str:
        return inert.entry_link(self.links, entry_id)

    # -- parts of several documents ----------------------------------------------------------------

    @cached_property
    def scope(self) -> dict[str, object]:
        """What all templates of an issue know of the logbook."""
        names = ("topic", "prefix", "zone", "title", "opened", "goal")
        lists = ("metrics", "secondary_metrics", "constraints", "gates")
        return {key: inert.header(of, key) for key, of in header_values(self.header).items() if key in (*names, *lists)}

    @cached_property
    def best(self) -> list[dict[str, object]]:
        """The best results so far."""
        return best_lines(bests(self.thread, self.found.answers), self.thread, self.links)

    @cached_property
    def opening(self) -> dict[str, object]:
        """The first lines: what was asked, what was found, what is open, and the next action."""
        first = opening_with_numbers(self.found)
        return opening_values(
            first,
            plain=inert.escape,
            prose=inert.line,
            link=self.id_link,
            more=lambda count, noun: inert.left_out(self.links, count, f"more of the {noun}", f"more {noun}"),
        ) | {"asked": inert.prose(first.asked)}

    @property
    def criteria(self) -> list[dict[str, object]]:
        return [self._criterion(c) for c in self.header.stop_criteria]

    def _criterion(self, criterion: Criterion) -> dict[str, object]:
        judged, computed = criterion.judgement, criterion.computed
        return {
            "text": inert.line(criterion.text),
            "met": criterion.met,
            "judged": judged is not None,
            "computed": inert.escape(inert.words(computed.text)) if computed is not None else "",
            "evidence": self._evidence(judged.evidence.strip()) if judged is not None else "",
            "by": inert.escape(inert.words(judged.by)) if judged is not None else "",
            "at": self.date(judged.at) if judged is not None else "",
            "doubt": inert.escape(criterion.doubt or ""),
        }

    def _evidence(self, evidence: str) -> str:
        """An address as it stands, an entry linked, other words as prose."""
        if inert.is_address(evidence):
            return evidence
        return self.id_link(evidence) if evidence in self.thread.by_id else inert.line(evidence)

    @property
    def closing(self) -> dict[str, object] | None:
        closing = self.header.closing
        return inert.header(to_builtins(closing)) | {"at": self.date(closing.at)} if closing is not None else None

    @property
    def snapshots(self) -> list[dict[str, object]]:
        return [
            {"name": inert.link(s.name, s.url), "commit": s.commit, "at": self.date(s.at)}
            for s in self.header.snapshots
        ]

    # -- the body ----------------------------------------------------------------------------------

    def body(self) -> dict[str, object]:
        """The values of all sections; what there is nothing to say of is none, or an empty list."""
        own = self.header.issue.url if self.header.issue is not None else None
        return {
            "opening": self.opening,
            "summary": inert.prose(self.header.summary),
            "facts": self._facts(),
            "status": self._status(),
            "baseline": self._baseline(),
            "best": self.best,
            "plots": pictures(self.links, self.plots),
            "criteria": self.criteria,
            "results": results(self.found, self.links),
            "decisions": self._entries(self.thread.decisions, "decision"),
            "negative_results": self._entries(self.thread.negative, "negative"),
            "conclusion": self.closing,
            "open": self._entries(self.thread.open, "next_lead"),
            "next_actions": self._entries(self.thread.next_actions, "next_lead"),
            "links": [inert.link(f.label, f.url) for f in self.header.links if f.url != own],
            "snapshots": self.snapshots,
            "logbook": self.logbook,
        }

    def _baseline(self) -> dict[str, object] | None:
        plain = header_values(self.header)
        if plain["baseline"] is None:
            return None
        entry = plain["baseline"]["entry"]
        standing = self.thread.standing.get(entry or "")
        return {
            **inert.header(plain["baseline"]),
            "entry": self.id_link(entry) if entry else "",
            "doubt": inert.escape(standing.why) if standing is not None else "",
            "moves": inert.header(plain["baseline_moves"]),
        }

    def _status(self) -> dict[str, object]:
        closing, summaries = self.header.closing, self.found.summaries
        return {
            "state": "closed" if closing is not None else "open",
            "closed": self.date(closing.at) if closing is not None else None,
            "entries": len(summaries),
            "states": _states(summaries),
            "last": self._entry(summaries[-1]) if summaries else None,
        }

    def _facts(self) -> list[str]:
        """What the records carry without anybody's judgement, in sentences."""
        experiments, criteria = self.thread.experiments, self.header.stop_criteria
        if not experiments:
            return []
        met = f"{sum(c.met for c in criteria):,} of {counted(len(criteria), 'stop criterion', 'stop criteria')} met."
        return [
            f"{counted(len(experiments), 'experiment')}: {', '.join(_states(experiments))}.",
            *([met] if criteria else []),
        ]

    def _entry(self, summary: Summary) -> dict[str, object]:
        title = inert.line(summary["title"], inert.TITLE_BYTES)
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


def _states(summaries: Sequence[Summary]) -> list[str]:
    """`3 finished`, `1 failed`: in order of appearance."""
    return [f"{count:,} {state}" for state, count in Counter(s["state"] for s in summaries).items()]
