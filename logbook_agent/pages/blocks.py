"""The blocks of a view as text: header, one for each entry with its sections, footer; and the values of their
templates."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from msgspec import Struct, to_builtins

from logbook_agent.features import hook_module
from logbook_agent.findings import facts
from logbook_agent.findings.comparison import answer_lines, synopsis
from logbook_agent.findings.comparison.answer import Answer
from logbook_agent.findings.computed_texts import ComputedTexts, said_of
from logbook_agent.findings.opening import NO_ANSWERS, Opening
from logbook_agent.findings.summaries import Trust, trust_of
from logbook_agent.findings.tables.spec import Table
from logbook_agent.findings.thread import Thread
from logbook_agent.model.codec import encode
from logbook_agent.model.entry import (
    ARTIFACTS,
    COMMAND,
    COMPARISON,
    CONFIDENCE,
    CONFIG,
    HYPOTHESIS,
    INTERPRETATION,
    NAMED_KINDS,
    NEXT_ACTION,
    PLOTS,
    RESULT,
    SETTABLE_STATES,
    Entry,
)
from logbook_agent.model.header import STEP, Baseline, Criterion, Header, Metric
from logbook_agent.model.record import Record
from logbook_agent.model.summary import SaidByEntry
from logbook_agent.model.units import known, with_unit
from logbook_agent.pages.templates import Templates, opening_values, table_text, templates_of
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.text import markdown as md
from logbook_agent.text.markdown import clean, escape, items, one_line
from logbook_agent.text.phrases import assignments, minute

# What a heading may end in behind the title; a title that ends so gets a backslash before the bracket.
_SUFFIX = re.compile(rf"\((?=(?:confidence:[^()]*|{'|'.join(NAMED_KINDS)})\)$)")

# What later entries may say of this one: the key in a template, and the label.
LATER = {"completed_by": "Completed by", "superseded_by": "Superseded by", "decided_by": "Decided by"}
NO_LATER: Mapping[str, Sequence[str]] = {}


class Blocks:
    """Renders the blocks of a logbook through its templates."""

    def __init__(self, templates: Templates, header: Header) -> None:
        self._templates = templates
        self._header = header

    @cached_property
    def _values(self) -> dict[str, Any]:
        return header_values(self._header)

    def header(self, plots: Sequence[str] = (), answers: Opening = NO_ANSWERS) -> str:
        """The block of the header. `plots` are the pictures that the header names; `answers` the findings of
        comparisons."""
        shown = opening_values(answers) if answers != NO_ANSWERS else None
        values = {**self._values, "plots": [*plots], "opening": shown}
        return self._templates.render("logbook.md.j2", {"logbook": values})

    def entry(
        self,
        record: Record,
        *,
        later: Mapping[str, Sequence[str]] = NO_LATER,
        answer: Answer | None = None,
        plots: Sequence[str] = (),
    ) -> str:
        """The block of an entry."""
        entry = record.entry
        trust = trust_of(record.entry, len(record.runs), answer)
        found = self.sections(record, later=later, answer=answer, plots=plots)
        values = {
            "id": entry.id,
            "title": _SUFFIX.sub(r"\\(", md.one_line(entry.title)),
            "opened": md.one_line(minute(entry.opened, self._header.zone)),
            "kind": entry.kind,
            "state": record.state,
            "confidence": trust.word if trust is not None else None,
            **{key: list(later.get(key, ())) for key in LATER},
            "sections": [{"label": s.label, "text": s.text, "computed": s.computed} for s in found],
            "section": {s.label: s.text for s in found},
        }
        return self._templates.render("entry.md.j2", {"entry": values, "logbook": self._values})

    def sections(
        self,
        record: Record,
        *,
        later: Mapping[str, Sequence[str]] = NO_LATER,
        answer: Answer | None = None,
        plots: Sequence[str] = (),
    ) -> tuple[Section, ...]:
        """The sections of an entry, before a template lays them out."""
        said = said_of(record, self._header.metrics, self.table) if record.runs else None
        files = artifacts_text(record, lambda path: f"{self._header.topic}/{path}")
        return sections(record, said, later=later, answer=answer, plots=plots, artifacts=files)

    def table(self, table: Table, more_notes: Sequence[str] = ()) -> str:
        """A table as Markdown with its notes; `more_notes` are Markdown already and go into the same list."""
        return table_text(self._templates, table, more_notes)

    def footer(self, thread: Thread) -> str:
        """The block of decisions, negative results and the conclusion. May be empty."""

        def line(summary: SaidByEntry, text: str | None) -> dict[str, object]:
            return {
                "id": summary["id"],
                "opened": md.one_line(minute(summary["opened"], self._header.zone)),
                "title": md.one_line(summary["title"]),
                "text": text,
                "superseded_by": list(thread.superseded_by(summary["id"])),
            }

        closing = self._header.closing
        values = {
            "decisions": [line(s, s["decision"]) for s in thread.decisions],
            "negative_results": [line(s, s["negative"]) for s in thread.negative],
            "closing": {**to_builtins(closing), "at": minute(closing.at, self._header.zone)}
            if closing is not None
            else None,
        }
        return self._templates.render("footer.md.j2", values)


def artifacts_text(record: Record, address: Callable[[str], str | None]) -> str:
    """The files that the runs of an entry left, as Markdown; empty where there are none, or nobody shows them.
    `address` has where each lies, by its path in the folder of the logbook."""
    if not any(status.run.artifacts for status in record.runs) or (showing := hook_module("artifacts")) is None:
        return ""
    text: str = showing.text(record, address)
    return text


def metric_text(metric: Metric) -> str:
    """A declared metric in words: `tflops` (TF/s, higher is better)."""
    better = {"max": "higher is better", "min": "lower is better", None: ""}[metric.direction]
    about = ", ".join(t for t in (metric.unit or "", better) if t)
    text = md.inline_code(metric.name) + (f" ({about})" if about else "")
    if (metric.reduce, metric.over) != ("last", STEP):
        text += f", of a curve over {md.inline_code(metric.over)} the {metric.reduce} counts"
    return f"{text}: {md.one_line(metric.text)}" if metric.text else text


def number_text(name: str, value: float, metrics: Sequence[Metric]) -> str:
    """`tflops 239.150 TF/s`: a stated number with the metric's unit and digits."""
    declared = next((m for m in metrics if m.name == name), None)
    unit = (declared.unit if declared else None) or known(name).unit
    [text], shown = with_unit([value], unit, name)
    return f"{name} {text}" + (f" {shown}" if shown else "")


