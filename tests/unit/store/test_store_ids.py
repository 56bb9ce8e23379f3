"""IDs that were reserved once are never given out again, and which reservations lead to nothing."""

from __future__ import annotations

import dataclasses
import errno
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from logbook_agent.model.errors import StoreError
from logbook_agent.store.folder import Folder
from logbook_agent.store.ids import Reservations, highest, reservations_of

Git = Callable[..., str]


@pytest.fixture
def place(tmp_path: Path) -> Reservations:
    return Reservations(files=Folder(tmp_path / "ids", tmp_path), root=tmp_path, prefix="MOE")


def test_the_highest_is_by_number(tmp_path: Path) -> None:
    assert highest(["MOE-999", "MOE-1000", "MOE-0", "OTHER-2000", "MOE-I8-3000", "x"], "MOE") == 1000
    assert highest(["MOE-999", "MOE-1000"], "MOE") == 1000
    assert highest(["MOE-000"], "MOE") == 0
    assert highest(["MOE-x", "OTHER-1"], "MOE") == -1


def test_an_id_follows_all_entries_and_reservations(place: Reservations) -> None:
    assert place.reserve([]) == "MOE-000"
    # Somebody else's ID, of which only the reservation is known here.
    (place.files.path / "MOE-004").touch()
    assert place.reserve(["MOE-002.k3x9q"]) == "MOE-005"
    assert place.reserve(["MOE-007"]) == "MOE-008"
    assert json.loads((place.files.path / "MOE-008").read_text()) == {"root": str(place.root)}


def test_reservations_without_an_entry(place: Reservations, tmp_path: Path) -> None:
    """Those of another worktree may still get one."""
    owners = {
        "MOE-000": tmp_path,
        "MOE-001": tmp_path,
        "MOE-002": "/elsewhere",
        "MOE-999": tmp_path,
        "README": tmp_path,
    }
    place.files.path.mkdir()
    for name, root in owners.items():
        (place.files.path / name).write_text(json.dumps({"root": str(root)}))
    (place.files.path / "MOE-1000").touch()
    assert place.voids(["MOE-000"]) == ["MOE-001", "MOE-999", "MOE-1000"]


@pytest.mark.parametrize(
    ("refused", "is_own"), [(errno.EROFS, True), (errno.EACCES, True), (errno.EPERM, True), (errno.ENOSPC, False)]
)
def test_a_git_folder_that_cannot_be_written(
    git: Git, folder: Path, monkeypatch: pytest.MonkeyPatch, refused: int, *, is_own: bool
) -> None:
    def fails(self: Folder) -> None:
        raise StoreError(f"cannot write {self.path}", cause="a test") from OSError(refused, "refused")

    monkeypatch.setattr(Folder, "make", fails)
    root = folder / "logbooks"
    if not is_own:
        with pytest.raises(StoreError, match="cannot write"):
            reservations_of(root, "MOE")
        return
    found = reservations_of(root, "MOE")
    assert dataclasses.replace(found, warning=None) == Reservations(
        files=Folder(root / ".ids/MOE", root), root=root, prefix="MOE"
    )
    assert found.warning == f"{folder}/.git is read-only: IDs are not shared with other worktrees of this clone"
