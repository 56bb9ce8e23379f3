"""`logbook patch`: the changes that the code of a run had, printed, or brought into the working tree, or taken back, by
`git apply`."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Literal, TypeAlias

from logbook_agent.model.code import Code
from logbook_agent.model.errors import StoreError, UsageError
from logbook_agent.model.run import Run
from logbook_agent.running.provenance.git_calls import DIFF, GitAnswer, read_git, write_git
from logbook_agent.running.provenance.worktrees import Checkout, checkout_of
from logbook_agent.store.book import Book
from logbook_agent.store.files import make_folder, write_atomic
from logbook_agent.store.reading import CODE, is_inside, read_bytes
from logbook_agent.store.repository import repository_of
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.phrases import listed

Action = Literal["show", "apply", "undo"]
# `git apply` in a working tree: texts of a diff, options.
_GitApply: TypeAlias = Callable[..., GitAnswer]
_MOST_BYTES = 2**24
_TIMEOUT_S = 120.0
# What a user has configured must not let a change fit where it does not.
_APPLY = ("-c", "apply.ignoreWhitespace=no", "-c", "apply.whitespace=nowarn", "apply")


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchAnswer:
    """The changes of a run against `commit`, as far as they were asked for; and of an action, the paths that were
    `changed`, those that were `already` as they should be, and those that were `left` as they are: untracked files that
    the logbook does not hold, or that nobody named to be taken away."""

    id: str
    run: int
    commit: str
    paths: list[str]
    diff: bytes
    changed: list[str]
    already: list[str]
    left: list[str]


@dataclass(frozen=True, slots=True)
class _Change:
    """What a run's code changes in one file. Not `is_exact`: it was recorded without its secrets."""

    text: bytes
    is_exact: bool
    is_tracked: bool = True


def patch(workspace: Workspace, reference: str, action: Action, paths: Sequence[str]) -> PatchAnswer:
    """Show, apply or undo the changes of `ID` or `ID/RUN`, in all files or in `paths`, as typed. Raises UsageError
    where a run has none, or they do not fit the working tree: then nothing is changed. Records are never changed."""
    reference, _, number = reference.partition("/")
    book = workspace.book(reference)
    run, code = _run_with_changes(book, book.resolve(reference), number)
    repository = repository_of(workspace.cwd)
    top = repository.top if repository is not None else Path(os.path.realpath(workspace.cwd))
    git = partial(_git_apply, top, workspace.environ)
    changes = _changes(book, run, code, git, workspace.environ)
    wanted = _chosen(changes, [_declared(top, workspace.cwd, path) for path in paths])
    left, changed, already = list[str](), list[str](), list[str]()
    if action != "show":
        if action == "undo":
            left = [path for path, change in wanted.items() if not change.is_tracked and not paths]
        else:
            left = [file.path for file in code.untracked if file.path not in changes and not paths]
        meant = {path: change for path, change in wanted.items() if path not in left}
        _check(checkout_of(workspace.cwd, workspace.environ), run, meant, workspace.root)
        changed, already = _carry_out(git, {path: c.text for path, c in meant.items()}, undo=action == "undo")
    return PatchAnswer(
        id=run.entry,
        run=run.run,
        commit=code.commit or "",
        paths=[*wanted],
        diff=b"".join(change.text for change in wanted.values()),
        changed=changed,
        already=already,
        left=left,
    )


# -- what was recorded -------------------------------------------------------------------------------


