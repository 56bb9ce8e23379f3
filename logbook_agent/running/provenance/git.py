"""Which code ran, from git, without writing to the repository.

`status` gives HEAD's commit and what git neither tracks nor ignores, `ls-tree` the files of a commit that is not known
yet, and `diff` what differs from it, where something does; one more for each submodule with changes. The logbook root
is left out of all of it, so that writing (or committing) an entry does not make two runs unlike. Whether a file is
committed makes no difference.
"""

from __future__ import annotations

import errno
import hashlib
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct, field, structs

from logbook_agent.model.code import Code, CodeRules, CommandWords, UntrackedFile
from logbook_agent.model.errors import StoreError
from logbook_agent.model.worker_report import Problem, noted, withheld
from logbook_agent.running.provenance.git_calls import working_tree
from logbook_agent.running.provenance.named_files import NamedFiles, files_named, unnamed_sources
from logbook_agent.store.places import Repository, branch_of, repository_of
from logbook_agent.text.phrases import listed

KEEP_BYTES = 2**20
MAX_HASHED_BYTES = 64 * 2**20
_SHOWN_FILES = 5


class _Named(NamedTuple):
    """A file that git does not track, by its path from the repository's top where it lies in there; its object as git
    would have it, and its content if that is kept."""

    file: UntrackedFile
    entry: str
    content: bytes | None


class CodeFacts(Struct, frozen=True, kw_only=True):
    """The code that a command runs, and what is to be kept of it: `diff` and `untracked`.

    `diff` is None when there is none or it is larger than asked for; `untracked` maps the path of an
    untracked file to its content, small files only. `files`: the object of each file that is no document and
    no output, by its path from `top`; a change of the `sources` among them makes other code. `head` are all files of
    HEAD, and `looked` is the time at which `look` was taken.
    """

    code: Code = field(default_factory=Code)
    diff: bytes | None = None
    untracked: dict[str, bytes] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    sources: frozenset[str] = frozenset()
    head: Mapping[str, str] = field(default_factory=dict)
    top: Path = Path()
    looked: float = 0.0
    look: CodeLook | None = None

    def again(self) -> CodeFacts:
        """The same facts as they are now."""
        return self if self.look is None else self.look.facts()


def excluded_place(repository: Repository, root: Path) -> str | None:
    """The logbook root relative to the top (`.` when it is the top), also of another working tree of the repository;
    None when it lies elsewhere."""
    place = Path(os.path.realpath(root))
    if place.is_relative_to(repository.top):
        return str(place.relative_to(repository.top))
    other = repository_of(place) if repository.git_dir != repository.common_dir else None
    if other is None or other.common_dir != repository.common_dir or place == other.top:
        return None
    return str(place.relative_to(other.top))


class CodeLook(Struct, frozen=True):
    """Which code a command of these words runs in `cwd`. `root`: the logbook root; `keep`: the most bytes of a text to
    keep."""

    cwd: Path
    root: Path
    words: CommandWords
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    rules: CodeRules = field(default_factory=CodeRules)
    keep: int = KEEP_BYTES

    def facts(self) -> CodeFacts:
        """The code as it is now.

        Unknown is None: outside a repository everything but the untracked files, before the first commit
        everything but branch and untracked files. What went wrong with git is a problem, never an exception.
        """
        repository, looked = repository_of(self.cwd), time.time()
        named = files_named(self.words, self.cwd)
        named = named._replace(read=[path for path in named.read if not self.rules.is_output(str(path))])
        top = repository.top if repository is not None else self.cwd
        try:
            if repository is not None:
                found = self._in_repository(repository, named)
            else:
                found = _facts(Code(), None, *_read(named.read, top, self.keep))
        except StoreError as error:
            files, problems = _read(named.read, top, self.keep)
            code = Code(branch=branch_of(repository) if repository is not None else None)
            found = _facts(code, None, files, [f"code not identified: {error.message}; {error.hint}", *problems])
        return structs.replace(found, top=top, looked=looked, look=self)

    def _in_repository(self, repository: Repository, of: NamedFiles) -> CodeFacts:
        """As `facts`. Raises StoreError where git fails."""
        top, excluded = repository.top, excluded_place(repository, self.root)
        is_all_excluded = excluded == "."
        tree = working_tree(top, None if is_all_excluded else excluded, self.environ)
        inside = {str(path.relative_to(top)): path for path in of.read if path.is_relative_to(top)}
        # What is left of the named files is untracked, ignored or not.
        tracked = {name for name in inside if tree.changed.get(name, tree.head.get(name)) is not None}
        named, unread = of.read, list[str]()
        if is_identified := tree.commit is not None and not is_all_excluded:
            unnamed, unread = unnamed_sources(top, tree.untracked, tree.head, self.rules)
            named = sorted({*named, *unnamed} - of.written - {inside[name] for name in tracked})
        if excluded is not None and not is_all_excluded:
            named = [path for path in named if not path.is_relative_to(top / excluded)]
        files, problems = _read(named, top, self.keep)
        problems += unread
        if is_all_excluded:
            problems.append("code not identified: the logbook root is the whole repository")
        code = Code(commit=tree.commit, branch=branch_of(repository))
        if not is_identified:
            return _facts(code, None, files, problems)
        code = structs.replace(
            code,
            dirty=bool(tree.diff or files),
            diff_sha256=hashlib.sha256(tree.diff).hexdigest() if tree.diff else None,
            diff_bytes=len(tree.diff),
        )
        diff = tree.diff if 0 < len(tree.diff) <= self.keep else None
        found = structs.replace(_facts(code, diff, files, problems), head=tree.head)
        return self._identified(found, tree.changed, excluded, tracked)

    def _identified(
        self, found: CodeFacts, changed: Mapping[str, str | None], excluded: str | None, named: set[str]
    ) -> CodeFacts:
        """The facts with the files of a working tree, where those that `changed` differ from HEAD; git tracks those
        that are `named`."""
        files = {**found.head, **changed}
        documents = {path for path in files if self.rules.is_document(path) or self.rules.is_output(path)} - named
        documents |= {path for path in files if excluded is not None and path.startswith(f"{excluded}/")}
        known = {path: one for path, one in files.items() if one is not None and path not in documents}
        known |= found.files
        sources = {path for path in known if self.rules.is_source(path)} | found.files.keys() | (named & known.keys())
        code = structs.replace(
            found.code, identity=_digest(known), sources=_digest({path: known[path] for path in sources})
        )
        return structs.replace(found, code=code, files=known, sources=frozenset(sources))


