"""Where this user's settings, state and caches lie on this machine, by the XDG rules."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

_HOMES = {"config": ("XDG_CONFIG_HOME", ".config"), "cache": ("XDG_CACHE_HOME", ".cache")}


def user_folder(environ: Mapping[str, str], kind: str) -> Path | None:
    """Our folder of a kind, `config` or `cache`; None where the environment names no home.

    A relative folder is ignored, as the XDG rules demand: it could lead into a repository.
    """
    variable, below_home = _HOMES[kind]
    for name, below in ((variable, ""), ("HOME", below_home)):
        folder = Path(environ.get(name, ""))
        if folder.is_absolute():
            return folder / below / "logbook-agent"
    return None


def cache_of(root: Path, environ: Mapping[str, str]) -> Path | None:
    """The folder of what can be made again from the logbooks of a root, named after the root's real path; None where
    there is no place for it."""
    above = user_folder(environ, "cache")
    return None if above is None else above / hashlib.sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:20]
