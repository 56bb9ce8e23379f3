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
    Piece,
    entry_link,
    escape,
    is_address,
    left_out,
    line,
    link,
    newest,
    one_line,
    prose,
    words,
)
from logbook_agent.issue.issue_results import best_lines, pictures, results
from logbook_agent.issue.links import Links
from logbook_agent.model.header import Computed, Criterion, Header
from logbook_agent.model.summary import Summary
from logbook_agent.pages.blocks import HeaderValues, header_values, opening_values
from logbook_agent.pages.plotted import NamedPlot
from logbook_agent.text import markdown as md
from logbook_agent.text.fit import size
from logbook_agent.text.phrases import counted
from logbook_agent.text.times import minute

_TITLE_BYTES = 200
_CASE_BYTES = 300
_TEXT_BYTES = 4096


@dataclass(frozen=True, kw_only=True)
class IssueValues:
    """A logbook as an issue shows it. `summaries` are in order, the newest last; `first` are the first lines of the
    thread, `best_cases` those of its problems; `plots` are those that the header names."""

    header: Header
    links: Links
    summaries: Sequence[Summary]
    first: Opening
    best_cases: Sequence[BestCase] = ()
    plots: Sequence[NamedPlot] = ()

    @cached_property
    def thread(self) -> Thread:
        return Thread(self.header, self.summaries)

    @cached_property
    def _plain(self) -> HeaderValues:
        return header_values(self.header)

    @cached_property
    def logbook(self) -> dict[str, object]:
        return {"url": self.links.view, "why": self.links.why}

    def date(self, moment: str) -> str:
        """To the minute in the logbook's zone, on one line."""
        return md.one_line(minute(moment, self.header.zone))

    def id_link(self, entry_id: str) -> str:
        return entry_link(self.links, entry_id)

    # -- parts of several documents ----------------------------------------------------------------

    def scope(self) -> dict[str, object]:
        plain = self._plain
        return {
            "topic": plain["topic"],
            "prefix": plain["prefix"],
            "zone": plain["zone"],
            "title": one_line(self.header.title),
            "opened": md.one_line(plain["opened"]),
            "goal": prose(plain["goal"]),
            "metrics": list(map(one_line, plain["metrics"])),
            "secondary_metrics": list(map(one_line, plain["secondary_metrics"])),
            "gates": list(map(escape, plain["gates"])),
            "constraints": list(map(one_line, plain["constraints"])),
        }

    def baseline(self) -> dict[str, object] | None:
        plain = self._plain["baseline"]
        if plain is None:
            return None
        return {
            "date": one_line(plain["date"]),
            "source": one_line(plain["source"]),
            "confidence": one_line(plain["confidence"]),
            "case": words(plain["case"], _CASE_BYTES),
            "numbers": [
                {"case": words(n["case"], _CASE_BYTES), "metrics": list(map(escape, n["metrics"]))}
                for n in plain["numbers"]
            ],
            "code_refs": [words(ref, _CASE_BYTES) for ref in plain["code_refs"]],
            "entry": self.id_link(plain["entry"]) if plain["entry"] else "",
            "doubt": escape(self._uncounted(plain["entry"])),
            "text": prose(plain["text"]),
            "moves": [
                {
                    "at": md.one_line(move["at"]),
                    "reason": one_line(move["reason"]),
                    "before": words(move["before"], _CASE_BYTES),
                }
                for move in self._plain["baseline_moves"]
            ],
        }

    def _uncounted(self, entry_id: str | None) -> str:
        """Why an entry does not count."""
        standing = self.thread.standing.get(entry_id or "")
        return standing.why if standing is not None else ""

    def criteria(self) -> list[dict[str, object]]:
        return [self._criterion(c) for c in self.header.stop_criteria]

    def _criterion(self, criterion: Criterion) -> dict[str, object]:
        judged = criterion.judgement
        return {
            "text": one_line(criterion.text),
            "met": criterion.met,
            "judged": judged is not None,
            "computed": _computed(criterion.computed),
            "evidence": self._evidence(judged.evidence) if judged is not None else "",
            "by": escape(words(judged.by, _TITLE_BYTES)) if judged is not None else "",
            "at": self.date(judged.at) if judged is not None else "",
            "doubt": escape(criterion.doubt) if criterion.doubt is not None else "",
        }

    def _evidence(self, evidence: str) -> Piece | str:
        """An address as it stands, an entry linked, other words as prose."""
        evidence = evidence.strip()
        if is_address(evidence):
            return evidence
        return self.id_link(evidence) if evidence in self.thread.by_id else one_line(evidence)

    def closing(self) -> dict[str, object] | None:
        closing = self.header.closing
        if closing is None:
            return None
        return {
            "at": self.date(closing.at),
            "conclusion": prose(closing.conclusion),
            "limitations": [one_line(t) for t in closing.limitations],
            "next_steps": [one_line(t) for t in closing.next_steps],
        }

    def snapshots(self) -> list[dict[str, object]]:
        return [{"name": link(s.name, s.url), "commit": s.commit, "at": self.date(s.at)} for s in self.header.snapshots]

    @cached_property
    def best(self) -> list[dict[str, object]]:
        """The best results so far."""
        return best_lines(self.best_cases, self.thread, self.links)

    def opening(self) -> dict[str, object]:
        """The first lines: what was asked, what was found, what is open, and the next action."""
        return opening_values(
            self.first,
            plain=escape,
            prose=lambda text: line(text, _TEXT_BYTES),
            link=self.id_link,
            more=lambda count, noun: left_out(self.links, count, f"more of the {noun}", f"more {noun}"),
        ) | {"asked": prose(self.first.asked)}

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
        last = self.summaries[-1] if self.summaries else None
        return {
            "state": "closed" if closing is not None else "open",
            "closed": self.date(closing.at) if closing is not None else None,
            "entries": len(self.summaries),
            "states": _states(self.summaries),
            "last": None
            if last is None
            else {
                "id": self.id_link(last["id"]),
                "title": line(last["title"], _TITLE_BYTES),
                "opened": self.date(last["opened"]),
            },
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

    def entries(self, found: Sequence[Summary], key: Literal["decision", "negative", "next_lead"]) -> Piece:
        """Entries with a text each; the newest that have room."""

        def value(summary: Summary) -> dict[str, object]:
            return {
                "id": self.id_link(summary["id"]),
                "title": line(summary["title"], _TITLE_BYTES),
                "state": summary["state"],
                "opened": self.date(summary["opened"]),
                "text": line(summary[key], _TEXT_BYTES),
                "superseded_by": [self.id_link(i) for i in self.thread.superseded_by(summary["id"])],
            }

        def told(shown: list[Any], earlier: int) -> dict[str, object]:
            return {"shown": shown, "left_out": left_out(self.links, earlier, "earlier one", "earlier ones")}

        return newest(found, value, told)


# The sections of the body: what `templates/issue_body.md.j2` may show as `issue.NAME`, and where its values come from.
SECTIONS: Mapping[str, Callable[[IssueValues], Any]] = {
    "opening": IssueValues.opening,
    "summary": lambda v: prose(v.header.summary),
    "facts": IssueValues.facts,
    "status": IssueValues.status,
    "baseline": IssueValues.baseline,
    "best": lambda v: v.best,
    "plots": lambda v: pictures(v.links, v.plots),
    "criteria": IssueValues.criteria,
    "results": lambda v: results(v.thread, v.links),
    "decisions": lambda v: v.entries(v.thread.decisions, "decision"),
    "negative_results": lambda v: v.entries(v.thread.negative, "negative"),
    "conclusion": IssueValues.closing,
    "open": lambda v: v.entries(v.thread.open, "next_lead"),
    "next_actions": lambda v: v.entries(v.thread.next_actions, "next_lead"),
    "links": IssueValues.header_links,
    "snapshots": IssueValues.snapshots,
    "logbook": lambda v: v.logbook,
}


def _computed(computed: Computed | None) -> Piece | str:
    """`unmet, topk=8 was not measured`; empty where nothing was computed."""
    if computed is None:
        return ""
    text = computed.text
    return Piece(size=size(text), within=lambda room: escape(words(text, room)))


def _states(summaries: Sequence[Summary]) -> list[str]:
    """`3 finished`, `1 failed`: in order of appearance."""
    return [f"{count:,} {state}" for state, count in Counter(s["state"] for s in summaries).items()]