def _read(paths: Sequence[Path], top: Path, keep: int) -> tuple[list[_Named], list[str]]:
    files, problems = [], []
    for path in paths:
        shown = str(path.relative_to(top)) if path.is_relative_to(top) else str(path)
        try:
            files.append(_read_named(path, shown, keep))
        except OSError as error:
            problems.append(f"{shown}: not read: {error.strerror}")
    return files, problems


def _digest(files: Mapping[str, str]) -> str:
    """One digest of files, by their paths and objects."""
    text = "".join(f"{path}\0{files[path]}\0" for path in sorted(files))
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _facts(code: Code, diff: bytes | None, files: Sequence[_Named], problems: Sequence[str]) -> CodeFacts:
    entries = {one.file.path: one.entry for one in files}
    return CodeFacts(
        code=structs.replace(code, untracked=tuple(one.file for one in files)),
        diff=diff,
        untracked={one.file.path: one.content for one in files if one.content is not None},
        problems=tuple(problems),
        files=entries,
        sources=frozenset(entries),
    )


def _read_named(path: Path, shown_as: str, keep: int) -> _Named:
    """The file's digest, and its content when it has at most `keep` bytes. Raises OSError, also for a file of more than
    64 MiB, which is data rather than code."""
    size = path.stat().st_size
    if size > MAX_HASHED_BYTES:
        raise OSError(errno.EFBIG, "too large to count as code")
    with path.open("rb") as file:
        content = file.read(MAX_HASHED_BYTES + 1)
    named = UntrackedFile(path=shown_as, sha256=hashlib.sha256(content).hexdigest(), bytes=len(content))
    oid = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
    return _Named(named, oid, content if len(content) <= keep else None)


# -- whether it is the same code at two times ------------------------------------------------------------------


def changed_files(before: CodeFacts, after: CodeFacts) -> tuple[list[str], list[str]]:
    """The files of code that changed between two looks at the code of one command, and the other files that did. Where
    the first are none, it is the same code.

    A file that git did not track at the first look changes nothing by being added to git, nor does one that the command
    names and that was not there.
    """
    fresh = after.files.keys() - before.files.keys() - {file.path for file in after.code.untracked}
    known = before.files.keys() | {path for path in fresh if _is_younger(after.top / path, before.looked)}
    if None in (before.code.identity, after.code.identity):
        # Of git's files only one of the two knows.
        known = before.files.keys() & after.files.keys()
    changed = [path for path in sorted(known) if before.files.get(path) != after.files.get(path)]
    sources = before.sources | after.sources
    return [p for p in changed if p in sources], [p for p in changed if p not in sources]


def _is_younger(path: Path, moment: float) -> bool:
    try:
        return path.lstat().st_ctime >= moment
    except OSError:
        return True


def change_problems(before: CodeFacts, after: CodeFacts) -> tuple[Problem, ...]:
    """What is wrong with a run whose code was looked at before and after it."""
    code, others = changed_files(before, after)
    return (
        *(withheld(f"code changed during the run: {listed(code, _SHOWN_FILES)}") if code else ()),
        *(noted(f"other files changed during the run: {listed(others, _SHOWN_FILES)}") if others else ()),
        *noted(*(f"after the run: {text}" for text in after.problems if text not in before.problems)),
    )
