"""Names in records that become part of a path: a bad one is damage of its file, and leads nowhere."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import Answer, Cli

pytestmark = pytest.mark.slow

MOE = "logbooks/moe"
HEADER, ENTRY, RUN = f"{MOE}/logbook.yaml", f"{MOE}/entries/MOE-000.yaml", f"{MOE}/runs/MOE-000/01/run.json"

ESCAPES = ["../../x", "/abs/x", "..", ".", "", "a/b", "a\0b", "a\nb", "x" * 300, "-x"]


def changed(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """A record with another value in it, in the form of its file."""
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
@pytest.mark.parametrize("key", ["id", "continues", "completes", "supersedes", "aliases", "recipe"])
@pytest.mark.sample(8)
def test_names_in_an_entry(one: Cli, folder: Path, key: str, name: str) -> None:
    values: dict[str, object] = {
        "aliases": [name],
        "recipe": {"name": name, "digest": "d", "runs": 1},
    }
    changed(folder / ENTRY, lambda data: data.update({key: values.get(key, name)}))
    listed = one("list")
    assert listed.code == 0
    assert f"entries/MOE-000.yaml: {key}" in listed.err


@pytest.mark.parametrize("name", ["../../../x", "/abs/x", "..", "files/../../x", "files//x", "a/b/c", "", "x\0"])
@pytest.mark.parametrize("key", ["diff_kept", "untracked"])
@pytest.mark.sample(4)
def test_files_kept_of_a_run(one: Cli, folder: Path, key: str, name: str) -> None:
    kept = {"path": "x.py", "sha256": "0", "bytes": 1, "kept": name}
    changed(folder / RUN, lambda data: data.update(code={key: name if key == "diff_kept" else [kept]}))
    listed = one("list")
    assert (listed.code, "MOE-000/01/run.json: code" in listed.err) == (0, True)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"entry": "MOE-001"}, "entry: expected MOE-000"),
        ({"entry": "../../x"}, "entry: expected the ID"),
        ({"run": 2}, "run: expected 01"),
        ({"run": -1}, "run: expected a number"),
        ({"run": 10**30}, "run: expected a number"),
        ({"child": {"pid": 0}}, "child.pid: expected a process ID"),
        ({"child": {"pid": -1}}, "child.pid: expected a process ID"),
        ({"tool": {"pid": 10**30}}, "tool.pid: expected a process ID"),
    ],
)
@pytest.mark.sample(4)
def test_a_run_says_where_it_is(one: Cli, folder: Path, change: dict[str, object], says: str) -> None:
    changed(folder / RUN, lambda data: data.update(change))
    listed = one("list")
    assert listed.code == 0
    assert f"MOE-000/01/run.json: {says}" in listed.err
    assert one("doctor").code == 1


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
