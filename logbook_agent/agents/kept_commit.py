"""The commit that holds the code of an entry which somebody keeps, and what to type where none does."""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import structs

from logbook_agent.agents.patching import committed
from logbook_agent.findings.advice import ab_afresh, ab_codes, into_branch, keep, show
from logbook_agent.findings.open_steps import OpenStep
from logbook_agent.findings.read import Findings
from logbook_agent.model.code import Code
from logbook_agent.model.comparison import CODE_AXIS, code_hash, code_name
from logbook_agent.model.entry import NEXT_ACTION
from logbook_agent.model.errors import UsageError
from logbook_agent.model.record import Record
from logbook_agent.model.run import Run
from logbook_agent.running.provenance.git import CodeFacts, CodeLook
from logbook_agent.running.provenance.git_calls import changed_in, read_git, try_git
from logbook_agent.running.provenance.named_files import files_named, input_file
from logbook_agent.running.provenance.same_code import is_same_code
from logbook_agent.running.provenance.worktrees import GitApply, checkout_of
from logbook_agent.store.book import Book
from logbook_agent.store.places import branch_of, repository_of
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.commands.script import command_words

_MOST_BYTES = 2**24


def code_of(record: Record, states: Sequence[str] = ("finished",)) -> tuple[Run, Code] | None:
    """The last finished run of an entry whose code is known, and that; of an A/B of code one of the tested side.
    `states`: those of runs that are looked at."""
    comparison = record.entry.comparison
    base = comparison.question.base if comparison is not None and comparison.question.axis == CODE_AXIS else None
    runs = [status.run for status in reversed(record.runs) if status.counts and status.state in states]
    known = [(run, run.code) for run in runs if run.code is not None and run.code.identity is not None]
    return next((one for one in known if base is None or one[0].part is None or one[0].part.side != base), None)


def commit_of(
    workspace: Workspace, book: Book, run: Run, code: Code, given: str | None
) -> tuple[str | None, list[str], bool]:
    """The commit that holds the code of a run: the one that it was made on, or the `given` one, or HEAD, where that has
    not got it, or has the changes that were not committed then; else the files that HEAD lacks. And whether something
    is not committed now."""
    if given is not None:
        named = _named(workspace, given)
        is_held = code.commit is not None and not code.dirty and is_in(workspace, code.commit, named)
        return code.commit if is_held else named, [], False
    if not code.dirty and (code.commit is None or is_in(workspace, code.commit)):
        return code.commit, [], False
    look = _look(workspace, run)
    here = look.facts()
    if here.code.dirty is False and here.code.identity == code.identity:
        return here.code.commit, [], False
    if not code.dirty:
        return code.commit, [], False
    lacks = _lacking(book, code, here, look)
    return (code.commit if lacks else here.code.commit), lacks, bool(here.code.dirty)


def undo(workspace: Workspace, book: Book, record: Record, run: Run, code: Code) -> str:
    """What to type to take back the code of an entry's run that the working tree has, also where it was committed
    since; of a comparison what the commit that was tested changed. Empty where it has not got it."""
    if not _is_kept_as_it_ran(book, code):
        return ""
    is_left = code.kept and _look(workspace, run).facts().code.identity == code.identity
    if not is_left and (place := repository_of(workspace.cwd)) is not None:
        made = _kept_diff(book, code) if code.dirty else committed(workspace, place, record.entry, run)
        # A merge may have left it out, and later code may stand in its place.
        is_left = bool(made) and GitApply(place.top, workspace.environ).has(made)
    return f"logbook patch {record.id} --undo" if is_left else ""


def _look(workspace: Workspace, run: Run) -> CodeLook:
    """Look at the code that the command of a run would run here."""
    words = command_words(run.command)
    return CodeLook(workspace.cwd, workspace.root, words, workspace.environ, workspace.config.code)


def is_in(workspace: Workspace, commit: str, of: str = "HEAD") -> bool:
    """Whether a commit is in the history of another one; so it counts where there is no repository."""
    place = repository_of(workspace.cwd)
    ancestors = ["merge-base", "--is-ancestor", commit, of]
    return place is None or try_git(place.top, ancestors, workspace.environ) is not None


