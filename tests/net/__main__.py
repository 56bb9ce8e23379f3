"""Read many stores by an earlier version and by this one, and list each difference: python -m tests.net COMMIT [COUNT].

200 generated stores (COUNT: fewer), our own logbooks and the stores of tests/stores are read by every command, with and
without --json. What differs between two readings by the earlier version is a fact of the moment and left out. The
differences are grouped by command and place; explained.yaml lists those that were wanted. What was made and read is
kept in build/net. Exit code 1: a difference has no explanation.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).resolve().parent
TREE = HERE.parent.parent
BUILD = TREE / "build/net"
WORKERS = os.cpu_count() or 1
ID = re.compile(r"\b[A-Z][A-Z0-9]*(-[A-Z0-9]+)*-\d{3}\b")

NAMES = ("once", "twice")

Flat = dict[str, Any]


def environment(home: Path, *path: Path) -> dict[str, str]:
    """Nothing of the machine's user; the same for both versions."""
    return {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": ":".join(map(str, path)),
        "HOME": str(home),
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
    stores = BUILD / "stores"
    in_parallel("tests.net.stores", [str(stores), str(count)], base)
    for name in ("format-1", "synced-1"):
        if not (there := stores / name / "work/logbooks").exists():
            shutil.copytree(base / "tests/stores" / name, there)
    if not (there := stores / "ours/work/logbooks").exists():
        shutil.copytree(base / "logbooks", there)
    return stores


def flat(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of an answer, by their places."""
    if isinstance(value, dict | list) and value:
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from flat(part, f"{place}/{key}")
    else:
        yield place, value


def read(path: Path) -> Flat:
    found: Flat = json.loads(re.sub(r"finished in [\d.]+ s", "finished in a moment", path.read_text()))
    return found


def differences(one: Flat, other: Flat) -> dict[str, tuple[Any, Any]]:
    first, second = dict(flat(one)), dict(flat(other))
    missing = "(absent)"
    places = dict.fromkeys([*first, *second])
    return {p: (a, b) for p in places if (a := first.get(p, missing)) != (b := second.get(p, missing))}


def kind(place: str) -> str:
    """A place without numbers and IDs, by which differences of one cause are one."""
    return re.sub(r"\d+", "N", ID.sub("ID", place.partition(" ")[2] if place[1:4].isdigit() else place))


def main(commit: str, count: int) -> int:
    commit = subprocess.run(
        ["git", "rev-parse", "--short=12", commit], cwd=TREE, check=True, capture_output=True, text=True
    ).stdout.strip()
    stores = stores_of(commit, count)
    packages = tree_of(commit) / "packages"
    place = BUILD / "at"
    for name in NAMES:
        in_parallel("tests.net.reader", [str(stores), str(place), str(BUILD / commit / name)], packages, TREE)
    now = BUILD / "now"
    shutil.rmtree(now, ignore_errors=True)
    in_parallel("tests.net.reader", [str(stores), str(place), str(now)], TREE)
    found: dict[str, list[str]] = defaultdict(list)
    moment: set[str] = set()
    for path in sorted(now.glob("*.json")):
        moment |= {kind(p) for p in differences(*(read(BUILD / commit / name / path.name) for name in NAMES))}
    for path in sorted(now.glob("*.json")):
        for where, (was, is_now) in differences(read(BUILD / commit / "once" / path.name), read(path)).items():
            if kind(where) not in moment:
                found[kind(where)].append(f"{path.stem} {where}\n    was {was!r:.300}\n    is  {is_now!r:.300}")
    explained = yaml.safe_load((HERE / "explained.yaml").read_text()) or []
    missing = 0
    for where, examples in sorted(found.items()):
        why = next((item["why"] for item in explained if re.search(item["place"], where)), None)
        missing += why is None
        print(f"{len(examples):6} {where}: {why or 'NOT EXPLAINED'}")
        if why is None:
            print(f"  {examples[0]}")
    print(f"{len(list(now.glob('*.json')))} stores; {len(found)} kinds of difference, {missing} without an explanation")
    return int(missing > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 200))
