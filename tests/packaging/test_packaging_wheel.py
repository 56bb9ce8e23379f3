"""The wheel holds everything the command needs, and the sdist what the wheel is built from."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from logbook_agent.pages.templates import NAMES
from tests.conftest import REPOSITORY
from tests.project.test_project_texts import texts

# A page as `manual` is given it.
PAGE = re.compile(r"[a-z-]+/[a-z-]+\.md")


def built(kind: str, tree: Path, folder: Path) -> Path:
    """The wheel or sdist of a tree."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    subprocess.run(command, cwd=tree, check=True, capture_output=True, timeout=120)
    [found] = folder.iterdir()
    return found


@pytest.mark.slow
def test_the_sdist_builds_the_same_wheel_and_has_no_tests(tmp_path: Path) -> None:
    shutil.unpack_archive(built("sdist", REPOSITORY, tmp_path / "sdist"), tmp_path, filter="data")
    [tree] = tmp_path.glob("logbook_agent-*")
    assert not [path for path in tree.rglob("*") if path.name.startswith("test")]
    wheels = [zipfile.ZipFile(built("wheel", top, tmp_path / f"of-{top.name}")) for top in (REPOSITORY, tree)]
    expected, found = ({info.filename: info.CRC for info in wheel.infolist()} for wheel in wheels)
    assert found == expected


@pytest.mark.slow
def test_the_wheel_works_without_the_checkout(tmp_path: Path) -> None:
    site = tmp_path / "site"
    shutil.unpack_archive(built("wheel", REPOSITORY, tmp_path / "wheel"), site, "zip")
    names = {p.relative_to(site).as_posix() for p in site.rglob("*")}
    assert {f"logbook_agent/_data/templates/{n}" for n in NAMES} <= names
    assert {"logbook_agent/_data/recipes/int8-ab.yaml", "logbook_agent/_data/recipes/README.md"} <= names
    assert not any(n.startswith(("tests/", "docs/")) for n in names)
    pages = {text for _, text in texts() if PAGE.fullmatch(text)}
    assert len(pages) >= 3
    assert {f"logbook_agent/_data/docs/{page}" for page in pages} <= names
    recipes = site / "logbook_agent/_data/recipes"
    links = {link for page in recipes.glob("*.md") for link in re.findall(r"\]\(([^)#]+)", page.read_text())}
    assert [link for link in sorted(links) if not (recipes / link).exists()] == []

    work = tmp_path / "work"
    work.mkdir()
    # -P and PYTHONPATH: the unpacked wheel comes before the editable install of the checkout.
    environ = {**os.environ, "PYTHONPATH": str(site)}
    for args in (["start", "moe", "--prefix", "MOE"], ["run", "--", "echo", "METRIC answer=42"]):
        done = subprocess.run(
            [sys.executable, "-P", "-m", "logbook_agent", *args],
            cwd=work,
            env=environ,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
    assert "answer: 42" in (work / "logbooks" / "moe.md").read_text()
    where = subprocess.run(
        [sys.executable, "-P", "-c", "import logbook_agent; print(logbook_agent.__file__)"],
        cwd=work, env=environ, capture_output=True, text=True, check=True, timeout=60,
    ).stdout  # fmt: skip
    assert where.startswith(str(site)), "the test must use the wheel"