def completing(
    workspace: Workspace, book: Book, found: Findings, record: Record, run: Run, code: Code, lacks: Sequence[str]
) -> tuple[str, str]:
    """What to do where HEAD lacks files of the code that was kept, and the command for it: what brings them in; where
    HEAD has others in their place, a comparison of these with the code as it was before, and after that the commit."""
    place, words = repository_of(workspace.cwd), ["diff", "--quiet", code.commit or "HEAD", "HEAD", "--", *lacks]
    if place is not None and read_git(place.top, words, workspace.environ).code == 0:
        if not _is_kept_as_it_ran(book, code):
            return "its changes were not kept as they ran: put them back by hand, and commit them", show(record.id)
        return "its changes have to be put back and committed first", f"logbook patch {record.id} --apply"
    compared = {
        _commit_of(found, a.entry, v) for a in found.answers if a.question.axis == CODE_AXIS for v in a.question.sides
    }
    given, now = (workspace.root, workspace.config.code, workspace.environ), _look(workspace, run).facts().code
    is_compared = not now.dirty and now.identity in _compared_changes(found)
    if place is not None and (
        is_compared or any(is_same_code(place, *given, "HEAD", commit) for commit in compared if commit)
    ):
        return "HEAD has another version, which was compared; if that is kept", f"{keep(record.id)} --commit HEAD"
    read = files_named(command_words(run.command), workspace.cwd).read
    named = {os.path.relpath(path, place.top if place else "/") for path in read}
    own = "--evaluator none" if named & {*lacks} else ""
    compare = ab_codes([(code.commit or "HEAD")[:9], "HEAD"], f"{record.id}/{run.run}", own)
    stated = record.entry.comparison
    if stated is not None and stated.question.axis == CODE_AXIS:
        compare = ab_afresh(record.id, new=False)
    return "HEAD has another version, which was not measured; to compare it", compare


def _compared_changes(found: Findings) -> set[str | None]:
    """The identities of codes that comparisons measured before they were committed."""
    stated = (found.entry(a.entry).comparison for a in found.answers if a.question.axis == CODE_AXIS)
    return {code.identity for of in stated if of is not None for code in of.code.values() if code.dirty}


def _commit_of(found: Findings, entry: str, side: str) -> str:
    """The commit that a side of a comparison of code measured; empty where it had changes."""
    if "@" in side:
        return code_hash(side)
    stated = found.entry(entry).comparison
    code = stated.code.get(side) if stated is not None else None
    return code.commit or "" if code is not None and not code.dirty else ""


def to_commit(about: str) -> str:
    """The next action of a decision to keep changes that are not committed."""
    return f"Commit the changes of {about}"


def kept_steps(workspace: Workspace, book: Book, found: Findings, steps: Sequence[OpenStep]) -> Iterator[OpenStep]:
    """The steps, of a decision to keep changes with what completes it; then those of `code_steps`."""
    for step in steps:
        about = found.entry(step.entry).decides if step.kind == "next action" else None
        is_kept = about is not None and found.entry(step.entry).text(NEXT_ACTION) == to_commit(about)
        yield _completed(workspace, book, found, step, about) if about is not None and is_kept else step
    yield from code_steps(workspace, book, found)


def code_steps(workspace: Workspace, book: Book, found: Findings) -> Iterator[OpenStep]:
    """The decisions whose commit the branch that is checked out has not got, though it was compared with that branch,
    or no branch holds any more."""
    thread, place = found.thread, repository_of(workspace.cwd)
    if found.header.closing is not None:
        return
    kept = {d["commit"] or "": d for d in thread.decisions if d["kept"] and thread.standing[d["id"]].counts}
    words = ["rev-list", "--ignore-missing", *filter(None, kept), "--not", "HEAD"]
    away = try_git(place.top, words, workspace.environ) if place is not None and any(kept) else None
    for commit in (away or b"").decode().split():
        decision = kept.get(commit)
        if place is None or decision is None or (about := decision["decides"]) is None:
            continue
        words = ["for-each-ref", "--format=%(refname:short)", "--contains", commit, "refs/heads", "refs/remotes"]
        refs = (try_git(place.top, [*words, "refs/tags"], workspace.environ) or b"").decode().split()
        text, why = f"Keep {about} as it is committed now", f"no branch holds its commit {commit[:9]} any more"
        step = OpenStep(kind="next action", entry=decision["id"], text=text, why=why)
        if not refs:
            yield _completed(workspace, book, found, step, about)
        elif branch := _unmerged(workspace, found, about, commit, refs):
            why = f"{about} is kept, and HEAD lacks its commit {commit[:9]}; where it has it as another commit: "
            why += f"{keep(about)} --commit HEAD; git merges nothing into files that are not committed"
            command = f"git merge {shlex.quote(branch)}"
            yield structs.replace(step, text=f"Merge {branch}, the code of {about}", why=why, command=command)


def _unmerged(workspace: Workspace, found: Findings, about: str, commit: str, refs: Sequence[str]) -> str:
    """What to merge to have a commit that was tested, where the branch of the base is checked out and has not got what
    it changed: the branch, where that has nothing else by now, else the commit."""
    place, stated = repository_of(workspace.cwd), found.entry(about).comparison
    if place is None or stated is None or branch_of(place) != into_branch(stated, found.here):
        return ""
    given = workspace.root, workspace.config.code, workspace.environ
    if is_same_code(place, *given, "HEAD", commit) or found.here.keeps(stated, "HEAD"):
        return ""
    names = [code_name(stated.question.sides[-1]), *refs]
    held = (name for name in names if name in refs and is_same_code(place, *given, commit, name))
    return next(held, commit[:9])