def _links(header: Header) -> list[dict[str, str]]:
    """The links of a header: to the experiment issue, those that `start` and `link` named, and to the snapshots."""
    issue = header.issue.url if header.issue is not None else None
    own = [{"label": "Experiment issue", "url": issue}] if issue is not None else []
    named = [{"label": link.label, "url": link.url} for link in header.links if link.url != issue]
    return [*own, *named, *({"label": f"Snapshot {s.name}", "url": s.url} for s in header.snapshots)]


def _criterion_text(criterion: Criterion) -> str:
    judged, doubt, computed = criterion.said
    if not (judged or computed):
        return criterion.text
    box = "[x]" if criterion.met else "[ ]"
    note = f"({'; '.join(filter(None, (md.one_line(judged), doubt, md.escape(md.one_line(computed)))))})"
    return f"{box} {criterion.text}\n{note}" if "\n" in criterion.text else f"{box} {criterion.text} {note}"


def baseline_text(baseline: Baseline | None, metrics: Sequence[Metric]) -> str:
    """A baseline on one line: case, numbers, entry; `none` where there was none."""
    if baseline is None:
        return "none"
    numbers = [
        " ".join(
            t for t in (assignments(n.config), ", ".join(number_text(k, v, metrics) for k, v in n.metrics.items())) if t
        )
        for n in baseline.numbers
    ]
    found = [assignments(baseline.config), *numbers, baseline.entry or ""]
    return md.one_line("; ".join(t for t in found if t)) or "a baseline without case and numbers"


