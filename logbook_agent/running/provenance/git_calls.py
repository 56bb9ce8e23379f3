"""The one place that starts git: cleaned environment, no prompt, limits of time and output.

A repository's configuration may name programs: fsmonitor, hooks, external diffs, text conversion, pagers, transports.
What reads starts none of them. What writes runs the user's hooks and signs as the user
configured. Filters (LFS, git-crypt, nbstripout) run in both: they define what the content
of a file is, and a diff without them would show what they are there to hide.
"""

from __future__ import annotations

import codecs
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from logbook_agent.model.errors import StoreError
from logbook_agent.running.programs import NOT_STARTED, NoAnswer, ProgramAnswer, absolute_path, run_program
from logbook_agent.store.places import repository_of

TIMEOUT_S = 20.0
MOST_BYTES = 256 * 2**20
_SAID_CHARS = 300
# A hook's GIT_DIR or GIT_INDEX_FILE would point a command at something else.
_KEPT = ("GIT_CONFIG", "GIT_EXEC_PATH", "GIT_SSH", "GIT_TRACE", "GIT_ALLOW", "GIT_TEST")
_IDENTITY = ("GIT_AUTHOR_", "GIT_COMMITTER_")
_ALWAYS = {"GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}
_READING = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    # A partial clone would ask the network for what it does not hold.
    "GIT_NO_LAZY_FETCH": "1",
    "LC_ALL": "C",
}
# They hold in submodules, too: git hands them on.
_CONFIG = {
    "core.fsmonitor": "false",
    "core.pager": "cat",
    # A bare repository among the files of a branch brings a configuration along.
    "safe.bareRepository": "explicit",
    "submodule.recurse": "false",
}
_READING_CONFIG = {
    **_CONFIG,
    "core.hooksPath": os.devnull,
    "protocol.allow": "never",
    # `git diff` would write the index that it refreshed, whatever GIT_OPTIONAL_LOCKS says.
    "diff.autoRefreshIndex": "false",
    "log.showSignature": "false",
}
# Options of the commands that compare contents, whatever attributes and configuration say.
DIFF = ("diff", "--no-ext-diff", "--no-textconv", "--no-color")
# And what a diff needs that is applied elsewhere.
WHOLE = ("--no-renames", "--binary", "--full-index", "--src-prefix=a/", "--dst-prefix=b/")
# What a user has configured must not let a change fit where it does not.
APPLY = ("-c", "apply.ignoreWhitespace=no", "-c", "apply.whitespace=nowarn", "apply")


GitAnswer = ProgramAnswer


def read_git(
    top: Path, words: Sequence[str], environ: Mapping[str, str], *, config: Mapping[str, str] | None = None
) -> GitAnswer:
    """Run a git command that writes nothing. Raises StoreError when git cannot be started or exceeds a limit."""
    env = {k: v for k, v in environ.items() if not k.startswith("GIT_") or k.startswith(_KEPT)}
    return _git(top, words, env | _READING, config={**_READING_CONFIG, **(config or {})})


def git_output(
    top: Path, words: Sequence[str], environ: Mapping[str, str], *, config: Mapping[str, str] | None = None
) -> bytes:
    """What a command that writes nothing prints. Raises StoreError when it fails."""
    answer = read_git(top, words, environ, config=config)
    if answer.code != 0:
        said = (answer.words.splitlines() or [f"exit code {answer.code}"])[0][:_SAID_CHARS]
        allow = f"to allow it: git config --global --add safe.directory {shlex.quote(str(top))}"
        raise StoreError(
            f"git {_verb(words)} failed: {said}",
            hint=allow if "dubious ownership" in said else f"try it by hand: git -C {shlex.quote(str(top))} status",
        )
    return answer.out


def try_git(top: Path, words: Sequence[str], environ: Mapping[str, str]) -> bytes | None:
    """What a command that writes nothing prints; None when git is not there, exceeds a limit, or fails."""
    try:
        return git_output(top, words, environ)
    except StoreError:
        return None


def write_git(top: Path, words: Sequence[str], environ: Mapping[str, str], *, timeout_s: float) -> GitAnswer:
    """Run a git command that writes, under the user's identity and with their hooks; its messages are in English."""
    env = {k: v for k, v in environ.items() if not k.startswith("GIT_") or k.startswith(_KEPT + _IDENTITY)}
    return _git(top, words, env | {"LANGUAGE": "C"}, config=_CONFIG, timeout_s=timeout_s, writes=True)


