"""Writing entries: `plan`, `note` and `edit`."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from logbook_agent.entries.fields import edited_fields, parse_field, with_earlier_hypothesis, with_place_for_result
from logbook_agent.entries.tried_before import tried_before
from logbook_agent.findings.read import read
from logbook_agent.findings.said import is_long
from logbook_agent.model.entry import (
    HYPOTHESIS,
    INTERPRETATION,
    KINDS,
    NEXT_ACTION,
    RESULT,
    SETTABLE_STATES,
    Entry,
    Field,
    PlannedCommand,
    SettableState,
    is_withdrawn,
)
from logbook_agent.model.errors import UsageError
from logbook_agent.model.record import Record, record_of
from logbook_agent.pages.blocks import blocks_of
from logbook_agent.pages.views import changing
from logbook_agent.running.prepare import Command
from logbook_agent.store.book import Book
from logbook_agent.store.processes import life
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.markdown import clean, one_line
from logbook_agent.text.near import choice
from logbook_agent.text.words import planned_words, shell_syntax

# Of a long entry, so many runs show what a template makes of it.
_LAST_RUNS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Prose:
    """What a person says about an entry, in the options that `run`, `plan`, `note` and `edit` share."""

    title: str | None = None
    hypothesis: str | None = None
    result: str | None = None
    interpretation: str | None = None
    next_action: str | None = None
    fields: Sequence[str] = ()
    continues: str | None = None
    completes: str | None = None
    supersedes: str | None = None

    def field_list(self) -> list[Field]:
        """The fields that are set, in the order of the form."""
        return list(edited_fields((), self.given(), append=False))

    def given(self) -> list[tuple[str, str]]:
        """Labels and texts that were given; free ones come where the form has its middle (before
        Interpretation)."""
        front = [(HYPOTHESIS, self.hypothesis), (RESULT, self.result)]
        free = [(f.label, f.text) for f in map(parse_field, self.fields)]
        back = [(INTERPRETATION, self.interpretation), (NEXT_ACTION, self.next_action)]
        return [(label, text) for label, text in (*front, *free, *back) if text is not None]


def with_relations(book: Book, prose: Prose, own_id: str | None = None) -> Prose:
    """The prose with the present IDs of the entries it refers to (a former ID is accepted).

    Raises NotFound when one does not exist, UsageError when it is not an earlier one.
    """
    names = ("continues", "completes", "supersedes")
    targets = {name: book.resolve(target) for name in names if (target := getattr(prose, name)) is not None}
    order = book.entry_ids() if targets and own_id is not None else []
    for target in targets.values():
        if own_id in order and order.index(target) >= order.index(own_id):
            raise UsageError(
                f"{own_id} cannot refer to {target}",
                cause="an entry continues, completes or supersedes an earlier one",
                hint=f"say it the other way round: logbook edit {target} --supersedes {own_id}",
            )
    return dataclasses.replace(prose, **targets)


def check_required(workspace: Workspace, prose: Prose, label: str | None) -> None:
    """Raises UsageError when the project demands something that was not given."""
    given = {
        "title": prose.title,
        "hypothesis": prose.hypothesis,
        "interpretation": prose.interpretation,
        "next": prose.next_action,
        "label": label,
    }
    missing = [name for name in workspace.config.require if not given[name]]
    if missing:
        where = workspace.config.file.name if workspace.config.file else "the settings"
        raise UsageError(
            f"this project requires --{missing[0]}" + "".join(f" and --{m}" for m in missing[1:]),
            cause=f"`require` in {where}",
            hint=f"add: --{missing[0]} '...' (text, @FILE or - for standard input)",
        )


def create_entry(workspace: Workspace, book: Book, draft: Entry) -> Entry:
    """Reserve the next ID and write the entry; what it compares are its own rows. A template that does not fit is met
    before that."""
    draft = workspace.redacted_entry(draft)
    blocks_of(workspace, book).entry(record_of(draft, (), life))
    entry_id, warning = book.reserve_id(workspace.owner())
    if warning:
        workspace.warnings.append(warning)
    asked = tuple(dataclasses.replace(c, references=(entry_id,)) for c in draft.comparisons)
    entry = dataclasses.replace(draft, id=entry_id, comparisons=asked)
    book.write_entry(entry)
    return entry


def draft_entry(
    workspace: Workspace,
    prose: Prose,
    *,
    title: str,
    kind: str = "experiment",
    state: SettableState | None = None,
    commands: Sequence[PlannedCommand] = (),
) -> Entry:
    """An entry without an ID yet."""
    if kind not in KINDS:
        raise UsageError(
            f"unknown kind {kind!r}", cause=f"kinds are {', '.join(KINDS)}", hint=choice("--kind", kind, KINDS)
        )
    return Entry(
        id="",
        title=one_line(title),
        opened=workspace.stamp(),
        kind=kind,
        state=state,
        continues=prose.continues,
        completes=prose.completes,
        supersedes=prose.supersedes,
        commands=tuple(commands),
        fields=tuple(prose.field_list()),
    )


def plan(
    workspace: Workspace,
    prose: Prose,
    commands: Sequence[str],
    *,
    shell: bool = False,
    tell: Callable[[str], None] | None = None,
) -> tuple[Book, Entry]:
    """An entry whose commands are to be executed later with `run --id`.

    What came out when they were tried before is told by `tell`; without it, by a warning.
    """
    title = _title(prose, "plan")
    book = workspace.book()
    check_required(workspace, prose, None)
    prose = with_relations(book, prose)
    planned = [parse_planned(c, shell=shell) for c in commands]
    for command in planned:
        workspace.learn_secrets({}, command.argv)
    draft = draft_entry(workspace, prose, title=title, state="planned", commands=planned)
    for line in tried_before(workspace, book, [_as_prepared(workspace, c) for c in planned], {}, measured=True):
        (tell or workspace.warnings.append)(line)
    with changing(workspace, book):
        return book, create_entry(workspace, book, draft)


def _as_prepared(workspace: Workspace, planned: PlannedCommand) -> Command:
    """What a planned command would execute, here and as things are now; whether it can is not asked."""
    env, words = planned_words(planned)
    return Command(argv=words, executable="", shell=planned.shell, cwd=workspace.cwd, env=env)


def parse_planned(text: str, *, shell: bool) -> PlannedCommand:
    """`LABEL: CMD` or `CMD`. A label ends at the first `: `. With `shell` the command is shell text as it
    stands; without, it is words, and one that would mean more to a shell is refused."""
    label, separator, rest = text.partition(": ")
    if not separator or "=" in label or len(label) > 60 or not rest.strip():
        label, rest = "", text
    if not rest.isprintable() and clean(rest) != rest.rstrip("\n "):
        raise UsageError(
            f"cannot record the command {one_line(rest)!r}",
            cause="it contains control characters, or bytes that are not UTF-8",
            hint="put it into a script and plan that, or run it now: logbook run -- CMD",
        )
    argv = (rest.strip(),) if shell else _words(rest)
    if not any(argv):
        raise UsageError("--command is empty", cause="there is nothing to run", hint="--command 'LABEL: CMD ...'")
    return PlannedCommand(label=label.strip() or None, argv=argv, shell=shell)


def _words(command: str) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise UsageError(
            f"cannot parse the command {one_line(command)!r}: {error}",
            cause="a quote is not closed",
            hint="quote it as in a shell: --command \"Baseline: bash -lc 'a; b'\"",
        ) from error
    syntax = shell_syntax(command)
    if syntax is not None:
        raise UsageError(
            f"the command {one_line(command)!r} needs a shell: {syntax}",
            cause="a planned command runs without a shell, where that would be plain text",
            hint="add --shell to run it with /bin/sh, quote it, or name the shell: bash -lc '...'",
        )
    return words


def note(workspace: Workspace, prose: Prose, *, kind: str) -> tuple[Book, Entry]:
    """An entry without a command: a kickoff, an observation, a decision, an incident."""
    title = _title(prose, "note")
    book = workspace.book()
    prose = with_relations(book, prose)
    draft = draft_entry(workspace, prose, title=title, kind=kind)
    with changing(workspace, book):
        return book, create_entry(workspace, book, draft)


def _title(prose: Prose, what: str) -> str:
    if not prose.title:
        raise UsageError(f"a {what} needs a title", cause="--title is missing", hint=f"logbook {what} --title '...'")
    return prose.title


@dataclass(frozen=True, slots=True, kw_only=True)
class EditRequest:
    """What `edit` changes; None leaves a part as it is, an empty text removes a field. `reason` is that of the
    confidence."""

    prose: Prose
    confidence: str | None = None
    reason: str | None = None
    state: str | None = None
    append: bool = False


def edit(workspace: Workspace, entry_id: str, request: EditRequest) -> tuple[Book, Entry]:
    """Change prose, confidence or state of an entry. Facts of runs cannot be edited."""
    # Runs and notes have no use for them.
    from logbook_agent.entries.confidence import stated_confidence

    book = workspace.book(entry_id)
    prose = with_relations(book, request.prose, entry_id)
    with changing(workspace, book), book.lock():
        old = book.entry(entry_id)
        entry_id = old.id
        record = _to_check(book, old, request)
        word, reason = stated_confidence(record, book.header.metrics, request.confidence, request.reason)
        new = dataclasses.replace(
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
            continues=prose.continues or old.continues,
            completes=prose.completes or old.completes,
            supersedes=prose.supersedes or old.supersedes,
        )
        new = with_earlier_hypothesis(record, new, workspace.stamp())
        if new == old:
            raise UsageError(
                f"nothing to change in {entry_id}",
                cause="no option was given, or the entry says so already",
                hint=f"logbook edit {entry_id} --interpretation '...'",
            )
        new = workspace.redacted_entry(new)
        blocks_of(workspace, book).entry(dataclasses.replace(record, entry=new))
        book.write_entry(new)
    if is_withdrawn(new.state):
        workspace.warnings += read(workspace, book).doubts
    if prose.result and any(row.metrics for status in record.runs for row in status.run.rows):
        workspace.warnings.append(
            f"the numbers of {new.id} still come from its runs; what was given stands beside them as words"
        )
    return book, new


def _to_check(book: Book, entry: Entry, request: EditRequest) -> Record:
    """The record by which a change is checked. What a template makes of it can be seen by the last runs of many; how
    sure the runs are, by all."""
    numbers = book.run_numbers(entry.id)
    if not is_long(len(numbers)) or request.confidence is not None or request.reason is not None:
        return record_of(entry, book.runs(entry.id), life)
    return record_of(entry, book.runs(entry.id, stamps=book.run_stamps(entry.id, numbers[-_LAST_RUNS:])), life)


def _state(given: str | None, old: SettableState | None, *, has_runs: bool) -> SettableState | None:
    if given is None:
        return old
    if given == "computed":
        return None
    if given not in SETTABLE_STATES:
        raise UsageError(
            f"{given!r} cannot be set",
            cause=f"a person sets {', '.join(SETTABLE_STATES)}, or computed; other states follow from the runs",
            hint=choice("--state", given, [*SETTABLE_STATES, "computed"]),
        )
    if given == "planned" and has_runs:
        raise UsageError(
            "an entry with runs is no longer planned",
            cause="its state follows from its runs",
            hint="plan the rest as a separate entry: logbook plan --title '...' --continues ID",
        )
    return given
