"""`logbook close`: the conclusion of a thread, or its reopening."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, TypeAlias

from msgspec import Struct, structs

from logbook_agent.cli.options import Common, flag, option, prose, prose_options
from logbook_agent.findings.open_steps import open_steps
from logbook_agent.findings.read import Findings, read
from logbook_agent.issue.commands import DRY_RUN, MAX_WAIT, pace_of, sync_data, sync_text, warned
from logbook_agent.issue.pace import Pace
from logbook_agent.issue.sync import SyncResult, sync_after
from logbook_agent.model.errors import LogbookError, UsageError
from logbook_agent.model.header import Closing, Header
from logbook_agent.model.record import GOING
from logbook_agent.pages.views import changing, with_numbers
from logbook_agent.store.book import Book
from logbook_agent.store.book_runs import open_series
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.markdown import clean, escape, one_line, plain
from logbook_agent.text.phrases import counted, listed

_SHOWN = 80


class NotMet(LogbookError):
    """A thread whose stop criteria are not met."""

    code = "criteria"


class CloseRequest(Struct, frozen=True, kw_only=True):
    """The options of `close`. Without a conclusion what was said before stands, and so do the limitations and next
    steps that are not given."""

    conclusion: str | None = None
    limitations: Sequence[str] = ()
    next_steps: Sequence[str] = ()
    reopen: bool = False
    unmet: bool = False
    local: bool = False
    dry_run: bool = False


# The loose ends of a thread, by their names in JSON: numbers of stop criteria that are not met, else IDs of entries.
Left: TypeAlias = Mapping[str, Sequence[int | str]]
_NOTHING_LEFT: Left = dict.fromkeys(
    ("unmet_criteria", "running", "not_finished", "open_comparisons", "next_actions"), ()
)


def close(workspace: Workspace, request: CloseRequest, pace: Pace) -> tuple[Header, Left, SyncResult | None]:
    """Write the end into the header, or take it back, warn about what is left, and update the issue, unless it is
    `local` (None: it was not updated). Raises NotMet, before anything is written, where an open thread has a stop
    criterion that is not met, unless `unmet` allows that."""
    book = workspace.book()
    before, found = book.header.closing, read(workspace, book)
    left = _left(found, book) if not request.reopen else _NOTHING_LEFT
    unmet, warnings = left["unmet_criteria"], _warnings(found, left) if not request.reopen else []
    if unmet and before is None and not (request.unmet or request.dry_run):
        raise NotMet(
            "; ".join(warnings[: len(unmet)]),
            cause="the thread ends when its stop criteria are met; nothing was closed",
            hint=f"if it is met: logbook criteria --met {unmet[0]} --evidence ID; to close the thread all"
            " the same, add --unmet",
        )
    closing = None if request.reopen else _closing(workspace, found, request)
    workspace.warnings += warnings
    if request.reopen and before is not None and book.header.issue is not None:
        workspace.warnings.append(f"to open the issue again, open it there: {book.header.issue.url}")
    if request.dry_run:
        # As its comment will show it.
        said = closing and structs.replace(closing, conclusion=with_numbers(found, closing.conclusion, plain=True))
        return _changed(book.header, said), left, None
    with changing(workspace, book):
        header = book.change_header(lambda h: _changed(h, closing))
    synced = None
    if not request.local and header.issue is not None:
        synced = sync_after(workspace, pace, f"{book.topic} is {_state(header)} here")
    return header, left, synced


def _state(header: Header) -> str:
    return "closed" if header.closing is not None else "open again"


def _closing(workspace: Workspace, found: Findings, request: CloseRequest) -> Closing:
    """The closing words; the limitations name the comparisons that no practical number of pairs settles."""
    closed, said = found.records.header.closing, clean(request.conclusion or "").strip("\n")
    kept = closed if not said.strip() else None
    if not said.strip() and kept is None:
        raise UsageError(
            "no conclusion",
            cause="closing needs a conclusion, even when nothing was found",
            hint="logbook close --conclusion '...' (text, @FILE or - for standard input)",
        )
    if kept is None and closed is not None and (closed.limitations or closed.next_steps):
        workspace.warnings.append("the limitations and next steps of the earlier conclusion went with it")
    limitations = _items(request.limitations) or (kept.limitations if kept is not None else ())
    hopeless = (
        escape(f"{one.entry}: {one.text}; no practical number of pairs would settle it")
        for one in found.opening.answers
        if one.is_hopeless
    )
    return Closing(
        at=workspace.stamp(),
        conclusion=said if kept is None else kept.conclusion,
        limitations=tuple(dict.fromkeys((*limitations, *hopeless))),
        next_steps=_items(request.next_steps) or (kept.next_steps if kept is not None else ()),
    )


def _items(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(text for text in map(clean, texts) if text.strip())


def _changed(header: Header, closing: Closing | None) -> Header:
    before = header.closing
    if before is not None and closing is not None and structs.replace(closing, at=before.at) == before:
        return header
    return structs.replace(header, closing=closing)


def _left(found: Findings, book: Book) -> Left:
    """The loose ends of a thread."""
    # Of a thread that is closed nothing is left to do; it may be closed once more.
    thread = structs.replace(found.thread, header=structs.replace(found.header, closing=None))
    # Between two of its runs, a series is held by its process alone.
    at_work = {*open_series(book), *(claim.entry for claim in book.claims.held())}
    going = {e["id"] for e in thread.open if e["state"] in GOING} | at_work
    unfinished = [e["id"] for e in thread.open if e["id"] not in going]
    compared = {step.entry for step in open_steps(thread, found.opening.answers) if step.kind == "comparison"}
    return {
        "unmet_criteria": [n for n, c in enumerate(found.header.stop_criteria, 1) if not c.met],
        "running": [e for e in thread.by_id if e in going],
        "not_finished": unfinished,
        "open_comparisons": [e for e in thread.by_id if e in compared - going and e not in unfinished],
        "next_actions": [e["id"] for e in thread.next_actions],
    }


def _warnings(found: Findings, left: Left) -> list[str]:
    """The loose ends of a thread as sentences, the criteria that are not met first."""
    criteria = [*enumerate(found.header.stop_criteria, 1)]
    running, unfinished, comparisons, actions = ([*map(str, left[name])] for name in [*_NOTHING_LEFT][1:])
    said = {
        counted(len(running), "entry is still running", "entries are still running"): running,
        "not finished": unfinished,
        counted(len(comparisons), "comparison is open", "comparisons are open"): comparisons,
        "next action not taken up": actions,
    }
    return [
        *(f"stop criterion {n} is not met: {one_line(c.text)[:_SHOWN]}" for n, c in criteria if not c.met),
        *(f"stop criterion {n} {c.doubt}" for n, c in criteria if c.met and c.doubt is not None),
        *(f"{text}: {listed(ids, 3)}" for text, ids in said.items() if ids),
    ]


# -- the command --------------------------------------------------------------------------------------


class CloseOptions:
    """How a thread ends: a `CloseRequest`."""

    conclusion = option("--conclusion TEXT", "What was found. Text, @FILE, or -.", read=prose)
    limitations = prose_options("--limitation TEXT", "What it does not show; may be repeated.")
    next_steps = prose_options("--next TEXT", "What should come next; may be repeated.")
    reopen = flag("--reopen", "Reopen the thread, and remove its closing words.")
    unmet = flag("--unmet", "Close the thread although a stop criterion is not met.")
    local = flag("--local", "Leave the issue to the next sync.")
    dry_run = DRY_RUN


def close_command(
    *, request: Annotated[CloseRequest, CloseOptions], max_wait_s: float = MAX_WAIT, common: Common
) -> None:
    """Close a thread: conclusion, limitations, next steps; a final comment, and the issue is closed.

    Refused while a stop criterion is not met (exit code 1). Warns of entries that run or are not finished, open
    comparisons and open next actions.
    Example: logbook close --conclusion @conclusion.md
    """
    space = common.space()
    if request.reopen and (request.conclusion or request.limitations or request.next_steps):
        raise UsageError(
            "--reopen takes no conclusion", cause="reopening removes the last one", hint="logbook close --reopen"
        )
    with warned(space):
        header, left, synced = close(space, request, pace_of(common, space, max_wait_s))
    data = {
        "logbook": header.topic,
        "closed": header.closing.at if header.closing is not None else None,
        **{name: list(some) for name, some in left.items()},
        "dry_run": request.dry_run,
        "sync": sync_data(synced, dry_run=False) if synced is not None else None,
    }
    is_refused = left["unmet_criteria"] and not request.unmet and space.book().header.closing is None
    needs = ", with --unmet" if request.dry_run and is_refused else ""
    lines = [f"{header.topic} {'would be' if request.dry_run else 'is'} {_state(header)}{needs}"]
    if request.dry_run and header.closing is not None:
        lines += [
            header.closing.conclusion.strip(),
            *(f"limitation: {plain(text)}" for text in header.closing.limitations),
        ]
    if request.dry_run and header.issue is not None and not request.local:
        lines.append(f"and {header.issue.url} would be updated")
    lines += [sync_text(synced)] if synced is not None else []
    common.emit("close", data, "\n".join(lines))
