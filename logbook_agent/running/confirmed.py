"""Confirmation of what a project makes logbook start: tables of its settings, and repository files that tables name.

Any branch that is pulled may change them. So they work only as long as they have the digest that the user confirmed.
"""

from __future__ import annotations

import glob
import hashlib
import itertools
import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from logbook_agent.model.errors import UsageError
from logbook_agent.store.files import digest_of
from logbook_agent.store.repository import repository_of
from logbook_agent.store.user_config import UserConfig, confirm_executors, load_user_config, user_config_file
from logbook_agent.store.workspace import Workspace

Section = Literal["launchers", "executors", "allocators"]
SECTIONS: tuple[Section, ...] = ("launchers", "executors", "allocators")
# What a shell, or a program that takes `--option=FILE`, would take a word apart at.
_BETWEEN = re.compile(r"[\s\"'`=:;,|&()<>{}$]+")
# A path behind something that a shell fills in: `$PWD/poll.sh`, `$(git rev-parse --show-toplevel)/poll.sh`.
_FILLED_IN = re.compile(r"(?:\$\w+|[})`])/+([^\s\"'`=:;,|&()<>{}$]+)")
# `tools/p*.sh`: a pattern in the last part of a path, and more than the signs of a regular expression.
_WILD = re.compile(r"(?=.*\w\w)(?:[^*?\[/][^*?\[]*/)?[^/]*[*?\[][^/]*")
_MODULE = re.compile(r"\w+(\.\w+)*")
_MOST_CHARS = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What is confirmed together: all tables of a project's settings, or one table of the user's own that names files
    of the repository. `tables` are named `executors.box`; `files` has the digest of each file by its name as written;
    `top` is the folder that the confirmation holds for; `cwd` is where relative names begin."""

    file: Path | None
    top: Path
    cwd: Path
    tables: Mapping[str, Any]
    files: Mapping[str, str]
    is_own: bool = False

    @property
    def digest(self) -> str:
        plain = json.dumps([self.tables, sorted(self.files.items())], sort_keys=True, default=str)
        return f"sha256:{hashlib.sha256(plain.encode()).hexdigest()}"

    @property
    def entry(self) -> str:
        """The line in the user's settings that confirms it."""
        return f"{self.digest} {self.top}"

    @property
    def shown(self) -> str:
        """`executors.box, launchers.pod in logbook.toml; files: tools/poll.sh`."""
        files = f"; files: {', '.join(sorted(self.files))}" if self.files else ""
        return f"{', '.join(sorted(self.tables))} in {self.file}{files}"

    def data(self) -> dict[str, Any]:
        """All of it, for machines."""
        return {
            "digest": self.digest,
            "file": str(self.file),
            "tables": sorted(self.tables),
            "files": dict(self.files),
        }

    def is_confirmed(self, user: UserConfig) -> bool:
        return (self.is_own and not self.files) or self.entry in user.confirmed_executors


def claim_of(workspace: Workspace, section: Section, name: str, cwd: Path | None = None) -> Claim | None:
    """What must be confirmed before this table is used by a program in `cwd` (default: where the command was typed);
    None where there is no such table. The user's own table wins over the project's."""
    own = getattr(load_user_config(workspace.environ), section)
    if name in own:
        return _own_claim(workspace, section, name, own[name], cwd or workspace.cwd)
    return project_claim(workspace, cwd) if name in getattr(workspace.config, section) else None


def project_claim(workspace: Workspace, cwd: Path | None = None) -> Claim | None:
    """All tables of the project's settings; None where it has none."""
    config, cwd = workspace.config, cwd or workspace.cwd
    tables = {f"{section}.{name}": table for section in SECTIONS for name, table in getattr(config, section).items()}
    if not tables or config.folder is None or config.bounds is None:
        return None
    files = _files(tables, (config.folder, cwd), config.bounds, takes_absolute=True)
    return Claim(file=config.file, top=config.bounds, cwd=cwd, tables=tables, files=files)


def open_claims(workspace: Workspace) -> list[Claim]:
    """What is not confirmed yet."""
    user = load_user_config(workspace.environ)
    own = [
        _own_claim(workspace, section, name, table, workspace.cwd)
        for section in SECTIONS
        for name, table in getattr(user, section).items()
    ]
    project = project_claim(workspace)
    return [claim for claim in (*own, *([project] if project else [])) if not claim.is_confirmed(user)]


