"""Secrets that somebody typed by hand into files which were pulled: none comes out by any exit.

Every text of a record holds secrets of its own, so that a leak names its place; every exit is a test. One entry and one
run are damaged by a secret, which errors quote. Names that files are found by, and the values of choices, hold none
(`_NEEDED`), but for the damaged ones.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import Cli
from tests.contract.e2e.secret_matrix_support import FEW, Matrix, sizes
from tests.contract.report.live.live_support import serving
from tests.seams import Logbook, in_a_cell
from tests.stored import at

pytestmark = pytest.mark.slow


def _plant(matrix: Matrix, place: str, data: Any) -> Any:
    """The data with secrets in every text, list of texts and mapping of it but what files are found by and choices."""
    if isinstance(data, dict):
        return {
            key: value
            if key in _NEEDED
            else f"{value} {matrix.plant(f'{place}.{key}', matrix.words[:1])[0]}"
            if isinstance(value, str) and key not in _PROSE
            else f"{value}\n{matrix.one(f'{place}.{key}')}"
            if isinstance(value, str)
            else {**value, **matrix.values(f"{place}.{key}")}
            if key in ("config", "labels", "declared")
            else _plant(matrix, f"{place}.{key}", value)
            for key, value in data.items()
        }
    if isinstance(data, list):
        if all(isinstance(value, str) for value in data):
            flags = [w for k, v in matrix.values(f"{place} flags").items() for w in (f"--{k}", v)]
            return [*data, *matrix.plant(f"{place}[]"), *(flags if place.endswith("argv") else [])]
        return [_plant(matrix, f"{place}[{n}]", value) for n, value in enumerate(data)]
    return data


_PROSE = ("text", "goal", "summary", "conclusion")
_NEEDED = (
    *("id", "entry", "topic", "prefix", "opened", "kind", "zone", "name", "direction", "state", "confidence", "format"),
    *(
        "started",
        "ended",
        "at",
        "digest",
        "sha256",
        "commit",
        "tree",
        "identity",
        "kept",
        "diff_kept",
        "host",
        "stream",
    ),
    *("code", "tool", "child", "exit", "executor", "metrics", "devices", "software", "contention", "plots"),
)


@pytest.fixture(scope="module")
def made() -> list[Matrix]:
    """What was planted, once the first test has done it."""
    return []


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where it is kept. With xdist the tests of a module can come in several parts, which share no folder."""
    return tmp_path_factory.mktemp("pulled")


@pytest.fixture(params=sizes(FEW))
def pulled(request: pytest.FixtureRequest, cli: Cli, folder: Path, made: list[Matrix], kept: Path) -> Matrix:
    """The records with secrets: made once, and copied for each test, as a pull would bring them."""
    if not made:
        made.append(_planted(Matrix(kinds=request.param), cli, folder))
        shutil.copytree(folder, kept, dirs_exist_ok=True)
    else:
        shutil.copytree(kept, folder, dirs_exist_ok=True)
    return dataclasses.replace(made[0], said=[])


def _planted(matrix: Matrix, cli: Cli, folder: Path) -> Matrix:
    assert cli("start", "moe", "--prefix", "MOE", "--goal", "a goal", "--stop", "a stop", "--metric", "tflops:max",
               "--constraint", "c", "--baseline", "topk=2", "--baseline-source", "s",
               "--link", "L=https://a.example/1").code == 0  # fmt: skip
    for topk in (2, 4):
        assert cli("run", "--hypothesis", "h", "--interpretation", "i", "--label", "l", "--config", "c=1", "--",
                   "echo", f"RESULT topk={topk} tflops={topk} word=w").code == 0  # fmt: skip
    several = "for k in 1 2 4 8; do echo RESULT topk=$k tflops=$k word=w; done"
    assert cli("run", "--title", "s", "--", "sh", "-c", several).code == 0
    assert cli("note", "--plan", "--title", "t", "--command", "L: echo x").code == 0
    assert cli("note", "--kind", "decision", "--title", "t", "--field", "Decision=d").code == 0
    there = folder / "logbooks/moe"
    for path in (there / "logbook.yaml", *sorted((there / "entries").iterdir())):
        data = _plant(matrix, path.name, yaml.safe_load(path.read_text()))
        if path.name != "logbook.yaml":
            # Labels that tell what stands under them.
            data["fields"] = data.get("fields", []) + [
                {"label": k, "text": v} for k, v in matrix.values(f"{path.name} label").items()
            ]
        path.write_text(yaml.safe_dump(data, sort_keys=False))
    for path in there.glob("runs/*/01.*/run.json"):
        data = _plant(matrix, path.parts[-3], json.loads(path.read_text()))
        data["problems"] = matrix.plant(f"{path.parts[-3]} problems")
        path.write_text(json.dumps(data))
    _damage(matrix, there)
    return matrix


