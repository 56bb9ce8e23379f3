"""Which folder holds the logbooks, and what of one is on disk before it is changed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

from logbook_agent.model.header import Header
from logbook_agent.store.book import Book
from logbook_agent.store.root import create
from logbook_agent.store.workspace import Workspace

Git = Callable[..., str]


def book_in(root: Path, topic: str = "moe", prefix: str = "MOE") -> Book:
    return create(root, Header(topic=topic, prefix=prefix, title=topic, opened="2026-02-10T10:43:00+00:00"))


def root_from(cwd: Path) -> Path:
    return Workspace(cwd=cwd, environ={}).root


def test_logbooks_are_looked_for_up_to_the_top_of_the_repository(git: Git, folder: Path) -> None:
    inside = folder / "a/b"
    inside.mkdir(parents=True)
    book_in(folder.parent / "logbooks")
    assert root_from(inside) == folder / "logbooks", "what lies above the repository is another project's"
    book_in(folder / "logbooks")
    assert root_from(inside) == folder / "logbooks"
    book_in(folder / "a/logbooks", "other", "OTHER")
    assert root_from(inside) == folder / "a/logbooks"
    assert root_from(folder) == folder / "logbooks"


def test_a_header_is_changed_as_it_is_on_disk(tmp_path: Path) -> None:
    one, two = book_in(tmp_path / "logbooks"), Book(tmp_path / "logbooks", "moe")
    assert one.header == two.header
    one.change_header(lambda header: dataclasses.replace(header, title="one"))
    changed = two.change_header(lambda header: dataclasses.replace(header, goal="two"))
    assert (changed.title, changed.goal) == ("one", "two")
    assert one.reread_header() == changed


def test_a_run_follows_the_highest(tmp_path: Path) -> None:
    book = book_in(tmp_path / "logbooks")
    assert [book.new_run("MOE-000") for _ in range(3)] == [1, 2, 3]
    for number in (1, 2):
        book.run_folder("MOE-000", number).rmdir()
    assert book.new_run("MOE-000") == 4
