"""`logbook edit` of an entry: its prose, its state, and what a person may say of the confidence in it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from shlex import quote
from typing import Any, TypeVar

from msgspec import Struct, field, structs

from logbook_agent.entries.new_entry import Prose, edited_fields, field_place, form_place, with_relations
from logbook_agent.entries.stated import checked_gates
from logbook_agent.features import hook_module
from logbook_agent.findings.advice import ab_afresh
from logbook_agent.findings.read import Findings, read
from logbook_agent.findings.summaries import trust_of
from logbook_agent.model.entry import (
    CONFIDENCES,
    EARLIER_HYPOTHESIS,
    HYPOTHESIS,
    NEXT_ACTION,
    RELATIONS,
    RESULT,
    SETTABLE_STATES,
    VOID,
    Acceptance,
    Confidence,
    Entry,
    Field,
    SettableState,
    is_withdrawn,
)
from logbook_agent.model.errors import UsageError
from logbook_agent.model.gates import SAME, WITHHELD, is_nothing, parse_gate
from logbook_agent.model.header import Header
from logbook_agent.model.record import Record
from logbook_agent.model.run import Run
from logbook_agent.pages.blocks import blocks_of
from logbook_agent.pages.views import changing, check_citations
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.markdown import one_line
from logbook_agent.text.phrases import day, listed, one_of

# The label of the reason why an entry is void.
WITHDRAWN = "Void because"
COMPUTED = "computed"
_Judged = TypeVar("_Judged", Entry, Header)


class Judging(Struct, frozen=True, kw_only=True):
    """Gates to add, labels that may differ from now on, and what to `drop`: a gate or a label. `accept` is why withheld
    numbers count, those of `runs` (empty: of all withheld runs)."""

    gates: Sequence[str] = ()
    free: Sequence[str] = ()
    drop: Sequence[str] = ()
    accept: str | None = None
    runs: Sequence[str] = ()


NOTHING = Judging()


class EditRequest(Struct, frozen=True, kw_only=True):
    """What `edit` changes; None leaves a part as it is, an empty text removes a field or a relation. `reason` says
    why the entry is void, where that is the state and no confidence is given; else why the confidence is another.
    `judging`: gates of the entry, and what is accepted."""

    prose: Prose = field(default_factory=Prose)
    confidence: str | None = None
    reason: str | None = None
    state: str | None = None
    append: bool = False
    judging: Judging = NOTHING

    @property
    def with_reason_as_field(self) -> EditRequest:
        """The request with the reason why an entry is void as a field of it."""
        if self.state != VOID or self.confidence is not None or self.reason is None:
            return self
        prose = structs.replace(self.prose, fields=(*self.prose.fields, f"{WITHDRAWN}={self.reason}"))
        return structs.replace(self, prose=prose, reason=None)


def edit(workspace: Workspace, entry_id: str, request: EditRequest) -> tuple[Book, Entry]:
    """Change prose, confidence or state of an entry. Facts of runs cannot be edited."""
    request = request.with_reason_as_field
    book = workspace.book(entry_id)
    prose = with_relations(book, request.prose, entry_id)
    check_citations(workspace, [prose.title or "", *(text for _, text in prose.given())])
    with changing(workspace, book), book.lock():
        old = book.entry(entry_id)
        entry_id = old.id
        record = book.record(entry_id)
        relations: dict[str, Any] = {n: given or None for n in RELATIONS if (given := getattr(prose, n)) is not None}
        is_judged = request.judging != NOTHING and request.confidence is None
        why = None if is_judged else request.reason
        word, reason = stated_confidence(record, read(workspace, book), request.confidence, why)
        new = structs.replace(
            old,
            title=one_line(prose.title) if prose.title else old.title,
            fields=edited_fields(
                with_place_for_result(old.fields) if prose.fields and record.runs else old.fields,
                prose.given(),
                append=request.append,
            ),
            confidence=word,
            confidence_reason=reason,
            state=_state(request.state, old.state, has_runs=bool(record.runs)),
            **relations,
        )
        new = with_judging(record, new, request.judging, workspace.stamp(), book.run_named)
        new = with_earlier_hypothesis(record, new, day(workspace.stamp(), book.header.zone))
        is_said = any(label == NEXT_ACTION and text for label, text in prose.given())
        new = with_next_at(record, new, workspace.stamp(), is_said=is_said)
        if new == old:
            raise UsageError(
                f"nothing to change in {entry_id}",
                cause="no option was given, or the entry says so already",
                hint=f"logbook edit {entry_id} --interpretation '...'",
            )
        blocks_of(workspace, book).entry(structs.replace(record, entry=new))
        new = book.write_entry(new)
    if is_withdrawn(new.state) or new.supersedes is not None:
        workspace.warnings += read(workspace, book).doubts
    if prose.result and any(row.metrics for status in record.runs for row in status.run.rows):
        workspace.warnings.append(
            f"the numbers of {new.id} still come from its runs; what was given stands beside them as words"
        )
    workspace.warnings += _not_kept(structs.replace(record, entry=new))
    return book, new


def _not_kept(record: Record) -> list[str]:
    """A warning for pictures that the prose shows and no run has kept."""
    if (
        not record.runs
        or not any("![" in f.text for f in record.entry.fields)
        or (showing := hook_module("artifacts")) is None
    ):
        return []
    names = showing.not_kept(record)
    again = f"logbook run --id {record.id} --keep {shlex.quote(names[0])} -- COMMAND" if names else ""
    return (
        [f"no run of {record.id} kept {listed(names, 3)}, which the text shows; to keep it: {again}"] if names else []
    )


def _state(given: str | None, old: SettableState | None, *, has_runs: bool) -> SettableState | None:
    if given is None:
        return old
    words = (*SETTABLE_STATES, COMPUTED)
    cause = f"you can set {', '.join(SETTABLE_STATES)}, or {COMPUTED}; other states follow from the runs"
    word = one_of("--state", "state", given, words, cause)
    state = next((known for known in SETTABLE_STATES if known == word), None)
    if state == "planned" and has_runs:
        raise UsageError(
            "an entry with runs is no longer planned",
            cause="its state follows from its runs",
            hint="plan the rest as a separate entry: logbook note --plan --title '...' --continues ID",
        )
    return state


def stated_confidence(
    record: Record, found: Findings, given: str | None, reason: str | None
) -> tuple[Confidence | None, str | None]:
    """The confidence of an entry and its reason after `edit --confidence GIVEN --reason REASON`.

    Raises UsageError for a word that is none, and for one above what its runs show without a reason.
    """
    old = record.entry.confidence, record.entry.confidence_reason
    reason = one_line(reason) if reason is not None else None
    if given is None and reason is None:
        return old
    if given is None:
        given = record.entry.confidence or COMPUTED
    if given.casefold() == COMPUTED:
        if reason:
            raise UsageError(
                f"the confidence of {record.id} is computed, so it takes no reason",
                cause="--reason explains a confidence that a person states",
                hint=f"leave it out, or state one: logbook edit {record.id} --confidence exploratory --reason '...'",
            )
        return None, None
    cause = f"it is one of {', '.join(CONFIDENCES)}, or {COMPUTED}"
    word = one_of("--confidence", "confidence", given, CONFIDENCES, cause)
    if not reason and not (reason is None and word == old[0]):
        _check_raised(record, found, word)
    return word, reason or (old[1] if reason is None and word == old[0] else None)


def _check_raised(record: Record, found: Findings, word: Confidence) -> None:
    trust = trust_of(record.entry, len(record.runs), found.answer_of(record.entry))
    computed: Confidence = trust.computed if trust is not None else "exploratory"
    if CONFIDENCES.index(word) > CONFIDENCES.index(computed):
        reasons = trust.reasons[:1] if trust is not None else ("nothing was run",)
        raise UsageError(
            f"{word} is more than the runs of {record.id} show, and needs a reason",
            cause=": ".join((f"the runs show {computed}", *reasons)),
            hint=f"logbook edit {record.id} --confidence {word} --reason '...'",
        )


def with_earlier_hypothesis(old: Record, new: Entry, changed: str) -> Entry:
    """The entry with the hypothesis that stood there when there was a result already. `changed`: the day of it.

    What was found must not be made to look like what was expected."""
    before = old.entry.text(HYPOTHESIS)
    if not before or before == new.text(HYPOTHESIS) or not old.runs:
        return new
    said = f"Changed after the result, {changed}. Before: {before}"
    fields = edited_fields(new.fields, [(EARLIER_HYPOTHESIS, said)], append=bool(new.text(EARLIER_HYPOTHESIS)))
    return structs.replace(new, fields=fields)


def with_next_at(old: Record, new: Entry, at: str, *, is_said: bool = False) -> Entry:
    """The entry with the time at which its next action was written after it was opened. `is_said`: somebody wrote it,
    perhaps once more, so that a decision does not close it."""
    text = structs.replace(old, entry=new).next_action
    return new if text == old.next_action and not is_said else structs.replace(new, next_at=at if text else None)


def with_place_for_result(fields: Sequence[Field]) -> tuple[Field, ...]:
    """With an empty Result where the measured one stands, so that what is written after it follows it."""
    if field_place(fields, RESULT) is not None:
        return tuple(fields)
    at = form_place(fields, RESULT)
    return (*fields[:at], Field(label=RESULT, text=""), *fields[at:])


# -- what judges the results of an entry: gates, labels that may differ, accepted numbers ----------------


def _may_be_withheld(run: Run) -> bool:
    """Whether rows of a run are withheld in their entry, or hold a zero, which other entries may make one."""
    samples = (is_nothing(n, m) for row in run.rows for n, m in row.metrics.items())
    return any(p.grade == WITHHELD for p in run.problems) or any(samples)


def with_gates(of: _Judged, gates: Sequence[str], free: Sequence[str], dropped: Sequence[str] = ()) -> _Judged:
    """The entry or header with these gates and labels that may differ beside its own. Of a label that had to be the
    same and may differ now, or the other way round, the latest word counts."""
    gone = [*dropped, *(f"{SAME} {name}" for name in free)]
    held: list[str] = [gate.name for gate in map(parse_gate, gates) if gate.op == SAME]
    return structs.replace(of, gates=_changed(of.gates, gates, gone), free=_changed(of.free, free, [*dropped, *held]))


def _changed(before: Sequence[str], added: Sequence[str], dropped: Sequence[str]) -> tuple[str, ...]:
    gone = {text.replace(" ", "") for text in dropped}
    return tuple(dict.fromkeys([*(text for text in before if text.replace(" ", "") not in gone), *added]))


def check_gates(record: Record, gates: Sequence[str]) -> None:
    """Raises UsageError for a new gate on a metric that decides the pairs of an entry: whoever has seen them could
    choose the answer by its limit."""
    stated = record.entry.comparison
    pairs = [s.run for s in record.runs if s.counts and s.run.part is not None and s.run.rows]
    fresh = [gate for gate in gates if gate not in record.entry.gates]
    late = next(
        (gate for gate in fresh if stated is not None and parse_gate(gate).limits(stated.question.metrics)), None
    )
    if stated is None or late is None or not pairs:
        return
    again = f"with the gate from the beginning: {ab_afresh(record.id)}"
    is_typed = stated.run is not None and not stated.run.in_process
    raise UsageError(
        f"the gate {late!r} is too late for {record.id}, which {parse_gate(late).name} decides",
        cause="its pairs were seen already, and a limit that is chosen afterwards can choose the answer",
        hint=f"{again} {' '.join(f'--gate {quote(gate)}' for gate in fresh)}"
        if is_typed
        else f"state the gate before the first pair of a new comparison; logbook show {record.id}",
    )


def with_judging(record: Record, entry: Entry, wanted: Judging, at: str, run_named: Callable[[str, str], int]) -> Entry:
    """The entry with gates and acceptances changed. Raises UsageError for an acceptance of what is not withheld, and
    for a gate that comes too late."""
    gates, accepted = checked_gates(wanted.gates), entry.accepted
    check_gates(record, gates)
    if wanted.accept is not None:
        withheld = [s.run.run for s in record.runs if _may_be_withheld(s.run)]
        runs = tuple([run_named(record.id, text) for text in wanted.runs] or withheld)
        if not runs or not {*runs} <= {*withheld}:
            raise UsageError(
                f"run {listed([*map(str, runs)], 3)} is not withheld" if runs else f"no run of {record.id} is withheld",
                cause="only numbers that are withheld can be accepted",
                hint=f"logbook show {record.id}",
            )
        if not wanted.accept.strip():
            raise UsageError(
                "--accept is empty", cause="later readers must know why the numbers count", hint="--accept '...'"
            )
        accepted = (*accepted, Acceptance(runs=runs, why=one_line(wanted.accept), at=at))
    return structs.replace(with_gates(entry, gates, wanted.free, wanted.drop), accepted=accepted)
