"""Where an export is written: whole or not at all, and never over something that is not one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from logbook_agent.exports.place import ExportPlace, building
from logbook_agent.store.folder import Folder

pytestmark = pytest.mark.slow


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# -- folders ---------------------------------------------------------------------------------------


def fill(place: ExportPlace, **files: str) -> None:
    with building(place) as made:
        for name, text in files.items():
            (made / name).write_text(text)


def test_what_a_killed_export_left_is_removed_by_the_next(tmp_path: Path) -> None:
    place = ExportPlace(form="mlflow", path=tmp_path / "out", files=Folder(tmp_path))
    code = (
        "import os, sys; from pathlib import Path; from logbook_agent.exports.place import ExportPlace, building\n"
        "from logbook_agent.store.folder import Folder\n"
        "with building(ExportPlace(form='mlflow', path=Path(sys.argv[1]) / 'out', files=Folder(Path(sys.argv[1])))):\n"
        "    os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False).returncode == -9
    assert [name.startswith(".out.") for name in names(tmp_path)] == [True]
    (tmp_path / ".out.theirs.tmp").mkdir()
    fill(place, a="1")
    assert names(tmp_path) == [".out.theirs.tmp", "out"]
