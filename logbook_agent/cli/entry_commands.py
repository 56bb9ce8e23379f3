"""`logbook note` and `edit`."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from logbook_agent.cli.options import Common, FreeOption, GateOption, ResultOption, Text, Texts, Words, prose
from logbook_agent.cli.output import emit, say
from logbook_agent.entries.entries import EditRequest, edit, note, written
from logbook_agent.entries.judging import Judging, change_header
from logbook_agent.model.codec import encode
from logbook_agent.model.entry import Entry
from logbook_agent.model.errors import UsageError
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
        if text is not None or command is not None:
            raise UsageError(
                "--release cannot be used with a text or --command",
                cause="it ends the claim of a plan that is there, and adds no entry",
                hint=f"logbook note --plan --release {release}",
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


def edit_command(
    *,
    entry_id: Annotated[
        Text,
        Argument(
            metavar="[ID]", help="The entry to change; without it, gates, free labels and metrics of the logbook."
        ),
    ] = None,
    words: Words,
    result: ResultOption = None,
    confidence: Annotated[
        Text, Option("--confidence", metavar="WORD", help="exploratory, replicated, stable, or computed.")
    ] = None,
    reason: Annotated[
        Text,
        Option(
            "--reason",
            metavar="TEXT",
            help="Why the entry is void, its confidence differs from what the runs show, or gates or metrics change.",
        ),
    ] = None,
    state: Annotated[
        Text,
        Option(
            "--state",
            metavar="STATE",
            help="planned, blocked, abandoned, void (the entry does not count), or computed.",
        ),
    ] = None,
    append: Annotated[bool, Option("--append", help="Add to the fields instead of replacing them.")] = False,
    gate: GateOption = None,
    free: FreeOption = None,
    metric: Annotated[
        Texts,
        Option(
            "--metric",
            metavar="NAME[:max|min][:UNIT]",
            help="Declare or redeclare a metric of the logbook; repeatable.",
        ),
    ] = None,
    drop: Annotated[
        Texts, Option("--drop", metavar="TEXT", help="Remove a gate, a free label or a metric; repeatable.")
    ] = None,
    accept: Annotated[
        Text, Option("--accept", metavar="WHY", help="Let the withheld numbers of the entry count, and say why.")
    ] = None,
    run: Annotated[
        list[int] | None, Option("--run", metavar="N", help="With --accept: only the numbers of run N; repeatable.")
    ] = None,
    common: Common,
) -> None:
    """Change the prose, confidence or state of an entry, or the gates and metrics that judge results.

    An empty text removes a field or a relation. Example: logbook edit MOE-I8-002 --interpretation "no difference seen"

    A gate is what a row must fulfil to count. Example: logbook edit --gate "ok == 1" --reason "wrong outputs were fast"
    """
    space = common.space()
    judging = Judging(
        gates=gate or (), free=free or (), metrics=metric or (), drop=drop or (), accept=prose(accept), runs=run or ()
    )
    if entry_id is None:
        book = space.book()
        header = change_header(space, book, judging, prose(reason))
        parts = {name: encode(getattr(header, name)) for name in ("gates", "free", "metrics", "changes")}
        text = f"changed {book.topic}: {header.changes[-1].what}"
        emit("edit", {"logbook": book.topic, **parts}, text, as_json=common.as_json, warnings=space.warnings)
        return
    if metric is not None:
        raise UsageError(
            f"{entry_id} has no metrics of its own",
            cause="the logbook declares the metrics of all entries",
            hint=f"logbook edit --metric {metric[0]} --reason '...'",
        )
    request = EditRequest(
        prose=words.read(result=result),
        confidence=confidence,
        reason=prose(reason),
        state=state,
        append=append,
        judging=judging,
    )
    book, entry = edit(space, entry_id, request)
    _written("edit", space, book, entry, f"changed {entry.id} {entry.title}", common.as_json)


def _written(command: str, space: Workspace, book: Book, entry: Entry, text: str, as_json: bool) -> None:
    emit(command, written(book, entry), text, as_json=as_json, warnings=space.warnings)
