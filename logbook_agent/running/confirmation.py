"""Confirmation of what a project makes logbook start: tables of its settings, and repository files that tables name.

Any branch that is pulled may change them. So they work only as long as they have the digest that the user confirmed for
this root. Confirmed digests are the names of files in the user's state.
"""

from __future__ import annotations

import fnmatch
import hashlib
import json
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from logbook_agent.model.errors import UsageError
from logbook_agent.store.files import create_exclusive, digest_of, make_folder
from logbook_agent.store.repository import repository_of
from logbook_agent.store.user_config import load_user_config, made_folder, user_config_file
from logbook_agent.store.workspace import Workspace

Section = Literal["launchers", "executors", "allocators"]
SECTIONS: tuple[Section, ...] = ("launchers", "executors", "allocators")
# What a shell, or a program that takes `--option=FILE`, would take a text apart at.
_BETWEEN = re.compile(r"[\s\"'`=:;,|&()<>{}$/]+")
# What begins a word that is no name alone: `-fprog.awk`, `@options`.
_SIGN = re.compile(r"[^\w.]")
_NAME_CHARS = 255
_MODULE = re.compile(r"-m\s*([\w.]+)")
_FOLDER = "confirmed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What is confirmed together: the tables of a project's settings, or those of the user's own that name files of the
    repository. `tables` are named `executors.box`; `files` has digests by the names of files; `cwd` is where a program
    would be started."""

    file: Path | None
    top: Path
    cwd: Path
    tables: Mapping[str, object]
    files: Mapping[str, str]

    @property
    def digest(self) -> str:
        plain = json.dumps([self.tables, sorted(self.files.items())], sort_keys=True, default=str)
        return f"sha256:{hashlib.sha256(plain.encode()).hexdigest()}"

    @property
    def shown(self) -> str:
        """`executors.box, launchers.pod in logbook.toml; files: tools/poll.sh`."""
        files = f"; files: {', '.join(sorted(self.files))}" if self.files else ""
        return f"{', '.join(sorted(self.tables))} in {self.file}{files}"

    def data(self) -> dict[str, object]:
        """All of it, for machines."""
        return {
            "digest": self.digest,
            "file": str(self.file),
            "tables": sorted(self.tables),
            "files": dict(self.files),
        }


def open_claims(workspace: Workspace, cwd: Path | None = None) -> list[Claim]:
    """What is not confirmed yet, for programs in `cwd` (default: where the command was typed)."""
    return [claim for claim in _claims(workspace, cwd or workspace.cwd) if not _is_confirmed(workspace, claim.digest)]


def open_claim(workspace: Workspace, section: Section, name: str, cwd: Path | None = None) -> Claim | None:
    """The unconfirmed claim that holds a table; None if the table may be used. The user's own table wins over the
    project's."""
    key, own_file = f"{section}.{name}", user_config_file(workspace.environ)
    is_own = name in getattr(load_user_config(workspace.environ), section)
    found = (claim for claim in open_claims(workspace, cwd) if key in claim.tables)
    return next((claim for claim in found if (claim.file == own_file) == is_own), None)


def confirm(workspace: Workspace, digest: str) -> Claim | None:
    """Confirm the claim with this digest; None if it is confirmed already. Raises UsageError if there is none."""
    claims = open_claims(workspace)
    found = next((claim for claim in claims if claim.digest == digest), None)
    if found is None and not _is_confirmed(workspace, digest):
        now = "; ".join(f"{claim.digest}: {claim.shown}" for claim in claims)
        raise UsageError(
            f"nothing here has the digest {digest}",
            cause=f"not confirmed: {now}" if now else "everything in these settings is confirmed",
            hint="logbook executors --offline shows what can be confirmed",
        )
    if found is not None:
        state = _state(workspace)
        make_folder(state / _FOLDER, within=state)
        create_exclusive(state / _FOLDER / digest, b"", within=state)
    return found


def _state(workspace: Workspace) -> Path:
    """The folder of the user's state for this root. Raises UsageError where there is no place for it."""
    return made_folder(workspace.places.state, "what you confirm")


