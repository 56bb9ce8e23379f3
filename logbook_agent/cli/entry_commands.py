"""`logbook note` and `edit`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from typer import Argument, Option

from logbook_agent.cli.options import (
    Common,
    FreeOption,
    ResultOption,
    ScopeOptions,
    Text,
    Texts,
    Words,
    given_options,
    prose,
)
from logbook_agent.cli.output import emit, say
from logbook_agent.entries.entries import EditRequest, edit, note, written
from logbook_agent.entries.header_change import LISTS, ScopeChange, change_scope
from logbook_agent.entries.judging import Judging
from logbook_agent.model.codec import encode
from logbook_agent.model.entry import Entry
from logbook_agent.model.errors import UsageError, exclusive
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace


def note_command(
    *,
    text: Annotated[
        Text, Argument(metavar="[TEXT]", help="What to note, or @FILE or -. Its first line is the title.")
    ] = None,
    words: Words,
    kind: Annotated[
        Text,
        Option("--kind", metavar="KIND", help="experiment, note, decision or incident. [note; of a plan: experiment]"),
    ] = None,
    result: ResultOption = None,
    plan: Annotated[bool, Option("--plan", help="Plan an experiment; `logbook run --id ID` runs it later.")] = False,
    command: Annotated[
        Texts,
        Option("--command", metavar="'LABEL: CMD'", help="A command of a plan; the label is optional; repeatable."),
    ] = None,
    release: Annotated[
        Text,
        Option("--release", metavar="ID", help="End the claim on a plan whose process is gone or on another machine."),
    ] = None,
    common: Common,
) -> None:
    """Add an entry without running anything.

    Example: logbook note "Host unreachable" --kind incident --field "Impact=no A/B today"

    Example: logbook note --plan "First A/B" --command "Baseline: python bench.py --quant-mode none"
    """
    space = common.space()
    if release is not None:
        exclusive(
            {"--release": release, "TEXT": text, "--command": command},
            cause="--release ends the claim of a plan that is there, and adds no entry",
            hint=f"logbook note --release {release}",
        )
        _release(space, release, as_json=common.as_json)
        return
    is_plan = plan or command is not None
    book, entry = note(
        space,
        words.read(result=result),
        kind=kind,
        text=prose(text),
        commands=command or () if is_plan else None,
        tell=None if common.as_json else say,
    )
    said = f"noted {entry.id} {entry.title}"
    if is_plan:
        said = f"planned {entry.id} {entry.title}\nrun it with: logbook run --id {entry.id}"
    _written("plan" if is_plan else "note", space, book, entry, said, common.as_json)


def _release(space: Workspace, entry_id: str, *, as_json: bool) -> None:
    """End the claim of a plan, so that it can be executed."""
    book = space.book(entry_id)
    entry_id = book.resolve(entry_id)
    before = book.claims.release(entry_id)
    claim = before.claim
    if claim is not None and claim.is_held:
        space.warnings.append(f"{claim.text} may still execute {entry_id}; to stop it: logbook cancel {entry_id}")
    who = f"released {entry_id}: it was claimed by {claim.text}" if claim is not None else f"nobody claims {entry_id}"
    rooms = sorted({one.root for one in before.executed.values()})
    text = f"{who}; it was executed in {', '.join(rooms)}" if rooms else who
    data = {"id": entry_id, "claim": claim.data() if claim is not None else None, "executed_in": rooms}
    emit("release", data, text, as_json=as_json, warnings=space.warnings)


@dataclass(frozen=True, kw_only=True)
class EntryEdit:
    """What only an entry has, beside its words, as options."""

    result: ResultOption = None
    confidence: Annotated[
        Text, Option("--confidence", metavar="WORD", help="exploratory, replicated, stable, or computed.")
    ] = None
    state: Annotated[
        Text,
        Option(
            "--state",
            metavar="STATE",
            help="planned, blocked, abandoned, void (the entry does not count), or computed.",
        ),
    ] = None
    append: Annotated[bool, Option("--append", help="Add to the fields instead of replacing them.")] = False
    accept: Annotated[
        Text, Option("--accept", metavar="WHY", help="Let the withheld numbers of the entry count, and say why.")
    ] = None
    run: Annotated[
        Texts, Option("--run", metavar="N", help="With --accept: only the numbers of run N; repeatable.")
    ] = None

    def request(self, words: Words, scope: JudgingScope, reason: str | None) -> EditRequest:
        """What is asked of an entry, the options read."""
        return EditRequest(
            prose=words.read(result=self.result),
            confidence=self.confidence,
            reason=prose(reason),
            state=self.state,
            append=self.append,
            judging=Judging(
                gates=scope.gate or (),
                free=scope.free or (),
                drop=scope.drop or (),
                accept=prose(self.accept),
                runs=self.run or (),
            ),
        )


@dataclass(frozen=True, kw_only=True)
class JudgingScope(ScopeOptions):
    """The scope of a logbook with what judges its results, as options; gates, labels and drops are those of an entry,
    too."""

    free: FreeOption = None
    drop: Annotated[
        Texts,
        Option(
            "--drop",
            metavar="NAME",
            help="Remove a gate, label, metric, constraint, link, axis or template; repeatable.",
        ),
    ] = None

    def of_logbook(self) -> list[str]:
        """The options that were typed and that an entry does not have."""
        return [option for option in given_options(self) if option not in ("--gate", "--free", "--drop")]

    def change(self, title: str | None) -> ScopeChange:
        """What is asked of the header, the options read."""
        return ScopeChange(
            title=prose(title),
            goal=prose(self.goal),
            metrics=self.metric or (),
            gates=self.gate or (),
            free=self.free or (),
            constraints=self.constraints(),
            links=self.link or (),
            matrix=self.matrix or (),
            templates=self.template or (),
            drop=self.drop or (),
        )


def edit_command(
    *,
    entry_id: Annotated[
        Text, Argument(metavar="[ID]", help="The entry to change; without it, the header of the logbook.")
    ] = None,
    words: Words,
    parts: EntryEdit,
    scope: JudgingScope,
    reason: Annotated[
        Text,
        Option(
            "--reason",
            metavar="TEXT",
            help="Why the entry is void, its confidence differs from what the runs show, or the header changes.",
        ),
    ] = None,
    common: Common,
) -> None:
    """Change an entry, or without ID the header of the logbook.

    An empty text removes a field or a relation. Example: logbook edit MOE-I8-002 --interpretation "no difference seen"

    A change of the header needs --reason, and is a decision in the log. An item of the same name is replaced.
    Example: logbook edit --gate "ok == 1" --reason "wrong outputs were fast"
    """
    space = common.space()
    if entry_id is None:
        _edit_header(space, words, parts, scope, reason, as_json=common.as_json)
        return
    if others := scope.of_logbook():
        raise UsageError(
            f"{others[0]} is of the whole logbook, not of {entry_id}",
            cause="an entry has no goal, metrics or constraints of its own",
            hint=f"logbook edit {others[0]} ... --reason '...'",
        )
    book, entry = edit(space, entry_id, parts.request(words, scope, reason))
    _written("edit", space, book, entry, f"changed {entry.id} {entry.title}", common.as_json)


def _edit_header(
    space: Workspace, words: Words, parts: EntryEdit, scope: JudgingScope, reason: str | None, *, as_json: bool
) -> None:
    if others := [option for option in (*given_options(words), *given_options(parts)) if option != "--title"]:
        raise UsageError(
            f"{others[0]} needs the ID of an entry",
            cause="without an ID, only the header of the logbook can be changed",
            hint=f"logbook edit ID {others[0]} ...; logbook list shows the IDs",
        )
    change, book = scope.change(words.title), space.book()
    entry = change_scope(space, book, change, prose(reason))
    header = book.header
    data = {name: encode(getattr(header, name)) for name in ("title", "goal", *LISTS)}
    text = f"changed {book.topic}: {change.what} ({entry.id})"
    emit("edit", {"logbook": book.topic, "id": entry.id, **data}, text, as_json=as_json, warnings=space.warnings)


def _written(command: str, space: Workspace, book: Book, entry: Entry, text: str, as_json: bool) -> None:
    emit(command, written(book, entry), text, as_json=as_json, warnings=space.warnings)
