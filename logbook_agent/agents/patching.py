"""`logbook patch`: the changes that the code of a run had, printed, applied to the working tree, or taken back."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from logbook_agent.agents.recorded_diff import FilePatch, chosen, files_of
from logbook_agent.agents.tree_patch import is_cut_off, patch_tree
from logbook_agent.model.errors import UsageError
from logbook_agent.model.run import Code, Run
from logbook_agent.running.provenance.worktrees import Checkout
from logbook_agent.store.book import Book
from logbook_agent.store.reading import CODE, is_inside, read_bytes
from logbook_agent.store.repository import Repository, repository_of
from logbook_agent.store.trouble import Trouble
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.phrases import listed

Action = Literal["show", "apply", "undo"]
_DIFF_BYTES = 2**24


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchRequest:
    """What to do with the diff of `reference`, which is `ID` or `ID/RUN`, and on which `paths`, as typed."""

    reference: str
    action: Action = "show"
    paths: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchAnswer:
    """The diff of a run against `commit`, as far as it was asked for; and of an action, the paths that were `changed`
    and those that were `already` as they should be."""

    id: str
    run: int
    commit: str
    paths: tuple[str, ...]
    diff: bytes
    changed: tuple[str, ...] = ()
    already: tuple[str, ...] = ()


def patch(workspace: Workspace, request: PatchRequest) -> PatchAnswer:
    """Carry out a request. Raises UsageError where a run has no diff, or its diff does not fit the working tree: then
    nothing is changed. Records are never changed."""
    reference, _, number = request.reference.partition("/")
    book = workspace.book(reference)
    entry_id = book.resolve(reference)
    run, code = _run_with_diff(book, entry_id, number)
    diff = recorded_diff(book, run)
    files = files_of(diff)
    if request.action == "show":
        wanted = chosen(files, _declared(workspace, request.paths)) if request.paths else files
        return _answer(run, code, wanted)
    repository = _repository(workspace, run, code)
    if hashlib.sha256(diff).hexdigest() != code.diff_sha256:
        raise UsageError(
            f"the diff of {entry_id} is not the one that ran",
            cause="it was recorded without its secrets, or the file was changed",
            hint=f"logbook patch {request.reference} --show prints what is kept",
        )
    wanted = chosen(files, _declared(workspace, request.paths))
    _check_places(workspace, repository, wanted, request)
    done = patch_tree(repository, wanted, workspace.environ, undo=request.action == "undo")
    return _answer(run, code, wanted, done.changed, done.already)


def _answer(
    run: Run, code: Code, files: Sequence[FilePatch], changed: tuple[str, ...] = (), already: tuple[str, ...] = ()
) -> PatchAnswer:
    return PatchAnswer(
        id=run.entry,
        run=run.run,
        commit=code.commit or "",
        paths=tuple(file.path for file in files if not file.is_submodule or file.moves_submodule),
        diff=b"".join(file.text for file in files),
        changed=changed,
        already=already,
    )


def recorded_diff(book: Book, run: Run) -> bytes:
    """The diff that was kept of a run's code. Raises UsageError where it was too large to keep, or is gone."""
    name = run.code.diff_kept if run.code is not None else None
    if name is None:
        raise UsageError(
            f"the diff of {run.entry} was not kept",
            cause="a diff of more than 1 MiB is recorded by its digest alone",
            hint=f"logbook show {run.entry} --json names the commit it was made on",
        )
    folder = book.folder if name.startswith(f"{CODE}/") else book.run_folder(run.entry, run.run)
    return read_bytes(folder / name, within=book.root, limit=_DIFF_BYTES)


def _run_with_diff(book: Book, entry_id: str, number: str) -> tuple[Run, Code]:
    """The run that is meant, and its code: the one that is named, or the last one, where all have the same diff."""
    runs = [run for run in book.runs(entry_id) if not number or (number.isdecimal() and run.run == int(number))]
    if number and not runs:
        raise UsageError(f"{entry_id} has no run {number}", cause="no such record", hint=f"logbook show {entry_id}")
    found = {run.code.diff_sha256: (run, run.code) for run in runs if run.code is not None and run.code.diff_sha256}
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


def _repository(workspace: Workspace, run: Run, code: Code) -> Repository:
    """The repository of the working tree in which the command was typed, which must be that of the code."""
    found = repository_of(workspace.cwd)
    if found is None:
        raise UsageError(
            f"{workspace.cwd} is not in a git repository",
            cause="the diff is applied to the working tree in which the command is typed",
            hint="cd into the checkout of the code",
        )
    known = Checkout(top=found.top, inside=".", environ=workspace.environ).commit_of(code.commit or "")
    if known is None:
        raise UsageError(
            f"{found.top} does not have the commit that {run.entry} ran on",
            cause=f"{code.commit} is not in this clone, or the code is in another repository",
            hint="git fetch --all, or cd into the checkout of the code",
        )
    return found


def _declared(workspace: Workspace, paths: Sequence[str]) -> list[str]:
    """Paths as they are seen from the top of the repository."""
    found = repository_of(workspace.cwd)
    top = found.top if found is not None else Path(os.path.realpath(workspace.cwd))
    declared = []
    for path in paths:
        place = os.path.normpath(Path(os.path.realpath(workspace.cwd)) / path)
        if not Path(place).is_relative_to(top):
            raise UsageError(
                f"--paths {path}: outside {top}", cause="a diff changes files of its repository", hint="--paths FILE"
            )
        declared.append(Path(place).relative_to(top).as_posix())
    return declared


def _check_places(
    workspace: Workspace, repository: Repository, files: Sequence[FilePatch], request: PatchRequest
) -> None:
    """Raise UsageError for files that another repository, or the logbook, has."""
    again = f"logbook patch {request.reference} --{request.action} --paths"
    inside = [file.path for file in files if _is_of_submodule(repository.top, file)]
    records = [file.path for file in files if is_inside(repository.top / file.path, workspace.root)]
    if inside or records:
        rest = [file.path for file in files if file.path not in (*inside, *records) and not file.is_submodule]
        raise UsageError(
            f"nothing was changed: the diff has files that logbook does not touch: {listed([*inside, *records], 5)}",
            cause="they belong to a submodule, whose commits and files are yours to change"
            if inside
            else "they are records of a logbook",
            hint=f"{again} {rest[0]}" if rest else f"logbook patch {request.reference} --show prints the diff",
        )


def _is_of_submodule(top: Path, file: FilePatch) -> bool:
    if file.is_submodule:
        return file.moves_submodule
    return any(os.path.lexists(top / above / ".git") for above in [*Path(file.path).parents][:-1])


def check_cut_off(workspace: Workspace, book: Book) -> Iterator[Trouble]:
    """A patch of the working tree that was killed while it put its files in place."""
    del book
    repository = repository_of(workspace.cwd)
    if repository is not None and is_cut_off(repository):
        message = "a patch of the working tree was cut off, and some of its files are in place"
        mend = "logbook patch ID --apply (or --undo) restores what was there before, then does what you ask for"
        yield Trouble("warning", "patch", repository.top, message, mend)
