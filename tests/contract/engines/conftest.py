"""Real engines, each started once for all tests; `make test-cluster` installs what they need, and fails without one.
Elsewhere a machine that cannot have one skips its tests, and says why."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.engines import ray_engine, slurm_engine, slurm_place, ssh_place
from tests.contract.engines.required import need


@pytest.fixture(scope="session")
def ray_once() -> Iterator[ray_engine.Ray]:
    need("Ray", ray_engine.why_not())
    with ray_engine.started(os.environ) as engine:
        yield engine


@pytest.fixture
def ray(ray_once: ray_engine.Ray) -> Iterator[ray_engine.Ray]:
    """Ray with both of its nodes."""
    yield ray_once
    ray_once.mend()


@pytest.fixture(scope="session")
def slurm_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[slurm_engine.Slurm]:
    need("Slurm", slurm_engine.why_not())
    with slurm_engine.started_in(tmp_path_factory.mktemp("engine") / "slurm") as engine:
        yield engine


@pytest.fixture
def slurm(slurm_once: slurm_engine.Slurm, monkeypatch: pytest.MonkeyPatch) -> Iterator[slurm_engine.Slurm]:
    """Slurm without jobs, its commands on the PATH."""
    monkeypatch.setenv("PATH", str(slurm_once.bin), prepend=os.pathsep)
    yield slurm_once
    slurm_once.recover()


@pytest.fixture
def queue(slurm: slurm_engine.Slurm, started: Cli, folder: Path, tmp_path: Path) -> slurm_place.SlurmPlace:
    """A logbook whose executor is Slurm."""
    return slurm_place.slurm_place(slurm, started, folder, tmp_path / "shared")


@pytest.fixture
def box(started: Cli, folder: Path, tmp_path: Path) -> Iterator[ssh_place.SshPlace]:
    """A logbook whose executor is a machine behind ssh."""
    need("ssh", ssh_place.why_not())
    place = ssh_place.ssh_place(started, folder, tmp_path / "ssh")
    yield place
    place.end()
