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
    "together": lambda path, top: Folder(top).write_together([(path, b"x")]),
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


@pytest.mark.parametrize("act", ["write", "text", "lock"])
def test_a_target_that_is_a_link(tmp_path: Path, act: str) -> None:
    (tmp_path / "victim").write_text("x")
    (tmp_path / "top").mkdir()
    (tmp_path / "top/name").symlink_to(tmp_path / "victim")
    with pytest.raises(StoreError, match="name is a symbolic link"):
        ACTS[act](tmp_path / "top/name", tmp_path / "top")
    assert (tmp_path / "victim").read_text() == "x"


def test_the_folder_itself_may_be_reached_through_links(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "way").symlink_to(tmp_path / "real")
    Folder(tmp_path / "way").write(tmp_path / "way/sub", "x")
    Folder(tmp_path / "way").check(tmp_path / "way/sub")
    assert (tmp_path / "real/sub").read_text() == "x"