def _damage(matrix: Matrix, there: Path) -> None:
    """A log with secrets; an entry and a run in which they stand where they make the record unreadable."""
    with at(there / "runs/MOE-000/01/output.log").open("a") as log:
        log.write("\n".join(["", *matrix.plant("log"), "end"]))
    damaged = at(there / "entries/MOE-005.yaml")
    data = {**yaml.safe_load(at(there / "entries/MOE-004.yaml").read_text()), "id": "MOE-005", "title": "damaged"}
    damaged.write_text(yaml.safe_dump({**data, "kind": matrix.plant("kind", matrix.words[:1])[0]}, sort_keys=False))
    run = there / "runs" / at(there / "entries/MOE-004.yaml").stem / "01/run.json"
    run.parent.mkdir(parents=True)
    plain = json.loads(at(there / "runs/MOE-000/01/run.json").read_text())
    duration = matrix.plant("duration of a run", matrix.words[:1])[0]
    run.write_text(json.dumps({**plain, "duration_s": duration}))


def said(*commands: str) -> Callable[[Cli, Path, Matrix], list[str]]:
    """What commands print, as text and as JSON."""

    def leave(cli: Cli, folder: Path, matrix: Matrix) -> list[str]:
        for words in commands:
            answer = cli(*words.split())
            assert answer.code in (0, 1), (words, answer)
            matrix.hear(words, answer)
            matrix.hear(f"{words} --json", cli(*words.split(), "--json"))
        return []

    return leave


def written(words: str, place: str) -> Callable[[Cli, Path, Matrix], list[str]]:
    """What a command writes into files."""

    def leave(cli: Cli, folder: Path, matrix: Matrix) -> list[str]:
        answer = matrix.hear(words, cli(*words.split()))
        assert answer.code in (0, 1), answer
        files = [path for path in folder.glob(place) if path.is_file()]
        assert files
        return [leak for path in files for leak in matrix.leaks(path.read_bytes())]

    return leave


def from_python(cli: Cli, folder: Path, matrix: Matrix) -> list[str]:
    book = Logbook.open()
    records = [book.record("MOE-000"), *book.records()]
    texts = [repr(records), repr([(r.entry, r.runs) for r in records]), repr(book.status()), repr(book.search("h"))]
    texts += [in_a_cell(book), *map(in_a_cell, records), repr(book)]
    refused = [lambda name=name: book.record(name) for name in ("MOE-004", "MOE-005")]
    for ask in (*refused, lambda: book.edit("MOE-005", interpretation="more")):
        with pytest.raises(Exception) as raised:  # noqa: PT011 - what any error of ours says
            ask()
        assert all(hasattr(raised.value, part) for part in ("message", "cause", "hint")), raised.value
        texts += ["".join(traceback.format_exception(raised.value)), repr(vars(raised.value))]
    return matrix.leaks("\n".join(texts).encode())


def issue(cli: Cli, folder: Path, matrix: Matrix) -> list[str]:
    """An issue is opened of a logbook that can be read alone."""
    at(folder / "logbooks/moe/entries/MOE-005.yaml").unlink()
    shutil.rmtree(at(folder / "logbooks/moe/runs/MOE-004"))
    return written("sync --offline issue", "issue/**/*")(cli, folder, matrix)


def live(cli: Cli, folder: Path, matrix: Matrix) -> list[str]:
    """The pages that `logbook report --serve` shows."""
    with serving(cwd=folder) as served:
        answers = [served.ask(path) for path in ("/", "/moe.html")]
    texts = [text for _, text in answers]
    assert [answer.status for answer, _ in answers] == [200, 200]
    assert "MOE-000" in texts[1]
    return matrix.leaks("".join(texts).encode())


EXITS: dict[str, Callable[[Cli, Path, Matrix], list[str]]] = {
    "terminal and JSON": said("list", "status", "show MOE-000", "show MOE-003"),
    "logs": said("show MOE-000 --log --tail 40", "wait MOE-000 --follow"),
    "tables": said("table", "compare MOE-000 MOE-001", "list h", "criteria", "list --tried", "baseline"),
    "whole records": said("doctor --fix"),
    "view after a change": written("edit MOE-001 --next more", "logbooks/moe.md"),
    "issue": issue,
    "page": written("report --out site", "site/**/*"),
    "CSV": written("export --as csv --out rows.csv", "rows.csv"),
    "JSON lines": written("export --as json --out rows.json", "rows.json"),
    "plots": written("plot MOE-002", "logbooks/moe/plots/*"),
    "Python": from_python,
    "live pages": live,
}


@pytest.mark.parametrize("way", EXITS)
def test_no_secret_of_a_pulled_record_leaves(cli: Cli, folder: Path, pulled: Matrix, way: str) -> None:
    leaks = EXITS[way](cli, folder, pulled)
    found = pulled.in_answers() | ({way: leaks} if leaks else {})
    if found:
        pytest.fail(json.dumps(found, indent=1), pytrace=False)
