"""Play stories and read stores with an earlier version and with this one, and list what is said differently:
python -m tools.net [COMMIT] [COUNT]

COMMIT is the earlier version (the one that BASE names); COUNT is how many generated stories are played (6). Some of our
own logbooks (all with COUNT=16) and tests/stores, as they are in the earlier version, are read, too. Where there is a
script tools/convert.py FOLDER, it first brings a copy of them into this version's format.

The earlier version does everything twice: words that differ between the two times are noise, and not compared. Its
answers are kept in build/net until the net's code changes.

Exit code 1: a difference is not explained in explained.yaml.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tools.net.compare import UNKNOWN, Difference, Explanation, differences, report

HERE = Path(__file__).resolve().parent
TREE = HERE.parent.parent
CONVERTER = TREE / "tools/convert_format.py"
PLAYING = [HERE / f"{name}.py" for name in ("caller", "forms", "player", "story")]
# Answers name the folder that they were given in.
DIGEST = hashlib.sha256(b"".join([*(path.read_bytes() for path in PLAYING), bytes(TREE)]))
BUILD = TREE / "build/net" / DIGEST.hexdigest()[:12]
WORKERS = os.cpu_count() or 1
LIMIT_S = 600


def git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=TREE, check=True, capture_output=True, text=True).stdout.strip()


def commit_of(name: str) -> str:
    """The whole name of a commit. Exits with what to type where this clone lacks it."""
    try:
        return git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    except subprocess.CalledProcessError:
        is_shallow = git("rev-parse", "--is-shallow-repository") == "true"
        fetch = "git fetch --unshallow --tags" if is_shallow else "git fetch --tags origin"
        sys.exit(f"net: commit {name} is not in this {'shallow ' * is_shallow}clone; to get it: {fetch}")


def tree_of(commit: str) -> Path:
    """The files of a commit, without its tools: those of the working tree play for both versions."""
    tree = BUILD / commit[:12] / "tree"
    if not tree.exists():
        unpacked = tree.with_name("tree.new")
        shutil.rmtree(unpacked, ignore_errors=True)
        unpacked.mkdir(parents=True)
        words = ["git", "archive", commit, "--", ".", ":(exclude)tools", ":(exclude)tests/*.py"]
        archive = subprocess.run(words, cwd=TREE, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x"], cwd=unpacked, input=archive, check=True)
        unpacked.rename(tree)
    return tree


def sources(base: Path, count: int) -> dict[str, str]:
    """What is played or read, by name: numbers of stories, and folders of logbooks of the earlier version.

    Of our own logbooks, half as many are read as stories are played.
    """
    found = {f"story-{number:02d}": str(number) for number in range(count)}
    stores = BUILD / "stores"
    shutil.rmtree(stores, ignore_errors=True)
    for logbook in sorted((base / "logbooks").glob("*/logbook.yaml"))[: -(-count // 2)]:
        folder = stores / f"ours-{logbook.parent.name}"
        shutil.copytree(logbook.parent, folder / logbook.parent.name)
        shutil.copy(logbook.parent.with_suffix(".md"), folder)
        found[folder.name] = str(folder)
    return found | {folder.name: str(folder) for folder in sorted((base / "tests/stores").iterdir()) if folder.is_dir()}


@dataclass(frozen=True)
class Version:
    """Where a version's packages are, in the order in which Python looks, and where its answers go."""

    path: tuple[Path, ...]
    answers: Path
    converter: Path | None = None

    def play(self, played: dict[str, str]) -> None:
        """Play everything that has no answers yet, one process each."""
        missing = [name for name in played if not (self.answers / f"{name}.json").exists()]
        with ThreadPoolExecutor(WORKERS) as pool:
            for name, error in pool.map(lambda name: (name, self._play(name, played[name])), missing):
                if error:
                    sys.exit(f"net: {name} failed in {self.answers}\n{error}")

    def _play(self, name: str, source: str) -> str:
        place, out = BUILD / "at" / name, self.answers / f"{name}.json"
        shutil.rmtree(place, ignore_errors=True)
        (place / "home").mkdir(parents=True)
        words = [sys.executable, "-P", "-m", "tools.net.player", source, str(place), str(out)]
        words += [str(self.converter)] if self.converter is not None else []
        done = subprocess.run(
            words, env=self._environment(place / "home"), cwd=place, capture_output=True, text=True, timeout=LIMIT_S
        )
        if done.returncode == 0:
            shutil.rmtree(place)
        return done.stderr if done.returncode else ""

    def _environment(self, home: Path) -> dict[str, str]:
        """Nothing of the machine's user or load; the same for both versions."""
        (home / "temporary").mkdir()
        (home / "quiet/proc").mkdir(parents=True)
        (home / "quiet/proc/loadavg").write_text("0.00 0.00 0.00 1/100 1000\n")
        (home / "quiet/proc/stat").write_text("cpu  1000 0 1000 98000 0 0 0 0 0 0\n")
        return {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": ":".join(map(str, self.path)),
            "HOME": str(home),
            "TMPDIR": str(home / "temporary"),
            "XDG_CONFIG_HOME": str(home / "config"),
            "XDG_STATE_HOME": str(home / "state"),
            "XDG_CACHE_HOME": str(home / "cache"),
            "LOGBOOK_QUEUE": str(home / "queue"),
            "LOGBOOK_DEVICES": "none",
            "LOGBOOK_HOST_ROOT": str(home / "quiet"),
            "COLUMNS": "100",
            "NO_COLOR": "1",
            "TZ": "UTC",
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_SYSTEM": os.devnull,
            **{f"GIT_{who}_NAME": "Ada" for who in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{who}_EMAIL": "ada@example.org" for who in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{who}_DATE": "2026-02-10T10:00:00Z" for who in ("AUTHOR", "COMMITTER")},
        }


