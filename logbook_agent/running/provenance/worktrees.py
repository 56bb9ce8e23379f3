"""Commits of a checkout, and working trees of them that are made for a while, in folders of their own.

Those folders lie among temporary files, below one that belongs to this user alone, at the same path each time: caches
that go by paths, and commands that name them, stay the same from one sitting to the next. They are removed also when
whoever made them was killed.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from shlex import join

from msgspec import Struct

from logbook_agent.model.errors import Locked, StoreError, UsageError
from logbook_agent.running.provenance.git_calls import (
    APPLY,
    DIFF,
    GitAnswer,
    changed_in,
    git_output,
    read_git,
    try_git,
    write_git,
)
from logbook_agent.store.folder import Folder, writing
from logbook_agent.store.places import checkouts_folder, repository_of
from logbook_agent.store.processes import is_in_use

# A checkout of a large repository takes a while, and so does fetching its history.
CHECKOUT_TIMEOUT_S = 600.0
FETCH_TIMEOUT_S = 600.0
_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
# More than this is data, not code.
MOST_BYTES = 100 * 2**20
ORIGIN = "origin"
_SAID_CHARS = 300


class GitApply(Struct, frozen=True):
    """`git apply` in a working tree."""

    top: Path
    environ: Mapping[str, str]

    def apply(self, diffs: Iterable[bytes], *words: str) -> GitAnswer:
        with tempfile.NamedTemporaryFile(prefix="logbook-", suffix=".diff") as file:
            file.writelines(diffs)
            file.flush()
            return write_git(self.top, [*APPLY, *words, file.name], self.environ, timeout_s=CHECKOUT_TIMEOUT_S)

    def has(self, diff: bytes, *words: str) -> bool:
        """Whether the files are as a diff leaves them."""
        return self.apply([diff], "--check", "--reverse", *words).code == 0

    def has_committed(self, diff: bytes) -> bool:
        """Whether the files of HEAD are: git compares those of its index, where others may be staged."""
        staged = ["diff", "--cached", "--quiet", "HEAD", "--"]
        staged += [f":(top,literal){path}" for path in changed_in(diff)]
        return self.has(diff, "--cached") and try_git(self.top, staged, self.environ) is not None


class Checkout(Struct, frozen=True, kw_only=True):
    """The working tree `top` that a command was typed in, at `inside` (a path from the top, `.` for the top itself)."""

    top: Path
    inside: str
    environ: Mapping[str, str]

    def commit_of(self, name: str) -> str | None:
        """The SHA of the commit that a name stands for; None where there is no such commit here."""
        found = self._said("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        return found if found and _SHA.fullmatch(found) else None

    def branches_at(self, commit: str) -> tuple[str, ...]:
        """The branches whose last commit is this one."""
        said = self._said("for-each-ref", "--points-at", commit, "--format=%(refname:short)", "refs/heads")
        return tuple((said or "").split())

    def branch(self) -> tuple[str, ...]:
        """The branch that is checked out, if one is."""
        return tuple(filter(None, [self._said("symbolic-ref", "--quiet", "--short", "HEAD")]))

    def untracked(self) -> list[str]:
        """What git does not track here, ignored or not, by its path from the top; of a folder without a tracked file
        its name alone, with a `/`."""
        return self._names(self.top, "ls-files", "-z", "--others", "--directory", "--no-empty-directory")

    def parents_of(self, commit: str) -> tuple[str, ...]:
        """The parents that a commit names, also those that a shallow clone does not have."""
        head = (self._said("cat-file", "commit", commit) or "").split("\n\n")[0]
        return tuple(re.findall(r"^parent ([0-9a-f]+)$", head, re.MULTILINE))

    def merge_base(self, one: str, other: str) -> str | None:
        """The commit that two others have grown from; None where none is known here."""
        found = (self._said("merge-base", one, other) or "").splitlines()
        return found[0] if found else None

    def is_shallow(self) -> bool:
        """Whether the clone lacks history."""
        return self._said("rev-parse", "--is-shallow-repository") == "true"

    def lacking(self) -> tuple[str, str]:
        """Why a commit may be missing in this clone, and what to type."""
        if self.is_shallow():
            return "the clone is shallow: it has some commits only", f"git fetch --unshallow {ORIGIN}"
        return "no branch, tag or hash of that name", "git log --oneline lists commits"

    def has_origin(self) -> bool:
        """Whether there is another repository that may have what this clone lacks."""
        return self._said("remote", "get-url", ORIGIN) is not None

    def has_changes(self) -> bool:
        """Whether tracked files differ from the commit that is checked out."""
        return read_git(self.top, [*DIFF, "--quiet", "HEAD", "--"], self.environ).code == 1

    def subject_of(self, commit: str) -> str:
        """The first line of the message of a commit."""
        return self._said("log", "-1", "--format=%s", "--end-of-options", commit) or ""

    def fetch(self, commit: str, *, history: bool) -> None:
        """Have git fetch one commit from origin, with all of its `history` or alone. Raises StoreError with git's own
        words."""
        if not _SHA.fullmatch(commit):
            raise UsageError(f"cannot fetch {commit!r}", cause="expected the SHA of a commit")
        how = (["--unshallow"] if self.is_shallow() else []) if history else ["--depth=1"]
        words = ["fetch", "--no-tags", "--no-recurse-submodules", "--quiet", *how, ORIGIN, commit]
        self._write(words, f"git could not fetch {commit[:12]} from {ORIGIN}", timeout_s=FETCH_TIMEOUT_S)

    @contextlib.contextmanager
    def worktree(self, folder: Path, commit: str) -> Iterator[Path]:
        """A working tree of a commit in a folder that does not exist yet, removed in the end with all that was written
        there; the place in it that corresponds to where the command was typed. No hook of the repository is started."""
        add = ["-c", f"core.hooksPath={os.devnull}", "worktree", "add", "--detach", "--quiet", str(folder), commit]
        try:
            self._write(add, f"git could not check {commit[:12]} out", timeout_s=CHECKOUT_TIMEOUT_S)
            yield folder / self.inside
        finally:
            self.remove(folder)

    def remove(self, folder: Path) -> None:
        """Remove a working tree, also where git refuses to: what a build left there, or one that was never whole."""
        write_git(
            self.top,
            ["worktree", "remove", "--force", "--force", str(folder)],
            self.environ,
            timeout_s=CHECKOUT_TIMEOUT_S,
        )
        if folder.exists():
            Folder(folder.parent).remove_tree(folder)
            write_git(self.top, ["worktree", "prune"], self.environ, timeout_s=CHECKOUT_TIMEOUT_S)

    def bring_changes(self, folder: Path, *, without: Path | None) -> int:
        """Bring what differs from HEAD here, and files that git neither tracks nor ignores, into a working tree of
        HEAD, whose diff then shows all of it; the number of files. What lies below `without` stays behind.

        Raises UsageError where the untracked files are data rather than code, StoreError where git fails."""
        changed = self._names(self.top, *DIFF, "--no-renames", "--name-only", "-z", "HEAD", "--")
        fresh = self._names(self.top, "ls-files", "-z", "--others", "--exclude-standard")
        _check_size(self.top, fresh)
        found = 0
        for name in dict.fromkeys((*changed, *fresh)):
            source = self.top / name
            # A submodule, or another repository, is a folder.
            is_folder = source.is_dir() and not source.is_symlink()
            if not is_folder and (without is None or not source.is_relative_to(without)):
                _bring(source, folder / name)
                found += 1
        # Forced: nothing else is there that git does not track.
        add = ["add", "--intent-to-add", "--force", "--all"]
        self._write(add, "git could not add the untracked files", top=folder, timeout_s=CHECKOUT_TIMEOUT_S)
        return found

    def apply(self, folder: Path, patch: Path) -> None:
        """Apply a diff to a working tree of its commit, and to its index. Raises StoreError with git's own words."""
        add = ["apply", "--index", "--whitespace=nowarn", str(patch)]
        self._write(add, f"git could not apply {patch.name}", top=folder, timeout_s=CHECKOUT_TIMEOUT_S)

    def _names(self, top: Path, *words: str) -> list[str]:
        """The names that git lists, each with a zero at its end. Raises StoreError where git fails."""
        return [os.fsdecode(name) for name in git_output(top, words, self.environ).split(b"\0") if name]

    def _said(self, *words: str) -> str | None:
        out = try_git(self.top, words, self.environ)
        return None if out is None else os.fsdecode(out).strip()

    def _write(self, words: Sequence[str], trouble: str, *, timeout_s: float, top: Path | None = None) -> None:
        top = top or self.top
        done = write_git(top, words, self.environ, timeout_s=timeout_s)
        if done.code != 0:
            said = " ".join(done.words.split())[-_SAID_CHARS:] or f"exit code {done.code}"
            raise StoreError(trouble, cause=said, hint=f"try it by hand: {join(['git', '-C', str(top), *words])}")


