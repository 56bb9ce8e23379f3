"""A logbook whose runs go to the real Ray. Its nodes see the same files as this process."""

from __future__ import annotations

import os
from pathlib import Path

from tests.contract.engines.ray_engine import Ray
from tests.contract.running.executors.conftest import Place

LEASE_S = 15


def declare(ray: Ray, **settings: object) -> None:
    """Write the executor `ray` into the settings of the user of this test."""
    table = {
        "kind": "ray",
        "address": ray.address,
        "folder": str(ray.folder),
        "sync": False,
        "lease_s": LEASE_S,
        **settings,
    }
    lines = "".join(f"{name} = {toml(value)}\n" for name, value in table.items())
    file = Path(os.environ["XDG_CONFIG_HOME"]) / "logbook-agent/config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"[executors.ray]\n{lines}")


def toml(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {toml(one)}" for name, one in value.items()) + "}"
    return str(value).lower() if isinstance(value, bool) else repr(value)


def place_on(ray: Ray, folder: Path, **settings: object) -> Place:
    declare(ray, **settings)
    return Place("ray", folder)
