"""Folders of runs, markers, leftovers, and runs whose tool died."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.doctor.conftest import Found, edit_json
from tests.seams import Store
from tests.stored import at

pytestmark = pytest.mark.slow

Git = Callable[..., str]


def marked(book: Path) -> list[str]:
    """The markers that there are."""
    return [path.name for path in (book / "open").iterdir() if not path.name.startswith(".")]


def age(path: Path, seconds: float = 120) -> None:
    then = path.stat().st_mtime - seconds
    os.utime(path, (then, then))


def test_runs_of_an_entry_that_is_gone(three: Cli, folder: Path, book: Path, findings: Callable[..., Found]) -> None:
    """What doctor says to write has them read again."""
    at(book / "entries/MOE-001.yaml").unlink()
    [found] = [f for f in findings("--fix") if f["check"] == "orphaned-runs"]
    name, *lines = re.findall(r"write (\S+) with two lines: `(.*?)` and `(.*?)`", found["mend"])[0]
    (folder / name).write_text("\n".join([*lines, ""]))
    shown = three("show", "MOE-001", "--json").data
    assert shown["title"].startswith("echo RESULT tflops=2")
    assert shown["runs"][0]["rows"]


def test_runs_of_an_entry_that_git_has(cli: Cli, git: Git, book: Path, findings: Callable[..., Found]) -> None:
    cli("start", "moe", "--prefix", "MOE")
    cli("run", "--", "true")
    git("add", "logbooks")
    git("commit", "-qm", "x")
    for check, path in (
        ("orphaned-runs", at(book / "entries/MOE-000.yaml")), ("run-record", at(book / "runs/MOE-000/01/run.json")),
    ):  # fmt: skip
        good = path.read_text()
        path.unlink()
        [found] = [f for f in findings("--fix") if f["check"] == check]
        assert found["mend"] == f"git restore -- {path.relative_to(book.parents[1])}"
        git(*found["mend"].split()[1:])
        assert path.read_text() == good


@pytest.mark.parametrize("entry", ["MOE-001", "MOE-003"])
def test_runs_under_a_number_alone(
    three: Cli, folder: Path, book: Path, findings: Callable[..., Found], entry: str
) -> None:
    """Another program wrote them; the entry has a whole name, and runs or none."""
    assert three("note", "--title", "no runs yet").code == 0
    place = book / f"runs/{entry}/07"
    place.mkdir(parents=True)
    shutil.copy(at(book / "runs/MOE-000/01/run.json"), place)
    [found] = [f for f in findings() if f["severity"] != "note"]
    assert (found["check"], found["file"]) == ("orphaned-runs", str(place.parent))
    subprocess.run(["bash", "-c", found["mend"]], cwd=folder, check=True)
    assert 7 in [run["run"] for run in three("show", entry, "--json").data["runs"]]


def test_folders_that_are_no_runs(three: Cli, book: Path, findings: Callable[..., Found]) -> None:
    at(book / "runs/EP-001/01").mkdir(parents=True)
    at(book / "runs/MOE-001/one").mkdir()
    at(book / "runs/MOE-001/2").mkdir()
    at(book / "runs/MOE-001/03").mkdir()
    assert sorted(Path(f["file"]).name for f in findings()) == ["2", "EP-001", "one"], "03 is just being started"


@pytest.mark.slow
def test_a_run_cut_off_before_its_record(three: Cli, book: Path, healthy: Callable[[], None]) -> None:
    cut = at(book / "runs/MOE-001/02")
    (cut / "files").mkdir(parents=True)
    (cut / "files/01-x.py").write_text("x")
    age(cut)
    assert str(cut.relative_to(book)) in three("doctor").out
    healthy()
    assert not cut.exists()


def test_an_output_without_a_record(three: Cli, book: Path, findings: Callable[..., Found]) -> None:
    at(book / "runs/MOE-001/01/run.json").unlink()
    [found] = [f for f in findings("--fix") if f["check"] == "run-record"]
    assert (found["severity"], found["mended"]) == ("error", None)


def test_a_copied_run_is_another_run(three: Cli, book: Path) -> None:
    """Its folder says which one it is."""
    shutil.copytree(at(book / "runs/MOE-001/01"), at(book / "runs/MOE-001") / "02")
    assert [run["run"] for run in three("show", "MOE-001", "--json").data["runs"]] == [1, 2]


def test_markers(three: Cli, book: Path, healthy: Callable[[], None]) -> None:
    (book / "open").mkdir(exist_ok=True)
    names = Store(book.parents[1]).marker("MOE-000", 1), "MOE-000_07.p2m4a", "junk"
    for name in names:
        (book / "open" / name).write_text("")
    out = three("doctor").out
    assert all(f"open/{name}" in out for name in names)
    healthy()
    assert marked(book) == []


def test_temporary_files(three: Cli, book: Path, findings: Callable[..., Found], healthy: Callable[[], None]) -> None:
    old = [
        book.parent / ".moe.md.abc.tmp",
        at(book / "entries/.MOE-001.yaml.x.tmp"),
        at(book / "runs/MOE-001/01/.run.json.y.tmp"),
    ]
    fresh = at(book / "entries/.MOE-002.yaml.z.tmp")
    for path in (*old, fresh):
        path.write_text("half")
    for path in old:
        age(path)
    assert sorted(f["file"] for f in findings()) == sorted(str(p) for p in old)
    healthy()
    assert [p.exists() for p in (*old, fresh)] == [False, False, False, True]


def test_missing_logs_are_a_note(three: Cli, book: Path, findings: Callable[..., Found]) -> None:
    for n in (0, 1):
        at(book / f"runs/MOE-00{n}/01/output.log").unlink()
    [note] = findings()
    assert (note["severity"], note["check"], note["message"][:6]) == ("note", "missing-logs", "2 logs")
    at(book / "runs/MOE-002/01/output.log").write_text("changed\n")
    assert "8 bytes; 16 were written" in findings()[0]["message"]


def test_missing_files_of_code(
    started: Cli, git: Callable[..., str], folder: Path, book: Path, findings: Callable[..., Found]
) -> None:
    (folder / "bench.py").write_text("print('RESULT tflops=1')\n")
    for _ in range(2):
        assert started("run", "--", sys.executable, "bench.py").code == 0
    [kept] = (book / "code").iterdir()
    assert findings() == []
    text = kept.read_text()
    kept.unlink()
    [found] = findings("--fix")
    assert (found["check"], found["file"]) == ("code", str(kept))
    assert all(name in found["message"] for name in ("MOE-000", "MOE-001"))
    kept.write_text(text)
    git("add", "logbooks")
    git("commit", "-qm", "logbook")
    kept.unlink()
    assert findings()[0]["mend"] == f"git restore -- logbooks/moe/code/{kept.name}"


@pytest.mark.slow
def test_an_interrupted_run_is_finished(three: Cli, book: Path, healthy: Callable[[], None]) -> None:
    path = at(book / "runs/MOE-001/01/run.json")
    edit_json(path, exit=None, ended=None, duration_s=None, output=None, rows=None)
    (book / "open").mkdir(exist_ok=True)
    (book / "open" / Store(book.parents[1]).marker("MOE-001", 1)).write_text("")
    at(book / "runs/MOE-001/01/output.log").write_text("hello\nRESULT tflops=7\nRESULT tfl")
    assert three("list", "--json").data[1]["state"] == "interrupted"
    before = path.read_text()
    assert "MOE-001" in three("doctor").out
    assert path.read_text() == before, "looking changes nothing"
    assert three("doctor", "--fix").code == 0
    healthy()
    run = three("show", "MOE-001", "--full", "--json").data["runs"][0]
    assert (run["state"], run["exit"]) == ("interrupted", {"interrupted": True})
    facts = path.read_text()
    assert '"ended"' not in facts, "when it ended is not known"
    assert '"tail": [\n   "hello",\n   "RESULT tflops=7",\n   "RESULT tfl"\n  ]' in facts
    assert three("list", "--json").data[1]["state"] == "interrupted"
    assert marked(book) == []
    assert "7.000" in (book.parent / "moe.md").read_text()


def test_a_run_of_another_host_is_ended_when_asked_to(three: Cli, book: Path, findings: Callable[..., Found]) -> None:
    edit_json(book / "runs/MOE-001/01/run.json", exit=None, ended=None, host={"name": "far"})
    three("render")
    assert three("list", "--json").data[1]["state"] == "unknown"
    [found] = findings()
    assert (found["check"], "far" in found["message"]) == ("unknown", True)
    assert findings("--fix")[0]["mended"]
    assert three("list", "--json").data[1]["state"] == "interrupted"
