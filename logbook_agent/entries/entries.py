"""Writing entries: `note` and `edit`; and what a person may say of the confidence in one."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct, field, structs

from logbook_agent.entries.drafts import (
    Prose,
    check_required,
    create_entry,
    draft_entry,
    edited_fields,
    with_earlier_hypothesis,
    with_next_at,
    with_place_for_result,
    with_relations,
)
from logbook_agent.entries.judging import NOTHING, Judging, with_judging
from logbook_agent.entries.tried_before import tried_before
from logbook_agent.features import hook_module
from logbook_agent.findings.read import Findings, read
from logbook_agent.findings.trust import trust_of
from logbook_agent.model.entry import (
    CONFIDENCES,
    RELATIONS,
    SETTABLE_STATES,
    VOID,
    Confidence,
    Entry,
    PlannedCommand,
    SettableState,
    is_withdrawn,
)
from logbook_agent.model.errors import UsageError
from logbook_agent.model.record import Record
from logbook_agent.pages.blocks import blocks_of
from logbook_agent.pages.cited import check_citations
from logbook_agent.pages.views import changing
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace, place_of
from logbook_agent.text.markdown import clean, cut_line, one_line
from logbook_agent.text.near import choice
from logbook_agent.text.phrases import listed
from logbook_agent.text.shell_words import planned_words, shell_syntax
from logbook_agent.text.times import day

# The labels of the text of a note, and of the reason why an entry is void.
NOTE, WITHDRAWN = "Note", "Void because"
_TITLE_CHARS = 80


def parse_planned(text: str, *, place: int) -> PlannedCommand:
    """`LABEL: CMD` or `CMD`. A label ends at the first `: `. A command that would mean more to a shell than words is
    refused. Errors name its place and do not repeat it: only a command that was taken apart is redacted as one."""
    label, separator, rest = text.partition(": ")
    if not separator or "=" in label or len(label) > 60 or not rest.strip():
        label, rest = "", text
    if not rest.isprintable() and clean(rest) != rest.rstrip("\n "):
        raise UsageError(
            f"cannot record --command {place}",
            cause="it contains control characters, or bytes that are not UTF-8",
            hint="put it into a script and plan that, or run it now: logbook run -- CMD",
        )
    argv = _words(rest, place)
    if not any(argv):
        raise UsageError("--command is empty", cause="there is nothing to run", hint="--command 'LABEL: CMD ...'")
    return PlannedCommand(label=label.strip() or None, argv=argv)


def _words(command: str, place: int) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise UsageError(
            f"cannot parse --command {place}: {error}",
            cause="a quote is not closed",
            hint="quote it as in a shell: --command \"Baseline: bash -lc 'a; b'\"",
        ) from error
    syntax = shell_syntax(command)
    if syntax is not None:
        raise UsageError(
            f"--command {place} needs a shell: {syntax}",
            cause="a planned command runs without a shell, where that would be plain text",
            hint="quote it, or name the shell: --command \"LABEL: bash -lc 'a; b'\"",
        )
    return words


def note(
    workspace: Workspace,
    prose: Prose,
    *,
    kind: str | None = None,
    text: str | None = None,
    commands: Sequence[str] | None = None,
    tell: Callable[[str], None] | None = None,
) -> tuple[Book, Entry]:
    """Add an entry without running anything: a note, a decision, an incident; with `commands` a plan, whose commands
    `run --id` executes later. A `text` is its title, or a field where it has several lines, is long, or there is a
    title.

    What came out when planned commands were tried before is told by `tell`; without it, by a warning.
    """
    # Without its secrets: one that a title cuts off would no longer be known.
    prose = _with_text(prose, workspace.redactor.text(text or ""))
    if not (title := prose.title):
        raise UsageError("an entry needs a title", cause="no text and no --title was given", hint="--title '...'")
    is_plan = commands is not None
    book = workspace.book()
    if is_plan:
        check_required(workspace, prose, None)
    prose = with_relations(book, prose)
    here = place_of(workspace.cwd, workspace)
    planned = [structs.replace(parse_planned(c, place=n), cwd=here) for n, c in enumerate(commands or (), 1)]
    for command in planned:
        workspace.learn_secrets({}, command.argv)
    draft = draft_entry(
        workspace,
        prose,
        title=title,
        kind=kind or ("experiment" if is_plan else "note"),
        state="planned" if is_plan else None,
        commands=planned,
    )
    words = [planned_words(command)[1] for command in planned]
    for line in tried_before(workspace, book, words, {}, measured=True) if words else ():
        (tell or workspace.warnings.append)(line)
    with changing(workspace, book):
        made = create_entry(workspace, book, draft)
    if made.supersedes is not None:
        workspace.warnings += read(workspace, book).doubts
    return book, made


def written(book: Book, entry: Entry) -> dict[str, object]:
    """The answer of `note` and `edit` for machines."""
    return {
        "id": entry.id,
        "title": entry.title,
        "kind": entry.kind,
        "entry": str(book.entry_path(entry.id)),
        "view": str(book.view_path),
    }


def _with_text(prose: Prose, text: str) -> Prose:
    lines = text.strip().splitlines()
    if not lines:
        return prose
    title = prose.title or cut_line(one_line(lines[0]), _TITLE_CHARS)
    if prose.title or len(lines) > 1 or title != one_line(lines[0]):
        prose = structs.replace(prose, fields=(f"{NOTE}={text}", *prose.fields))
    return structs.replace(prose, title=title)


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
        new = with_next_at(record, new, workspace.stamp())
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
    if given.casefold() == COMPUTED:
        return None
    state = next((s for s in SETTABLE_STATES if s == given.casefold()), None)
    if state is None:
        raise UsageError(
            f"{given!r} cannot be set",
            cause=f"you can set {', '.join(SETTABLE_STATES)}, or computed; other states follow from the runs",
            hint=choice("--state", given, [*SETTABLE_STATES, "computed"]),
        )
    if state == "planned" and has_runs:
        raise UsageError(
            "an entry with runs is no longer planned",
            cause="its state follows from its runs",
            hint="plan the rest as a separate entry: logbook note --plan --title '...' --continues ID",
        )
    return state


COMPUTED = "computed"


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
    word = next((c for c in CONFIDENCES if c == given.casefold()), None)
    if word is None:
        raise UsageError(
            f"unknown confidence {given!r}",
            cause=f"it is one of {', '.join(CONFIDENCES)}, or {COMPUTED}",
            hint="--confidence exploratory",
        )
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
