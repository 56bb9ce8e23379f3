"""Clones of one repository with one logbook, and the ways in which git joins them. The view is left out of git."""

from __future__ import annotations

import contextlib
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import Answer, Cli, FixedClock

WAYS = ("merge", "rebase", "cherry-pick")


@dataclass
class Clone:
    """The command line in one clone."""

    cli: Cli
    clock: FixedClock
    place: Path

    def __call__(self, *words: str) -> Answer:
        self.clock.tick()
        with contextlib.chdir(self.place):
            return self.cli(*words)

    def done(self, *words: str) -> Answer:
        answer = self(*words)
        assert answer.code == 0, (words, answer.err)
        return answer

    def listed(self, key: str = "title") -> dict[str, str]:
        """What `list` says of each entry, by its ID."""
        return {line["id"]: line[key] for line in self.done("list", "--json").data}

    def values(self, entry_id: str) -> dict[str, list[float]]:
        """The samples of each run of an entry, by the run's number as it is shown."""
        return {
            str(run["run"]): [v for row in run.get("rows", ()) for m in row["metrics"].values() for v in m["samples"]]
            for run in self.done("show", entry_id, "--json", "--full").data["runs"]
        }

    def git(self, *words: str) -> str:
        done = subprocess.run(["git", *words], cwd=self.place, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "work")

    def cloned(self, name: str) -> Clone:
        place = self.place.parent / name
        self.git("clone", "-q", ".", str(place))
        return _without_view(Clone(self.cli, self.clock, place))

    def take(self, other: Clone, way: str) -> None:
        """Bring the commits of another clone in. Git stops at none of our files."""
        self.git("fetch", "-q", str(other.place), "main")
        if way == "merge":
            self.git("merge", "-q", "-m", "joined", "FETCH_HEAD")
        elif way == "rebase":
            self.git("rebase", "-q", "FETCH_HEAD")
        else:
            sides = ("--right-only", "--cherry-pick", "--no-merges", "--reverse")
            for commit in self.git("rev-list", *sides, "HEAD...FETCH_HEAD").split():
                self.git("cherry-pick", "--allow-empty", "--keep-redundant-commits", commit)


def _without_view(clone: Clone) -> Clone:
    (clone.place / ".git/info/exclude").write_text("logbooks/*.md\n")
    return clone


def begun(cli: Cli, clock: FixedClock, folder: Path) -> Clone:
    """A clone whose logbook has MOE-000 with one run."""
    clone = Clone(cli, clock, folder)
    clone.git("init", "-q", "-b", "main")
    _without_view(clone)
    (folder / "bench.py").write_text("print('RESULT tflops=1')\n")
    clone.done("start", "moe", "--prefix", "MOE", "--metric", "tflops:max:TF/s")
    clone.done("run", "--title", "shared", "--", "echo", "RESULT tflops=1")
    clone.commit()
    return clone
