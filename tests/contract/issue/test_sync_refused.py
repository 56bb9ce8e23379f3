"""What is refused before anything is written, and what is said of it."""

from __future__ import annotations

import json

import pytest

from tests.contract.issue.pushed_support import Pushed, refused, tags
from tests.contract.issue.sync_support import Bench

pytestmark = pytest.mark.slow

KEY = "sk" + "-" + "a1B2" * 12
TOKEN = "gh" + "p_" + "a1B2" * 9


# -- names ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [KEY, f"moe-{TOKEN}", "my-s3cr3t-value"])
@pytest.mark.sample(1)
def test_a_snapshot_whose_name_is_a_secret(published: Pushed, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = published.bench
    bench.sync("--create")
    monkeypatch.setenv("SERVICE_TOKEN", "my-s3cr3t-value")
    writes = len(bench.github.writes)
    error = refused(bench, 2, "snapshot", name)
    assert name not in json.dumps(error)
    assert error["hint"].endswith("logbook snapshot moe-int8-20260210")
    assert len(bench.github.writes) == writes
    assert tags(bench) == []
    assert bench.book.header.snapshots is None
    bench.sync()


@pytest.mark.parametrize(
    ("label", "words"),
    [(TOKEN, "secret"), ("x" * 51, "label"), ("a\nb", "label")],
)
@pytest.mark.sample(1)
def test_labels_that_cannot_be(bench: Bench, label: str, words: str) -> None:
    bench.note()
    config = bench.folder / "logbook.toml"
    before = config.read_text()
    for more in ((), ("--dry-run",), ("--offline", "out")):
        error = refused(bench, 2, "sync", "--create", *more, "--label", label)
        assert words in error["message"]
        assert TOKEN not in json.dumps(error)
        config.write_text(f"{before}labels = [{json.dumps(label)}]\n")
        message = refused(bench, 2, "sync", "--create", *more)["message"]
        assert words in message or "github.labels" in message
        config.write_text(before)
    assert bench.github.requests == []
    bench.sync("--create", "--label", " one ", "--label", "one", "--label", "x" * 50)
    assert {label["name"] for label in bench.github.issue(bench.repo, 1)["labels"]} == {"one", "x" * 50}


# -- documents as files -----------------------------------------------------------------------------------


def test_an_option_is_no_folder(bench: Bench) -> None:
    assert "expected a folder" in refused(bench, 2, "sync", "--offline", "--create")["message"]
    assert not (bench.folder / "--create").exists()


def test_files_of_somebody_else_stay(bench: Bench) -> None:
    bench.note()
    bench.sync("--offline", "out")
    name = "update-07.md"
    path = bench.folder / "out" / name
    path.write_text("# Mine\n\nand only mine\n")
    before = {p.name: p.read_bytes() for p in path.parent.iterdir()}
    bench.note("Another")
    for typed in ("out", "nowhere/../out", str(path.parent)):
        assert f"out/{name}" in refused(bench, 2, "sync", "--offline", typed)["message"]
    assert {p.name: p.read_bytes() for p in path.parent.iterdir()} == before
    # And those of another logbook.
    bench.ok("start", "two", "--prefix", "TWO")
    bench.ok("-L", "two", "sync", "--offline", "two")
    assert "issue.md" in refused(bench, 2, "-L", "moe", "sync", "--offline", "two")["message"]
