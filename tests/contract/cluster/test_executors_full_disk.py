"""The disk of the other machine fills up while a run goes on there."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.running.executors.conftest import Place, exit_of, far_place, samples, sh, wait_for

pytestmark = pytest.mark.slow
DISK_BYTES = 8 << 20


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own."""
    place = tmp_path / "disk"
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "logbook-test", str(place)]
    if subprocess.run(words, capture_output=True, check=False).returncode != 0:
        pytest.skip("only root can mount a small disk")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.fixture
def far(started: Cli, folder: Path, disk: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    return far_place(started, folder, disk, monkeypatch)


def fill(disk: Path) -> str:
    return f"dd if=/dev/zero of={disk}/fill bs=4k 2> /dev/null; cp /dev/null {disk}/none 2> /dev/null; "


@pytest.mark.wide
def test_it_is_told_and_the_end_is_kept(far: Place, disk: Path) -> None:
    run = far.send(*sh("echo RESULT tflops=2; " + fill(disk) + "until [ -e go ]; do sleep 0.1; done; exit 3"))
    said = wait_for(lambda: far.said(run))
    assert "No space left on device" in said
    (far.folder / "go").touch()
    done = far.ended(run)
    assert (exit_of(done), samples(done)) == ({"code": 3}, [[2.0]])
    (disk / "fill").unlink()
    assert far.send("true").exit is None, "what it left there is removed"