def _check_size(top: Path, names: Sequence[str]) -> None:
    size = 0
    for name in names:
        with contextlib.suppress(OSError):
            size += (top / name).lstat().st_size
    if size > MOST_BYTES:
        raise UsageError(
            f"{top} has {size >> 20:,} MiB of untracked files",
            cause=f"up to {MOST_BYTES >> 20} MiB of them are taken for code, and copied and recorded with it",
            hint="add what is data to .gitignore",
        )


def bring(source: Path, target: Path) -> None:
    """Make a file or a folder of a working tree the same as another."""
    if target.is_dir():
        shutil.rmtree(target)
    for path in source.rglob("*") if source.is_dir() else [source]:
        if not path.is_dir():
            _bring(path, target / path.relative_to(source))


def _bring(source: Path, target: Path) -> None:
    """Make a file of a working tree the same as another: its content, mode and time, or that it is a link, or gone."""
    if target.is_symlink() or target.is_file():
        target.unlink()
    elif target.is_dir():
        shutil.rmtree(target)
    if os.path.lexists(source):
        for folder in target.parents:
            if folder.is_symlink() or folder.is_file():
                folder.unlink()
                break
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target, follow_symlinks=False)


def checkout_of(place: Path, environ: Mapping[str, str]) -> Checkout:
    """The checkout that a folder lies in. Raises UsageError where it lies in none, or before the first commit."""
    found = repository_of(place)
    if found is None:
        raise UsageError(
            f"{place} is not in a git repository",
            cause="two versions of the code are taken from a repository",
            hint="cd into its checkout; in GitHub Actions, run actions/checkout before this step",
        )
    checkout = Checkout(top=found.top, inside=found.place_of(place), environ=environ)
    if checkout.commit_of("HEAD") is None:
        # Git may refuse the folder of another user, and says so.
        git_output(found.top, ["rev-parse", "--git-dir"], environ)
        raise UsageError(
            f"{found.top} has no commit", cause="nothing is committed yet", hint="git commit, and try again"
        )
    return checkout