def _run_with_changes(book: Book, entry_id: str, number: str) -> tuple[Run, Code]:
    """The run that is meant, and its code: the one that is named, or the last, where all have the same changes."""
    runs = [book.run(entry_id, book.run_named(entry_id, number))] if number else book.runs(entry_id)
    known = [(run, run.code) for run in runs if run.code is not None and run.code.commit is not None]
    ran = [one for one in known if one[1].diff_sha256] or [
        one for one in known if any(f.kept for f in one[1].untracked)
    ]
    found = {(code.diff_sha256, code.untracked): (run, code) for run, code in ran}
    if not found:
        raise UsageError(
            f"{entry_id} has no recorded diff",
            cause="its code was committed as it ran, or none of its runs has known code",
            hint=f"logbook show {entry_id} --json names the commit",
        )
    if len(found) > 1:
        names = [f"{entry_id}/{run.run}" for run, _ in found.values()]
        raise UsageError(
            f"the runs of {entry_id} have {len(found)} different diffs",
            cause="the code changed between them",
            hint=f"name a run: logbook patch {names[-1]} (there are {listed(names, 5)})",
        )
    return next(iter(found.values()))


def _changes(book: Book, run: Run, code: Code, git: _GitApply, environ: Mapping[str, str]) -> dict[str, _Change]:
    """What was kept of the changes, by path: the diff, and untracked files as files that are new."""

    def kept(name: str) -> bytes:
        folder = book.folder if name.startswith(f"{CODE}/") else book.run_folder(run.entry, run.run)
        return read_bytes(folder / name, within=book.root, limit=_MOST_BYTES)

    found: dict[str, _Change] = {}
    if code.diff_sha256 is not None:
        if code.diff_kept is None:
            raise UsageError(
                f"the diff of {run.entry} was not kept",
                cause="a diff of more than 1 MiB is recorded by its digest alone",
                hint=f"logbook show {run.entry} --json names the commit it was made on",
            )
        diff = kept(code.diff_kept)
        found = {path: _Change(text, _is(diff, code.diff_sha256)) for path, text in _parts(git, diff).items()}
    for file in code.untracked:
        if file.kept is not None and not Path(file.path).is_absolute():
            content = kept(file.kept)
            text = _as_new(file.path, content, environ)
            found[file.path] = _Change(text, _is(content, file.sha256), is_tracked=False)
    return found


def _is(content: bytes, sha256: str) -> bool:
    return hashlib.sha256(content).hexdigest() == sha256


def _as_new(path: str, content: bytes, environ: Mapping[str, str]) -> bytes:
    """A file as a diff that creates it."""
    with tempfile.TemporaryDirectory(prefix="logbook-patch-") as name:
        folder = Path(os.path.realpath(name))
        make_folder((folder / path).parent, within=folder)
        write_atomic(folder / path, content, within=folder, durable=False)
        (folder / path).chmod(0o755 if content.startswith(b"#!") else 0o644)
        words = [*DIFF, "--no-index", "--binary", "--full-index", "--src-prefix=a/", "--dst-prefix=b/"]
        return read_git(folder, [*words, "--", os.devnull, path], environ).out


# -- what was asked for ------------------------------------------------------------------------------


def _declared(top: Path, cwd: Path, path: str) -> Path:
    """A path as it is seen from the top of the repository."""
    place = Path(os.path.normpath(Path(os.path.realpath(cwd)) / path))
    if not place.is_relative_to(top):
        raise UsageError(f"--paths {path}: outside {top}", cause="changes are those of a repository")
    return place.relative_to(top)


def _chosen(changes: dict[str, _Change], declared: Sequence[Path]) -> dict[str, _Change]:
    """Those in the declared files and folders; all of them where none is declared."""
    for place in declared:
        if not any(Path(path).is_relative_to(place) for path in changes):
            raise UsageError(
                f"--paths {place}: the recorded diff does not change it",
                cause=f"it changes {listed([*changes], 8)}",
                hint=f"--paths {quote(next(iter(changes)))}" if changes else "leave --paths out",
            )
    return {
        path: change
        for path, change in changes.items()
        if not declared or any(Path(path).is_relative_to(place) for place in declared)
    }


