"""Which code ran, from git, without writing to the repository.

Two processes, started together: `cat-file` gives HEAD's commit and its tree down to the logbook root, `diff` what
differs from it. A third, `ls-files`, only when the command names files; one more for each submodule with changes.
The logbook root is left out of all of it, so that writing (or committing) an entry does not make two runs unlike.
A script that git does not track is part of the code that ran where the command names it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from logbook_agent.model.run import Code, UntrackedFile
from logbook_agent.running.provenance.git_calls import GitError, GitProcesses
from logbook_agent.running.provenance.head import FIXED, CatFile, CodeDifference, Digest
from logbook_agent.store.repository import Repository, branch_of, repository_of
from logbook_agent.text.commands.script import simple_commands_of

KEEP_BYTES = 2**20
TIMEOUT_S = 20.0
MAX_NAMED = 64
MAX_HASHED_BYTES = 64 * 2**20
# Programs of the system, not of the project.
_SYSTEM = (
    *map(Path, ("/bin", "/sbin", "/usr", "/lib", "/lib64", "/opt", "/nix", "/snap", "/etc")),
    *map(Path, ("/proc", "/dev", "/sys", "/System", "/Library")),
)
# What a run writes differs between two runs of the same code.
_OUTPUT_FLAG = re.compile(r"-o|--?(?:out|output|log|save|dump|trace|profile|result|report|json|csv)\b[\w-]*")
# A Python that lies anywhere (pyenv, conda) is not code of the project; its version is recorded apart.
_INTERPRETER = re.compile(r"(?:python|pypy)[\d.]*")
# A file outside git, by its path from the repository's top where it lies in there, and its content if that is kept.
_Named = tuple[UntrackedFile, bytes | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeFacts:
    """The code that a command runs, and what is to be kept of it: `diff` and `untracked`.

    `diff` is None when there is none or it is larger than asked for; `untracked` maps the path of an
    untracked file to its content, small files only.
    """

    code: Code = field(default_factory=Code)
    diff: bytes | None = None
    untracked: dict[str, bytes] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


def code_facts(
    cwd: Path,
    root: Path,
    argv: Sequence[str],
    *,
    keep: int = KEEP_BYTES,
    environ: Mapping[str, str] | None = None,
) -> CodeFacts:
    """The code that `argv` runs in `cwd`. `root`: the logbook root; `keep`: the most bytes of a text to keep.

    Unknown is None: outside a repository everything but the untracked files, before the first commit
    everything but branch and untracked files. What went wrong with git is a problem, never an exception.
    """
    environ = os.environ if environ is None else environ
    repository = repository_of(cwd)
    named = files_named(argv, cwd)
    if repository is None:
        return _facts(Code(), None, *_read(named, cwd, keep))
    excluded = excluded_place(repository, root)
    try:
        return _in_repository(repository, excluded, named, keep, environ)
    except GitError as error:
        code = Code(branch=branch_of(repository))
        files, problems = _read([p for p in named if not p.is_relative_to(repository.top)], repository.top, keep)
        return _facts(code, None, files, [f"code not identified: {error}", *problems])


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


def _in_repository(
    repository: Repository, excluded: str | None, named: list[Path], keep: int, environ: Mapping[str, str]
) -> CodeFacts:
    top = repository.top
    inside = [p for p in named if p.is_relative_to(top)]
    git = GitProcesses(environ, FIXED, TIMEOUT_S)
    try:
        cat = CatFile(git.start(top, ["cat-file", "--batch"], stdin=True), excluded)
        difference = CodeDifference(git, top, None if excluded == "." else excluded)
        # Index entries alone: what is left of the named files is untracked, ignored or not.
        specs = [f":(top,literal){p.relative_to(top)}" for p in inside]
        listing = git.start(top, ["ls-files", "-z", "--full-name", "--", *specs]) if specs else None
        diff = difference.read(keep)
        head = cat.read()
        tracked = set() if listing is None else _names(listing)
        failed = git.finish()
    finally:
        git.close()
    if head.error or (failed and head.commit is not None):
        raise GitError(head.error or failed)
    untracked = [p for p in named if str(p.relative_to(top) if p in inside else p) not in tracked]
    if excluded is not None:
        untracked = [p for p in untracked if not p.is_relative_to(top / excluded)]
    files, problems = _read(untracked, top, keep)
    if excluded == ".":
        problems.append("code not identified: the logbook root is the whole repository")
    known = head.commit is not None and excluded != "."
    code = Code(
        commit=head.commit,
        branch=branch_of(repository),
        identity=_identity(head.tree, diff, files) if known else None,
        dirty=bool(diff.size or files) if known else None,
        diff_sha256=diff.sha256 if known and diff.size else None,
        diff_bytes=diff.size if known else None,
    )
    return _facts(code, diff.text if known and diff.size else None, files, problems)


def _names(process: subprocess.Popen[bytes]) -> set[str]:
    assert process.stdout is not None  # noqa: S101 - started with a pipe
    return {os.fsdecode(name) for name in process.stdout.read().split(b"\0") if name}


def _read(paths: list[Path], top: Path | None, keep: int) -> tuple[list[_Named], list[str]]:
    files, problems = [], []
    for path in paths:
        shown = str(path.relative_to(top)) if top is not None and path.is_relative_to(top) else str(path)
        try:
            file = _read_named(path, shown, keep)
        except OSError as error:
            problems.append(f"{shown}: not read: {error.strerror}")
            continue
        if file is None:
            problems.append(f"{shown}: too large to count as code")
        else:
            files.append(file)
    return files, problems


def _identity(tree: str, diff: Digest, files: Sequence[_Named]) -> str:
    """One digest of HEAD's tree, the diff and the untracked files, each without the logbook root."""
    digest = hashlib.sha256(f"tree {tree}\0diff {diff.size} {diff.sha256}\0".encode())
    for file in sorted((file for file, _ in files), key=lambda f: f.path):
        digest.update(b"file " + os.fsencode(file.path) + f"\0{file.sha256}\0".encode())
    return digest.hexdigest()


