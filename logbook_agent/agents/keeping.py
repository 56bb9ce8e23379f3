"""`logbook keep` and `discard`: a decision on the code of an entry, in an entry of its own. No file of the code and no
other record is changed."""

from __future__ import annotations

from msgspec import Struct, structs

from logbook_agent.agents.kept_commit import code_of, commit_of, completing, is_in, to_commit, undo
from logbook_agent.entries.new_entry import Prose, create_entry, draft_entry, edited_fields, with_relations
from logbook_agent.findings.advice import measure
from logbook_agent.findings.comparison.answer import Outcome
from logbook_agent.findings.comparison.words import sentence
from logbook_agent.findings.read import Findings, read
from logbook_agent.findings.thread import ENDED_BADLY, closes
from logbook_agent.model.entry import DECISION, NEXT_ACTION, VOID, Entry
from logbook_agent.model.errors import UsageError
from logbook_agent.model.record import Record
from logbook_agent.model.summary import Summary
from logbook_agent.pages.views import changing
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.markdown import cut_line, one_line
from logbook_agent.text.phrases import listed

_TITLE_CHARS = 100
_SHOWN = 3
_MOST_BYTES = 2**24
_GOES_ON = ("running", "submitted", "orphaned")


class DecisionRequest(Struct, frozen=True, kw_only=True):
    """Whether the code of the entry `about` is `kept`, and why; the `commit` that holds it, where it was named."""

    about: str
    kept: bool
    why: str | None = None
    commit: str | None = None


class Decided(Struct, frozen=True, kw_only=True):
    """The decision as it was recorded, and the next action that it `closes`. Not `is_committed`: the commit of the code
    that was kept lacks changes of it. Not `is_in_head`: that commit is on another branch. `is_measured`: another commit
    was named, which holds the one that was measured. `undo`: what to type to take back what was discarded, but for the
    files of `left`, which were not measured as they are here, for the base's measured both sides."""

    entry: Entry
    closes: str | None = None
    is_committed: bool = True
    is_measured: bool = False
    is_in_head: bool = True
    undo: str = ""
    left: tuple[str, ...] = ()


_NO_COMMIT: tuple[None, list[str], bool] = (None, [], False)


def decide(workspace: Workspace, request: DecisionRequest) -> tuple[Book, Decided]:
    """Record a decision. Raises UsageError for an entry whose code cannot be decided on, and for a decision that
    stands already."""
    book = workspace.book(request.about)
    record = book.record(book.resolve(request.about))
    _check(record, request)
    found = read(workspace, book)
    code = code_of(record) if request.kept else code_of(record, ("finished", *ENDED_BADLY))
    ran = code if request.kept else None
    commit, lacks, is_dirty = commit_of(workspace, book, *ran, request.commit) if ran is not None else _NO_COMMIT
    earlier = _earlier(found, record.id)
    before = earlier["commit"] if earlier is not None and earlier["kept"] else None
    is_named = before is not None and request.kept
    # Its changes were not committed, or their commit was amended since.
    completes = ran is not None and (before == ran[1].commit or _is_moved(workspace, before, commit))
    if is_named and not (completes or request.commit):
        commit, lacks = before, []  # its changes were committed since
    is_measured = ran is not None and request.commit is not None and commit == ran[1].commit
    if earlier is not None and (earlier["kept"], earlier["commit"]) == (request.kept, commit) and not request.why:
        if is_measured:
            return book, Decided(entry=book.entry(earlier["id"]), is_measured=True)
        hint = f"logbook show {earlier['id']}"
        if lacks and ran is not None:
            hint = (
                "commit its changes, and type this again"
                if is_dirty
                else ": ".join(completing(workspace, book, found, record, *ran, lacks))
            )
        raise UsageError(
            f"{record.id} was {'kept' if request.kept else 'discarded'} already, by {earlier['id']}",
            cause=f"HEAD does not hold what it ran: {listed(lacks, _SHOWN)}" if lacks else "nothing has changed since",
            hint=hint,
        )
    if earlier is not None and earlier["kept"] and completes and before != commit:
        return book, Decided(entry=_completed(workspace, book, earlier["id"], commit, request))
    actions = [s for s in found.thread.next_actions if s["id"] == record.id and closes(s, workspace.stamp())]
    verb = "Keep" if request.kept else "Discard"
    prose = with_relations(book, Prose(decides=record.id, supersedes=earlier["id"] if earlier is not None else None))
    draft = draft_entry(
        workspace,
        prose,
        title=cut_line(f"{verb} {record.id}: {one_line(record.entry.title)}", _TITLE_CHARS),
        kind="decision",
    )
    left = to_commit(record.id) if lacks else ""
    fields = edited_fields((), [(DECISION, request.why or ""), (NEXT_ACTION, left)], append=False)
    with changing(workspace, book):
        made = create_entry(workspace, book, structs.replace(draft, fields=fields, kept=request.kept, commit=commit))
    if request.kept:
        workspace.warnings += _warned(found, record.id)
    stated = record.entry.comparison
    return book, Decided(
        entry=made,
        left=tuple(one.path for one in stated.evaluator if one.differed) if stated is not None else (),
        closes=actions[0]["next_lead"] if actions else None,
        is_committed=not lacks,
        is_measured=is_measured,
        is_in_head=commit is None or is_in(workspace, commit),
        undo=undo(workspace, book, record, *code) if not request.kept and code is not None else "",
    )


