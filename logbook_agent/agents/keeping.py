"""`logbook keep` and `discard`: a decision on the code of an entry, in an entry of its own. No file of the code and no
other record is changed."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from logbook_agent.agents.kept_code import KeptCode, checkout_here, kept_code, run_of, same_files, tree_match, way_to
from logbook_agent.entries.drafts import Prose, create_entry, draft_entry, edited_fields, with_relations
from logbook_agent.findings.read import Findings, read
from logbook_agent.model.comparison import CODE_AXIS
from logbook_agent.model.entry import DECISION, VOID, Entry
from logbook_agent.model.errors import UsageError
from logbook_agent.model.record import Record
from logbook_agent.model.run import Run
from logbook_agent.model.summary import Summary
from logbook_agent.pages.views import changing
from logbook_agent.running.provenance.git import CodeLook
from logbook_agent.store.book import Book
from logbook_agent.store.repository import repository_of
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.markdown import cut_line, one_line

_TITLE_CHARS = 100
_GOES_ON = ("running", "submitted", "orphaned")


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRequest:
    """Whether the code of the entry `about` is `kept`, and why."""

    about: str
    kept: bool
    why: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """The decision as it was recorded, the next action that it `closes`, and what to type `to_return` to the code to
    work on from then on (empty: it is there). `needs_diff`: the recorded diff belongs to that code. Not `is_committed`:
    the commit lacks changes of it."""

    entry: Entry
    closes: str | None = None
    to_return: str = ""
    needs_diff: bool = False
    is_committed: bool = True


def decide(workspace: Workspace, request: DecisionRequest) -> tuple[Book, Decided]:
    """Record a decision. Raises UsageError for an entry whose code cannot be decided on, and for a decision that
    stands already."""
    book = workspace.book(request.about)
    record = book.record(book.resolve(request.about))
    _check(record, request)
    found = read(workspace, book)
    run = run_of(record)
    commit = _commit_kept(workspace, book, run) if request.kept else _commit_before(workspace, book, found, record, run)
    earlier = _earlier(found, record.id)
    if earlier is not None and (earlier["kept"], earlier["commit"]) == (request.kept, commit) and not request.why:
        raise UsageError(
            f"{record.id} was {'kept' if request.kept else 'discarded'} already, by {earlier['id']}",
            cause="nothing has changed since",
            hint="logbook status",
        )
    closes = next((s["next_lead"] for s in found.thread.next_actions if s["id"] == record.id), None)
    verb = "Keep" if request.kept else "Discard"
    prose = with_relations(book, Prose(decides=record.id, supersedes=earlier["id"] if earlier is not None else None))
    draft = draft_entry(
        workspace,
        prose,
        title=cut_line(f"{verb} {record.id}: {one_line(record.entry.title)}", _TITLE_CHARS),
        kind="decision",
    )
    fields = edited_fields((), [(DECISION, request.why or "")], append=False)
    with changing(workspace, book):
        made = create_entry(
            workspace, book, dataclasses.replace(draft, fields=fields, kept=request.kept, commit=commit)
        )
    return book, _decided(workspace, book, made, run, closes)


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
            hint=f"to take a decision back: logbook edit {record.id} --state void --reason TEXT",
        )
    if record.state in _GOES_ON:
        raise UsageError(
            f"{record.id} is still running", cause="its result is not known yet", hint=f"logbook wait {record.id}"
        )
    if request.kept and not any(status.state == "finished" for status in record.runs):
        raise UsageError(
            f"{record.id} has no run that finished",
            cause="code is kept for what it measured",
            hint=f"logbook run --id {record.id} -- COMMAND",
        )


def _earlier(found: Findings, about: str) -> Summary | None:
    """The decision on the code of an entry that counts."""
    thread = found.thread
    decisions = [s for s in thread.summaries if s["decides"] == about and s["kept"] is not None]
    return next((s for s in reversed(decisions) if thread.standing[s["id"]].counts), None)


def _commit_kept(workspace: Workspace, book: Book, run: Run | None) -> str | None:
    """The commit that holds the code of a run: HEAD, where changes that were not committed then are by now; else the
    one that it was made on."""
    code = run.code if run is not None else None
    if run is None or code is None or not code.dirty or not tree_match(workspace, book, run).is_same:
        return code.commit if code is not None else None
    here = CodeLook(workspace.cwd, workspace.root, run.command, workspace.environ).facts().code
    return here.commit if here.dirty is False else code.commit


def _commit_before(workspace: Workspace, book: Book, found: Findings, record: Record, run: Run | None) -> str | None:
    """The commit to return to from a discarded idea: that of the code kept last; else of the base of its comparison,
    the one without its changes, or the parent of its own."""
    kept = kept_code(book, found.thread)
    if kept is not None and kept.entry != record.id and kept.commit is not None:
        return kept.commit
    comparison, code = record.entry.comparison, run.code if run is not None else None
    if comparison is not None and comparison.question.axis == CODE_AXIS:
        base = comparison.question.base
        sides = [s.run.code for s in record.runs if s.run.part is not None and s.run.part.side == base]
        return next((one.commit for one in sides if one is not None and one.commit is not None), None)
    if code is None or code.commit is None or code.dirty:
        return code.commit if code is not None else None
    repository = repository_of(workspace.cwd)
    parents = checkout_here(repository, workspace).parents_of(code.commit) if repository is not None else ()
    return next(iter(parents), None)


def _decided(workspace: Workspace, book: Book, made: Entry, run: Run | None, closes: str | None) -> Decided:
    """The decision with the way to the code to work on from now on."""
    kept = kept_code(book, read(workspace, book).thread)
    if made.kept or (kept is not None and kept.commit == made.commit):
        is_there = kept is None or tree_match(workspace, book, kept.run).is_same
        way = "" if kept is None or is_there else _back(workspace, book, run, kept) or way_to(workspace, kept)
        return Decided(
            entry=made,
            closes=closes,
            to_return=way,
            needs_diff=kept is not None and kept.needs_diff,
            is_committed=kept is None or kept.is_committed,
        )
    base = KeptCode(
        decision=made.id, entry=made.decides or "", commit=made.commit, run=None, needs_diff=False, is_committed=True
    )
    return Decided(entry=made, closes=closes, to_return=_back(workspace, book, run, base) or way_to(workspace, base))


def _back(workspace: Workspace, book: Book, run: Run | None, target: KeptCode) -> str:
    """What takes the code of a run back where it is in the working tree and lies right on the target; else nothing."""
    code, repository = run.code if run is not None else None, repository_of(workspace.cwd)
    if run is None or code is None or code.commit is None or repository is None or run.entry == target.decision:
        return ""
    checkout = checkout_here(repository, workspace)
    if target.commit is None or target.needs_diff or checkout.commit_of("HEAD") != code.commit:
        return ""
    if not tree_match(workspace, book, run).is_same:
        return ""
    if code.dirty:
        return (
            f"logbook patch {run.entry} --undo" if same_files(workspace, repository, target.commit, code.commit) else ""
        )
    parents = checkout.parents_of(code.commit)
    is_parent = len(parents) == 1 and same_files(workspace, repository, target.commit, parents[0])
    return "git revert --no-edit HEAD" if is_parent else ""
