"""The core works in a copy of the package without the folder of a feature; commands of that feature are not there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from logbook_agent import features
from logbook_agent.features import FEATURES

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def without(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The folder of a package that lacks the feature."""
    top = tmp_path / "without"
    skipped = shutil.ignore_patterns("__pycache__", request.param)
    shutil.copytree(ROOT / "logbook_agent", top / "logbook_agent", ignore=skipped)
    for name in ("templates", "recipes"):
        (top / name).symlink_to(ROOT / name)
    return top


# Each argument is a command line; the first that fails ends it.
SEVERAL = """
import shlex, sys
from logbook_agent.cli import main
sys.exit(next((line for line in sys.argv[1:] if main(shlex.split(line)) != 0), 0))
"""


def logbook(top: Path, cwd: Path, *words: str, code: str = "") -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "PYTHONPATH": str(top)}
    argv = [sys.executable, "-c", code or "from logbook_agent.cli import entry; entry()", *words]
    return subprocess.run(argv, cwd=cwd, env=environ, capture_output=True, text=True, check=False)


def test_what_a_folder_leaves_behind_is_no_feature(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cluster/__pycache__").mkdir(parents=True)
    monkeypatch.setattr(features, "_PACKAGE", tmp_path)
    assert features.present() == []


@pytest.mark.slow
@pytest.mark.parametrize("without", [f.name for f in FEATURES], indirect=True)
def test_the_core_does_without(without: Path, folder: Path, request: pytest.FixtureRequest) -> None:
    name = request.node.callspec.params["without"]
    [feature] = [one for one in FEATURES if one.name == name]
    shown = logbook(without, folder, "--help").stdout
    assert [command.name for command in feature.commands if f"\n  {command.name} " in shown] == []
    done = logbook(
        without, folder,
        "start moe --prefix MOE --metric tflops:max:TF/s",
        "run -- sh -c 'echo RESULT tflops=1'",
        "run --detach -- sh -c 'echo RESULT tflops=2'",
        "wait",
        "ab --axis x=1,2 --repeat 2 -- sh -c 'echo RESULT tflops={axis}'",
        "note Decided --kind decision",
        "render",
        "doctor",
        code=SEVERAL,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    status = json.loads(logbook(without, folder, "status", "--json").stdout)
    assert "MOE-003" in json.dumps(status)
    if name == "predict":
        refused = logbook(without, folder, "sweep", "ep-forms", "--predict", "v5p-8")
        assert "error: --predict is not available" in refused.stderr
    if name == "formats":
        refused = logbook(without, folder, "run", "--read", "hyperfine", "--", "true", "{file}")
        assert "error: --read is not available" in refused.stderr
    api = "from logbook_agent import Logbook; print(Logbook.open().status()['entries']['total'])"
    assert logbook(without, folder, code=api).stdout == "4\n"
    for kind in feature.executors:
        settings = Path(os.environ["XDG_CONFIG_HOME"]) / "logbook-agent/config.toml"
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text(f'[executors.box]\nkind = "{kind}"\n')
        refused = logbook(without, folder, "run", "--on", "box", "--", "true")
        assert refused.returncode == 2
        assert f"the feature '{name}' is missing" in refused.stderr
