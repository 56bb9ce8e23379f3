from __future__ import annotations

from pathlib import Path

import pytest

from logbook_agent.running.provenance.software import software_versions
from logbook_agent.text.commands.script import command_words

FOUND = {"python": "3.12.4", "jax": "0.7.0", "ml-dtypes": "0.5.1"}


def venv(folder: Path, python: str = "3.12.4", packages: tuple[str, ...] = ("jax-0.7.0", "ml_dtypes-0.5.1")) -> Path:
    (folder / "bin").mkdir(parents=True)
    (folder / "bin/python").write_text("")
    (folder / "bin/python").chmod(0o755)
    (folder / "pyvenv.cfg").write_text(f"home = /nowhere/bin\nversion_info = {python}.final.0\n")
    site = folder / f"lib/python{python.rpartition('.')[0]}/site-packages"
    for package in (*packages, "something_else-1.0"):
        (site / f"{package}.dist-info").mkdir(parents=True)
    return folder


def script(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    "argv",
    [
        ["{}/bin/python", "x.py"],
        ["A=1", "{}/bin/python", "-m", "x"],
        ["timeout", "5", "{}/bin/python"],
        ["bash", "-lc", "set -e; mkdir -p x; for a in 1 2; do {}/bin/python x.py $a; done"],
        ["uv", "run", "--package", "p", "x.py"],
        ["python"],
    ],
)
def test_the_python_behind_a_command(tmp_path: Path, argv: list[str]) -> None:
    folder = venv(tmp_path / ".venv")
    env = {"PATH": f"{folder / 'bin'}:/usr/bin:/bin"}
    assert software_versions(command_words([w.format(folder) for w in argv]), tmp_path, env) == FOUND


@pytest.mark.parametrize(
    "head",
    [
        "#!{}/bin/python\n",
        "#!/usr/bin/env python\n",
        "#!/bin/sh\n'''exec' {}/bin/python \"$0\" \"$@\"\n' '''\n",
    ],
)
def test_a_script_names_its_python(tmp_path: Path, head: str) -> None:
    folder = venv(tmp_path / ".venv")
    tool = script(folder / "bin/tool", head.format(folder))
    env = {"PATH": f"{folder / 'bin'}:/usr/bin:/bin"}
    assert software_versions(command_words(["tool", "-x"]), tmp_path, env) == FOUND
    assert software_versions(command_words([str(tool)]), tmp_path, env) == FOUND


def test_a_command_without_a_python_gives_nothing(tmp_path: Path) -> None:
    env = {"PATH": "/usr/bin:/bin"}
    for argv in (["true"], ["nowhere"], ["uv", "run", "x.py"], ["bash", "-c", "echo hi"], []):
        assert software_versions(command_words(argv), tmp_path, env) == {}
    script(tmp_path / "s", "#!/bin/sh\ntrue\n")
    assert software_versions(command_words(["./s"]), tmp_path, env) == {}


def test_the_python_path_comes_first(tmp_path: Path) -> None:
    folder = venv(tmp_path / ".venv")
    (tmp_path / "own/jax-9.9.dist-info").mkdir(parents=True)
    found = software_versions(command_words([str(folder / "bin/python")]), tmp_path, {"PYTHONPATH": "own"})
    assert found["jax"] == "9.9"
