"""The core works in a copy of the package without the folder of a feature; commands of that feature are not there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from logbook_agent.features import FEATURES
from tests.conftest import Answer

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def without(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The folder of a package that lacks the feature. Its bytecode comes along: to compile it anew takes seconds."""
    top = tmp_path / "without"
    shutil.copytree(ROOT / "logbook_agent", top / "logbook_agent", ignore=shutil.ignore_patterns(request.param))
    for name in ("templates", "recipes"):
        (top / name).symlink_to(ROOT / name)
    return top


# Each argument is a command line; their answers are printed as JSON: exit code, stdout, stderr.
SEVERAL = """
import json, os, shlex, sys, tempfile
from logbook_agent.cli import main
def api():
    from logbook_agent import Logbook
    print(Logbook.open().status()["entries"]["total"])
kept = [os.dup(1), os.dup(2)]
answers = []
for line in sys.argv[1:]:
    files = [tempfile.TemporaryFile(), tempfile.TemporaryFile()]
    for place, file in enumerate(files, 1):
        os.dup2(file.fileno(), place)
    code = api() or 0 if line == "api" else main(shlex.split(line))
    sys.stdout.flush(), sys.stderr.flush()
    for place, saved in enumerate(kept, 1):
        os.dup2(saved, place)
    answers.append([code, *(os.pread(file.fileno(), 1 << 20, 0).decode() for file in files)])
print(json.dumps(answers))
"""


def logbook(top: Path, cwd: Path, *lines: str) -> list[Answer]:
    """What each of these command lines answers in a process of that package; `api` counts the entries in Python."""
    environ = {**os.environ, "PYTHONPATH": str(top)}
    done = subprocess.run(
        [sys.executable, "-c", SEVERAL, *lines], cwd=cwd, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return [Answer(*one) for one in json.loads(done.stdout)]


# What an option says that needs the feature.
REFUSED = {
    "formats": ("run --read hyperfine -- true {file}", "error: --read is not available"),
}


@pytest.mark.slow
@pytest.mark.parametrize("without", [f.name for f in FEATURES], indirect=True)
def test_the_core_does_without(without: Path, folder: Path, request: pytest.FixtureRequest) -> None:
    name = request.node.callspec.params["without"]
    [feature] = [one for one in FEATURES if one.name == name]
    shown, *done, status, total, refused = logbook(
        without, folder,
        "--help",
        "start moe --prefix MOE --metric tflops:max:TF/s",
        "run -- sh -c 'echo RESULT tflops=1'",
        "run --detach -- sh -c 'echo RESULT tflops=2'",
        "wait",
        "ab --axis x=1,2 --pairs 2 -- sh -c 'echo RESULT tflops={axis}'",
        "note Decided --kind decision",
        "render",
        "doctor",
        "status --json",
        "api",
        REFUSED.get(name, ("status", ""))[0],
    )  # fmt: skip
    assert [command.name for command in feature.commands if f"\n  {command.name} " in shown.out] == []
    assert "\n  status " in shown.out
    assert [answer.err for answer in done if answer.code != 0] == []
    assert "MOE-003" in json.dumps(status.data)
    assert total.out == "4\n"
    assert REFUSED.get(name, ("status", ""))[1] in refused.err
    for kind in feature.executors:
        settings = Path(os.environ["XDG_CONFIG_HOME"]) / "logbook-agent/config.toml"
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text(f'[executors.box]\nkind = "{kind}"\n')
        [refused] = logbook(without, folder, "run --on box -- true")
        assert refused.code == 2
        assert f"the feature '{name}' is missing" in refused.err
