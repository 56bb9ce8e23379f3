"""Permalinks: the pushed commit, and which files of the logbook are there as they are here.

Git is read and nothing is fetched: a commit counts as pushed when a remote-tracking branch of the remote holds it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from msgspec import Struct

from logbook_agent.issue.values import Links
from logbook_agent.model.entry import bare_id
from logbook_agent.model.errors import StoreError, UsageError
from logbook_agent.pages.views import parse
from logbook_agent.running.provenance.git_calls import DIFF, git_output, read_git, try_git
from logbook_agent.store.names import EntryNames
from logbook_agent.store.places import Repository, repository_of
from logbook_agent.store.run_files import ARTIFACTS
from logbook_agent.text.address import RepositoryAddress, blob, picture

_REMOTE_LINE = re.compile(r"(\S+)\t(.*) \(fetch\)(?: \[.*\])?")
_RECORD = re.compile(r"entries/([^/]+)\.yaml|runs/([^/]+)/[^/]+/run\.json")


class GitRemote(Struct, frozen=True, kw_only=True):
    """`url` may hold credentials."""

    name: str
    url: str

    def __repr__(self) -> str:
        return f"GitRemote(name={self.name!r})"


def remote_of(root: Path, environ: Mapping[str, str], name: str | None = None) -> GitRemote | None:
    """The remote called `name`, else `origin`, else the only one; None where there is none.

    Raises UsageError when there is none of that name, or several and none is named.
    """
    repository = repository_of(root)
    if repository is None:
        return None
    lines = read_git(repository.top, ["remote", "-v"], environ).lines()
    found = {match[1]: match[2] for line in lines if (match := _REMOTE_LINE.fullmatch(line)) is not None}
    if name is None and len(found) > 1 and "origin" not in found:
        raise UsageError(
            f"{len(found)} git remotes, and none is called origin: {', '.join(found)}",
            cause="it is not known which of them holds the logbook",
            hint=f'set in logbook.toml: [github] remote = "{next(iter(found))}"',
        )
    if name is not None and name not in found:
        raise UsageError(
            f"no git remote {name}",
            cause=f"there are: {', '.join(found)}" if found else "the repository has no remote",
            hint=f"git remote add {name} URL, or correct `remote` under [github] in logbook.toml",
        )
    chosen = name or ("origin" if "origin" in found else next(iter(found), None))
    return None if chosen is None else GitRemote(name=chosen, url=found[chosen])


def pushed_commit(root: Path, remote: str, environ: Mapping[str, str]) -> str | None:
    """HEAD when it is pushed, else the newest of its ancestors that are; None when there is none."""
    words = ["rev-list", "--boundary", "--timestamp", "HEAD", "--not", f"--remotes={remote}", "--"]
    lines = _lines(root, words, environ)
    if lines is None or not lines:
        return head_commit(root, environ) if lines is not None else None
    edge = [line.split(" -") for line in lines if " -" in line]
    return max(edge, key=lambda e: int(e[0]))[1] if edge else None


def head_commit(root: Path, environ: Mapping[str, str]) -> str | None:
    """The full SHA of HEAD; None outside a repository and before the first commit."""
    lines = _lines(root, ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], environ)
    return lines[0] if lines else None


def _lines(root: Path, words: Sequence[str], environ: Mapping[str, str]) -> list[str] | None:
    """The lines that git answers in a repository; None where it does not."""
    repository = repository_of(root)
    answer = try_git(repository.top, words, environ) if repository is not None else None
    return None if answer is None else os.fsdecode(answer).splitlines()


def dirty_outside(root: Path, environ: Mapping[str, str]) -> list[str]:
    """What differs from HEAD, or is untracked and not ignored, outside the logbook root, relative to the top.

    Raises StoreError when git cannot tell. A root that is the whole repository has no outside.
    """
    repository = repository_of(root)
    place = "." if repository is None else repository.place_of(root)
    if repository is None or place == ".":
        return []
    words = ["status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all"]
    words += ["--ignore-submodules=untracked", "--", ":(top)", f":(top,exclude,literal){place}"]
    return [os.fsdecode(line[3:]) for line in git_output(repository.top, words, environ).split(b"\0") if line]


def published(
    *,
    view: Path,
    folder: Path,
    entry_ids: Iterable[str],
    repository: RepositoryAddress,
    remote: str,
    environ: Mapping[str, str],
) -> Links:
    """Where others find this logbook: its view, and the entries that stand there as they stand here.

    `folder` lies beside the view and holds `entries/` and `runs/`; `repository` is where the git remote called
    `remote` leads. An entry counts when its own file and all its run.json are as pushed, and the pushed view has its
    block; where the view is not in git, the entry's own file is linked. Git's trouble is told in `why`, never raised:
    the documents then do without links.
    """
    place = repository_of(view.parent)
    if place is None:
        return Links(why="not in a git repository")
    try:
        commit = pushed_commit(view.parent, remote, environ)
        if commit is None:
            return Links(why="not pushed")
        below = PurePosixPath(place.place_of(view.parent))
        view_path, folder_path = str(below / view.name), str(below / folder.name)
        # The newest commit that changed one of the two, so that links stay when others push other work.
        specs = [f":(top,literal){path}" for path in (view_path, folder_path)]
        commit = next(
            iter(_lines(place.top, ["rev-list", "--max-count=1", commit, "--", *specs], environ) or ()), commit
        )
        text = try_git(place.top, ["cat-file", "blob", f"{commit}:{view_path}"], environ)
        changed = _changed(place, commit, folder_path, environ)
    except StoreError as error:
        return Links(why=error.message)
    lines = None if text is None else block_lines(text.decode("utf-8", "replace"))
    names = EntryNames(path.stem for path in folder.glob("entries/*.yaml"))
    records = map(_RECORD.fullmatch, changed)
    others = {bare_id(match[1] or match[2]) for match in records if match is not None}
    entries = {}
    for entry_id in entry_ids:
        if bare_id(entry_id) in others:
            continue
        if lines is None:
            entries[entry_id] = blob(repository, commit, f"{folder_path}/entries/{names.whole(entry_id)}.yaml")
        elif entry_id in lines:
            entries[entry_id] = blob(repository, commit, view_path, lines[entry_id])
    shown = (*folder.glob("plots/*.svg"), *folder.glob(f"runs/*/*/{ARTIFACTS}/*"))
    files = [path.relative_to(folder).as_posix() for path in shown]
    return Links(
        commit=commit,
        view=None if lines is None else blob(repository, commit, view_path),
        entries=entries,
        files={name: picture(repository, commit, f"{folder_path}/{name}") for name in files if name not in changed},
    )


def _changed(place: Repository, commit: str, folder: str, environ: Mapping[str, str]) -> set[str]:
    """The files of a folder that are not here as they are at a commit, also ignored ones, by their path in it."""
    spec = f":(top,literal){folder}"
    found: set[str] = set()
    # Not `--name-only`: without writing the index, git names also what was only touched.
    for words in ([*DIFF, "--numstat", "--no-renames", "-z", commit], ["ls-files", "--others", "-z"]):
        said = git_output(place.top, [*words, "--", spec], environ)
        names = (os.fsdecode(line.rpartition(b"\t")[2]) for line in said.split(b"\0") if line)
        found.update(name.removeprefix(f"{folder}/") for name in names)
    return found


def block_lines(view: str) -> dict[str, int]:
    """The line, from 1 on, on which each block of a view starts."""
    lines, at, line = {}, 0, 1
    for name, block in parse(view).items():
        line += view.count("\n", at, block.start)
        at = block.start
        lines[name] = line
    return lines