def _check(checkout: Checkout, run: Run, wanted: dict[str, _Change], root: Path) -> None:
    """Raise UsageError unless these are changes of files of this repository, as they ran."""
    commit = run.code.commit if run.code is not None else None
    if checkout.commit_of(commit or "") is None:
        raise UsageError(
            f"{checkout.top} does not have the commit that {run.entry} ran on",
            cause=f"{commit} is not in this clone, or the code is in another repository",
            hint="git fetch --all, or cd into the checkout of the code",
        )
    show = f"logbook patch {run.entry}/{run.run} --show prints what is kept"
    if inexact := [path for path, change in wanted.items() if not change.is_exact]:
        raise UsageError(
            f"the diff of {run.entry} is not the one that ran: {listed(inexact, 5)}",
            cause="it was recorded without its secrets, or the file was changed",
            hint=show,
        )
    if others := [path for path in wanted if _is_other(checkout.top, path, root)]:
        raise UsageError(
            f"nothing was changed: the diff has files that logbook does not touch: {listed(others, 5)}",
            cause="they belong to a submodule, or are records of a logbook",
            hint=f"--paths names those files of the diff that you want; {show}",
        )


def _is_other(top: Path, path: str, root: Path) -> bool:
    """Whether a file is of a submodule, or of the logbooks."""
    above = [Path(path), *Path(path).parents][:-1]
    return any(os.path.lexists(top / place / ".git") for place in above) or is_inside(top / path, root)


# -- git apply ---------------------------------------------------------------------------------------


def _git_apply(top: Path, environ: Mapping[str, str], texts: Iterable[bytes], *words: str) -> GitAnswer:
    with tempfile.NamedTemporaryFile(prefix="logbook-", suffix=".diff") as file:
        file.writelines(texts)
        file.flush()
        return write_git(top, [*_APPLY, *words, file.name], environ, timeout_s=_TIMEOUT_S)


def _parts(git: _GitApply, diff: bytes) -> dict[str, bytes]:
    """The parts of a diff by their paths, each of one file: no record of ours has renames. A line of a file's content
    has a sign before it."""
    texts = re.split(rb"^(?=diff --git )", diff, flags=re.MULTILINE)
    answer = git([diff], "--numstat", "-z")
    paths = [os.fsdecode(line.split(b"\t", 2)[2]) for line in answer.out.split(b"\0")[:-1]]
    has_renames = re.search(rb"^(?:rename|copy) from ", diff, re.MULTILINE) is not None
    if answer.code != 0 or texts[0] or len(texts) != len(paths) + 1 or has_renames:
        raise StoreError("the recorded diff cannot be read", cause=answer.words, hint="logbook doctor")
    found: dict[str, bytes] = {}
    for path, text in zip(paths, texts[1:], strict=True):
        # A file that becomes a link is recorded as one that goes and one that comes.
        found[path] = found.get(path, b"") + text
    return found


def _carry_out(git: _GitApply, texts: dict[str, bytes], *, undo: bool) -> tuple[list[str], list[str]]:
    """Change the files, all of them or none; those that were changed, and those that were already as they should be.
    Raises UsageError with git's own words where other changes overlap."""
    way, back = (["--reverse"], []) if undo else ([], ["--reverse"])
    already: list[str] = []
    if git(texts.values(), "--check", *way).code != 0:
        apart = [path for path, text in texts.items() if git([text], "--check", *way).code != 0]
        already = [path for path in apart if git([texts[path]], "--check", *back).code == 0]
        if unfit := [path for path in apart if path not in already]:
            said = git([texts[path] for path in unfit], "--check", *way).words
            raise UsageError(
                f"nothing was {'undone' if undo else 'applied'}: the diff does not fit {listed(unfit, 5)}",
                cause="; ".join(line.removeprefix("error: ") for line in said.splitlines()[:5]),
                hint="look at git diff HEAD; --paths names those files of the diff that you want",
            )
    changed = [path for path in texts if path not in already]
    if changed and (answer := git([texts[path] for path in changed], *way)).code != 0:
        raise StoreError("git could not apply the recorded diff", cause=answer.words, hint="git status")
    return changed, already
