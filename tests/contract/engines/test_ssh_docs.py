"""The section about ssh of docs/how-to/clusters.md does what it says, with a real one."""

from __future__ import annotations

import importlib
import os
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY, Cli
from tests.contract.engines import ssh_place
from tests.contract.engines.required import need


def test_the_page_about_ssh(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its `ssh box` is one that reads the configuration of the test's machine."""
    need("ssh", ssh_place.why_not())
    engine = ssh_place.daemon(tmp_path / "ssh")
    own = tmp_path / "bin"
    own.mkdir()
    real, control = ssh_place.program("ssh"), ssh_place.control(engine)
    (own / "ssh").write_text(f'#!/bin/sh\nexec {real} -F {engine}/ssh_config -o ControlPath={control}/%C "$@"\n')
    (own / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{own}:{os.environ['PATH']}")
    monkeypatch.syspath_prepend(REPOSITORY / "tests/contract/docs")
    page = REPOSITORY / "docs/how-to/clusters.md"
    (tmp_path / "page").mkdir()
    try:
        wrong = importlib.import_module("docs_runner").disagreements(page, tmp_path / "page", "ssh")
    finally:
        ssh_place.SshPlace("box", tmp_path, cli, engine=engine).end()
    assert not wrong, "\n\n".join(wrong)