def header_values(header: Header) -> dict[str, Any]:
    """The values of a header for templates."""
    baseline, budget = header.baseline, assignments(encode(header.budget))
    return {
        "topic": header.topic,
        "title": md.one_line(header.title),
        "prefix": header.prefix,
        "opened": minute(header.opened, header.zone),
        "zone": header.zone,
        "goal": header.goal,
        "summary": header.summary,
        "metrics": [metric_text(m) for m in header.metrics if m.primary],
        "secondary_metrics": [metric_text(m) for m in header.metrics if not m.primary],
        "gates": [*header.gates, *(f"{name} may differ" for name in header.free)],
        "constraints": [*header.constraints, *([f"budget: {budget}"] if budget else [])],
        "links": _links(header),
        "baseline": None
        if baseline is None
        else {
            "date": baseline.date,
            "code_refs": list(baseline.code_refs),
            "case": assignments(baseline.config),
            "numbers": [
                {
                    "case": assignments(n.config),
                    "metrics": [number_text(k, v, header.metrics) for k, v in n.metrics.items()],
                }
                for n in baseline.numbers
            ],
            "entry": baseline.entry,
            "source": baseline.source,
            "confidence": baseline.confidence,
            "text": baseline.text,
        },
        "baseline_moves": [
            {
                "at": minute(move.at, header.zone),
                "reason": md.one_line(move.reason),
                "before": baseline_text(move.before, header.metrics),
            }
            for move in header.baseline_moves
        ],
        "stop_criteria": [_criterion_text(c) for c in header.stop_criteria],
        "matrix": [{"axis": a.axis, "values": list(a.values), "text": a.text} for a in header.matrix],
        "command_templates": [{"label": c.label, "command": c.command} for c in header.command_templates],
    }


def blocks_of(workspace: Workspace, book: Book) -> Blocks:
    """The blocks of a logbook with the templates of an invocation."""
    return Blocks(templates_of(workspace), book.header)


# -- the sections of an entry: prose in its own order, computed ones in their places between it ----


# The form of an entry; a field with another label stays behind the one it was written after.
_RANK = {
    label.casefold(): rank
    for rank, label in enumerate(
        (
            *(HYPOTHESIS, COMMAND, CONFIG, RESULT, COMPARISON, PLOTS, ARTIFACTS, CONFIDENCE),
            *(INTERPRETATION, NEXT_ACTION),
        )
    )
}
_IN_BRACKETS = re.compile(r"\s*\([^)]*\)\s*$")


class Section(Struct, frozen=True, kw_only=True):
    """One bullet of an entry. `computed` sections come from the runs and are never edited."""

    label: str
    text: str
    computed: bool = False


def sections(
    record: Record,
    said: ComputedTexts | None,
    *,
    later: Mapping[str, Sequence[str]] = NO_LATER,
    answer: Answer | None = None,
    plots: Sequence[str] = (),
    artifacts: str = "",
) -> tuple[Section, ...]:
    """All sections of an entry in order. A field without text holds a place for a computed section.

    `said` are the computed texts of its runs, `answer` is that to its comparison, `plots` are the pictures that it
    names, and `artifacts` the files that its runs left.
    """
    found = [Section(label=one_line(f.label), text=clean(f.text)) for f in record.entry.fields]
    taken = {s.label.casefold() for s in found if s.text.strip()}
    computed = [
        *_computed(record, said),
        (COMPARISON, "computed", items(answer_lines.entry_lines(answer) if answer is not None else [])),
        (PLOTS, "drawn", "\n\n".join(plots)),
        (ARTIFACTS, "kept", artifacts),
        (CONFIDENCE, "computed", _trust_text(trust_of(record.entry, len(record.runs), answer))),
    ]
    for label, suffix, text in computed:
        if text:
            name = _free(label, suffix, taken)
            found.insert(_place(found, label), Section(label=name, text=clean(text), computed=True))
    return (
        *_relations(record, later, taken, synopsis.outcome(answer) if answer is not None else None),
        *(s for s in found if s.text.strip()),
    )


