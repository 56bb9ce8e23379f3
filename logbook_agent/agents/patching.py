"""`logbook patch`: the recorded changes of a run's code, printed, or applied to the working tree or taken back by
`git apply`."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Literal

from msgspec import Struct

from logbook_agent.model.code import Code
from logbook_agent.model.comparison import CODE_AXIS, code_hash
from logbook_agent.model.entry import Entry
from logbook_agent.model.errors import StoreError, UsageError
from logbook_agent.model.run import Run
from logbook_agent.running.provenance.git import excluded_place
from logbook_agent.running.provenance.git_calls import DIFF, WHOLE, read_git, try_git
from logbook_agent.running.provenance.worktrees import GitApply
from logbook_agent.store.book import Book
from logbook_agent.store.folder import Folder
from logbook_agent.store.places import Repository, repository_of
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.phrases import listed

Action = Literal["show", "apply", "undo"]
_MOST_BYTES = 2**24


class PatchAnswer(Struct, frozen=True, kw_only=True):
    """The `paths` that a run's code changes against `commit`, as far as they were asked for, and their `diff`. Of an
    action: the paths that it `changed`, and those that it `left`: untracked files, and those that were not kept. `way`
    leads from the folder in which it was typed to the top, from which paths are seen."""

    id: str
    run: int
    commit: str
    paths: list[str]
    diff: bytes
    changed: list[str]
    left: list[str]
    way: str = "."


def patch(workspace: Workspace, reference: str, action: Action, paths: Sequence[str]) -> PatchAnswer:
    """Show, apply or undo the changes of `ID` or `ID/RUN`, in all files or in `paths`, as typed. Raises UsageError
    where a run has none, or they do not fit the working tree: then nothing is changed. Records are never changed."""
    entry_id, _, number = reference.partition("/")
    book = workspace.book(entry_id)
    run, code = _run_with_changes(book, book.resolve(entry_id), number)
    repository = repository_of(workspace.cwd)
    top = repository.top if repository is not None else Path(os.path.realpath(workspace.cwd))
    git = GitApply(top, workspace.environ)
    if repository is not None and not _has_changes(code):
        diffs, inexact = _by_path(git, committed(workspace, repository, book.entry(run.entry), run)), set[str]()
    else:
        diffs, inexact = _recorded(book, run, code, git)
    way = os.path.relpath(top, os.path.realpath(workspace.cwd))
    diffs = _chosen(diffs, [_from_top(top, workspace.cwd, path) for path in paths], way)
    left, changed = list[str](), list[str]()
    if action != "show":
        left = [] if paths else [f.path for f in code.untracked if f.path not in diffs]
        # A file that git does not track is removed only where it is named, and stays where it is as it was then.
        left += [] if paths else [p for p in _untracked(git, diffs) if action == "undo" or git.has(diffs[p])]
        # What somebody wrote into a document meanwhile is no part of the idea, unless that is all there is.
        documents = [path for path in diffs if workspace.config.code.is_document(path)]
        left += documents if action == "undo" and not paths and len(documents) < len(diffs) else []
        changed = [path for path in diffs if path not in left]
        if unlike := [path for path in changed if path in inexact]:
            raise UsageError(
                f"the diff of {run.entry} is not the one that ran: {listed(unlike, 5)}",
                cause="it was recorded without its secrets, or the file was changed",
                hint=f"logbook patch {run.entry}/{run.run} --show prints what is kept",
            )
        _carry_out(git, [diffs[path] for path in changed], undo=action == "undo")
    return PatchAnswer(
        id=run.entry,
        run=run.run,
        commit=code.commit or "",
        paths=[*diffs],
        diff=b"".join(diffs.values()),
        changed=changed,
        left=left,
        way=way,
    )


def _run_with_changes(book: Book, entry_id: str, number: str) -> tuple[Run, Code]:
    """The run that is named, or the last one that has changes; and its code."""
    runs = [book.run(entry_id, book.run_named(entry_id, number))] if number else book.runs(entry_id)
    known = [(run, run.code) for run in runs if run.code is not None and run.code.commit is not None]
    changed = [(run, code) for run, code in known if code.diff_sha256]
    changed = changed or [(run, code) for run, code in known if _has_changes(code)]
    changed = changed or [(run, code) for run, code in known if _base_of(book.entry(run.entry), run)]
    if not changed:
        raise UsageError(
            f"{entry_id} has no recorded diff",
            cause="its code was committed as it ran, or none of its runs has known code",
            hint=f"logbook show {entry_id} --json names the commit",
        )
    return changed[-1]


def _has_changes(code: Code) -> bool:
    """Whether changes that were not committed were recorded."""
    return bool(code.diff_sha256) or any(file.kept for file in code.untracked)


def _base_of(entry: Entry, run: Run) -> str:
    """The commit that the one of a run was compared with; empty where both were not commits, and for the base."""
    question = entry.comparison.question if entry.comparison is not None else None
    if question is None or question.axis != CODE_AXIS or run.part is None or run.part.side == question.base:
        return ""
    return code_hash(question.base) if "@" in question.base and "@" in run.part.side else ""


def committed(workspace: Workspace, place: Repository, entry: Entry, run: Run) -> bytes:
    """What the commit that a comparison tested by a run changed, but for records; empty where that is not known."""
    base, commit = _base_of(entry, run), run.code.commit if run.code is not None else None
    root = excluded_place(place, workspace.root)
    paths = [":/", *([f":(top,exclude){root}"] if root is not None else [])]
    made = try_git(place.top, [*DIFF, *WHOLE, f"{base}...{commit}", "--", *paths], workspace.environ)
    return made or b"" if base and commit else b""


def _recorded(book: Book, run: Run, code: Code, git: GitApply) -> tuple[dict[str, bytes], set[str]]:
    """The diff of each file, untracked ones as new files; and the paths whose diff is not what ran."""
    if code.diff_sha256 is not None and code.diff_kept is None:
        raise UsageError(
            f"the diff of {run.entry} was not kept",
            cause="a diff of more than 1 MiB is recorded by its digest alone",
            hint=f"logbook show {run.entry} --json names the commit it was made on",
        )
    diffs, inexact = dict[str, bytes](), set[str]()
    if code.diff_kept is not None:
        content = book.files.read(book.folder / code.diff_kept, limit=_MOST_BYTES)
        diffs = _by_path(git, content)
        inexact = {*diffs} if _digest(content) != code.diff_sha256 else set()
    for file in code.untracked:
        if file.kept is not None and not Path(file.path).is_absolute():
            content = book.files.read(book.folder / file.kept, limit=_MOST_BYTES)
            diffs[file.path] = _as_new(file.path, content, git.environ)
            inexact |= {file.path} if _digest(content) != file.sha256 else set()
    return diffs, inexact


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _by_path(git: GitApply, diff: bytes) -> dict[str, bytes]:
    """A recorded diff, which has no renames, by the paths of its files."""
    texts = re.split(rb"^(?=diff --git )", diff, flags=re.MULTILINE)[1:]
    answer = git.apply([diff], "--numstat", "-z")
    paths = [os.fsdecode(line.split(b"\t", 2)[2]) for line in answer.out.split(b"\0")[:-1]]
    if answer.code != 0 or len(texts) != len(paths):
        raise StoreError("the recorded diff cannot be read", cause=answer.words, hint="logbook doctor")
    found: dict[str, bytes] = {}
    for path, text in zip(paths, texts, strict=True):
        # A file that becomes a link is recorded as one that goes and one that comes.
        found[path] = found.get(path, b"") + text
    return found


def _as_new(path: str, content: bytes, environ: Mapping[str, str]) -> bytes:
    """A file as a diff that creates it."""
    with tempfile.TemporaryDirectory(prefix="logbook-patch-") as name:
        folder = Path(os.path.realpath(name))
        Folder(folder).make((folder / path).parent)
        Folder(folder).write(path, content, durable=False)
        (folder / path).chmod(0o755 if content.startswith(b"#!") else 0o644)
        words = [*DIFF, "--no-index", "--binary", "--full-index", "--src-prefix=a/", "--dst-prefix=b/"]
        return read_git(folder, [*words, "--", os.devnull, path], environ).out


def _untracked(git: GitApply, diffs: Mapping[str, bytes]) -> list[str]:
    """The files that the diffs create and git does not track."""
    created = [path for path, diff in diffs.items() if b"\nnew file mode " in diff.partition(b"\n@@")[0]]
    words = ["--literal-pathspecs", "ls-files", "--others", "-z", "--", *created]
    return (
        [os.fsdecode(path) for path in read_git(git.top, words, git.environ).out.split(b"\0")[:-1]] if created else []
    )


def _from_top(top: Path, cwd: Path, path: str) -> Path:
    """A path as it is seen from the top of the repository."""
    place = Path(os.path.normpath(Path(os.path.realpath(cwd)) / path))
    if not place.is_relative_to(top):
        raise UsageError(f"--paths {path}: outside {top}", cause="changes are those of a repository")
    return place.relative_to(top)


def named_paths(paths: Iterable[str], way: str) -> str:
    """Options that name paths of a repository, seen from the folder in which this is the `way` to its top."""
    return " ".join(f"--paths {quote(os.path.normpath(Path(way) / path))}" for path in paths)


def _chosen(diffs: dict[str, bytes], places: Sequence[Path], way: str) -> dict[str, bytes]:
    """Those in the files and folders that are named; all of them where none is."""
    for place in places:
        if not any(Path(path).is_relative_to(place) for path in diffs):
            raise UsageError(
                f"--paths {place}: the recorded diff does not change it",
                cause=f"it changes {listed([*diffs], 8)}",
                hint=named_paths([next(iter(diffs))], way),
            )
    return {path: diff for path, diff in diffs.items() if not places or any(map(Path(path).is_relative_to, places))}


def _carry_out(git: GitApply, diffs: Sequence[bytes], *, undo: bool) -> None:
    """Change the files, all of them or none. Raises UsageError with git's own words where they do not fit."""
    way = ["--reverse"] if undo else []
    if diffs and (checked := git.apply(diffs, "--check", *way)).code != 0:
        is_so = git.apply(diffs, "--check", *([] if undo else ["--reverse"])).code == 0
        there = "the changes are not there any more" if undo else "the changes are there already"
        why = there if is_so else "the diff does not fit the working tree"
        raise UsageError(
            f"nothing was {'undone' if undo else 'applied'}: {why}",
            cause="; ".join(line.removeprefix("error: ") for line in checked.words.splitlines()[:5]),
            hint="look at git diff HEAD; --paths names those files of the diff that you want",
        )
    if diffs and (answer := git.apply(diffs, *way)).code != 0:
        raise StoreError("git could not apply the recorded diff", cause=answer.words, hint="git status")
