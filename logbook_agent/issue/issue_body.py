"""The sections of an issue's body: the values of its template, from the header, the summaries and the links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from logbook_agent.findings.best import BestCase
from logbook_agent.findings.opening import Opening
from logbook_agent.findings.thread import Thread
from logbook_agent.issue.excerpts import (
    CAPS,
    TITLE_BYTES,
    entry_link,
    escape,
    is_address,
    left_out,
    line,
    link,
    most,
    prose,
    words,
)
from logbook_agent.issue.issue_results import best_lines, pictures, results
from logbook_agent.issue.links import Links
from logbook_agent.model.header import Criterion, Header
from logbook_agent.model.summary import Summary
from logbook_agent.pages.blocks import header_values, opening_values
from logbook_agent.pages.plotted import NamedPlot
from logbook_agent.text import markdown as md
from logbook_agent.text.phrases import bounded, counted
from logbook_agent.text.times import minute


@dataclass(frozen=True, kw_only=True)
class IssueValues:
    """A logbook as an issue shows it. `summaries` are in order, the newest last; `first` are the first lines of the
    thread, `best_cases` those of its problems; `plots` are those that the header names; `cap`: the bytes of a text."""

    header: Header
    links: Links
    summaries: Sequence[Summary]
    first: Opening
    best_cases: Sequence[BestCase] = ()
    plots: Sequence[NamedPlot] = ()
    cap: int = CAPS[0]

    @cached_property
    def thread(self) -> Thread:
        return Thread(self.header, self.summaries)

    @cached_property
    def logbook(self) -> dict[str, object]:
        return {"url": self.links.view, "why": self.links.why}

    def date(self, moment: str) -> str:
        """To the minute in the logbook's zone, on one line."""
        return md.one_line(minute(moment, self.header.zone))

    def id_link(self, entry_id: str) -> str:
        return entry_link(self.links, entry_id)

    def line(self, text: str | None) -> str:
        return line(text, self.cap)

    def prose(self, text: str | None) -> str:
        return prose(text, self.cap)

    # -- parts of several documents ----------------------------------------------------------------

    def scope(self) -> dict[str, object]:
        plain = header_values(self.header)
        lists = {key: plain[key] for key in ("metrics", "secondary_metrics", "constraints")}
        return {
            **{key: plain[key] for key in ("topic", "prefix", "zone")},
            "title": self.line(self.header.title),
            "opened": md.one_line(plain["opened"]),
            "goal": self.prose(plain["goal"]),
            **{key: bounded([*map(self.line, texts)], most(self.cap)) for key, texts in lists.items()},
            "gates": list(map(escape, plain["gates"])),
        }

    def baseline(self) -> dict[str, object] | None:
        plain = header_values(self.header)
        baseline = plain["baseline"]
        if baseline is None:
            return None
        standing = self.thread.standing.get(baseline["entry"] or "")
        return {
            **{key: self.line(baseline[key]) for key in ("date", "source", "confidence")},
            "case": self.words(baseline["case"]),
            "numbers": [
                {"case": self.words(n["case"]), "metrics": list(map(escape, n["metrics"]))} for n in baseline["numbers"]
            ],
            "code_refs": list(map(self.words, baseline["code_refs"])),
            "entry": self.id_link(baseline["entry"]) if baseline["entry"] else "",
            "doubt": escape(standing.why) if standing is not None else "",
            "text": self.prose(baseline["text"]),
            "moves": [
                {"at": md.one_line(m["at"]), "reason": self.line(m["reason"]), "before": self.words(m["before"])}
                for m in plain["baseline_moves"]
            ],
        }

    @staticmethod
    def words(text: str) -> str:
        return words(text, 300)

    def criteria(self) -> list[dict[str, object]]:
        return [self._criterion(c) for c in self.header.stop_criteria]

    def _criterion(self, criterion: Criterion) -> dict[str, object]:
        judged, computed = criterion.judgement, criterion.computed
        return {
            "text": self.line(criterion.text),
            "met": criterion.met,
            "judged": judged is not None,
            "computed": escape(words(computed.text, self.cap)) if computed is not None else "",
            "evidence": self._evidence(judged.evidence.strip()) if judged is not None else "",
            "by": escape(words(judged.by, TITLE_BYTES)) if judged is not None else "",
            "at": self.date(judged.at) if judged is not None else "",
            "doubt": escape(criterion.doubt) if criterion.doubt is not None else "",
        }

    def _evidence(self, evidence: str) -> str:
        """An address as it stands, an entry linked, other words as prose."""
        if is_address(evidence):
            return evidence
        return self.id_link(evidence) if evidence in self.thread.by_id else self.line(evidence)

    def closing(self) -> dict[str, object] | None:
        closing = self.header.closing
        if closing is None:
            return None
        return {
            "at": self.date(closing.at),
            "conclusion": self.prose(closing.conclusion),
            "limitations": list(map(self.line, closing.limitations)),
            "next_steps": list(map(self.line, closing.next_steps)),
        }

    def snapshots(self) -> list[dict[str, object]]:
        return [{"name": link(s.name, s.url), "commit": s.commit, "at": self.date(s.at)} for s in self.header.snapshots]

    def best(self) -> list[dict[str, object]]:
        """The best results so far."""
        return best_lines(self.best_cases, self.thread, self.links)

    def opening(self) -> dict[str, object]:
        """The first lines: what was asked, what was found, what is open, and the next action."""
        return opening_values(
            self.first,
            plain=escape,
            prose=self.line,
            link=self.id_link,
            more=lambda count, noun: left_out(self.links, count, f"more of the {noun}", f"more {noun}"),
        ) | {"asked": self.prose(self.first.asked)}

    # -- the body ----------------------------------------------------------------------------------

    def body(self) -> dict[str, object]:
        """The values of all sections; what there is nothing to say of is none, or an empty list."""
        return {name: section(self) for name, section in SECTIONS.items()}

    def header_links(self) -> list[str]:
        """The links of the header, without the one to the issue itself."""
        own = self.header.issue.url if self.header.issue is not None else None
        return [link(f.label, f.url) for f in self.header.links if f.url != own]

    def status(self) -> dict[str, object]:
        closing = self.header.closing
        return {
            "state": "closed" if closing is not None else "open",
            "closed": self.date(closing.at) if closing is not None else None,
            "entries": len(self.summaries),
            "states": _states(self.summaries),
            "last": self._entry(self.summaries[-1]) if self.summaries else None,
        }

    def facts(self) -> list[str]:
        """What the records carry without anybody's judgement, in sentences."""
        experiments = self.thread.experiments
        if not experiments:
            return []
        found = [f"{counted(len(experiments), 'experiment')}: {', '.join(_states(experiments))}."]
        if criteria := self.header.stop_criteria:
            whole = counted(len(criteria), "stop criterion", "stop criteria")
            found.append(f"{sum(c.met for c in criteria):,} of {whole} met.")
        return found

    def _entry(self, summary: Summary) -> dict[str, object]:
        title = line(summary["title"], TITLE_BYTES)
        return {"id": self.id_link(summary["id"]), "title": title, "opened": self.date(summary["opened"])}

    def entries(self, found: Sequence[Summary], key: Literal["decision", "negative", "next_lead"]) -> dict[str, object]:
        """Entries with a text each; the newest that have room."""
        shown = [
            self._entry(summary)
            | {
                "state": summary["state"],
                "text": self.line(summary[key]),
                "superseded_by": list(map(self.id_link, self.thread.superseded_by(summary["id"]))),
            }
            for summary in found[-most(self.cap) :]
        ]
        earlier = left_out(self.links, len(found) - len(shown), "earlier one", "earlier ones")
        return {"shown": shown, "left_out": earlier}


