"""No function that writes leads out of its folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from logbook_agent.model.errors import StoreError
from logbook_agent.store import files
from logbook_agent.store.files import locked
from logbook_agent.store.reading import check_place
from tests.contract.store.test_store_outside import picture

ACTS: dict[str, Callable[[Path, Path], object]] = {
    "write": lambda path, top: files.write_atomic(path, b"x", within=top),
    "text": lambda path, top: files.write_text(path, "x", within=top),
    "together": lambda path, top: files.write_together([(path, b"x")], within=top),
    "create": lambda path, top: files.create_exclusive(path, b"x", within=top),
    "log": lambda path, top: files.create_log(path, within=top),
    "lock": lambda path, top: locked(path, within=top).__enter__(),
    "folder": lambda path, top: files.make_folder(path, within=top),
    "new folder": lambda path, top: files.create_folder(path, within=top),
    "remove": lambda path, top: files.remove(path, within=top),
    "remove folder": lambda path, top: files.remove_folder(path, within=top),
    "remove tree": lambda path, top: files.remove_tree(path, within=top),
    "move to": lambda path, top: files.move(top / "here", path, within=top),
    "move from": lambda path, top: files.move(path, top / "gone", within=top),
    "copy to": lambda path, top: files.copy(top / "here", path, within=top),
    "copy from": lambda path, top: files.copy(path, top / "copied", within=top),
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
    with pytest.raises(StoreError):
        ACTS[act](Path(f"{top}/{way}") if way != "/abs" else outside / "x", top)
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
    files.write_text(tmp_path / "way/sub", "x", within=tmp_path / "way")
    check_place(tmp_path / "way/sub", tmp_path / "way")
    assert (tmp_path / "real/sub").read_text() == "x"
