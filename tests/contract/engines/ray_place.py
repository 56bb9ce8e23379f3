"""A logbook whose runs go to the real Ray. Its nodes see the same files as this process."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import Cli
from tests.contract.engines.ray_engine import Ray
from tests.contract.running.executors.conftest import Place
from tests.contract.running.executors.conftest import settings as settings_file

LEASE_S = 15


def place_on(ray: Ray, cli: Cli, folder: Path, **settings: object) -> Place:
    """Write the executor `ray` into the settings of the user of this test."""
    table = {
        "kind": "ray",
        "address": ray.address,
        "folder": str(ray.folder),
        "sync": False,
        "lease_s": LEASE_S,
        **settings,
    }
    settings_file().write_text(
        "[executors.ray]\n" + "".join(f"{name} = {toml(value)}\n" for name, value in table.items())
    )
    return Place("ray", folder, cli, far=ray.folder)


def toml(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {toml(one)}" for name, one in value.items()) + "}"
    return str(value).lower() if isinstance(value, bool) else repr(value)