def _facts(code: Code, diff: bytes | None, files: Sequence[_Named], problems: Sequence[str]) -> CodeFacts:
    return CodeFacts(
        code=dataclasses.replace(code, untracked=tuple(file for file, _ in files)),
        diff=diff,
        untracked={file.path: content for file, content in files if content is not None},
        problems=tuple(problems),
    )


# -- files that a command names --------------------------------------------------------------------


def files_named(argv: Sequence[str], cwd: Path) -> list[Path]:
    """Existing files among the words of `argv`, `--flag=value` and `-m module` included; links resolved.

    Without programs of the system, those in a virtual environment, and values of flags that name an output.
    """
    found: dict[Path, None] = {}
    for simple in simple_commands_of(argv):
        for word in _words([w.text for w in simple if not w.expanded]):
            path = _file(word, cwd)
            if path is not None:
                found[path] = None
            if len(found) >= MAX_NAMED:
                return list(found)
    return list(found)


def _words(words: Sequence[str]) -> Iterator[str]:
    for i, word in enumerate(words):
        before = words[i - 1] if i else ""
        flag, equals, value = word.partition("=")
        if equals:
            yield from [] if _OUTPUT_FLAG.fullmatch(flag) else [value]
        if before == "-m":
            module = word.replace(".", "/")
            yield from (f"{module}.py", f"{module}/__main__.py", f"src/{module}.py")
        elif not _OUTPUT_FLAG.fullmatch(before):
            yield word


def _file(word: str, cwd: Path) -> Path | None:
    if not word or len(word) > 4096 or "\0" in word:
        return None
    # The functions of os.path say no where Path raises: in folders that may not be looked into.
    named = Path(os.path.abspath(cwd / word))  # noqa: PTH100  `..` goes, links stay
    try:
        if not named.is_file():
            return None
        # Both ends of a link count: a virtual environment's python leads to one that lies elsewhere.
        real = Path(os.path.realpath(named))
    except OSError:
        return None
    return None if _is_foreign(named) or _is_foreign(real) else real


def _is_foreign(path: Path) -> bool:
    if any(path.is_relative_to(folder) for folder in _SYSTEM) or _INTERPRETER.fullmatch(path.name):
        return True
    return any(os.path.exists(parent / "pyvenv.cfg") for parent in path.parents[:6])  # noqa: PTH110  as above


def _read_named(path: Path, shown_as: str, keep: int) -> _Named | None:
    """The file's digest, and its content when it has at most `keep` bytes. Raises OSError.

    None for a file of more than 64 MiB, which is data rather than code.
    """
    size = path.stat().st_size
    if size > MAX_HASHED_BYTES:
        return None
    with path.open("rb") as file:
        content = file.read(MAX_HASHED_BYTES + 1)
    found = UntrackedFile(path=shown_as, sha256=hashlib.sha256(content).hexdigest(), bytes=len(content))
    return found, content if len(content) <= keep else None
