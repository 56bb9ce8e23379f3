"""Read many stores by an earlier version and by this one, and list each difference: python -m tests.net COMMIT [COUNT].

200 generated stores (COUNT: fewer), our own logbooks and the stores of tests/stores are read by every command, with and
without --json. What differs between two readings of a store by the earlier version is a fact of the moment and left out
at that place. explained.yaml lists the differences that were wanted; the others are grouped by command and place. What
was made, and what the earlier version said, is kept in build/net until the code changes that makes and reads it. Exit
code 1: a difference has no explanation.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).resolve().parent
TREE = HERE.parent.parent
MAKERS = [HERE / f"{name}.py" for name in ("caller", "mixed", "reader", "stores")]
BUILD = TREE / "build/net" / hashlib.sha256(b"".join(path.read_bytes() for path in MAKERS)).hexdigest()[:12]
WORKERS = os.cpu_count() or 1
ID = re.compile(r"\b[A-Z][A-Z0-9]*(-[A-Z0-9]+)*-\d{3}\b")

NAMES = ("once", "twice")

Answers = dict[str, Any]
ABSENT = "(absent)"


def environment(home: Path, *path: Path) -> dict[str, str]:
    """Nothing of the machine's user; the same for both versions."""
    return {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": ":".join(map(str, path)),
        "HOME": str(home),
        "TMPDIR": str(home / "temporary"),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_STATE_HOME": str(home / "state"),
        "XDG_CACHE_HOME": str(home / "cache"),
        "LOGBOOK_QUEUE": str(home / "queue"),
        "LOGBOOK_DEVICES": "none",
        "LOGBOOK_HOST_ROOT": str(TREE / "tests/running/quiet"),
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


def in_parallel(module: str, words: list[str], *path: Path) -> None:
    """One process a core, each with its share: every WORKERS-th."""
    home = BUILD / "home"
    shutil.rmtree(home, ignore_errors=True)
    for n in range(WORKERS):
        (home / f"{n}/temporary").mkdir(parents=True)
    started = [
        subprocess.Popen(
            [sys.executable, "-P", "-m", module, *words, str(n), str(WORKERS)],
            env=environment(home / str(n), *path),
            cwd=BUILD,
        )
        for n in range(WORKERS)
    ]
    codes = [process.wait() for process in started]
    if any(codes):
        sys.exit("net: a process failed")


def tree_of(commit: str) -> Path:
    """The files of a commit."""
    place = BUILD / commit / "tree"
    if not place.exists():
        made = place.with_name("tree.new")
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir(parents=True)
        packed = subprocess.run(["git", "archive", commit], cwd=TREE, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x"], cwd=made, input=packed, check=True)
        for name in ("logbook_agent", "bench_core", "templates", "recipes"):
            (made / "packages").mkdir(exist_ok=True)
            shutil.copytree(made / name, made / "packages" / name)
        # Its own oracle generates the stores: also for a version that had no net.
        shutil.copytree(HERE, made / "tests/net", dirs_exist_ok=True)
        made.rename(place)
    return place


def stores_of(commit: str, count: int) -> Path:
    """The folder of stores: generated ones, our own and those of every format."""
    base = tree_of(commit)
    stores = BUILD / commit / "stores"
    in_parallel("tests.net.stores", [str(stores), str(count)], base)
    for fixture in (base / "tests/stores").iterdir():
        if fixture.is_dir() and not (there := stores / fixture.name / "work/logbooks").exists():
            shutil.copytree(fixture, there)
    if not (there := stores / "ours/work/logbooks").exists():
        shutil.copytree(base / "logbooks", there)
    return stores


@dataclass(frozen=True)
class Difference:
    """What two versions said at one place of a store: a value of JSON, or lines of a text."""

    store: str
    place: str
    was: str
    now: str

    @property
    def kind(self) -> str:
        """The place without numbers and IDs, by which differences of one cause are one."""
        return re.sub(r"\d+", "N", ID.sub("ID", self.place))

    def __str__(self) -> str:
        return f"{self.store} {self.place}\n    was {self.was:.600}\n    is  {self.now:.600}"


@dataclass(frozen=True)
class Explanation:
    """Why differences are wanted whose kind of place, and `WAS -> NOW`, are matched as a whole by two patterns."""

    why: str
    place: str
    change: str

    def covers(self, difference: Difference) -> bool:
        change = f"{difference.was} -> {difference.now}"
        return all(re.fullmatch(*pair, re.DOTALL) for pair in ((self.place, difference.kind), (self.change, change)))


def read(path: Path) -> Answers:
    found: Answers = json.loads(re.sub(r"finished in [\d.]+ s", "finished in a moment", path.read_text()))
    return found


def differences(store: str, once: Answers, twice: Answers, now: Answers) -> Iterator[Difference]:
    """Where `now` differs from `once`, without what differs between `once` and `twice`."""
    for key in dict.fromkeys([*once, *now]):
        place = re.sub(r"^\d+ ", "", key)
        yield from _compared(store, place, *(answers.get(key, ABSENT) for answers in (once, twice, now)))


def _compared(store: str, place: str, once: Any, twice: Any, now: Any) -> Iterator[Difference]:
    if once == now:
        return
    if isinstance(once, dict) and isinstance(now, dict):
        again = twice if isinstance(twice, dict) else once
        for key in dict.fromkeys([*once, *now]):
            values = (answer.get(key, ABSENT) for answer in (once, again, now))
            yield from _compared(store, f"{place}/{key}", *values)
    elif isinstance(once, list) and isinstance(now, list):
        yield from _of_lists(store, place, once, twice if isinstance(twice, list) else once, now)
    elif once == twice:
        yield Difference(store, place, _as_text(once), _as_text(now))


def _of_lists(store: str, place: str, once: list[Any], twice: list[Any], now: list[Any]) -> Iterator[Difference]:
    """The items that were replaced, one by one where they are as many; else what went, and what came."""
    again = twice if len(twice) == len(once) else once
    old, new = ([json.dumps(item) for item in items] for items in (once, now))
    for change, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if change != "equal" and b - a == d - c:
            for i, j in zip(range(a, b), range(c, d), strict=True):
                yield from _compared(store, f"{place}/{i}", once[i], again[i], now[j])
        elif change != "equal":
            gone, come = ("\n".join(map(_as_text, part)) for part in (once[a:b], now[c:d]))
            yield Difference(store, f"{place}/{a}", gone, come)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def report(found: list[Difference], explained: list[Explanation]) -> int:
    """Print how many differences each explanation covers, then the others by kind; the number of these kinds."""
    covered = {item.why: 0 for item in explained}
    others: dict[str, list[Difference]] = defaultdict(list)
    for difference in found:
        reason = next((item for item in explained if item.covers(difference)), None)
        if reason is not None:
            covered[reason.why] += 1
        else:
            others[difference.kind].append(difference)
    for why, number in covered.items():
        print(f"{number:6} {why}")
    for kind, examples in sorted(others.items()):
        print(f"{len(examples):6} NOT EXPLAINED: {kind}\n  {examples[0]}")
    print(f"{len(found)} differences; {sum(map(len, others.values()))} without an explanation, of {len(others)} kinds")
    return len(others)


def main(commit: str, count: int) -> int:
    commit = subprocess.run(
        ["git", "rev-parse", "--short=12", commit], cwd=TREE, check=True, capture_output=True, text=True
    ).stdout.strip()
    stores = stores_of(commit, count)
    packages = tree_of(commit) / "packages"
    place = BUILD / "at"
    for name in NAMES:
        in_parallel(
            "tests.net.reader", [str(stores), str(place), str(BUILD / commit / name), str(count)], packages, TREE
        )
    now = BUILD / "now"
    shutil.rmtree(now, ignore_errors=True)
    started = time.monotonic()
    in_parallel("tests.net.reader", [str(stores), str(place), str(now), str(count)], TREE)
    took = time.monotonic() - started
    explained = [Explanation(**item) for item in yaml.safe_load((HERE / "explained.yaml").read_text())]
    found: list[Difference] = []
    for path in sorted(now.glob("*.json")):
        once, twice = (read(BUILD / commit / name / path.name) for name in NAMES)
        found += differences(path.stem, once, twice, read(path))
    print(f"{len(list(now.glob('*.json')))} stores, read by this version in {took:.0f} s")
    return int(report(found, explained) > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 200))
