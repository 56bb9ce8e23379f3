"""No function that writes leads out of its folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from logbook_agent.model.errors import StoreError
from logbook_agent.store.folder import Folder
from tests.contract.store.test_store_outside import picture

ACTS: dict[str, Callable[[str | Path, Path], object]] = {
    "write": lambda path, top: Folder(top).write(path, b"x"),
    "text": lambda path, top: Folder(top).write(path, "x"),
    "create": lambda path, top: Folder(top).create(path, b"x"),
    "log": lambda path, top: Folder(top).create_log(path),
    "lock": lambda path, top: Folder(top).lock(path).__enter__(),
    "folder": lambda path, top: Folder(top).make(path),
    "remove": lambda path, top: Folder(top).remove(path),
    "remove folder": lambda path, top: Folder(top).remove_folder(path),
    "remove tree": lambda path, top: Folder(top).remove_tree(path),
    "move to": lambda path, top: Folder(top).move("here", path),
    "move from": lambda path, top: Folder(top).move(path, "gone"),
}


@pytest.mark.parametrize("way", ["link/new", "link/x", "../outside/new", "sub/../../outside/x", "/abs"])
@pytest.mark.parametrize("act", ACTS)
def test_no_act_leads_outside(tmp_path: Path, act: str, way: str) -> None:
    top, outside = tmp_path / "top", tmp_path / "outside"
    for place in (top, outside):
        place.mkdir()
    (outside / "x").write_text("x")
    (top / "here").write_text("here")
    (top / "sub").mkdir()
    (top / "link").symlink_to(outside)
    before = picture(outside)
    for name in (way, Path(f"{top}/{way}")) if way != "/abs" else (outside / "x",):
        with pytest.raises(StoreError):
            ACTS[act](name, top)
    assert picture(outside) == before
    assert (top / "here").read_text() == "here"
