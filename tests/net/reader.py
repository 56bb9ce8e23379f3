"""Type every command at stores, and keep what it said: python -m tests.net.reader STORES PLACE OUT COUNT SHARE OF.

Of the generated stores, the first COUNT are read. A store is copied to PLACE/NNN, where the other version has it, too;
its answers go to OUT/NNN.json, {command: {"code", "out", "err"}}, with the files of the logbook at the end. PYTHONPATH
names the package.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.net.caller import call, stop_the_clock

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
WRITES = {"run", "note", "plan", "edit", "ab", "close", "start"}
# What a machine writes of itself into the folder of logbooks, and pictures, which are drawn of the same data.
STATE = re.compile(r"(^|/)(\.[^/]*|.*\.(log|svg|lock))(/|$)")


def commands(work: Path) -> Iterator[list[str]]:
    """What is typed, in this order: first what reads, then what changes the view and the records."""
    yield ["list"]
    yield ["executors", "--offline"]
    for header in sorted((work / "logbooks").glob("*/logbook.yaml")):
        yield from of_one(header.parent)
    for name in ("grid", "modes"):
        if (work / f"recipes/{name}.yaml").exists():
            yield ["-L", "moe", "sweep", name, "--dry-run"]
    yield ["start", "another", "--prefix", "AN", "--metric", "tflops:max:TF/s"]


def of_one(folder: Path) -> Iterator[list[str]]:
    ids = sorted(path.stem for path in (folder / "entries").glob("*.yaml"))
    book = ["-L", folder.name]
    for words in (
        ["status"],
        ["list"],
        ["list", "--tried"],
        ["criteria"],
        ["baseline"],
        ["link"],
        ["wait"],
        ["table"],
        ["table", "--csv"],
        ["lease", "list"],
    ):
        yield [*book, *words]
    yield [*book, "doctor"]
    for one in ids:
        yield [*book, "show", one]
        yield [*book, "compare", one]
        yield [*book, "table", one]
    for one, other in itertools.pairwise(ids):
        yield [*book, "compare", one, other]
        yield [*book, "table", one, other, "--delta"]
    for words in (["list", "tflops"], ["list", "faster"], ["export", "--as", "json", "--out", "-"]):
        yield [*book, *words]
    yield [*book, "export", "--as", "csv", "--out", "-"]
    yield [*book, "sync", "--create", "--repo", "acme/moe", "--offline", f"../offline/{folder.name}"]
    yield [*book, "doctor", "--prune", "--dry-run"]
    yield [*book, "render", "--absorb", "--dry-run"]
    yield [*book, "report", "--no-logs"]
    yield [*book, "render"]
    yield [*book, "doctor", "--fix"]
    yield [*book, "note", "--title", "The last", "--next", "Nothing"]
    yield [*book, "run", "--hypothesis", "It counts.", "--", "sh", "-c", "echo RESULT tflops=2.5 topk=2"]
    if ids:
        yield [*book, "edit", ids[0], "--interpretation", "As expected."]
        yield [*book, "edit", ids[-1], "--state", "void", "--reason", "the wrong branch"]
    pairs = ["ab", "--axis", "topk=1,2", "--seed", "3", "--repeat", "2"]
    yield [*book, *pairs, "--", "echo", "RESULT", "tflops={axis}.5", "time_s=0.{axis}"]
    yield [*book, "plan", "--title", "Later", "--command", "Baseline: echo RESULT tflops=1"]
    yield [*book, "status", "--summary", "It goes well."]
    yield [*book, "status"]
    yield [*book, "close", "--reopen"]


def read(store: Path, place: Path) -> dict[str, Any]:
    """What each command said of the store, with and without --json."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(store, place, symlinks=True)
    work = place / "work"
    os.chdir(work)
    if not (work / ".git").exists():
        for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "All"]):
            subprocess.run(["git", *words], check=True, capture_output=True)
    found: dict[str, Any] = {}
    for number, words in enumerate(commands(work)):
        # What writes is typed once; --json before what a command is given to run.
        at = words.index("--") if "--" in words else len(words)
        as_data = [*words[:at], "--json", *words[at:]]
        for typed in [as_data] if WRITES & {*words[:3]} else [words, as_data]:
            answer = call(*typed)
            said = as_json(answer.out) if "--json" in typed else answer.out.splitlines()
            found[f"{number:03d} {' '.join(typed)}"] = {
                "code": answer.code,
                "out": said,
                "err": answer.err.splitlines(),
            }
    for folder in (work / "logbooks", place / "offline"):
        for path in sorted(folder.rglob("*")):
            name = str(path.relative_to(place))
            if path.is_file() and not STATE.search(name):
                text = path.read_text(errors="replace")
                found[f"file {name}"] = as_json(text) if path.suffix == ".json" else text.splitlines()
    page = work / "logbooks/.report"
    found |= {f"file {path.name}": path.read_text().splitlines() for path in sorted(page.glob("*.html"))}
    shutil.rmtree(place)
    return found


def as_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text.splitlines()


def main(stores: Path, place: Path, out: Path, count: int, share: int, shares: int) -> None:
    stop_the_clock(lambda: NOW)
    out.mkdir(parents=True, exist_ok=True)
    made = [store for store in sorted(stores.iterdir()) if "." not in store.name]
    wanted = [store for store in made if not store.name.isdigit() or int(store.name) < count]
    for store in wanted[share::shares]:
        if not (kept := out / f"{store.name}.json").exists():
            found = read(store, place / store.name)
            kept.with_suffix(".new").write_text(json.dumps(found))
            kept.with_suffix(".new").rename(kept)
            print(f"read {store.name}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(*(Path(word).resolve() for word in sys.argv[1:4]), *map(int, sys.argv[4:7]))