def _warned(found: Findings, kept: str) -> list[str]:
    """That the code of an entry is kept, though its comparison says that it is worse, that it failed, or nothing
    yet."""
    answer = found.comparisons.answer_of(kept)
    if answer is None:
        return []
    worse = [sentence(answer, f) for f in answer.goals if f.outcome is Outcome.WORSE]
    failed = [f"{side} failed: {next(iter(why))}" for side, why in answer.failed.items() if why]
    unsettled = [] if answer.is_settled else answer.reasons
    return [f"{kept} is kept, though {why}" for why in (*worse, *failed, *unsettled)[:1]]


def _check(record: Record, request: DecisionRequest) -> None:
    """Raise UsageError unless there is something to decide on."""
    if not request.kept and not (request.why or "").strip():
        raise UsageError(
            f"discarding {record.id} needs a reason",
            cause="later readers must know why it was given up, and when to try it again",
            hint=f"logbook discard {record.id} --why TEXT",
        )
    if record.entry.kind != "experiment" or record.state == VOID:
        what = "void" if record.state == VOID else f"a {record.entry.kind}"
        raise UsageError(
            f"{record.id} is {what}",
            cause="only the code of an experiment is kept or discarded",
            hint=f"logbook show {record.id}",
        )
    if record.state in _GOES_ON:
        raise UsageError(
            f"{record.id} is still running", cause="its result is not known yet", hint=f"logbook wait {record.id}"
        )
    if request.kept and not any(status.state == "finished" for status in record.runs):
        raise UsageError(
            f"{record.id} has no run that finished",
            cause="code is kept for what it measured",
            hint=f"logbook discard {record.id} --why TEXT" if record.runs else measure(record),
        )


def _is_moved(workspace: Workspace, before: str | None, commit: str | None) -> bool:
    """Whether HEAD holds a commit, and not the one that was named before."""
    return bool(before and commit and is_in(workspace, commit) and not is_in(workspace, before))


def _earlier(found: Findings, about: str) -> Summary | None:
    """The decision on the code of an entry that counts."""
    thread = found.thread
    decisions = [s for s in thread.summaries if s["decides"] == about and s["kept"] is not None]
    return next((s for s in reversed(decisions) if thread.standing[s["id"]].counts), None)


def _completed(workspace: Workspace, book: Book, decision: str, commit: str | None, request: DecisionRequest) -> Entry:
    """A decision to keep changes that were not committed, with the commit that holds them by now."""
    with changing(workspace, book), book.lock():
        entry = book.entry(decision)
        edits = [(DECISION, request.why)] if request.why else []
        if entry.text(NEXT_ACTION) == to_commit(entry.decides or ""):
            edits.append((NEXT_ACTION, ""))
        fields = edited_fields(entry.fields, edits, append=False)
        return book.write_entry(structs.replace(entry, commit=commit, fields=fields))
