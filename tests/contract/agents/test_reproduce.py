"""Recorded runs made again: what is missing or other is named, and the user's tree stays as it is."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli
from tests.stored import at

pytestmark = pytest.mark.slow

# Prints a metric; reads a tracked value, an input, and a folder of inputs.
SCRIPT = 'echo "METRIC tflops=$(cat value.txt) TF/s"; cat data.bin more/* | wc -c\n'
DEVICE = [{"platform": "tpu", "kind": "TPU v5p", "count": 4}]
Undo = Callable[[], object]


@dataclass
class Recorded:
    """A repository with recorded runs, and what alters them; each alteration returns what undoes it."""

    folder: Path
    cli: Cli
    monkeypatch: pytest.MonkeyPatch

    def data(self, entry: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._path(entry).read_text())
        return found

    def _path(self, entry: str) -> Path:
        return at(self.folder / f"logbooks/moe/runs/{entry}/01/run.json")

    def record(self, entry: str, **changed: Any) -> Undo:
        """Alter the record of a run: `code__commit` is the commit of its code."""
        before = self._path(entry).read_text()
        found = json.loads(before)
        for name, value in changed.items():
            *above, last = name.split("__")
            place = found
            for one in above:
                place = place.setdefault(one, {})
            place[last] = value
        self._path(entry).write_text(json.dumps(found))
        return lambda: self._path(entry).write_text(before)

    def file(self, name: str | Path, text: str | None) -> Undo:
        """Write a file, or remove it."""
        path = self.folder / name
        before = path.read_bytes()
        path.unlink() if text is None else path.write_text(text)
        return lambda: path.write_bytes(before)

    def files(self, *changed: tuple[str | Path, str | None]) -> Undo:
        undo = [self.file(*one) for one in changed]
        return lambda: [one() for one in undo]

    def unset(self, name: str) -> Undo:
        value = os.environ[name]
        self.monkeypatch.delenv(name)
        return lambda: self.monkeypatch.setenv(name, value)


@pytest.fixture
def recorded(git: Callable[..., str], cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Recorded:
    """MOE-000 runs tracked code with inputs, MOE-001 changed code, MOE-002 an untracked script, MOE-003 one outside of
    the repository, MOE-004 a shell with variables; MOE-005 has three repeats."""
    (folder.parent / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(folder.parent / "temporary"))
    for name, text in {
        "bench.sh": SCRIPT,
        "value.txt": "12.5",
        "part/x.sh": "true\n",
        "data.bin": "x" * 1000,
        "more/a.txt": "a",
        "more/b.txt": "b",
        "../outside.sh": "echo METRIC tflops=8\n",
    }.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    git("add", "bench.sh", "value.txt", "part")
    git("commit", "-qm", "bench")
    assert cli("start", "moe", "--prefix", "MOE", "--metric", "tflops:max:TF/s").code == 0
    inputs = ("--input", "data.bin", "--input", "more")
    assert cli("run", *inputs, "--", "sh", "bench.sh").code == 0
    (folder / "value.txt").write_text("13.5")
    assert cli("run", *inputs, "--env", "OMP_NUM_THREADS=1", "--", "sh", "bench.sh").code == 0
    (folder / "fresh.sh").write_text("echo METRIC tflops=7\n")
    assert cli("run", "--", "sh", "fresh.sh").code == 0
    assert cli("run", "--cwd", "part", "--", "sh", str(folder.parent / "outside.sh")).code == 0
    monkeypatch.setenv("PLACE", "part")
    assert cli("run", "--shell", "--", "ls $PLACE ${PLACE}; N=3; echo METRIC tflops=$N").code == 0
    assert cli("run", "--repeat", "3", "--", "sh", "-c", "echo METRIC tflops=${LOGBOOK_RUN}.5").code == 0
    return Recorded(folder, cli, monkeypatch)


def _altered(r: Recorded) -> dict[str, tuple[str, Callable[[], Undo], str]]:
    """By a name: the entry, what alters it, and what must be named."""
    first = "MOE-000"
    one, rows = r.data(first), r.data(first)["rows"]
    software = one["software"]
    script = f"logbooks/moe/{r.data('MOE-002')['code']['untracked'][0]['kept']}"
    diff = f"logbooks/moe/{r.data('MOE-001')['code']['diff_kept']}"
    other = (r.folder / diff).read_text().replace("+13.5", "+14.5")
    outside = r.folder.parent / "outside.sh"
    lost = f"the code {one['code']['commit'][:9]} cannot be brought back: "
    low = json.loads(json.dumps(rows))
    low[0]["metrics"]["tflops"]["samples"] = [10.0]

    def record(entry: str = first, **changed: Any) -> Callable[[], Undo]:
        return lambda: r.record(entry, **changed)

    return {
        "input": (
            first,
            lambda: r.file("data.bin", "y" * 1000),
            f"file data.bin: {one['inputs'][0]['sha256'][:7]} in the record, ",
        ),
        "folder": (first, lambda: r.file("more/a.txt", "c"), "file more: "),
        "untracked": (
            "MOE-002",
            lambda: r.files((script, None), ("fresh.sh", "x\n")),
            f"{lost}untracked file fresh.sh",
        ),
        "outside": ("MOE-003", lambda: r.file(outside, "echo x\n"), f"{lost}untracked file {outside}"),
        "diff gone": ("MOE-001", lambda: r.file(diff, None), f"{lost}diff code/"),
        "diff altered": ("MOE-001", lambda: r.file(diff, other), "the code "),
        "commit": (first, record(code__commit="1" * 40), "the code 111111111 is not in this clone"),
        "identity": (first, record(code__identity="1" * 64), "the code "),
        "no code": (first, record(code=None), "the code: it was not in a git repository"),
        "secret": (first, record(env__relevant={"JAX_KEY": "[redacted:token]"}), "variable JAX_KEY: "),
        "word": (first, record(argv=["sh", "bench.sh", "[redacted:aws-key]"]), "a word of the command"),
        "variable": ("MOE-004", lambda: r.unset("PLACE"), "variable PLACE: not set here"),
        "device": (first, record(devices=DEVICE), "devices: ? of 4 x TPU v5p in the record"),
        "host": (first, record(host__name="elsewhere"), "host: elsewhere in the record"),
        "package": (first, record(software={**software, "jax": "0.1"}), "package jax: 0.1 in the record, nothing here"),
        "executor": (first, record(executor="box"), "the place it ran on: box"),
        "program": (first, record(argv=["no-such-program", "bench.sh"]), "command not found: no-such-program"),
        "working folder": (first, record(cwd="nowhere"), f"{one['code']['commit'][:9]} has no folder nowhere"),
        "number": (first, record(rows=low), "tflops is not the same"),
        "rows": (first, record(rows=[*rows, *rows]), "it reported 1 row, in the record 2"),
        "case": (first, record(rows=[{**rows[0], "config": {"k": 2}}]), "its rows differ from the recorded ones in k"),
        "exit": (first, record(exit={"code": 3}), "it ended with exit code 0, in the record with exit code 3"),
    }


def _snapshot(folder: Path) -> dict[str, str]:
    """Digests of all files beside git's own."""
    files = [p for p in folder.rglob("*") if p.is_file() and ".git" not in p.parts]
    return {str(p): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def test_each_thing_that_is_missing_or_other_is_named(recorded: Recorded, git: Callable[..., str]) -> None:
    cli = recorded.cli
    for number in range(5):
        answer = cli("reproduce", f"MOE-00{number}", "--json")
        assert (answer.data["outcome"], answer.code) == ("reproduced", 0), (number, answer)
    altered = _altered(recorded)
    assert len(altered) >= 20
    index, status = git("ls-files", "-s"), git("status", "--porcelain")
    for name, (entry, alter, named) in altered.items():
        undo = alter()
        before = _snapshot(recorded.folder)
        answer = cli("reproduce", f"{entry}/1", "--json")
        assert answer.code == 1, (name, answer)
        said = [*answer.data["missing"], *answer.data["differs"]]
        assert len(said) == 1, (name, said)
        assert said[0].startswith(named), (name, said)
        assert answer.data["outcome"] == ("cannot" if answer.data["missing"] else "differs"), name
        assert _snapshot(recorded.folder) == before, name
        undo()
    assert (git("ls-files", "-s"), git("status", "--porcelain")) == (index, status)
    assert git("worktree", "list").count("\n") == 0
    assert not [*(recorded.folder.parent / "temporary").rglob("*.sh")]


def test_a_variable_of_the_record_is_shown_with_its_command(recorded: Recorded) -> None:
    recorded.record("MOE-000", env__declared={"BASH_ENV": "other.sh"})
    answer = recorded.cli("reproduce", "MOE-000", "--json")
    assert answer.code == 0
    assert "&& BASH_ENV=other.sh sh bench.sh" in answer.err


def test_how_much_it_differs_is_said_against_the_noise(recorded: Recorded) -> None:
    answer = recorded.cli("reproduce", "MOE-005")
    assert answer.code == 0
    for fact in ("MOE-005/3: reproduced", "3.500 TF/s", "2.500 TF/s", "+40%", "42.7%"):
        assert fact in answer.out
    rows = recorded.data("MOE-001")["rows"]
    rows[0]["metrics"]["tflops"]["samples"] = [13.0]
    recorded.record("MOE-001", rows=rows)
    answer = recorded.cli("reproduce", "MOE-001")
    assert answer.code == 1
    for fact in ("MOE-001/1: differs", "13.500 TF/s", "13.000 TF/s", "+3.85%"):
        assert fact in answer.out
    assert recorded.cli("reproduce", "MOE-000/7").code == 2


def test_one_run_is_compared_with_itself_primary_metric_first(git: Callable[..., str], cli: Cli, folder: Path) -> None:
    (folder / "sum.txt").write_text("sum3f2a")
    words = "RESULT loss=2.5 tflops=$LOGBOOK_RUN.5 checksum=$(cat sum.txt) at=r$(date +%N)"
    (folder / "bench.sh").write_text(f'cd {folder}; echo "{words}"\n')
    git("add", "bench.sh")
    git("commit", "-qm", "bench")
    assert cli("start", "moe", "--prefix", "MOE", "--metric", "tflops:max:TF/s", "--metric", "loss:min").code == 0
    assert cli("run", "--repeat", "3", "--", "sh", "bench.sh").code == 0
    answer = cli("reproduce", "MOE-000/1", "--json")
    assert (answer.code, answer.data["run"], answer.data["outcome"]) == (0, 1, "reproduced"), answer
    first, second = answer.data["numbers"]
    assert (first["metric"], first["recorded"], first["value"], first["change"]) == ("tflops", 1.5, 1.5, 0)
    assert second["metric"] == "loss"
    assert cli("reproduce", "MOE-000", "--json").data["numbers"][0]["recorded"] == 2.5, "the median of three"
    # A label that varies from run to run says nothing; one that never did, and names an output, does.
    assert answer.data["labels"] == []
    (folder / "sum.txt").write_text("sum9c01")
    answer = cli("reproduce", "MOE-000/1", "--json")
    assert (answer.code, answer.data["differs"]) == (1, ["checksum is not the same"])
    [label] = answer.data["labels"]
    assert (label["label"], label["recorded"], label["value"]) == ("checksum", "sum3f2a", "sum9c01")
    assert "  checksum: sum9c01, in the record sum3f2a\n" in cli("reproduce", "MOE-000/1").out


def test_the_setup_of_a_comparison_runs_first(git: Callable[..., str], cli: Cli, folder: Path) -> None:
    (folder / "bench.sh").write_text('. ./built; echo "METRIC tflops=$speed TF/s"\n')
    (folder / "source").write_text("speed=12.5\n")
    (folder / ".gitignore").write_text("built\n")
    assert cli("start", "moe", "--prefix", "MOE", "--metric", "tflops:max:TF/s").code == 0
    git("add", "-A")
    git("commit", "-q", "-m", "A build")
    ask = ("--axis", "env:N=1,2", "--pairs", "1", "--setup")
    assert cli("ab", *ask, "test -e built || cp source built", "--", "sh", "bench.sh").code == 0
    (folder / "built").unlink()
    again = cli("reproduce", "MOE-000", "--json")
    assert (again.code, again.data["outcome"], again.data["missing"]) == (0, "reproduced", []), again.err
    assert again.err.index("setup: ") < again.err.index("repeating MOE-000/")
    assert not (folder / "built").exists()
    entry = next((folder / "logbooks/moe/entries").glob("MOE-000.*"))
    entry.write_text(entry.read_text().replace("cp source built", "exit 4"))
    assert cli("reproduce", "MOE-000", "--json").data["missing"] == ["its setup, which failed: test -e built || exit 4"]


@pytest.mark.parametrize("ask", [("run",), ("ab", "--axis", "env:N=1,2", "--pairs", "1")])
def test_a_run_of_a_build_is_not_reproduced_without_it(
    git: Callable[..., str], cli: Cli, folder: Path, ask: tuple[str, ...]
) -> None:
    (folder / "bench.sh").write_text('. ./built; echo "METRIC tflops=$speed TF/s"\n')
    (folder / "source").write_text("speed=12.5\n")
    (folder / "built").write_text("speed=12.5\n")
    (folder / ".gitignore").write_text("built\n")
    assert cli("start", "moe", "--prefix", "MOE", "--metric", "tflops:max:TF/s").code == 0
    git("add", "-A")
    git("commit", "-q", "-m", "A build")
    assert cli(*ask, "--", "sh", "bench.sh").code == 0
    again = cli("reproduce", "MOE-000", "--json")
    assert (again.code, again.data["outcome"]) == (1, "cannot"), again.out
    [missing] = again.data["missing"]
    assert missing.startswith("built: git does not hold it")
    typed = shlex.split(missing.partition(": logbook ")[2])
    assert typed[-2:] == ["--setup", "COMMAND THAT MAKES IT"]
    assert cli(*typed[:-1], "cp source built", "--json").data["outcome"] == "reproduced"
    assert cli(*typed[:-1], "exit 3", "--json").data["missing"] == ["its setup, which failed: exit 3"]
