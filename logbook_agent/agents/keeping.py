"""`logbook keep` and `discard`: a decision on the code of an entry, in an entry of its own. No file of the code and no
other record is changed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, structs

from logbook_agent.entries.new_entry import Prose, create_entry, draft_entry, edited_fields, with_relations
from logbook_agent.findings.advice import ab_afresh, ab_codes, measure
from logbook_agent.findings.comparison.answer import Outcome
from logbook_agent.findings.comparison.words import sentence
from logbook_agent.findings.read import Findings, read
from logbook_agent.findings.thread import closes
from logbook_agent.model.code import Code
from logbook_agent.model.comparison import CODE_AXIS
from logbook_agent.model.entry import DECISION, NEXT_ACTION, VOID, Entry
from logbook_agent.model.errors import UsageError
from logbook_agent.model.record import Record
from logbook_agent.model.run import Run
from logbook_agent.model.summary import Summary
from logbook_agent.pages.views import changing
from logbook_agent.running.provenance.git import CodeFacts, CodeLook
from logbook_agent.running.provenance.git_calls import changed_in, read_git, try_git
from logbook_agent.running.provenance.named_files import files_named
from logbook_agent.running.provenance.worktrees import checkout_of
from logbook_agent.store.book import Book
from logbook_agent.store.places import repository_of
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
    was named, which holds the one that was measured."""

    entry: Entry
    closes: str | None = None
    is_committed: bool = True
    is_measured: bool = False
    is_in_head: bool = True


_NO_COMMIT: tuple[None, list[str], bool] = (None, [], False)


