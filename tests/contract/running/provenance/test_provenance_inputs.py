"""The digests of inputs that a user names."""

from __future__ import annotations

import os
from pathlib import Path

from logbook_agent.running.provenance.inputs import input_facts
from tests.conftest import Cli


def test_what_is_no_file_is_not_read(cli: Cli, folder: Path) -> None:
    """Reading a pipe would wait for ever, or take from the command what it reads."""
    (folder / "data").mkdir()
    (folder / "data/a.txt").write_text("a")
    os.mkfifo(folder / "data/pipe")
    (folder / "linked").symlink_to("data/a.txt")
    found, problems = input_facts(["data/pipe", "data", "linked", "gone", "/dev/zero"], folder)
    assert [(one.path, one.bytes) for one in found] == [("linked", 1)]
    assert problems == [
        "input data/pipe: not read: not a regular file",
        "input data: not read: not a regular file",
        "input gone: not read: No such file or directory",
        "input /dev/zero: not read: not a regular file",
    ]
    cli("start", "moe", "--prefix", "MOE")
    answer = cli("run", "--input", "data/pipe", "--", "true")
    assert (answer.code, answer.err) == (
        2,
        "error: --input data/pipe: a pipe or a device\n"
        "  cause: its digest cannot be recorded: what is read of it is gone, or has no end\n"
        "  next:  write its content to a file, and name that\n",
    )