def confirm(workspace: Workspace, digest: str) -> Claim | None:
    """Confirm the claim with this digest; None if it is confirmed already. Raises UsageError if there is none."""
    claims = open_claims(workspace)
    found = next((claim for claim in claims if claim.digest == digest), None)
    if found is not None:
        confirm_executors(workspace.environ, found.entry)
        return found
    if any(entry.partition(" ")[0] == digest for entry in load_user_config(workspace.environ).confirmed_executors):
        return None
    now = "; ".join(f"{claim.digest}: {claim.shown}" for claim in claims)
    raise UsageError(
        f"nothing here has the digest {digest}",
        cause=f"not confirmed: {now}" if now else "everything in these settings is confirmed",
        hint="logbook executors --offline shows what can be confirmed",
    )


def check_confirmed(workspace: Workspace, section: Section, name: str, cwd: Path | None = None) -> None:
    """Raises UsageError if the user has not confirmed a table and the files that it names as they are now."""
    claim = claim_of(workspace, section, name, cwd)
    if claim is None or claim.is_confirmed(load_user_config(workspace.environ)):
        return
    names = f", which names {', '.join(sorted(claim.files))}" if claim.files else ""
    where = f"cd {shlex.quote(str(claim.cwd))} && " if claim.cwd != workspace.cwd else ""
    raise UsageError(
        f"{section.removesuffix('s')} {name!r} is not confirmed as it is now",
        cause=f"it is defined in {claim.file}{names}; a branch that changes a file of the project can send your"
        " commands and secrets elsewhere",
        hint=f"read these files, then type: {where}logbook executors --offline --confirm {claim.digest}",
    )


def _own_claim(workspace: Workspace, section: Section, name: str, table: Any, cwd: Path) -> Claim:
    place = repository_of(cwd)
    top = place.top if place is not None else cwd
    tables = {f"{section}.{name}": table}
    files = _files(tables, (cwd,), top, takes_absolute=False)
    file = user_config_file(workspace.environ)
    return Claim(file=file, top=top, cwd=cwd, tables=tables, files=files, is_own=True)


# -- files that settings name ------------------------------------------------------------------------


def _files(tables: Any, folders: Sequence[Path], top: Path, *, takes_absolute: bool) -> dict[str, str]:
    """The digests of files below `top` that texts of these tables name, seen from these folders."""
    found: dict[str, set[str]] = {}
    for text in _texts(tables):
        for name, path in _named(text, folders):
            if (takes_absolute or not name.startswith("/")) and path.is_relative_to(top) and _is_file(path):
                real = path.resolve()
                found.setdefault(name, set()).add(digest_of(real, within=real.parent))
    # One name may mean two files: seen from the settings, and from where a program is started.
    return {name: " ".join(sorted(digests)) for name, digests in found.items()}


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)


def _named(text: str, folders: Sequence[Path]) -> Iterator[tuple[str, Path]]:
    """Each name in a text with each path that a program could mean by it: a file, a folder or module that Python
    starts, or a file of a folder that the text names, too (`cd tools && ./poll.sh`)."""
    if len(text) > _MOST_CHARS:
        raise UsageError(
            f"the settings have a value of {len(text)} characters: {text[:40]}...",
            cause=f"values of launchers, executors and allocators have at most {_MOST_CHARS}",
            hint="put the commands into a file, and name that file",
        )
    names = [name for name in dict.fromkeys(_pieces(text)) if name.strip("./") and "\0" not in name]
    for folder in dict.fromkeys(folders):
        below = [folder / name for name in names if _is_folder(folder / name)]
        for name, place in itertools.product(names, (folder, *below)):
            path = Path(os.path.normpath(place / name))
            yield name, path
            yield name, path / "__main__.py"
            if _WILD.fullmatch(name):
                for match in glob.iglob(name, root_dir=place):  # noqa: PTH207 - it answers for any name
                    yield match, Path(os.path.normpath(place / match))
            if _MODULE.fullmatch(name):
                module = place / name.replace(".", "/")
                yield name, module.with_name(f"{module.name}.py")
                yield name, module / "__main__.py"


def _pieces(text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError:
        words = []
    return [text, *words, *_BETWEEN.split(text), *_FILLED_IN.findall(text)]


# Unlike methods of Path, these answer for names that no file can have.
def _is_file(path: Path) -> bool:
    return os.path.isfile(path)  # noqa: PTH113


def _is_folder(path: Path) -> bool:
    return os.path.isdir(path)  # noqa: PTH112
