"""Applying a recorded diff to a working tree, or taking it back: all of its files or none, also when killed.

`git apply` makes the new files in a folder of git's own, from copies; the index, HEAD and all other files stay as they
are. A plan that names each file with its state before and after is written there, and then the files are renamed into
place. Where that was cut off, the next call restores what was there before.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TypeAlias

from logbook_agent.agents.recorded_diff import FilePatch, is_plain
from logbook_agent.model.errors import StoreError, UsageError
from logbook_agent.running.provenance.git_calls import DIFF, GitAnswer, read_git, write_git
from logbook_agent.store.files import locked, make_folder, remove, remove_tree, write_text
from logbook_agent.store.reading import check_place, read_text
from logbook_agent.store.repository import Repository
from logbook_agent.text.phrases import listed

# What a user has configured must not let a change fit where it does not.
_APPLY = ("-c", "apply.ignoreWhitespace=no", "-c", "apply.whitespace=nowarn", "apply", "--whitespace=nowarn")
_TIMEOUT_S = 120.0
_PLAN = "plan.json"
_ATTRIBUTES = ".gitattributes"
# What stands at a path: its kind (`absent`, `file`, `link` or `other`), permissions, and the digest of its content.
FileState: TypeAlias = tuple[str, int, str]
_ABSENT: FileState = ("absent", 0, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchedTree:
    """The paths that were `changed`, and those that were `already` as they should be."""

    changed: tuple[str, ...]
    already: tuple[str, ...]


def patch_tree(
    repository: Repository, files: Sequence[FilePatch], environ: Mapping[str, str], *, undo: bool
) -> PatchedTree:
    """Apply the files of a diff to the working tree, or take them back. Raises UsageError that names each file with
    other changes where the diff changes it; then nothing is changed."""
    with _folder_of(repository) as folder:
        roll_back(repository, folder)
        remove_tree(folder, within=folder.parent)
        make_folder(folder / "before", within=folder.parent)
        wanted = [file for file in files if not file.is_submodule]
        tree = _Tree(repository, folder, environ, undo=undo)
        already = tree.already(wanted)
        left = [file for file in wanted if file.path not in already]
        if left and not tree.fits(left):
            reversed_ = _Tree(repository, folder, environ, undo=not undo)
            more = {file.path for file in left if not tree.fits([file]) and reversed_.fits([file])}
            already |= more
            left = [file for file in left if file.path not in more]
            if unfit := [file.path for file in left if not tree.fits([file])]:
                raise _unfit(repository, unfit, environ, undo=undo)
        if left:
            _swap(repository, folder, tree.made(left), [file.path for file in left])
        remove_tree(folder, within=folder.parent)
        return PatchedTree(
            changed=tuple(file.path for file in left), already=tuple(f.path for f in wanted if f.path in already)
        )


@contextlib.contextmanager
def _folder_of(repository: Repository) -> Iterator[Path]:
    """The folder for plan and copies, in the git directory of this working tree, while no other process has it."""
    above = repository.git_dir / "logbook-agent"
    make_folder(above, within=repository.git_dir)
    with locked(above / "patch.lock", within=repository.git_dir):
        yield above / "patch"


def is_cut_off(repository: Repository) -> bool:
    """Whether a patch of this working tree has not come to its end: it was killed, or goes on."""
    return os.path.lexists(repository.git_dir / "logbook-agent" / "patch" / _PLAN)


# -- what git says -----------------------------------------------------------------------------------


class _Tree:
    """A working tree, and the direction in which a diff is applied to it."""

    def __init__(self, repository: Repository, folder: Path, environ: Mapping[str, str], *, undo: bool) -> None:
        self._repository, self._folder, self._environ = repository, folder, environ
        self._top = repository.top
        self._undo = undo

    def already(self, files: Sequence[FilePatch]) -> set[str]:
        """The paths whose content and mode are what the diff leads to."""
        oids = self._oids([file.path for file in files])
        found = set()
        for file in files:
            oid, mode = (file.old_oid, file.old_mode) if self._undo else (file.new_oid, file.new_mode)
            now = oids.get(file.path, (None, None))
            if (file.is_mode_alone or now[0] == oid) and now[1] == mode:
                found.add(file.path)
        return found

    def _oids(self, paths: Sequence[str]) -> dict[str, tuple[str | None, str | None]]:
        """The object that git would make of each file that is there, and its mode."""
        regular: list[tuple[str, str]] = []
        found: dict[str, tuple[str | None, str | None]] = {}
        for path in paths:
            state = state_of(self._top / path)
            if state[0] == "file":
                regular.append((path, "100755" if state[1] & 0o100 else "100644"))
            elif state[0] == "link":
                data = os.fsencode(os.readlink(self._top / path))  # noqa: PTH115 - a Path is not the same text
                found[path] = (self._digest(b"blob %d\0" % len(data) + data), "120000")
        for start in range(0, len(regular), 200):
            some = regular[start : start + 200]
            answer = read_git(self._top, ["hash-object", "--", *(path for path, _ in some)], self._environ)
            if answer.code != 0:
                raise _failed("git could not read the files of the diff", answer)
            for (path, mode), oid in zip(some, answer.lines(), strict=True):
                found[path] = (oid, mode)
        return found

    def _digest(self, data: bytes) -> str:
        answer = read_git(self._top, ["rev-parse", "--show-object-format"], self._environ)
        is_sha1 = answer.out.strip() != b"sha256"
        return hashlib.new("sha1" if is_sha1 else "sha256", data, usedforsecurity=False).hexdigest()

    def fits(self, files: Sequence[FilePatch]) -> bool:
        """Whether git would apply these to the working tree."""
        words = [*_APPLY, "--check", *self._direction, str(self._written(files))]
        return read_git(self._top, words, self._environ).code == 0

    def made(self, files: Sequence[FilePatch]) -> Path:
        """A folder with the new files, made from copies."""
        stage = self._folder / "stage"
        make_folder(stage, within=self._folder)
        for file in files:
            for above in [*Path(file.path).parents][::-1]:
                _copy(self._top / above / _ATTRIBUTES, stage / above / _ATTRIBUTES)
            _copy(self._top / file.path, stage / file.path)
        at = [f"--git-dir={self._repository.git_dir}", f"--work-tree={stage}", "-C", str(stage)]
        words = [*at, *_APPLY, *self._direction, str(self._written(files))]
        answer = write_git(self._top, words, self._environ, timeout_s=_TIMEOUT_S)
        if answer.code != 0:
            raise _failed("git could not apply the recorded diff", answer)
        for file in files:
            _keep_mode(self._top / file.path, stage / file.path)
        return stage

    @property
    def _direction(self) -> list[str]:
        return ["--reverse"] if self._undo else []

    def _written(self, files: Sequence[FilePatch]) -> Path:
        """The diff of these files as a file."""
        path = self._folder / "chosen.diff"
        remove(path, within=self._folder)
        with path.open("xb") as file:
            file.writelines(one.text for one in files)
        return path


def _keep_mode(old: Path, new: Path) -> None:
    """Give a new file the permissions of the one that it replaces, unless the diff changes them."""
    if state_of(old)[0] == state_of(new)[0] == "file":
        before, after = old.stat().st_mode, new.stat().st_mode
        if (before & 0o100) == (after & 0o100):
            new.chmod(stat.S_IMODE(before))


def _unfit(repository: Repository, paths: Sequence[str], environ: Mapping[str, str], *, undo: bool) -> UsageError:
    """The error for files with other changes where the diff changes them."""
    own = [path for path in paths if _is_changed(repository, path, environ)]
    rest = [path for path in paths if path not in own]
    why = [f"{listed(own, 5)}: changes that are not committed overlap with the diff"] if own else []
    why += [f"{listed(rest, 5)}: what the diff changes is not there as it was recorded"] if rest else []
    return UsageError(
        f"nothing was {'undone' if undo else 'applied'}: the diff does not fit {listed(paths, 5)}",
        cause="; ".join(why),
        hint=f"look at them: git -C {quote(str(repository.top))} diff HEAD -- {' '.join(map(quote, paths[:5]))};"
        " --paths names those files of the diff that you want",
    )


def _is_changed(repository: Repository, path: str, environ: Mapping[str, str]) -> bool:
    """Whether a file differs from HEAD, or is there and not in HEAD."""
    spec = f":(top,literal){path}"
    differs = read_git(repository.top, [*DIFF, "--quiet", "HEAD", "--", spec], environ).code != 0
    known = read_git(repository.top, ["ls-files", "--error-unmatch", "--", spec], environ).code == 0
    return differs or (not known and os.path.lexists(repository.top / path))


def _failed(message: str, answer: GitAnswer) -> StoreError:
    return StoreError(message, cause=answer.words[-300:] or f"exit code {answer.code}", hint="git status")


# -- files -------------------------------------------------------------------------------------------


def state_of(path: Path) -> FileState:
    """The state of what stands at a path; no link is followed."""
    try:
        mode = path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return _ABSENT
    if stat.S_ISLNK(mode):
        text = os.readlink(path)  # noqa: PTH115 - as above
        return "link", 0, hashlib.sha256(os.fsencode(text)).hexdigest()
    if not stat.S_ISREG(mode):
        return "other", 0, ""
    with path.open("rb") as file:
        return "file", stat.S_IMODE(mode), hashlib.file_digest(file, "sha256").hexdigest()


def _copy(path: Path, new: Path) -> None:
    if state_of(path)[0] in ("file", "link") and not os.path.lexists(new):
        new.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, new, follow_symlinks=False)


def _swap(repository: Repository, folder: Path, stage: Path, paths: Sequence[str]) -> None:
    """Put the new files in place of the old ones: all of them, or none."""
    plan: list[tuple[str, FileState, FileState]] = []
    for number, path in enumerate(paths):
        check_place(repository.top / path, repository.top)
        _copy(repository.top / path, folder / "before" / str(number))
        plan.append((path, state_of(folder / "before" / str(number)), state_of(stage / path)))
    write_text(folder / _PLAN, json.dumps(plan), within=folder)
    try:
        for path, before, after in plan:
            if state_of(repository.top / path) != before:
                raise UsageError(f"{path} was changed meanwhile", cause="another program writes it", hint="try again")
            _put(stage / path, repository.top / path, repository.top, is_there=after != _ABSENT)
    except BaseException:
        roll_back(repository, folder)
        raise
    remove(folder / _PLAN, within=folder)


def roll_back(repository: Repository, folder: Path) -> None:
    """Restore the files of a patch that was cut off. Raises StoreError where one of them was changed since."""
    if not os.path.lexists(folder / _PLAN):
        return
    plan = json.loads(read_text(folder / _PLAN, within=folder))
    states = [(path, tuple(before), tuple(after), state_of(repository.top / path)) for path, before, after in plan]
    if changed := [path for path, before, after, now in states if now not in (before, after) or not is_plain(path)]:
        raise StoreError(
            f"a patch was cut off, and {listed(changed, 5)} was changed since",
            cause=f"the files as they were before it are in {folder / 'before'}, numbered in the order of {_PLAN}",
            hint=f"restore what you need, then type: rm -r {quote(str(folder))}",
        )
    for number, (path, before, _, now) in enumerate(states):
        if now != before:
            check_place(repository.top / path, repository.top)
            old = folder / "before" / str(number)
            _put(old, repository.top / path, repository.top, is_there=before != _ABSENT)
    remove(folder / _PLAN, within=folder)


def _put(new: Path, path: Path, top: Path, *, is_there: bool) -> None:
    """Rename a file into place; or remove what is there, with the folders that are empty then."""
    if is_there:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            new.replace(path)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            raise StoreError(
                f"cannot replace {path} in one step",
                cause="the working tree and its git directory are on different file systems",
                hint="logbook patch ID --show prints the diff; git apply takes it",
            ) from error
        return
    path.unlink(missing_ok=True)
    for above in path.parents:
        if above == top:
            break
        try:
            above.rmdir()
        except OSError:
            break