def check_confirmed(workspace: Workspace, section: Section, name: str, cwd: Path | None = None) -> None:
    """Raises UsageError if the user has not confirmed a table and the files that it names as they are now."""
    claim = open_claim(workspace, section, name, cwd)
    if claim is None:
        return
    names = f", which names {', '.join(sorted(claim.files))}" if claim.files else ""
    where = f"cd {shlex.quote(str(claim.cwd))} && " if claim.cwd != workspace.cwd else ""
    raise UsageError(
        f"{section.removesuffix('s')} {name!r} is not confirmed as it is now",
        cause=f"it is defined in {claim.file}{names}; a branch that changes a file of the project can send your"
        " commands and secrets elsewhere",
        hint=f"read these files, then type: {where}logbook executors --offline --confirm {claim.digest}",
    )


def _is_confirmed(workspace: Workspace, digest: str) -> bool:
    state = workspace.places.state
    return state is not None and "/" not in digest and os.path.lexists(state / _FOLDER / digest)


def _claims(workspace: Workspace, cwd: Path) -> Iterator[Claim]:
    """The user's own tables that name files of the repository, and all tables of the project."""
    config, place = workspace.config, repository_of(cwd)
    top = place.top if place is not None else cwd
    user = load_user_config(workspace.environ)
    own = {key: table for key, table in _tables(user).items() if _files([table], _from(cwd, top))}
    if own:
        files = _files(own.values(), _from(cwd, top))
        yield Claim(file=user_config_file(workspace.environ), top=top, cwd=cwd, tables=own, files=files)
    if (tables := _tables(config)) and config.folder is not None and config.bounds is not None:
        files = _files(tables.values(), [config.folder, *_from(cwd, top)])
        yield Claim(file=config.file, top=config.bounds, cwd=cwd, tables=tables, files=files)


def _tables(config: object) -> dict[str, object]:
    return {f"{section}.{name}": table for section in SECTIONS for name, table in getattr(config, section).items()}


# -- files that settings name ------------------------------------------------------------------------


def _from(cwd: Path, top: Path) -> list[Path]:
    """The folders in which a path may begin: a working folder and those above it, up to the top of its repository."""
    return [folder for folder in (cwd, *cwd.parents) if folder == cwd or folder.is_relative_to(top)]


def _files(tables: Iterable[Any], folders: Iterable[Path]) -> dict[str, str]:
    """The digests of files that these tables name, by their names from one of these folders.

    A file counts if each part of its name is a word of the tables, however the words are put together: in a path, a
    shell text, a pattern or an option. Behind a sign, each end of a word is one: programs take `-fFILE`.
    Python also starts modules, and the `__main__.py` of a folder.
    """
    texts = list(_texts(list(tables)))
    words = {word for text in texts for word in (*_BETWEEN.split(text), *_parts(text))}
    words |= {word[-n:] for word in words if _SIGN.match(word) for n in range(1, min(len(word), _NAME_CHARS + 1))}
    modules = {part for name in _MODULE.findall(" ".join(texts)) for part in name.split(".")}
    words |= modules | {f"{part}.py" for part in modules}
    found: dict[str, set[str]] = {}
    for folder in dict.fromkeys(folders):
        for name in _named(folder, "", words, set()):
            real = (folder / name).resolve()
            found.setdefault(name, set()).add(digest_of(real, within=real.parent))
    # One name may mean two files: seen from the settings, and from where a program is started.
    return {name: " ".join(sorted(digests)) for name, digests in found.items()}


def _parts(text: str) -> list[str]:
    """The parts of paths in a text that is one path, or shell words: names may have blanks in them."""
    try:
        paths = [text, *shlex.split(text)]
    except ValueError:
        paths = [text]
    return [part for path in paths for part in path.split("/")]


def _named(folder: Path, below: str, words: set[str], seen: set[str]) -> Iterator[str]:
    """The names of files in a folder, or below it, whose parts are all among the words."""
    patterns = [word for word in words if "*" in word or "?" in word or "[" in word]
    # On its own, such as in `tools/*`, a star means the files of a folder that is named.
    patterns = [word for word in patterns if below or re.search(r"\w\w", word)]
    real = os.path.realpath(folder / below)
    try:
        present = [] if real in seen else sorted(os.listdir(real))  # noqa: PTH208
    except OSError:
        return
    seen.add(real)
    for name in present:
        path, shown = os.path.join(real, name), f"{below}{name}"  # noqa: PTH118
        is_named = name in words or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
        if os.path.isdir(path):  # noqa: PTH112
            if is_named and name != ".git":
                yield from _named(folder, f"{shown}/", words, seen)
        elif (is_named or (below and name == "__main__.py")) and os.path.isfile(path):  # noqa: PTH113
            yield shown


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)
