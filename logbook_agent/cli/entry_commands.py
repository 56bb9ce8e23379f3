"""`logbook note` and `edit`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import structs, to_builtins

from logbook_agent.cli.options import (
    FREE,
    Common,
    ScopeOptions,
    Text,
    Words,
    argument,
    flag,
    option,
    prose,
    prose_option,
    repeated,
    typed,
)
from logbook_agent.cli.output import say
from logbook_agent.entries.edit import EditRequest, Judging, edit
from logbook_agent.entries.header import LISTS, ScopeChange, change_scope
from logbook_agent.entries.new_entry import Prose, note, written
from logbook_agent.findings.advice import measure
from logbook_agent.findings.comparison.answer import Answer, Outcome
from logbook_agent.findings.comparison.answer_changes import answer_changes, change_lines
from logbook_agent.findings.read import read
from logbook_agent.model.codec import encode
from logbook_agent.model.errors import UsageError, exclusive
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.shell_words import command_line


class EntryWords(Words):
    """The words of an entry with its result: a `Prose`."""

    result = prose_option("--result TEXT", "Result in words; numbers come from runs.")


def note_command(
    *,
    text: Text = argument("[TEXT]", "What to note, or @FILE or -. Its first line is the title."),
    words: Annotated[Prose, EntryWords],
    kind: Text = option("--kind KIND", "experiment, note, decision or incident. [note; of a plan: experiment]"),
    plan: bool = flag("--plan", "Plan an experiment; `logbook run --id ID` runs it later."),
    command: Sequence[str] = repeated(
        "--command 'LABEL: CMD'", "A command of a plan; the label is optional; repeatable."
    ),
    release: Text = option("--release ID", "End the claim on a plan whose process is gone or on another machine."),
    common: Common,
) -> None:
    """Add an entry without running anything.

    Example: logbook note "Host unreachable" --kind incident --field "Impact=no A/B today"

    Example: logbook note --plan "First A/B" --command "Baseline: python bench.py --quant-mode none"
    """
    if release is not None:
        exclusive(
            {"--release": release, "TEXT": text, "--command": command},
            cause="--release ends the claim of a plan that is there, and adds no entry",
            hint=f"logbook note --release {release}",
        )
        _release(common, release)
        return
    is_plan = plan or bool(command)
    book, entry = note(
        common.space(),
        words,
        kind=kind,
        text=prose(text),
        commands=command if is_plan else None,
        tell=None if common.as_json else say,
    )
    said = f"noted {entry.id} {entry.title}"
    if is_plan:
        said = f"planned {entry.id} {entry.title}\nrun it with: logbook run --id {entry.id}"
    common.emit("plan" if is_plan else "note", written(book, entry), said)


def _release(common: Common, entry_id: str) -> None:
    """End the claim of a plan, so that it can be executed."""
    space = common.space()
    book = space.book(entry_id)
    entry_id = book.resolve(entry_id)
    before = book.claims.release(entry_id)
    claim = before.claim
    if claim is not None and book.claims.is_held(claim):
        space.warnings.append(f"{claim.text} may still execute {entry_id}; to stop it: logbook cancel {entry_id}")
    who = f"released {entry_id}: it was claimed by {claim.text}" if claim is not None else f"nobody claims {entry_id}"
    rooms = sorted({one.root for one in before.executed.values()})
    text = f"{who}; it was executed in {', '.join(rooms)}" if rooms else who
    record = book.record(entry_id)
    command = measure(record) if record.state == "planned" else ""
    text += f"\nto execute it here: {command}" if command else ""
    data = {"id": entry_id, "claim": claim.data() if claim is not None else None, "executed_in": rooms}
    data |= {"command": command} if command else {}
    common.emit("release", data, text)


class EntryParts:
    """What only an entry has, beside its words: an `EditRequest`."""

    confidence = option("--confidence WORD", "exploratory, replicated, stable, or computed.")
    state = option("--state STATE", "planned, blocked, abandoned, void (the entry does not count), or computed.")
    append = flag("--append", "Add to the fields instead of replacing them.")


class AcceptOptions:
    """What is accepted in an entry: a `Judging`."""

    accept = option("--accept WHY", "Let the withheld numbers of the entry count, and say why.", read=prose)
    runs = repeated("--run N", "With --accept: only the numbers of run N; repeatable.")


class JudgingScope(ScopeOptions):
    """The scope of a logbook, and what judges its results, as an entry has it, too: a `ScopeChange`."""

    free = FREE
    drop = repeated("--drop NAME", "Remove a gate, label, metric, constraint, link, axis or template; repeatable.")


def edit_command(
    *,
    entry_id: Text = argument("[ID]", "The entry to change; without it, the header of the logbook."),
    words: Annotated[Prose, EntryWords],
    parts: Annotated[EditRequest, EntryParts],
    accepted: Annotated[Judging, AcceptOptions],
    scope: Annotated[ScopeChange, JudgingScope],
    reason: Text = option(
        "--reason TEXT",
        "Why the entry is void, its confidence differs from what the runs show, or the header changes.",
        read=prose,
    ),
    common: Common,
) -> None:
    """Change an entry, or without ID the header of the logbook.

    An empty text removes a field or a relation. Example: logbook edit MOE-I8-002 --interpretation "no difference seen"

    A change of the header needs --reason, and is a decision in the log. An item of the same name is replaced.
    Example: logbook edit --gate "ok == 1" --reason "wrong outputs were fast"
    """
    if entry_id is None:
        of_entry = typed(EntryWords, words) + typed(EntryParts, parts) + typed(AcceptOptions, accepted)
        _edit_header(
            common, structs.replace(scope, title=words.title), [name for name in of_entry if name != "--title"], reason
        )
        return
    for name in typed(JudgingScope, scope):
        if name not in ("--gate", "--free", "--drop"):
            raise UsageError(
                f"{name} is of the whole logbook, not of {entry_id}",
                cause="an entry has no goal, metrics or constraints of its own",
                hint=f"logbook edit {name} ... --reason '...'",
            )
    judging = structs.replace(accepted, gates=scope.gates, free=scope.free, drop=scope.drop)
    space = common.space()
    before = _answers(space, space.book(entry_id)) if judging != Judging() else ()
    book, entry = edit(space, entry_id, structs.replace(parts, prose=words, reason=reason, judging=judging))
    changes = answer_changes(before, _answers(space, book)) if before else []
    data = written(book, entry) | ({"answers": [*map(to_builtins, changes)]} if changes else {})
    common.emit("edit", data, "\n".join([f"changed {entry.id} {entry.title}", *change_lines(changes)]))


def _answers(space: Workspace, book: Book) -> Sequence[Answer]:
    return read(space, book).answers


def _edit_header(common: Common, change: ScopeChange, others: Sequence[str], reason: str | None) -> None:
    """Change the header. Raises UsageError for `others`, options of entries that were typed."""
    if others:
        raise UsageError(
            f"{others[0]} needs the ID of an entry",
            cause="without an ID, only the header of the logbook can be changed",
            hint=f"logbook edit ID {others[0]} ...; logbook list shows the IDs",
        )
    space = common.space()
    book = space.book()
    before = _answers(space, book)
    entry, what = change_scope(space, book, change, reason)
    changes = answer_changes(before, _answers(space, book))
    data = {name: encode(getattr(book.header, name)) for name in ("title", "goal", *LISTS)}
    lines = [f"changed {book.topic}: {what} ({entry.id})", *change_lines(changes)]
    if change.gates and any(one.after == Outcome.OPEN for one in changes):
        dropped = command_line([word for gate in change.gates for word in ("--drop", gate)])
        lines.append(f"to take the gate back: logbook edit {dropped} --reason WHY")
    answers = [*map(to_builtins, changes)]
    common.emit("edit", {"logbook": book.topic, "id": entry.id, **data, "answers": answers}, "\n".join(lines))
