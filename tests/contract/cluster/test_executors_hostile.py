"""A machine that answers what cannot be meant: endless, stalled, garbage, an archive that unpacks to far too much."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.cluster import relay
from tests.contract.running.executors.conftest import settings, wait_for
from tests.contract.running.measured import measured
from tests.seams import set_size

pytestmark = pytest.mark.slow

# The last word is what would be run there; it is run here, unless the machine is to answer something else.
SSH = """#!/bin/sh
for word; do :; done
case "$(cat {mode} 2>/dev/null) $word" in
  stall*) exec sleep 60 ;;
  flood*) exec head --bytes=300M /dev/zero ;;
  garbage*) echo '<html>not what you think</html>' ;;
  bomb*) exec {relay} "$word" ;;
  *) exec sh -c "$word" ;;
esac
"""
# It claims to hold two large files, and unpacks to all of them; or to a piece of one, again and again.
BOMB = """
import json, sys, zlib
path, mebibytes = sys.argv[1], int(sys.argv[2])
packed = zlib.compressobj(1)
with open(path, "wb") as answer:
    pieces = [["x", "output.log", 0, mebibytes * 2**19], ["x", "final.json", 0, mebibytes * 2**19]]
    answer.write(json.dumps({"pieces": pieces}).encode() + b"\\n")
    for _ in range(mebibytes):
        answer.write(packed.compress(bytes(2**20)))
    answer.write(packed.flush())
"""
MOST_BYTES = 200 * 2**20


@pytest.fixture
def box(started: Cli, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A machine behind a stand-in for ssh, with a run that goes on; the file that says how it answers."""
    mode = tmp_path / "mode"
    (tmp_path / "bin").mkdir()
    ssh = tmp_path / "bin/ssh"
    ssh.write_text(SSH.format(mode=mode, relay=tmp_path / "relay"))
    relay.write(tmp_path / "relay", ["sh", "-c"], "fetch", mode, answer=str(tmp_path / "bomb"))
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{ssh.parent}{os.pathsep}{os.environ['PATH']}")
    settings().write_text(
        f'[executors.box]\nkind = "ssh"\nhost = "far.example"\nsync = false\nfolder = "{tmp_path}/far"\n'
        f'python = "{sys.executable}"\n'
    )
    # More than comes with the news of its end.
    script = "until [ -e go ]; do sleep 0.05; done; seq 20000"
    assert started("run", "--detach", "--on", "box", "--", "sh", "-c", script).code == 0
    yield mode
    (folder / "go").touch()


def status(folder: Path) -> tuple[str, int]:
    """What `logbook status` says on stderr, and the most memory that it takes."""
    code, said, used = measured("status", cwd=folder)
    assert code == 0, said
    return said, used


@pytest.mark.parametrize("mode", ["flood", "garbage"])
def test_an_answer_that_is_none_costs_little_and_names_the_machine(box: Path, folder: Path, mode: str) -> None:
    box.write_text(mode)
    text, used = status(folder)
    assert "far.example" in text
    assert used < MOST_BYTES
    box.unlink()
    (folder / "go").touch()


def test_a_machine_that_stalls_is_asked_once(
    box: Path, started: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_size(monkeypatch, "wait for news from another machine, s", 1.1)
    # The queue is no place of this user's.
    monkeypatch.setenv("LOGBOOK_QUEUE", "/queue")
    box.write_text("stall")
    first = started("status")
    assert first.code == 0
    assert all(word in first.err for word in ("box", "far.example", "1.1 s"))
    began = time.monotonic()
    for words in (("status",), ("list",), ("show", "MOE-000")):
        assert "not asked: box: " in started(*words).err
    assert time.monotonic() - began < 1.5, "none of them has waited"
    assert started("wait", "--timeout", "1s").err.count("not asked: box: ") == 1, "it is said once"
    box.unlink()
    (folder / "go").touch()


@pytest.mark.wide
@pytest.mark.parametrize("mebibytes", [16, 1400])
def test_files_that_unpack_to_too_much_are_bounded(
    box: Path, started: Cli, folder: Path, tmp_path: Path, mebibytes: int
) -> None:
    subprocess.run([sys.executable, "-c", BOMB, str(tmp_path / "bomb"), str(mebibytes)], check=True)
    box.write_text("bomb")
    (folder / "go").touch()
    text = wait_for(lambda: said if "far.example" in (said := status(folder)[0]) else None)
    text, used = status(folder)
    assert "not asked: box" in text or mebibytes > 16, "what takes long is not asked for again"
    assert used < MOST_BYTES
    assert started("list", "--json").data[0]["state"] in ("running", "submitted")