def _completed(workspace: Workspace, book: Book, found: Findings, step: OpenStep, about: str) -> OpenStep:
    """A step that completes a decision to keep the code of an entry, with what to type for that."""
    record = found.record(about)
    ran, why, command = code_of(record), "", keep(about)
    commit, lacks, is_dirty = commit_of(workspace, book, *ran, None) if ran is not None else (None, (), False)
    if ran is not None and lacks and not is_dirty:
        why, command = completing(workspace, book, found, record, *ran, lacks)
    elif ran is not None and lacks:
        command = _committing(workspace, book, about, ran[1], lacks)
        why = "" if command else "the working tree has other changes, too: commit those that were tested"
    elif commit is not None and not lacks and not is_in(workspace, commit):
        place, given = repository_of(workspace.cwd), (workspace.root, workspace.config.code, workspace.environ)
        in_head = f"{command} --commit HEAD"
        stated = record.entry.comparison
        is_held = stated is not None and stated.question.axis == CODE_AXIS and found.here.keeps(stated, "HEAD")
        if place is not None and (is_held or is_same_code(place, *given, "HEAD", commit)):
            why, command = "HEAD holds the code as another commit", in_head
        else:
            why = (
                f"type this to have one; or, if HEAD holds the code as another commit, `{in_head}`; or discard {about}"
            )
            command = f"git branch {about.lower()}-{commit[:9]} {commit[:9]}"
    elif ran is not None and not lacks and step.text == to_commit(about):
        why = "HEAD holds them by now, and the decision does not name that commit yet"
    return structs.replace(step, why="; ".join(filter(None, [step.why, why])), command=command)


def _committing(workspace: Workspace, book: Book, about: str, code: Code, lacks: Sequence[str]) -> str:
    """What to type to commit the files that HEAD lacks of the code of an entry; empty where the working tree has
    others in their place."""
    place = repository_of(workspace.cwd)
    is_whole = code.diff_sha256 is None or code.diff_kept is not None
    if place is None or not is_whole or not all(_is_as_it_ran(workspace, book, place.top, code, p) for p in lacks):
        return ""
    way = os.path.relpath(place.top, os.path.realpath(workspace.cwd))
    files = shlex.join(os.path.normpath(Path(way) / path) for path in lacks)
    # git knows of a file that is gone.
    there = shlex.join(os.path.normpath(Path(way) / path) for path in lacks if (place.top / path).exists())
    add = f"git add {there} && " if there else ""
    return f"{add}git commit -m 'Keep {about}' -- {files}"


def _is_as_it_ran(workspace: Workspace, book: Book, top: Path, code: Code, path: str) -> bool:
    """Whether a file that a code changed is in the working tree what it was."""
    changed = changed_in(_kept_diff(book, code))
    if path in changed:
        answer = try_git(top, ["hash-object", "--", path], workspace.environ) if (top / path).exists() else None
        return (answer or b"").decode().strip() == (changed[path] or "")
    return any(input_file(path, top / path).sha256 == f.sha256 for f in code.untracked if f.path == path)


def _named(workspace: Workspace, name: str) -> str:
    checkout = checkout_of(workspace.cwd, workspace.environ)
    found = checkout.commit_of(name)
    if found is None:
        cause, hint = checkout.lacking()
        raise UsageError(f"--commit {name}: not a commit of this clone", cause=cause, hint=hint)
    return found


def _kept_diff(book: Book, code: Code) -> bytes:
    """What git told of the changes of a code; empty where nothing was kept of them."""
    kept = code.diff_kept
    return book.files.read(book.folder / kept, limit=_MOST_BYTES) if kept is not None else b""


def _is_kept_as_it_ran(book: Book, code: Code) -> bool:
    """Whether a diff was recorded whole, with what looks like a secret."""
    return code.diff_sha256 is None or hashlib.sha256(_kept_diff(book, code)).hexdigest() == code.diff_sha256


def _lacking(book: Book, code: Code, here: CodeFacts, look: CodeLook) -> list[str]:
    """The files of code that a run had changed, and that HEAD has otherwise; the diff itself where it was not kept."""
    if code.diff_sha256 is not None and code.diff_kept is None:
        return ["its diff, which was too large to be kept"]
    changed = changed_in(_kept_diff(book, code))
    named = {
        str(path.relative_to(here.top))
        for path in files_named(look.words, look.cwd).read
        if path.is_relative_to(here.top)
    }
    # Where no file of code was changed, whatever was is the idea.
    sources = {path for path in changed if look.rules.is_source(path) or path in named} or changed.keys()
    lacks = [path for path in sorted(sources) if here.head.get(path) != changed[path]]
    for file in code.untracked:
        if read_git(here.top, ["check-ignore", "--quiet", "--", file.path], look.environ).code == 0:
            continue  # no commit will hold it
        answer = read_git(here.top, ["cat-file", "blob", f"HEAD:{file.path}"], look.environ)
        if not Path(file.path).is_absolute() and hashlib.sha256(answer.out).hexdigest() != file.sha256:
            lacks.append(file.path)
    return lacks