def _git(
    top: Path,
    words: Sequence[str],
    env: Mapping[str, str],
    *,
    config: Mapping[str, str],
    timeout_s: float = TIMEOUT_S,
    writes: bool = False,
) -> GitAnswer:
    """Git in `top`, which it takes for the top of a repository or for none: it does not look further up. What writes
    may start a hook that asks on the terminal."""
    options = ["-C", str(top), *(w for k, v in config.items() for w in ("-c", f"{k}={v}"))]
    ceiling = {"PATH": absolute_path(env), "GIT_CEILING_DIRECTORIES": str(top.parent)}
    try:
        answer = run_program(
            ["git", *options, *words],
            {**env, **_ALWAYS, **ceiling},
            timeout_s=timeout_s,
            stall_s=timeout_s,
            most_bytes=MOST_BYTES,
            name=f"git {_verb(words)}",
            asks=writes,
        )
    except NoAnswer as error:
        by_hand = f"try it by hand: git -C {shlex.quote(str(top))} status"
        cause = "a slow disk, a hook, or a program that waits for an answer; or a very large file in the repository"
        raise StoreError(error.message, cause=cause, hint=by_hand) from None
    if answer.code in NOT_STARTED and answer.err.startswith("git: "):
        why = f"git could not be started: {answer.err.removeprefix('git: ')}"
        raise StoreError(why, cause="git is not on PATH, or the folder is gone", hint="git --version")
    return answer


def _verb(words: Sequence[str]) -> str:
    return next((w for w in words if not w.startswith("-") and "=" not in w), "")


# -- what some files are to git --------------------------------------------------------------------


def unmerged_below(folder: Path) -> dict[str, list[str]]:
    """The files below `folder`, seen from there, at which a merge has stopped, with the stages that git has of each: 2
    is ours, 3 theirs."""
    repository = repository_of(folder)
    if repository is None:
        return {}
    top, place = repository.top, repository.place_of(folder)
    found: dict[str, list[str]] = {}
    listed = try_git(top, ["ls-files", "-u", "-z", "--full-name", "--", f":(top,literal){place}"], os.environ) or b""
    for line in listed.split(b"\0")[:-1]:
        facts, _, name = line.partition(b"\t")
        stage = facts.decode().split(" ")[2]
        if stage in ("2", "3"):
            found.setdefault(os.fsdecode(name).removeprefix(f"{place}/"), []).append(stage)
    return found


def in_head(path: Path) -> bool:
    """Whether HEAD holds this file."""
    repository = repository_of(path)
    if repository is None:
        return False
    place = f"{repository.place_of(path.parent)}/{path.name}"
    listed = try_git(repository.top, ["ls-tree", "--name-only", "--full-tree", "HEAD", "--", place], os.environ)
    return bool(listed)


def ref_beside_head(path: Path) -> str:
    """The branch that holds a file, whose name may be a pattern, in a commit that HEAD has not got; empty where none
    does."""
    if (repository := repository_of(path)) is None:
        return ""
    words = ["log", "--all", "--not", "HEAD", "--source", "-1", "--diff-filter=AM", "--format=%S", "--"]
    place = f":(top,glob){repository.place_of(path.parent)}/{path.name}"
    found = try_git(repository.top, [*words, place], os.environ) or b""
    return found.decode("utf-8", "replace").strip().removeprefix("refs/heads/")


# -- a working tree against HEAD -------------------------------------------------------------------


# What a user has configured must not change the text of the diff, and with it the identity of the code.
_FIXED = {
    "core.quotePath": "true",
    "diff.noprefix": "false",
    "diff.mnemonicPrefix": "false",
    "diff.renames": "false",
    "diff.algorithm": "myers",
    "diff.context": "3",
    "diff.interHunkContext": "0",
    "diff.indentHeuristic": "true",
    "diff.relative": "false",
    "diff.suppressBlankEmpty": "false",
    "diff.ignoreSubmodules": "untracked",
}
_WORDS = [*DIFF, "--binary", "--full-index", "--ignore-submodules=untracked", "--submodule=short", f"-O{os.devnull}"]
_STATUS = [
    *("status", "--porcelain=v2", "-z", "--branch", "--no-ahead-behind", "--untracked-files=all", "--no-renames"),
    "--ignore-submodules=untracked",
]
_FILE = re.compile(rb"(?m)^(?=diff --git )")
_MODE = re.compile(rb"(?m)^(?:(?:old|new|new file|deleted file) mode|index \S+) (\d+)$")
_INDEX = re.compile(rb"(?m)^index [0-9a-f]+\.\.([0-9a-f]+)\b")
_DIRTY = re.compile(rb"(?m)^\+Subproject commit [0-9a-f]+-dirty$")
_COMMIT = "# branch.oid "
# The last commit that was HEAD, and its files, by the top of the working tree.
_heads: dict[Path, tuple[str, dict[str, str]]] = {}


