"""`logbook snapshot` and `logbook close`."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Context, Option

from logbook_agent.cli.options import Common, Text, Texts, prose
from logbook_agent.cli.output import emit
from logbook_agent.issue.closing import close
from logbook_agent.issue.commands import DryRunOption, MaxWaitOption, sync_data, sync_text, warned, wire
from logbook_agent.issue.tag import SnapshotRequest, snapshot
from logbook_agent.model.errors import UsageError
from logbook_agent.model.header import Header


def snapshot_command(
    *,
    context: Context,
    name: Annotated[str, Argument(metavar="NAME", help="The tag's name.")],
    entry: Annotated[
        Texts, Option("--entry", metavar="ID", help="An entry that the tag covers; may be repeated. [all experiments]")
    ] = None,
    message: Annotated[Text, Option("--message", metavar="TEXT", help="The tag's message.")] = None,
    dry_run: DryRunOption = False,
    max_wait: MaxWaitOption = "15m",
    common: Common,
) -> None:
    """Tag the pushed commit, and tell the issue how to reproduce what stands there.

    Refused while there are changes outside the logbook, or HEAD is not pushed. Example: logbook snapshot moe-20260210
    """
    space = common.space()
    request = SnapshotRequest(name=name, entries=entry or (), message=message, dry_run=dry_run)
    with warned(space):
        result = snapshot(space, request, wire(context, max_wait))
    made = result.snapshot
    data = {
        "name": made.name,
        "commit": made.commit,
        "url": made.url,
        "created": result.created,
        "dry_run": dry_run,
        "sync": sync_data(result.synced, dry_run=False) if result.synced is not None else None,
    }
    done = ("would be created" if dry_run else "created") if result.created else "already exists"
    lines = [f"tag {made.name} at {made.commit[:9]}: {done}", made.url]
    if result.synced is not None:
        lines.append(sync_text(result.synced, dry_run=False))
    emit("snapshot", data, "\n".join(lines), as_json=common.as_json, warnings=space.warnings)


def close_command(
    *,
    context: Context,
    conclusion: Annotated[
        Text, Option("--conclusion", metavar="TEXT", help="What was found. Text, @FILE, or -.")
    ] = None,
    limitation: Annotated[
        Texts, Option("--limitation", metavar="TEXT", help="What it does not show; may be repeated.")
    ] = None,
    next_step: Annotated[
        Texts, Option("--next", metavar="TEXT", help="What should come next; may be repeated.")
    ] = None,
    reopen: Annotated[bool, Option("--reopen", help="Reopen the thread, and remove its closing words.")] = False,
    unmet: Annotated[bool, Option("--unmet", help="Close the thread although a stop criterion is not met.")] = False,
    local: Annotated[bool, Option("--local", help="Leave the issue to the next sync.")] = False,
    dry_run: DryRunOption = False,
    max_wait: MaxWaitOption = "15m",
    common: Common,
) -> None:
    """Close a thread: conclusion, limitations, next steps; a final comment, and the issue is closed.

    Refused while a stop criterion is not met (exit code 1). Warns of open entries and open next actions.
    Example: logbook close --conclusion @conclusion.md
    """
    space = common.space()
    if reopen and (conclusion or limitation or next_step):
        raise UsageError(
            "--reopen takes no conclusion", cause="reopening removes the last one", hint="logbook close --reopen"
        )
    with warned(space):
        result = close(
            space,
            wire(context, max_wait),
            conclusion=prose(conclusion),
            limitations=[prose(text) or "" for text in limitation or ()],
            next_steps=[prose(text) or "" for text in next_step or ()],
            reopen=reopen,
            local=local,
            dry_run=dry_run,
            unmet=unmet,
        )
    closing = result.header.closing
    data = {
        "logbook": result.book.topic,
        "closed": closing.at if closing is not None else None,
        "unmet_criteria": list(result.left.unmet),
        "not_finished": list(result.left.unfinished),
        "next_actions": list(result.left.next_actions),
        "dry_run": dry_run,
        "sync": sync_data(result.synced, dry_run=False) if result.synced is not None else None,
    }
    lines = [_closed(result.header, now=not dry_run)]
    if dry_run and closing is not None:
        lines.append(closing.conclusion.strip())
    if dry_run and result.header.issue is not None and not local:
        lines.append(f"and {result.header.issue.url} would be updated")
    if result.synced is not None:
        lines.append(sync_text(result.synced, dry_run=False))
    emit("close", data, "\n".join(lines), as_json=common.as_json, warnings=space.warnings)


def _closed(header: Header, *, now: bool) -> str:
    state = "closed" if header.closing is not None else "open again"
    return f"{header.topic} {'is' if now else 'would be'} {state}"
