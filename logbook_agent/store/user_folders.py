"""Where this user's settings, state and caches lie on this machine, by the XDG rules."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_HOMES = {
    "config": ("XDG_CONFIG_HOME", ".config"),
    "cache": ("XDG_CACHE_HOME", ".cache"),
    "state": ("XDG_STATE_HOME", ".local/state"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class UserPlaces:
    """This user's folders for one root: `cache` holds what can be made again, `state` what cannot. None: there is no
    place for it."""

    cache: Path | None = None
    state: Path | None = None


NO_PLACES = UserPlaces()


def user_folder(environ: Mapping[str, str], kind: str) -> Path | None:
    """Our folder of a kind: `config`, `cache` or `state`; None where the environment names no home.

    A relative folder is ignored, as the XDG rules demand: it could lead into a repository.
    """
    variable, below_home = _HOMES[kind]
    for name, below in ((variable, ""), ("HOME", below_home)):
        folder = Path(environ.get(name, ""))
        if folder.is_absolute():
            return folder / below / "logbook-agent"
    return None


def places_of(root: Path, environ: Mapping[str, str]) -> UserPlaces:
    """The folders for a root, named after its real path: two clones share none, and no branch can bring one."""
    name = hashlib.sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:20]
    cache, state = (user_folder(environ, kind) for kind in ("cache", "state"))
    return UserPlaces(cache=cache and cache / name, state=state and state / name)