class WorkingTree(NamedTuple):
    """HEAD's `commit`, None before the first one, and the object of each file in `head`; the `diff` of the working tree
    against it, and the object of each file whose content it changes, None for one that is gone; the paths of files that
    git neither tracks nor ignores."""

    commit: str | None
    head: Mapping[str, str]
    diff: bytes
    changed: Mapping[str, str | None]
    untracked: set[str]


def working_tree(top: Path, excluded: str | None, environ: Mapping[str, str]) -> WorkingTree:
    """The working tree at `top`, without the path `excluded` below it. Raises StoreError where git fails."""
    left_out = [] if excluded is None else [f":(top,exclude,literal){excluded}"]
    said = git_output(top, [*_STATUS, "--", ".", *left_out], environ).decode("utf-8", "surrogateescape").split("\0")
    commit = next(line.removeprefix(_COMMIT) for line in said if line.startswith(_COMMIT))
    untracked = {line.removeprefix("? ") for line in said if line.startswith("? ")}
    if commit == "(initial)":
        return WorkingTree(None, {}, b"", {}, untracked)
    diff = _difference(top, excluded, environ) if any(line[:1] in "12u" for line in said if line) else b""
    return WorkingTree(commit, _files_of_head(top, commit, environ), diff, changed_in(diff), untracked)


def _files_of_head(top: Path, commit: str, environ: Mapping[str, str]) -> Mapping[str, str]:
    """The files of HEAD, which is this commit. Git is asked once for each."""
    known, files = _heads.get(top, ("", {}))
    if known == commit:
        return files
    files = {}
    listing = git_output(top, ["ls-tree", "-r", "-z", "--full-tree", "HEAD"], environ)
    for line in listing.decode("utf-8", "surrogateescape").split("\0")[:-1]:
        facts, _, path = line.partition("\t")
        files[path] = facts.rpartition(" ")[2]
    _heads[top] = commit, files
    return files


def _difference(top: Path, excluded: str | None, environ: Mapping[str, str], place: str = "") -> bytes:
    """The diff of the repository at `place` below `top`, which is empty or ends in a slash; then those of its
    submodules that have changes of their own."""
    prefixes = [f"--src-prefix=a/{place}", f"--dst-prefix=b/{place}"] if place else []
    is_inside = excluded is not None and excluded.startswith(place)
    left_out = [f":(top,exclude,literal){excluded.removeprefix(place)}"] if excluded is not None and is_inside else []
    text = git_output(top / place, [*_WORDS, *prefixes, "HEAD", "--", ".", *left_out], environ, config=_FIXED)
    # A header that nothing follows is that of a file that was touched and not changed.
    files = [file for file in _FILE.split(text) if file.count(b"\n") > 1]
    inner = [path for file in files if (path := _changed_submodule(file)) is not None]
    return b"".join([*files, *(_difference(top, excluded, environ, f"{path}/") for path in inner)])


def changed_in(diff: bytes) -> dict[str, str | None]:
    """The object of each file as a diff leaves it; None for one that it removes."""
    found: dict[str, str | None] = {}
    for file in _FILE.split(diff):
        if (index := _INDEX.search(_header(file))) is not None:
            found[_path(file)] = index[1].decode() if index[1].strip(b"0") else None
    return found


def _changed_submodule(file: bytes) -> str | None:
    """The path of a submodule with changes that it has not committed. One without another commit has no line that says
    its mode."""
    modes = {match[1] for match in _MODE.finditer(_header(file))}
    return _path(file) if modes <= {b"160000"} and _DIRTY.search(file) else None


def _header(file: bytes) -> bytes:
    """What stands before the content of a file: no line of that starts with one of these words."""
    return file.partition(b"\n@@ ")[0].partition(b"\nGIT binary patch\n")[0]


def _path(file: bytes) -> str:
    """The path in `diff --git a/PATH b/PATH`, where git quotes each as C does if it has to."""
    both = file.partition(b"\n")[0].removeprefix(b"diff --git ")
    name = both[len(both) // 2 + 1 :]
    if name.startswith(b'"'):
        name = bytes(codecs.escape_decode(name.strip(b'"'))[0])
    return os.fsdecode(name.removeprefix(b"b/"))
