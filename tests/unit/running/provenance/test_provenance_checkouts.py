"""Folders for checkouts while other processes remove those that nobody holds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from logbook_agent.model.errors import StoreError
from logbook_agent.running.provenance.worktrees import checkout_folder, checkout_of

CLEANING = """
import os
from pathlib import Path
from logbook_agent.running.provenance.worktrees import clean
while True:
    clean(Path(os.environ["TMPDIR"], f"logbook-checkouts-{os.getuid()}"), os.environ)
"""


@pytest.mark.slow
def test_a_folder_at_the_same_path_again_is_not_taken_for_the_last_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    (tmp_path / "work").mkdir()
    for words in ("init -q", "-c user.name=A -c user.email=a@b commit -q --allow-empty -m first"):
        subprocess.run(["git", *words.split()], cwd=tmp_path / "work", check=True)
    checkout = checkout_of(tmp_path / "work", os.environ)
    others = [subprocess.Popen([sys.executable, "-c", CLEANING], stderr=subprocess.PIPE, text=True) for _ in range(2)]
    try:
        for _ in range(400):
            with checkout_folder(checkout) as slot:
                file = slot / "base/bench.py"
                file.parent.mkdir()
                file.touch()
                assert file.exists()
                file.write_text("x = 1\n")
                assert file.read_text() == "x = 1\n"
        assert [other.poll() for other in others] == [None, None], [other.communicate() for other in others]
    finally:
        for other in others:
            other.kill()
            other.communicate()
    assert list((tmp_path / "temporary").glob("logbook-checkouts-*/*/[0-9]*")) == []


def test_a_place_for_checkouts_that_cannot_be_made_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    (tmp_path / "work").mkdir()
    for words in ("init -q", "-c user.name=A -c user.email=a@b commit -q --allow-empty -m first"):
        subprocess.run(["git", *words.split()], cwd=tmp_path / "work", check=True)
    checkout = checkout_of(tmp_path / "work", os.environ)
    with checkout_folder(checkout) as slot:
        folder = slot.parent
    folder.parent.mkdir(mode=0o700)
    folder.touch()
    with pytest.raises(StoreError, match="cannot write"), checkout_folder(checkout):
        pass