def decide(workspace: Workspace, request: DecisionRequest) -> tuple[Book, Decided]:
    """Record a decision. Raises UsageError for an entry whose code cannot be decided on, and for a decision that
    stands already."""
    book = workspace.book(request.about)
    record = book.record(book.resolve(request.about))
    _check(record, request)
    found = read(workspace, book)
    ran = _code_of(record) if request.kept else None
    commit, lacks, is_dirty = _commit_of(workspace, book, *ran, request.commit) if ran is not None else _NO_COMMIT
    earlier = _earlier(found, record.id)
    completes = earlier is not None and earlier["kept"] and ran is not None and earlier["commit"] == ran[1].commit
    is_named = earlier is not None and earlier["kept"] and earlier["commit"] is not None and request.kept
    if earlier is not None and is_named and not (completes or request.commit):
        commit, lacks = earlier["commit"], []  # its changes were committed since
    is_measured = ran is not None and request.commit is not None and commit == ran[1].commit
    if earlier is not None and (earlier["kept"], earlier["commit"]) == (request.kept, commit) and not request.why:
        if is_measured:
            return book, Decided(entry=book.entry(earlier["id"]), is_measured=True)
        hint = f"logbook show {earlier['id']}"
        if lacks and ran is not None:
            hint = (
                "commit its changes, and type this again" if is_dirty else _completing(workspace, record, *ran, lacks)
            )
        raise UsageError(
            f"{record.id} was {'kept' if request.kept else 'discarded'} already, by {earlier['id']}",
            cause=f"HEAD does not hold what it ran: {listed(lacks, _SHOWN)}" if lacks else "nothing has changed since",
            hint=hint,
        )
    if earlier is not None and completes and earlier["commit"] != commit:
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
    left = _to_commit(record.id) if lacks else ""
    fields = edited_fields((), [(DECISION, request.why or ""), (NEXT_ACTION, left)], append=False)
    with changing(workspace, book):
        made = create_entry(workspace, book, structs.replace(draft, fields=fields, kept=request.kept, commit=commit))
    if request.kept:
        workspace.warnings += _warned(found, record.id)
    return book, Decided(
        entry=made,
        closes=actions[0]["next_lead"] if actions else None,
        is_committed=not lacks,
        is_measured=is_measured,
        is_in_head=commit is None or _is_in(workspace, commit),
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


def _earlier(found: Findings, about: str) -> Summary | None:
    """The decision on the code of an entry that counts."""
    thread = found.thread
    decisions = [s for s in thread.summaries if s["decides"] == about and s["kept"] is not None]
    return next((s for s in reversed(decisions) if thread.standing[s["id"]].counts), None)


def _to_commit(about: str) -> str:
    """The next action of a decision to keep changes that are not committed."""
    return f"Commit the changes of {about}, then type `logbook keep {about}`"


def _completed(workspace: Workspace, book: Book, decision: str, commit: str | None, request: DecisionRequest) -> Entry:
    """A decision to keep changes that were not committed, with the commit that holds them by now."""
    with changing(workspace, book), book.lock():
        entry = book.entry(decision)
        edits = [(DECISION, request.why)] if request.why else []
        if entry.text(NEXT_ACTION) == _to_commit(entry.decides or ""):
            edits.append((NEXT_ACTION, ""))
        fields = edited_fields(entry.fields, edits, append=False)
        return book.write_entry(structs.replace(entry, commit=commit, fields=fields))


def _code_of(record: Record) -> tuple[Run, Code] | None:
    """The last finished run of an entry whose code is known, and that; of an A/B of code one of the tested side."""
    comparison = record.entry.comparison
    base = comparison.question.base if comparison is not None and comparison.question.axis == CODE_AXIS else None
    runs = [status.run for status in reversed(record.runs) if status.counts and status.state == "finished"]
    known = [(run, run.code) for run in runs if run.code is not None and run.code.identity is not None]
    return next((one for one in known if base is None or one[0].part is None or one[0].part.side != base), None)


def _commit_of(
    workspace: Workspace, book: Book, run: Run, code: Code, given: str | None
) -> tuple[str | None, list[str], bool]:
    """The commit that holds the code of a run: the one that it was made on, or the `given` one, or HEAD, where that has
    not got it, or has the changes that were not committed then; else the files that HEAD lacks. And whether something
    is not committed now."""
    if given is not None:
        named = _named(workspace, given)
        is_in = code.commit is not None and not code.dirty and _is_in(workspace, code.commit, named)
        return code.commit if is_in else named, [], False
    if not code.dirty and (code.commit is None or _is_in(workspace, code.commit)):
        return code.commit, [], False
    look = CodeLook(workspace.cwd, workspace.root, run.command, workspace.environ, workspace.config.code)
    here = look.facts()
    if here.code.dirty is False and here.code.identity == code.identity:
        return here.code.commit, [], False
    if not code.dirty:
        return code.commit, [], False
    lacks = _lacking(book, code, here, look)
    return (code.commit if lacks else here.code.commit), lacks, bool(here.code.dirty)


def _is_in(workspace: Workspace, commit: str, of: str = "HEAD") -> bool:
    """Whether a commit is in the history of another one; so it counts where there is no repository."""
    place = repository_of(workspace.cwd)
    ancestors = ["merge-base", "--is-ancestor", commit, of]
    return place is None or try_git(place.top, ancestors, workspace.environ) is not None


def _completing(workspace: Workspace, record: Record, run: Run, code: Code, lacks: Sequence[str]) -> str:
    """What to type where HEAD lacks files of the code that was kept: what brings them in, or, where HEAD has others in
    their place, a comparison of these with the code as it was before."""
    place, words = repository_of(workspace.cwd), ["diff", "--quiet", code.commit or "HEAD", "HEAD", "--", *lacks]
    if place is not None and read_git(place.top, words, workspace.environ).code == 0:
        return f"commit that, and type this again, after: logbook patch {record.id} --apply"
    named = {
        os.path.relpath(path, place.top if place else "/") for path in files_named(run.command, workspace.cwd).read
    }
    own = "--evaluator none" if named & {*lacks} else ""
    compare = ab_codes([(code.commit or "HEAD")[:9], "HEAD"], f"{record.id}/{run.run}", own)
    stated = record.entry.comparison
    if stated is not None and stated.question.axis == CODE_AXIS:
        compare = ab_afresh(record.id, new=False)
    return f"HEAD has another version, which was not measured; to compare it: {compare}"


def _named(workspace: Workspace, name: str) -> str:
    checkout = checkout_of(workspace.cwd, workspace.environ)
    found = checkout.commit_of(name)
    if found is None:
        cause, hint = checkout.lacking()
        raise UsageError(f"--commit {name}: not a commit of this clone", cause=cause, hint=hint)
    return found


def _lacking(book: Book, code: Code, here: CodeFacts, look: CodeLook) -> list[str]:
    """The files of code that a run had changed, and that HEAD has otherwise; the diff itself where it was not kept."""
    if code.diff_sha256 is not None and code.diff_kept is None:
        return ["its diff, which was too large to be kept"]
    diff = b""
    if code.diff_kept is not None:
        diff = book.files.read(book.folder / code.diff_kept, limit=_MOST_BYTES)
    changed = changed_in(diff)
    named = {
        str(path.relative_to(here.top))
        for path in files_named(look.argv, look.cwd).read
        if path.is_relative_to(here.top)
    }
    # Where no file of code was changed, whatever was is the idea.
    sources = {path for path in changed if look.rules.is_source(path) or path in named} or changed.keys()
    lacks = [path for path in sorted(sources) if here.head.get(path) != changed[path]]
    for file in code.untracked:
        answer = read_git(here.top, ["cat-file", "blob", f"HEAD:{file.path}"], look.environ)
        if not Path(file.path).is_absolute() and hashlib.sha256(answer.out).hexdigest() != file.sha256:
            lacks.append(file.path)
    return lacks
