"""The code that was kept last: which that is, and whether the working tree is that code."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from logbook_agent.agents.patching import recorded_diff
from logbook_agent.agents.recorded_diff import files_of
from logbook_agent.findings.advice import asked_again
from logbook_agent.findings.read import Findings
from logbook_agent.findings.thread import Thread
from logbook_agent.model.comparison import CODE_AXIS
from logbook_agent.model.errors import LogbookError, StoreError
from logbook_agent.model.record import Record
from logbook_agent.model.run import Code, Run
from logbook_agent.model.summary import Summary
from logbook_agent.running.provenance.git import KEEP_BYTES, TIMEOUT_S, excluded_place
from logbook_agent.running.provenance.git_calls import DIFF, GitError, GitProcesses, read_git
from logbook_agent.running.provenance.head import FIXED, CodeDifference, Digest
from logbook_agent.running.provenance.worktrees import Checkout
from logbook_agent.store.book import Book
from logbook_agent.store.files import digest_of
from logbook_agent.store.repository import Repository, repository_of
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.phrases import listed

_COMMIT_CHARS = 9
_NO_DIFF = hashlib.sha256(b"").hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeMatch:
    """Whether the working tree is the code of a run (None: nobody can tell, and `why`), and the files that differ."""

    is_same: bool | None
    changed: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptCode:
    """The code of `entry`, which a `decision` kept. `commit` is where to return to; with `needs_diff` the recorded
    diff of the entry belongs to it. Not `is_committed`: the commit lacks that, or a file that git did not track."""

    decision: str
    entry: str
    commit: str | None
    run: Run | None
    needs_diff: bool
    is_committed: bool


def kept_code(book: Book, thread: Thread) -> KeptCode | None:
    """The code of the latest decision that kept one and counts; None where there is none."""
    for said in reversed(thread.summaries):
        if said["kept"] and said["decides"] and thread.standing[said["id"]].counts and _counts(thread, said):
            run = run_of(book.record(said["decides"]))
            code = run.code if run is not None else None
            is_committed = code is None or not code.dirty or said["commit"] != code.commit
            return KeptCode(
                decision=said["id"],
                entry=said["decides"],
                commit=said["commit"],
                run=run,
                needs_diff=not is_committed and code is not None and code.diff_sha256 is not None,
                is_committed=is_committed,
            )
    return None


def _counts(thread: Thread, decision: Summary) -> bool:
    standing = thread.standing.get(decision["decides"] or "")
    return standing is not None and standing.withdrawn is None


def run_of(record: Record) -> Run | None:
    """The last finished run of an entry whose code is known; of an A/B of two codes one of the tested side."""
    comparison = record.entry.comparison
    base = comparison.question.base if comparison is not None and comparison.question.axis == CODE_AXIS else None
    runs = [status.run for status in record.runs if status.counts and status.state == "finished"]
    known = [run for run in runs if run.code is not None and run.code.identity is not None]
    return next((run for run in reversed(known) if base is None or run.part is None or run.part.side != base), None)


# -- the working tree --------------------------------------------------------------------------------


def tree_match(workspace: Workspace, book: Book, run: Run | None) -> TreeMatch:
    """Whether the working tree that this was typed in has the files of the code of a run, committed or not."""
    code = run.code if run is not None else None
    repository = repository_of(workspace.cwd)
    if run is None or code is None or code.commit is None:
        return TreeMatch(is_same=None, why="which code ran is not recorded")
    if repository is None:
        return TreeMatch(is_same=None, why=f"{workspace.cwd} is not in a git repository")
    if checkout_here(repository, workspace).commit_of(code.commit) is None:
        return TreeMatch(is_same=None, why=f"commit {code.commit[:_COMMIT_CHARS]} is not in {repository.top}")
    try:
        found = _difference(repository, code, workspace)
    except (GitError, StoreError) as error:
        return TreeMatch(is_same=None, why=str(error))
    apart = [file.path for file in code.untracked if not _is_as_it_was(repository.top / file.path, file.sha256)]
    if found.sha256 == (code.diff_sha256 or _NO_DIFF) and not apart:
        return TreeMatch(is_same=True)
    return TreeMatch(is_same=False, changed=(*_changed(book, run, found), *apart))


def checkout_here(repository: Repository, workspace: Workspace) -> Checkout:
    """The checkout of a repository."""
    return Checkout(top=repository.top, inside=".", environ=workspace.environ)


def same_files(workspace: Workspace, repository: Repository, one: str, other: str | None) -> bool:
    """Whether two commits have the same files outside of the logbooks."""
    if other is None or one == other:
        return one == other
    excluded = excluded_place(repository, workspace.root)
    left_out = [f":(top,exclude,literal){excluded}"] if excluded is not None else []
    words = [*DIFF, "--quiet", "--end-of-options", one, other, "--", ".", *left_out]
    return read_git(repository.top, words, workspace.environ).code == 0


def _difference(repository: Repository, code: Code, workspace: Workspace) -> Digest:
    """What differs from the commit that a code was made on, as it would have been recorded then. What was untracked
    may have been committed since."""
    apart = [file.path for file in code.untracked if not Path(file.path).is_absolute()]
    git = GitProcesses(workspace.environ, FIXED, TIMEOUT_S)
    try:
        excluded = excluded_place(repository, workspace.root)
        difference = CodeDifference(git, repository.top, excluded, commit=code.commit or "HEAD", apart=apart)
        found = difference.read(KEEP_BYTES)
        if failed := git.finish():
            raise GitError(failed)
        return found
    finally:
        git.close()


def _is_as_it_was(path: Path, sha256: str) -> bool:
    try:
        return digest_of(path, within=path.parent) == sha256
    except (StoreError, OSError):
        return False


def _changed(book: Book, run: Run, found: Digest) -> list[str]:
    """The files that differ, as far as both differences are at hand."""
    code = run.code
    if found.size and found.text is None:
        return []
    try:
        recorded = recorded_diff(book, run) if code is not None and code.diff_sha256 else b""
        before, now = ({file.path: file.text for file in files_of(diff)} for diff in (recorded, found.text or b""))
    except LogbookError:
        return []
    return sorted(path for path in before.keys() | now.keys() if before.get(path) != now.get(path))


# -- what status says --------------------------------------------------------------------------------


def code_state(workspace: Workspace, book: Book, found: Findings) -> Mapping[str, object] | None:
    """What `logbook status` says of the code: which was kept, whether the working tree is that code (`is_best`, null
    where nobody can tell), how to return to it, and the command that repeats the last comparison with the next idea.
    None where no code was kept."""
    kept = kept_code(book, found.thread)
    if kept is None:
        return None
    match = tree_match(workspace, book, kept.run)
    name = f"{kept.entry}" + (f" ({kept.commit[:_COMMIT_CHARS]})" if kept.commit else "")
    with_diff = " with its recorded diff" * kept.needs_diff
    said = f"the working tree is the best code that was kept, {name}{with_diff}"
    if match.is_same is None:
        said = f"the best code that was kept is {name}{with_diff}; whether the working tree is that code: {match.why}"
    elif not match.is_same:
        differs = f": {listed(match.changed, 5)}" if match.changed else ""
        said = f"the working tree is not the best code that was kept, {name}{with_diff}{differs}"
    facts = {
        "said": said,
        "kept": kept.entry,
        "decision": kept.decision,
        "commit": kept.commit,
        "is_best": match.is_same,
        "to_return": way_to(workspace, kept) if match.is_same is False else "",
        "repeat": _repeat(book, found.thread, kept),
    }
    return {name: value for name, value in facts.items() if value not in ("", None) or name == "is_best"}


def way_to(workspace: Workspace, kept: KeptCode) -> str:
    """What to type to have the kept code in the working tree; empty where the commit that is checked out has all of
    it."""
    repository = repository_of(workspace.cwd)
    if repository is None:
        return ""
    here = checkout_here(repository, workspace).commit_of("HEAD")
    steps = []
    if kept.commit is not None and not same_files(workspace, repository, kept.commit, here):
        steps.append(f"git switch --detach {kept.commit[:_COMMIT_CHARS]}")
    if kept.needs_diff:
        steps.append(f"logbook patch {kept.entry} --apply")
    return " && ".join(steps)


def _repeat(book: Book, thread: Thread, kept: KeptCode) -> str:
    """The command of the last comparison; of two codes, the kept one against the working tree."""
    counting = [s["id"] for s in thread.summaries if s["comparison"] is not None and thread.standing[s["id"]].counts]
    if not counting:
        return ""
    codes = (kept.commit[:_COMMIT_CHARS], "WORK") if kept.commit is not None and not kept.needs_diff else None
    return asked_again(book, counting[-1], codes=codes)