# -- folders for checkouts ---------------------------------------------------------------------------


# Whose working trees lie in a folder.
_REPOSITORY, _PATH_BYTES = "repository", 4096
# Whoever cleans holds a folder for less than this.
_CLEANED_S = 0.2


@contextlib.contextmanager
def checkout_folder(checkout: Checkout) -> Iterator[Path]:
    """An empty folder for checkouts of a repository, held until the block is left, and removed then. Raises StoreError
    where the folder of all checkouts is another user's."""
    above = checkouts_folder(checkout.environ)
    Folder(above).make(private=True)
    if not _is_own(above):
        raise StoreError(
            f"{above} is not yours alone",
            cause="another user, or another program, made it",
            hint="remove it, or set TMPDIR to another folder",
        )
    above = Path(os.path.realpath(above))
    clean(above, checkout.environ)
    with _taken(above, f"{checkout.top.name}-{hashlib.sha256(os.fsencode(checkout.top)).hexdigest()[:8]}") as slot:
        Folder(slot).write(_REPOSITORY, os.fsencode(checkout.top))
        yield slot


@contextlib.contextmanager
def _taken(above: Path, name: str) -> Iterator[Path]:
    """A new folder, which no other process has, and which is removed in the end."""
    with contextlib.ExitStack() as stack:
        for number in itertools.count(1):
            slot = above / name / str(number)
            try:
                with contextlib.ExitStack() as own:
                    for folder in (above, slot.parent):
                        with writing(folder):
                            folder.mkdir(mode=0o700, exist_ok=True)
                    own.enter_context(_held(slot, timeout_s=_CLEANED_S))
                    slot.mkdir(mode=0o700)
                    own.callback(Folder(above).remove_tree, slot)
                    stack.push(own.pop_all())
                    break
            except (StoreError, FileExistsError, FileNotFoundError) as error:
                # Another process has it, or a command still runs there; or one removes the folders that it left empty.
                is_gone = isinstance(error.__cause__, FileNotFoundError)
                if isinstance(error, StoreError) and not isinstance(error, Locked) and not is_gone:
                    raise
        yield slot


@contextlib.contextmanager
def _held(slot: Path, timeout_s: float = 0) -> Iterator[None]:
    """Hold a folder for checkouts, which need not exist, until the block is left. Raises Locked where another process
    holds it. The lock lies beside it: a folder is removed and made again at the same path, and whoever removes it must
    hold that path, not what was there when it looked."""
    name = f"{slot.name}.lock"
    with Folder(slot.parent).lock(name, timeout_s=timeout_s):
        try:
            yield
        finally:
            Folder(slot.parent).remove(name)
            for folder in (slot.parent, slot.parent.parent):
                with contextlib.suppress(OSError):
                    folder.rmdir()


def clean(above: Path, environ: Mapping[str, str]) -> None:
    """Remove the checkouts that nobody holds, unless a command still runs in one."""
    slots = list[Path]()
    # Whoever has one, or cleans as well, may remove it meanwhile.
    with contextlib.suppress(FileNotFoundError):
        slots = [*above.glob("*/*[0-9]")] if _is_own(above) else []
    for slot in slots:
        with contextlib.suppress(StoreError, FileNotFoundError), _held(slot):
            if not slot.is_dir() or is_in_use(slot):
                continue
            with contextlib.suppress(StoreError):
                top = Path(os.fsdecode(Folder(slot).read(_REPOSITORY, limit=_PATH_BYTES)))
                checkout = Checkout(top=top, inside=".", environ=environ)
                for folder in (path for path in slot.glob("*") if path.is_dir()):
                    checkout.remove(folder)
            Folder(above).remove_tree(slot)


def _is_own(above: Path) -> bool:
    """Whether a folder is this user's, and nobody else may write there."""
    state = above.lstat()
    return stat.S_ISDIR(state.st_mode) and state.st_uid == os.getuid() and not state.st_mode & 0o077