# The sections of the body: what `templates/issue_body.md.j2` may show as `issue.NAME`, and where its values come from.
SECTIONS: Mapping[str, Callable[[IssueValues], Any]] = {
    "opening": IssueValues.opening,
    "summary": lambda v: v.prose(v.header.summary),
    "facts": IssueValues.facts,
    "status": IssueValues.status,
    "baseline": IssueValues.baseline,
    "best": IssueValues.best,
    "plots": lambda v: pictures(v.links, v.plots),
    "criteria": IssueValues.criteria,
    "results": lambda v: results(v.thread, v.links, most(v.cap)),
    "decisions": lambda v: v.entries(v.thread.decisions, "decision"),
    "negative_results": lambda v: v.entries(v.thread.negative, "negative"),
    "conclusion": IssueValues.closing,
    "open": lambda v: v.entries(v.thread.open, "next_lead"),
    "next_actions": lambda v: v.entries(v.thread.next_actions, "next_lead"),
    "links": IssueValues.header_links,
    "snapshots": IssueValues.snapshots,
    "logbook": lambda v: v.logbook,
}


def _states(summaries: Sequence[Summary]) -> list[str]:
    """`3 finished`, `1 failed`: in order of appearance."""
    return [f"{count:,} {state}" for state, count in Counter(s["state"] for s in summaries).items()]
