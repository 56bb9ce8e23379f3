"""IDs that were reserved once are never given out again, and which reservations lead to nothing."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import structs

from logbook_agent.model.errors import StoreError
from logbook_agent.store.folder import Folder
from logbook_agent.store.names import Reservations, highest, reservations_of

Git = Callable[..., str]


def test_the_highest_is_by_number(tmp_path: Path) -> None:
    assert highest(["MOE-999", "MOE-1000", "MOE-0", "OTHER-2000", "MOE-I8-3000", "x"], "MOE") == 1000
    assert highest(["MOE-999", "MOE-1000"], "MOE") == 1000
    assert highest(["MOE-000"], "MOE") == 0
    assert highest(["MOE-x", "OTHER-1"], "MOE") == -1


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
    assert structs.replace(found, warning=None) == Reservations(
        files=Folder(root / ".ids/MOE", root), root=root, prefix="MOE"
    )
    assert found.warning == f"{folder}/.git is read-only: IDs are not shared with other worktrees of this clone"
