"""Where an export is written: whole or not at all, and never over something that is not one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from logbook_agent.exports.place import MANIFEST, ExportPlace, building, check_replaceable
from logbook_agent.model.errors import Taken
from logbook_agent.store.folder import Folder

pytestmark = pytest.mark.slow


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# -- folders ---------------------------------------------------------------------------------------


def fill(place: ExportPlace, **files: str) -> None:
    check_replaceable(place)
    with building(place) as made:
        for name, text in files.items():
            (made / name).write_text(text)


def test_a_folder_is_replaced_as_long_as_nobody_touched_it(tmp_path: Path) -> None:
    place = ExportPlace(form="mlflow", path=tmp_path / "out", files=Folder(tmp_path))
    place.path.mkdir()
    fill(place, a="1", b="2")
    assert names(place.path) == ["a", "b", MANIFEST]
    fill(place, a="3")
    assert names(place.path) == ["a", MANIFEST]
    assert names(tmp_path) == ["out"]
    for change in (
        lambda: (place.path / "theirs").write_text("x"),
        lambda: (place.path / "a").write_text("4"),
        lambda: (place.path / "a").unlink(),
        lambda: (place.path / MANIFEST).unlink(),
        lambda: (place.path / "link").symlink_to("a"),
    ):
        change()
        with pytest.raises(Taken, match="is not an unchanged earlier mlflow export"):
            check_replaceable(place)
        for path in place.path.iterdir():
            path.unlink()
        fill(place, a="3")
    with pytest.raises(Taken):
        check_replaceable(ExportPlace(form="trackio", path=place.path, files=Folder(tmp_path)))


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
