"""`logbook plan`, `note` and `edit`."""

from __future__ import annotations

from typing import Annotated

import typer

from logbook_agent.cli.options import (
    CompletesOption,
    ContinuesOption,
    FieldOption,
    HypothesisOption,
    InterpretationOption,
    JsonOption,
    LogbookOption,
    NextOption,
    ResultOption,
    RootOption,
    SupersedesOption,
    TitleOption,
    prose,
    read_prose,
    workspace,
)
from logbook_agent.cli.output import emit, say
from logbook_agent.entries.entries import EditRequest, edit, note, plan
from logbook_agent.model.entry import Entry
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace


def plan_command(
    title: TitleOption = None,
    hypothesis: HypothesisOption = None,
    command: Annotated[
        list[str] | None,
        typer.Option("--command", metavar="'LABEL: CMD'", help="A command to execute later; may be repeated."),
    ] = None,
    shell: Annotated[bool, typer.Option("--shell", help="The commands are shell text, run by /bin/sh.")] = False,
    interpretation: InterpretationOption = None,
    next_action: NextOption = None,
    field: FieldOption = None,
    continues: ContinuesOption = None,
    completes: CompletesOption = None,
    supersedes: SupersedesOption = None,
    logbook: LogbookOption = None,
    root: RootOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write down an experiment to be run later.

    Example: logbook plan --title "First A/B" --command "Baseline: python bench.py --quant-mode none"
    """
    space = workspace(logbook, root)
    words = read_prose(
        title=title,
        hypothesis=hypothesis,
        interpretation=interpretation,
        next_action=next_action,
        fields=field,
        continues=continues,
        completes=completes,
        supersedes=supersedes,
    )
    book, entry = plan(space, words, command or (), shell=shell, tell=None if as_json else _tell)
    then = f"run it with: logbook run --id {entry.id}"
    _written("plan", space, book, entry, f"planned {entry.id} {entry.title}\n{then}", as_json)


def note_command(
    title: TitleOption = None,
    kind: Annotated[
        str, typer.Option("--kind", metavar="KIND", help="experiment, note, decision or incident.")
    ] = "note",
    hypothesis: HypothesisOption = None,
    result: ResultOption = None,
    interpretation: InterpretationOption = None,
    next_action: NextOption = None,
    field: FieldOption = None,
    continues: ContinuesOption = None,
    completes: CompletesOption = None,
    supersedes: SupersedesOption = None,
    logbook: LogbookOption = None,
    root: RootOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add an entry without a command.

    Example: logbook note --title "Host unreachable" --kind incident --field "Impact=no A/B today"
    """
    space = workspace(logbook, root)
    words = read_prose(
        title=title,
        hypothesis=hypothesis,
        result=result,
        interpretation=interpretation,
        next_action=next_action,
        fields=field,
        continues=continues,
        completes=completes,
        supersedes=supersedes,
    )
    book, entry = note(space, words, kind=kind)
    _written("note", space, book, entry, f"noted {entry.id} {entry.title}", as_json)


def edit_command(
    entry_id: Annotated[str, typer.Argument(metavar="ID", help="The entry to change.")],
    title: TitleOption = None,
    hypothesis: HypothesisOption = None,
    result: ResultOption = None,
    interpretation: InterpretationOption = None,
    next_action: NextOption = None,
    field: FieldOption = None,
    confidence: Annotated[
        str | None,
        typer.Option("--confidence", metavar="WORD", help="exploratory, replicated, stable, or computed."),
    ] = None,
    reason: Annotated[
        str | None,
        typer.Option("--reason", metavar="TEXT", help="Why the confidence differs from what the runs show."),
    ] = None,
    state: Annotated[
        str | None,
        typer.Option("--state", metavar="STATE", help="planned, blocked, abandoned, void, or computed."),
    ] = None,
    append: Annotated[bool, typer.Option("--append", help="Add to the fields instead of replacing them.")] = False,
    continues: ContinuesOption = None,
    completes: CompletesOption = None,
    supersedes: SupersedesOption = None,
    logbook: LogbookOption = None,
    root: RootOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change the prose, confidence or state of an entry.

    An empty text removes a field. Example: logbook edit MOE-I8-002 --interpretation "no difference seen"
    """
    space = workspace(logbook, root)
    words = read_prose(
        title=title,
        hypothesis=hypothesis,
        result=result,
        interpretation=interpretation,
        next_action=next_action,
        fields=field,
        continues=continues,
        completes=completes,
        supersedes=supersedes,
    )
    request = EditRequest(prose=words, confidence=confidence, reason=prose(reason), state=state, append=append)
    book, entry = edit(space, entry_id, request)
    _written("edit", space, book, entry, f"changed {entry.id} {entry.title}", as_json)


def _tell(line: str) -> None:
    say(line)


def _written(command: str, space: Workspace, book: Book, entry: Entry, text: str, as_json: bool) -> None:
    data = {
        "id": entry.id,
        "title": entry.title,
        "kind": entry.kind,
        "entry": str(book.entry_path(entry.id)),
        "view": str(book.view_path),
    }
    emit(command, data, text, as_json=as_json, warnings=space.warnings)