def _free(label: str, suffix: str, taken: set[str]) -> str:
    """The label of a computed section, which no field has."""
    names = (label, f"{label} ({suffix})", *(f"{label} ({suffix}, {n})" for n in range(2, len(taken) + 3)))
    return next(name for name in names if name.casefold() not in taken)


def _computed(record: Record, said: ComputedTexts | None) -> list[tuple[str, str, str]]:
    is_planned = bool(record.entry.commands) or record.entry.comparison is not None
    planned = (f"{COMMAND} (planned)", "not yet run", facts.planned_section(record) if is_planned else "")
    if said is None:
        return [planned]
    result = "reported" if all(s.run.is_reported for s in record.runs) else "measured"
    return [
        (COMMAND, "executed", said.command),
        planned,
        (CONFIG, "recorded", said.config),
        (RESULT, result, said.result),
    ]


def _trust_text(trust: Trust | None) -> str:
    """The confidence with its reasons; empty if there are none, since the heading has the word."""
    return escape(one_line(trust.text)) if trust is not None and (trust.reasons or trust.stated is not None) else ""


@functools.lru_cache(maxsize=256)
def _rank(label: str) -> int | None:
    return _RANK.get(_IN_BRACKETS.sub("", label).casefold())


def _place(found: list[Section], label: str) -> int:
    """The place of a computed section: behind the field of its kind, else before the first field that the form puts
    after it."""
    wanted = _rank(label)
    assert wanted is not None  # noqa: S101  computed labels are all in the form
    same = [at for at, section in enumerate(found) if _rank(section.label) == wanted]
    if same:
        return same[0] + 1
    for at, section in enumerate(found):
        rank = _rank(section.label)
        if rank is not None and rank > wanted:
            return at
    return len(found)


# The outcomes of a comparison that say nothing for its code.
_DOUBTFUL = ("open", "worse", "mixed")


def _by(later: Mapping[str, Sequence[str]], key: str, outcome: str | None) -> str | None:
    """The later entries that say this of the entry; the one that discards or keeps it says so, and where the answer
    does not speak for what was kept."""
    kept = f"kept, though the answer is {outcome}" if outcome in _DOUBTFUL else "kept"
    verdicts = dict.fromkeys(later.get("kept_by", ()), kept) | dict.fromkeys(later.get("discarded_by", ()), "discarded")
    is_decision = key == "decided_by"
    said = (f"{i} ({verdicts[i]})" if is_decision and i in verdicts else i for i in later.get(key, ()))
    return ", ".join(said) or None


def _decided(entry: Entry) -> str | None:
    """`MOE-003: kept, commit 3f2a9c01d` of a decision on code."""
    if entry.decides is None:
        return None
    verdict = {True: ": kept", False: ": discarded", None: ""}[entry.kept]
    return f"{entry.decides}{verdict}" + (f", commit `{entry.commit}`" if entry.commit else "")


def _relations(
    record: Record, later: Mapping[str, Sequence[str]], taken: set[str], outcome: str | None
) -> list[Section]:
    entry = record.entry
    pairs = [
        ("Continues", entry.continues),
        ("Completes", entry.completes),
        ("Supersedes", entry.supersedes),
        ("Decides", _decided(entry)),
        *((label, _by(later, key, outcome)) for key, label in LATER.items()),
    ]
    if record.state in SETTABLE_STATES:
        pairs.append(("State", record.state))
    return [
        Section(label=_free(label, "recorded", taken), text=clean(text), computed=True) for label, text in pairs if text
    ]