def read(version: Version, name: str) -> dict[str, Any]:
    answers: dict[str, Any] = json.loads((version.answers / f"{name}.json").read_text())
    return answers


def main(commit: str, count: int) -> int:
    commit = commit_of(commit)
    base = tree_of(commit)
    played = sources(base, count)
    once, twice = (Version((base, TREE), base.with_name(name)) for name in ("once", "twice"))
    now = Version((TREE,), BUILD / "now", CONVERTER)
    shutil.rmtree(now.answers, ignore_errors=True)
    took = []
    for version in (once, twice, now):
        started, before = time.monotonic(), os.times()
        version.play(played)
        cpu_s = sum(os.times()[2:4]) - sum(before[2:4])
        took.append(f"{time.monotonic() - started:.0f} s ({cpu_s:.0f} s of processor time)")
    found: list[Difference] = []
    unknown = Counter[str]()
    for name in played:
        old, new = read(once, name), read(now, name)
        found += differences(name, old, read(twice, name), new)
        for which, answers in ((commit[:12], old), ("this version", new)):
            unknown.update(f"not in {which}: {' '.join(k.split()[1:3])}" for k, v in answers.items() if v == UNKNOWN)
    explained = [Explanation(**item) for item in yaml.safe_load((HERE / "explained.yaml").read_text())]
    lines, wrong = report(found, explained)
    print(f"{len(played)} stores: {commit[:12]} {took[0]} and {took[1]}; this version {took[2]}")
    print(*(f"{number:6} {text}" for text, number in sorted(unknown.items())), *lines, sep="\n")
    return int(wrong > 0)


if __name__ == "__main__":
    # Make passes no COMMIT where BASE decides.
    words = sys.argv[1:]
    number = int(words.pop()) if words and words[-1].isdigit() and len(words[-1]) < 4 else 6
    sys.exit(main(words[0] if words else (HERE / "BASE").read_text().strip(), number))
