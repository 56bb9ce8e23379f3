"""Secrets in code, in files that somebody edited, in recipes, and in what errors repeat: none is written or said."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.e2e.secret_matrix_support import EVERY, FEW, Matrix, offline, read_all, sizes
from tests.contract.e2e.test_e2e_secret_matrix import matrix
from tests.stored import at

__all__ = ["matrix"]

Git = Callable[..., str]


@pytest.mark.slow
def test_code_and_where_it_stands(cli: Cli, folder: Path, git: Git, matrix: Matrix) -> None:
    assert cli("start", "moe", "--prefix", "MOE").code == 0
    words = matrix.words
    names = [f"{text}.txt" for text in matrix.plant("file name", words)]
    for name, text in zip(names, matrix.plant("untracked file", words), strict=True):
        (folder / name).write_text(text)
    (folder / "all.txt").write_text(matrix.one("untracked"))
    (folder / "bench.py").write_text(f"print('RESULT tflops=1.5')\n'''{matrix.one('diff')}'''\n")
    (folder / ".netrc").write_text(matrix.one("staged"))
    git("add", ".netrc")
    for n, text in enumerate(matrix.plant("remote", words)):
        git("remote", "add", f"r{n}", f"https://me:{text}@example.org/x")
    git("remote", "add", "origin", f"https://{matrix.plant('origin', words)[0]}@example.org/acme/moe.git")
    for number, branch in enumerate(matrix.plant("branch", words)[:3]):
        git("checkout", "-q", "-b", f"b/{re.sub('[^A-Za-z0-9_-]', '', branch) if '..' in branch else branch}")
        place = folder / matrix.plant("cwd", words)[number]
        place.mkdir()
        ran = cli("run", "--cwd", str(place), "--", "python3", "../bench.py", "all.txt", "../all.txt", *names)
        assert matrix.hear("run", ran).code == 0, ran.err
    ran = matrix.hear("run", cli("run", "--", "python3", "bench.py", "all.txt", *names))
    assert ran.code == 0, ran.err
    read_all(cli, matrix, "MOE-000", "MOE-003")
    offline(cli, matrix, folder)
    matrix.nothing_leaked(folder)
    assert len(list((folder / "logbooks/moe/code").iterdir())) > 3


@pytest.mark.slow
def test_recipes_and_sweeps(cli: Cli, folder: Path, matrix: Matrix) -> None:
    assert cli("start", "moe", "--prefix", "MOE", "--metric", "tflops").code == 0
    (folder / "recipes").mkdir()
    import yaml

    cases = [{"x": text} for text in matrix.plant("case", matrix.words)[:6]]
    braced = [text.replace("{", "{{").replace("}", "}}") for text in matrix.plant("command")]
    recipe = {
        "name": "r",
        "question": matrix.one("question"),
        "method": matrix.one("method"),
        "criteria": [matrix.one("criterion")],
        "command": [
            "sh",
            "-c",
            "echo RESULT tflops=1 x=$0; echo $0 $1",
            "{x}",
            "--api_key={api_key}",
            *braced,
        ],
        "fixed": {"api_key": matrix.values("fixed")["api_key"]},
        "cases": cases,
        "env": {k.replace("-", "_"): v for k, v in matrix.values("recipe env").items()},
        "setup": [{"label": "Say", "argv": ["true", *matrix.plant("setup")]}],
        "metrics": ["tflops"],
    }
    (folder / "recipes/r.yaml").write_text(yaml.safe_dump(recipe, sort_keys=False))
    for words in ([], ["r", "--dry-run"], ["r", "--dry-run", "--json"], ["r", "--json"]):
        answer = cli("sweep", *words)
        # Cases whose secret was hidden are the same case: the sweep says so and ends with 1.
        assert answer.code in (0, 1), answer.err
        said = answer.out if "--dry-run" not in words else answer.out + answer.err
        matrix.said.append((f"sweep {words}", said))
    read_all(cli, matrix, "MOE-000")
    offline(cli, matrix, folder)
    matrix.nothing_leaked(folder)
    assert at(folder / "logbooks/moe/runs/MOE-000/sweep.csv").is_file()
    pair = [f"--axis=api_key={','.join(list(matrix.values('--axis').values())[:2])}", "--pairs", "2"]
    said = cli("ab", *pair, "--json", "--", "sh", "-c", "echo RESULT tflops=1", "--api_key={api_key}")
    matrix.said.append(("ab", said.out))
    matrix.nothing_leaked(folder)


TYPOS = (
    ["{}"],
    ["list", "--{}"],
    ["run", "--config", "{}", "--", "true"],
    ["run", "--timeout", "{}", "--", "true"],
    ["run", "--cwd", "{}", "--", "true"],
    ["run", "--", "{}"],
    ["edit", "MOE-000", "--confidence", "{}"],
    ["note", "--title", "@{}"],
    ["sweep", "{}"],
    ["table", "MOE-000", "--pivot", "{}"],
    ["compare", "{}", "MOE-000"],
    ["link", "{}"],
    ["-L", "{}", "list"],
    ["start", "{}", "--prefix", "X"],
    ["criteria", "--predicate", "{}"],
)


@pytest.mark.parametrize("kinds", sizes(FEW[:4]))
@pytest.mark.slow
def test_errors_repeat_no_secret(cli: Cli, folder: Path, kinds: tuple[object, ...]) -> None:
    matrix = Matrix(kinds=tuple(kind for kind in EVERY if kind in kinds))
    assert cli("start", "moe", "--prefix", "MOE").code == 0
    assert cli("note", "--title", "a note").code == 0
    for n, words in enumerate(TYPOS):
        for text in [
            *matrix.plant(f"typo {n}"),
            *(f"{k}={v}" for k, v in list(matrix.values(f"typo {n}").items())[:2]),
        ]:
            typed = [word.format(text) for word in words]
            matrix.hear(" ".join(words), cli(*typed))
            matrix.hear(" ".join(words), cli(*typed[:-1], typed[-1], "--json") if "--" not in typed else cli("list"))
    for n, text in enumerate(matrix.plant("logbook.toml")):
        for line in (
            f"root = {text!r} x",
            f"{json.dumps(text)} = 1",
            f"require = [{json.dumps(text)}]",
        ):
            (folder / "logbook.toml").write_text(line)
            matrix.hear(f"logbook.toml {n}", cli("list"))
            matrix.hear(f"logbook.toml {n}", cli("run", "--json", "--", "true"))
    (folder / "logbook.toml").unlink()
    matrix.nothing_leaked(folder)


@pytest.mark.slow
def test_a_secret_written_in_pieces(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe cuts anywhere: bytes that come one by one, with pauses, are still seen as one secret."""
    secret = "Zx9-around-us-k1Wd5"
    monkeypatch.setenv("API_TOKEN", secret)
    script = (
        "import os, time\n"
        "for n, b in enumerate(os.environ['API_TOKEN'].encode()):\n"
        "    os.write(1, bytes([b])); time.sleep(0.4 if n in (3, 12) else 0)\n"
        "os.write(1, b'\\n')\n"
    )
    tool = [sys.executable, "-m", "logbook_agent"]
    subprocess.run([*tool, "start", "moe", "--prefix", "MOE"], check=True, capture_output=True)
    subprocess.run([*tool, "run", "--", sys.executable, "-c", script], check=True, capture_output=True)
    files = [p for p in (folder / "logbooks").rglob("*") if p.is_file()]
    assert not [p for p in files if secret.encode() in p.read_bytes()]
    assert "$API_TOKEN" in at(folder / "logbooks/moe/runs/MOE-000/01/output.log").read_text()
