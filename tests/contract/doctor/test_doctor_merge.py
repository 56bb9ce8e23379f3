"""Two clones gave out the same IDs, and plain git merged them: ours keeps its ID, theirs gets the next one."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Cli, FixedClock
from tests.contract.doctor.conftest import Found
from tests.contract.views import blocks
from tests.seams import Store

Git = Callable[..., str]


def merge(git: Git, folder: Path) -> str:
    git("fetch", "-q", str(folder.parent / "theirs"), "main")
    words = ["git", "merge", "-q", "-m", "joined", "FETCH_HEAD"]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False).stdout


@pytest.fixture
def clones(cli: Cli, git: Git, folder: Path, clock: FixedClock, monkeypatch: pytest.MonkeyPatch) -> tuple[Cli, Cli]:
    """The command line in two clones that share MOE-000, which has one run."""
    cli("start", "moe", "--prefix", "MOE", "--metric", "tflops:max:TF/s")
    cli("run", "--title", "shared", "--", "echo", "RESULT tflops=1")
    git("add", "logbooks")
    git("commit", "-qm", "shared")
    git("clone", "-q", ".", str(folder.parent / "theirs"))

    def there(*words: str) -> object:
        clock.tick()
        monkeypatch.chdir(folder.parent / "theirs")
        answer = cli(*words)
        assert answer.code == 0, answer.err
        monkeypatch.chdir(folder)
        return answer

    def here(*words: str) -> object:
        clock.tick()
        answer = cli(*words)
        assert answer.code == 0, answer.err
        return answer

    return here, there  # type: ignore[return-value]


def commit(git: Git, folder: Path) -> None:
    for place in (folder, folder.parent / "theirs"):
        git("add", "logbooks", cwd=place)
        git("commit", "-qm", "work", cwd=place)


@pytest.fixture
def collided(clones: tuple[Cli, Cli], git: Git, folder: Path) -> Store:
    """MOE-001 is an entry with runs on both sides; MOE-002 is a note of theirs alone
    that refers to it."""
    here, there = clones
    (folder.parent / "theirs/bench.py").write_text("print('RESULT tflops=5')\n")
    here("run", "--title", "ours", "--", "echo", "RESULT tflops=2")
    there("run", "--title", "theirs", "--", "echo", "RESULT tflops=3")
    there("run", "--id", "MOE-001", "--label", "B", "--", "python", "bench.py")
    there("note", "--title", "refers", "--continues", "MOE-001")
    commit(git, folder)
    assert "CONFLICT" in merge(git, folder)
    return Store(folder)


def assert_joined(book: Store, new_id: str = "MOE-003") -> None:
    """Nothing of either side is lost, and every record says where it stands."""
    assert [(i, book.entry(i).title) for i in book.entry_ids()] == [
        ("MOE-000", "shared"),
        ("MOE-001", "ours"),
        ("MOE-002", "refers"),
        (new_id, "theirs"),
    ]
    assert book.entry(new_id).aliases == ["MOE-001"]
    assert book.entry("MOE-002").continues == new_id
    for entry_id, values in {"MOE-001": [2.0], new_id: [3.0, 5.0]}.items():
        runs = book.runs(entry_id)
        assert [(r.entry, r.run) for r in runs] == [(entry_id, n) for n in range(1, len(values) + 1)]
        assert [r.rows[0].metrics["tflops"].samples for r in runs] == [[v] for v in values]
    code = book.runs(new_id)[1].code
    assert (book.folder / code.diff_kept).exists()
    assert [*blocks(book.view_path.read_text())] == ["header", "MOE-000", "MOE-001", "MOE-002", new_id]


@pytest.mark.slow
def test_an_id_of_two_clones(collided: Store, cli: Cli, git: Git, findings: Callable[..., Found]) -> None:
    [found] = [f for f in findings() if f["check"] == "merge"]
    assert all(word in found["message"] for word in ("MOE-001", "'ours'", "'theirs'"))
    assert "logbook doctor --fix" in found["mend"]
    index = git("ls-files", "-s", "-u")
    answer = cli("doctor", "--fix")
    assert answer.code == 0, answer.out
    typed = "git add -- logbooks/moe logbooks/moe.md"
    assert all(word in answer.out for word in ("MOE-003", "MOE-002", typed))
    assert_joined(collided)
    assert git("ls-files", "-s", "-u") == index, "the index belongs to people"
    again = [f for f in findings("--fix") if f["check"] == "merge"]
    assert [(f["severity"], f["mend"]) for f in again] == [("note", typed)] * len(again)
    assert again
    git(*typed.split()[1:])
    git("commit", "-qm", "joined")
    assert git("status", "--porcelain") == ""
    assert [f for f in findings() if f["severity"] != "note"] == []
    assert_joined(collided)
    assert cli("run", "--title", "next", "--json", "--", "true").data["id"] == "MOE-004"


@pytest.mark.slow
def test_a_run_of_two_clones(clones: tuple[Cli, Cli], git: Git, folder: Path, cli: Cli) -> None:
    here, there = clones
    here("run", "--id", "MOE-000", "--", "echo", "RESULT tflops=2")
    there("run", "--id", "MOE-000", "--", "echo", "RESULT tflops=3")
    commit(git, folder)
    assert "CONFLICT" in merge(git, folder)
    assert "run 2 of MOE-000" in cli("doctor").out
    answer = cli("doctor", "--fix")
    assert answer.code == 0, answer.out
    runs = Store(folder).runs("MOE-000")
    assert [(r.run, r.rows[0].metrics["tflops"].samples) for r in runs] == [(1, [1.0]), (2, [2.0]), (3, [3.0])]
    again = cli("doctor", "--fix")
    assert again.code == 0
    assert "run 3 of MOE-000" in again.out
    assert len(Store(folder).runs("MOE-000")) == 3


@pytest.mark.slow
def test_two_versions_of_one_entry_are_left_to_people(
    clones: tuple[Cli, Cli], git: Git, folder: Path, findings: Callable[..., Found]
) -> None:
    here, there = clones
    here("edit", "MOE-000", "--interpretation", "ours")
    there("edit", "MOE-000", "--interpretation", "theirs")
    commit(git, folder)
    assert "CONFLICT" in merge(git, folder)
    path = folder / "logbooks/moe/entries/MOE-000.yaml"
    before = path.read_bytes()
    for options in ([], ["--fix"]):
        [found] = [f for f in findings(*options) if f["check"] == "merge"]
        assert found["line"] == 1 + before.split(b"<<<<<<< ")[0].count(b"\n")
        assert found["mend"].endswith("git add -- logbooks/moe/entries/MOE-000.yaml")
    assert path.read_bytes() == before
