"""action.yml: no text of others is a part of a script, other actions are pinned, and its steps do what they say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.contract.issue.gate.gate_support import Job

ROOT = Path(__file__).resolve().parents[4]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
INSTALL, MEASURE, KEEP = STEPS
HOSTILE = "'\"; touch hacked; $(touch hacked) `touch hacked` ${{ github.token }}"


def test_no_expression_stands_in_a_script() -> None:
    scripts = [step["run"] for step in STEPS if "run" in step]
    assert len(scripts) == 2
    assert not any("${{" in script or "github." in script for script in scripts)
    assert all(step["shell"] == "bash" for step in STEPS if "run" in step)


def test_other_actions_are_pinned_by_their_commit() -> None:
    assert [step["uses"] for step in STEPS if "uses" in step] == [KEEP["uses"]]
    assert re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", KEEP["uses"])


def test_every_input_and_output_leads_somewhere() -> None:
    values = [*INSTALL["env"].values(), *MEASURE["env"].values(), KEEP["with"]["name"]]
    used = {name for value in values for name in re.findall(r"inputs\.([a-z-]+)", value)}
    assert used == set(ACTION["inputs"])
    for name, output in ACTION["outputs"].items():
        assert output["value"] == f"${{{{ steps.measure.outputs.{name} }}}}"
    # Each variable that a step sets is one that its script reads.
    for step in (INSTALL, MEASURE):
        assert [name for name in step["env"] if f"${name}" not in step["run"] and f"${{{name}" not in step["run"]] in (
            [],
            ["GITHUB_TOKEN"],
        )


def inputs_of(step: dict[str, Any], given: dict[str, str], token: str = "") -> dict[str, str]:
    """The variables of a step, as GitHub fills them in."""
    found = {}
    for name, value in step["env"].items():
        [key] = re.fullmatch(r"\$\{\{ inputs\.([a-z-]+) \}\}", value).groups()  # type: ignore[union-attr]
        default = ACTION["inputs"][key]["default"]
        found[name] = token if key == "token" else given.get(key, default)
    return found


def execute(step: dict[str, Any], folder: Path, temp: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    script = temp / "step.sh"
    script.write_text(step["run"])
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
        cwd=folder,
        env={**os.environ, "RUNNER_TEMP": str(temp), "GITHUB_ACTION_PATH": str(ROOT), **env},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def tool(temp: Path, *, says: bool = False) -> Path:
    """What the first step installs: this Python's own, or one that prints its words and ends with 1."""
    place = temp / "logbook-ci-tool/bin/logbook"
    place.parent.mkdir(parents=True)
    code = "printf '%s\\n' \"$@\"; exit 1" if says else f'exec "{sys.executable}" -m logbook_agent "$@"'
    place.write_text(f"#!/bin/sh\n{code}\n")
    place.chmod(0o755)
    return place


@pytest.mark.slow
def test_the_first_step_installs_this_action(folder: Path, tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    python = programs / "python3"
    python.write_text('#!/bin/sh\necho "$@"\nmkdir -p "$3/bin"; ln -sf "$0" "$3/bin/python"\n')
    python.chmod(0o755)
    env = {**inputs_of(INSTALL, {}), "PATH": f"{programs}:/usr/bin:/bin"}
    done = execute(INSTALL, folder, tmp_path, env)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == f"-m pip install --quiet {ROOT}"
    done = execute(INSTALL, folder, tmp_path, {**env, "LOGBOOK_CI_INSTALL": HOSTILE})
    assert done.stdout.splitlines()[-1] == f"-m pip install --quiet {HOSTILE}"
    assert not (folder / "hacked").exists()


@pytest.mark.slow
def test_inputs_become_words(folder: Path, tmp_path: Path) -> None:
    tool(tmp_path, says=True)
    given = {
        "command": HOSTILE,
        "setup": f"a\n{HOSTILE}",
        "metrics": "\nstep_ms:min:ms\n\ntflops\n",
        "name": HOSTILE,
        "max-pairs": "--root=/",
        "options": "--set=a=1 2\n--dry-run",
        "base": "main",
        "fetch": "false",
    }
    done = execute(MEASURE, folder, tmp_path, inputs_of(MEASURE, given))
    assert done.returncode == 1
    assert done.stdout == "\n".join(
        [
            "ci",
            f"--root={tmp_path}/logbook-ci",
            "--base=main",
            f"--setup=a\n{HOSTILE}",
            "--max-pairs=--root=/",
            f"--name={HOSTILE}",
            "--artifact=logbook-ci",
            "--metric=step_ms:min:ms",
            "--metric=tflops",
            "--set=a=1 2",
            "--dry-run",
            "--",
            "bash",
            "-c",
            f"{HOSTILE}\n",
        ]
    )
    assert not (folder / "hacked").exists()
    done = execute(MEASURE, folder, tmp_path, inputs_of(MEASURE, {"recipe": "sizes", "fail-on-regression": "false"}))
    assert (done.returncode, done.stdout.splitlines()[2:]) == (0, ["--artifact=logbook-ci", "--fetch", "sizes"])


@pytest.mark.slow
def test_the_step_measures_and_comments(job: Job, tmp_path: Path) -> None:
    tool(tmp_path)
    job.environment()
    given = {"command": "python3 bench.py", "name": HOSTILE}
    done = execute(MEASURE, job.folder, tmp_path, inputs_of(MEASURE, given, token=job.github.token))
    assert done.returncode == 0, done.stderr
    [comment] = job.comments
    assert "base and head are the same code" in comment["body"]
    assert job.output["outcome"] == "same-code"
    assert job.output["comment-url"] == comment["html_url"]
    assert set(job.output) == {*ACTION["outputs"], "root"}
    assert job.summary.strip() == comment["body"].split("\n", 1)[1]
    assert not (job.folder / "hacked").exists()
