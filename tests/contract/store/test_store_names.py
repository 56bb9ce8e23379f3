"""Names in records that become part of a path: a bad one is damage of its file, and leads nowhere."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import Answer, Cli
from tests.stored import at

pytestmark = pytest.mark.slow

MOE = "logbooks/moe"
HEADER, ENTRY, RUN = f"{MOE}/logbook.yaml", f"{MOE}/entries/MOE-000.yaml", f"{MOE}/runs/MOE-000/01/run.json"

ESCAPES = ["../../x", "/abs/x", "..", ".", "", "a/b", "a\0b", "a\nb", "x" * 300, "-x"]


def changed(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """A record with another value in it, in the form of its file."""
    path = at(path)
    data = json.loads(path.read_text()) if path.suffix == ".json" else yaml.safe_load(path.read_text())
    change(data)
    path.write_text(json.dumps(data) if path.suffix == ".json" else yaml.safe_dump(data))


def files(folder: Path) -> set[str]:
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*") if ".index" not in p.name}


@pytest.mark.parametrize("name", [*ESCAPES, "moe", "MOE_I8", "MOE-"])
@pytest.mark.sample(5)
def test_a_prefix(one: Cli, folder: Path, tmp_path: Path, name: str) -> None:
    changed(folder / HEADER, lambda data: data.update(prefix=name))
    before = files(tmp_path)
    assert_refused(one("note", "--title", "t"), "logbook.yaml: prefix")
    assert files(tmp_path) == before


@pytest.mark.parametrize("name", [*ESCAPES, "other"])
@pytest.mark.sample(4)
def test_a_topic_is_the_name_of_its_folder(one: Cli, folder: Path, name: str) -> None:
    changed(folder / HEADER, lambda data: data.update(topic=name))
    assert_refused(one("status"), "logbook.yaml: topic: expected")


@pytest.mark.parametrize("name", ESCAPES)
@pytest.mark.parametrize("key", ["continues", "completes", "supersedes", "decides", "recipe"])
@pytest.mark.sample(8)
def test_names_in_an_entry(one: Cli, folder: Path, key: str, name: str) -> None:
    values: dict[str, object] = {"recipe": {"name": name, "digest": "d", "runs": 1}}
    changed(folder / ENTRY, lambda data: data.update({key: values.get(key, name)}))
    listed = one("list")
    assert listed.code == 0
    assert f".yaml: {key}" in listed.err


@pytest.mark.parametrize("name", ["../../../x", "/abs/x", "..", "files/../../x", "files//x", "a/b/c", "", "x\0"])
@pytest.mark.parametrize("key", ["diff_kept", "untracked"])
@pytest.mark.sample(4)
def test_files_kept_of_a_run(one: Cli, folder: Path, key: str, name: str) -> None:
    kept = {"path": "x.py", "sha256": "0", "bytes": 1, "kept": name}
    changed(folder / RUN, lambda data: data.update(code={key: name if key == "diff_kept" else [kept]}))
    listed = one("list")
    assert (listed.code, "/run.json: code" in listed.err) == (0, True)


def test_the_place_of_a_file_says_which_entry_and_run_it_is(one: Cli, folder: Path) -> None:
    """Whatever stands inside, as in files of format 1."""
    before = one("show", "MOE-000", "--json").data
    changed(folder / ENTRY, lambda data: data.update(format=1, id="MOE-007", aliases=["../x"]))
    changed(folder / RUN, lambda data: data.update(format=1, entry="../../x", run=-1))
    assert one("show", "MOE-000", "--json").data == before
    assert one("doctor").out == "moe: nothing is wrong\n"


def test_files_hold_whole_names_and_repeat_none(one: Cli, folder: Path) -> None:
    assert one("note", "--title", "next", "--continues", "MOE-000").code == 0
    entry, run = at(folder / ENTRY), at(folder / RUN)
    assert re.fullmatch(r"MOE-000\.[0-9a-z]{5}\.yaml", entry.name)
    assert (run.parents[1].name, run.parts[-2][:3]) == (entry.stem, "01.")
    assert {"id", "name", "entry", "run", "aliases"}.isdisjoint(yaml.safe_load(entry.read_text()))
    assert {"id", "name", "entry", "run"}.isdisjoint(json.loads(run.read_text()))
    later = yaml.safe_load(at(folder / MOE / "entries/MOE-001.yaml").read_text())
    assert later["continues"] == entry.stem
    assert one("show", "MOE-001", "--json").data["continues"] == "MOE-000"
    assert one("baseline", "--entry", "MOE-000", "--reason", "measured").code == 0
    base = yaml.safe_load((folder / HEADER).read_text())["baseline"]
    assert (base["entry"], base["runs"]) == (entry.stem, [run.parts[-2].removeprefix("0")])


def test_names_without_an_end_are_read(one: Cli, folder: Path) -> None:
    """A person writes an entry, and another program a run, under a number alone."""
    (folder / MOE / "entries/MOE-001.yaml").write_text("title: by hand\nopened: 2026-02-11T10:00:00+00:00\n")
    run = at(folder / RUN)
    place = folder / MOE / "runs/MOE-001/01"
    place.mkdir(parents=True)
    (place / "run.json").write_bytes(run.read_bytes())
    shown = one("show", "moe-1", "--json").data
    assert (shown["id"], shown["title"], len(shown["runs"])) == ("MOE-001", "by hand", 1)
    assert one("edit", "MOE-001", "--next", "go on").code == 0
    assert one("run", "--id", "MOE-001", "--", "echo", "RESULT tflops=2").code == 0
    names = sorted(path.name for path in (folder / MOE / "runs/MOE-001").iterdir())
    assert [name[:2] for name in names] == ["01", "02"]
    assert one("note", "--title", "third", "--json").data["id"] == "MOE-002"
    assert one("render").code == 0
    assert one("doctor").code == 0


def test_a_recipe_that_an_entry_names(one: Cli, folder: Path, tmp_path: Path, git: object) -> None:
    (tmp_path / "outside.yaml").write_text("name: outside\nSECRET-WORD: 1\n")
    use = {"name": "outside", "file": "../../outside.yaml", "digest": "d", "runs": 1}
    changed(folder / ENTRY, lambda data: data.update(recipe=use))
    answer = one("sweep", "--id", "MOE-000")
    assert answer.code == 2
    assert "SECRET-WORD" not in answer.err


@pytest.mark.parametrize("root", ["..", "../elsewhere", "/abs", "notes/../..", ".ssh", ".git/hooks", "\\u0000"])
def test_a_root_of_the_settings(started: Cli, folder: Path, tmp_path: Path, git: object, root: str) -> None:
    """A setting comes with the repository, and stays in it; the user may name any folder."""
    if root == ".ssh":
        (folder / ".ssh").symlink_to(tmp_path)
    root = "/abs" if root == "/abs" else root
    (folder / "logbook.toml").write_text(f'root = "{root}"\n')
    before = files(tmp_path)
    answer = started("start", "new", "--prefix", "NEW")
    assert answer.code == 2, answer.err
    assert files(tmp_path) == before
    if root != "\\u0000":
        assert started("start", "new", "--prefix", "NEW", "--root", str(tmp_path / "mine")).code == 0


def assert_refused(answer: Answer, says: str) -> None:
    assert answer.code == 3, answer.err
    lines = answer.err.splitlines()
    assert says in lines[0], answer.err
    assert [line[:8] for line in lines[1:3]] == ["  cause:", "  next: "]
