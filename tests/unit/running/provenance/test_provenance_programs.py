"""Programs beside git: found in absolute folders of PATH, bounded in time and output."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from logbook_agent.running.programs import absolute_path, find_program, output_of


def program(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)
    return folder / name


def test_relative_folders_of_path_are_left_out(folder: Path) -> None:
    found = program(folder / "bin", "tool", "true")
    program(folder, "tool", "true")
    assert find_program("tool", {"PATH": f":.:bin:./bin:{folder}/bin"}) == str(found)
    assert find_program("tool", {"PATH": ":.:bin:"}) is None
    assert find_program("tool", {"PATH": ""}) is None
    assert find_program("tool", {}) is None
    assert find_program("sh", {}) is not None
    assert absolute_path({"PATH": ":/a:b:/c:"}) == "/a:/c"


@pytest.mark.parametrize("text", ["exec cat /dev/zero", "exec sleep 60", "sleep 60 & exit 0", "exit 3", "kill -9 $$"])
@pytest.mark.slow
def test_a_program_that_misbehaves_says_nothing(folder: Path, text: str) -> None:
    began = time.monotonic()
    assert output_of([str(program(folder, "tool", text))], os.environ, timeout_s=0.5) is None
    assert time.monotonic() - began < 5
