"""What is copied and what is refused, with real files of every kind."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest

from logbook_agent.artifacts.kept_files import kept
from logbook_agent.model.worker_report import Artifact
from logbook_agent.running.worker.left_files import collect
from logbook_agent.running.worker.work import Work, Workplace
from logbook_agent.store.folder import Folder
from logbook_agent.text.redaction.names import Secret
from logbook_agent.text.redaction.redactor import Redactor

SECRET = "hf_" + "Q7x" * 12
HIDDEN = Redactor(secrets=(Secret(name="HF_TOKEN", value=SECRET),))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The working folder of a command, with a logbook in it and something to steal beside it."""
    cwd = tmp_path / "work"
    (cwd / "out/deep/.cache").mkdir(parents=True)
    (cwd / "logbooks/moe").mkdir(parents=True)
    (tmp_path / "secret.txt").write_text("mine")
    for name in ("a.png", "out/b.png", "out/deep/c.png", "out/deep/.cache/d.png", "logbooks/moe/e.png"):
        (cwd / name).write_bytes(name.encode())
    return cwd


class CollectedFiles(NamedTuple):
    artifacts: tuple[Artifact, ...]
    problems: tuple[str, ...]


def collected(cwd: Path, *patterns: str, stops: Callable[[], bool] = lambda: False) -> CollectedFiles:
    """What is collected there, and taken in here."""
    files = Folder(cwd.parent / "run", cwd.parent)
    work = Work(
        entry="A-000",
        run=1,
        argv=(),
        executable="",
        log_bytes=1,
        cwd=str(cwd),
        root=str(cwd / "logbooks"),
        keep=patterns,
    )
    place = Workplace(environ={}, values=HIDDEN.values, now=lambda: datetime.now(UTC), files=files)
    left, said = collect(work, place, (), stops)
    artifacts, problems = kept(left, files, HIDDEN)
    return CollectedFiles(artifacts, (*said, *problems))


def copies(cwd: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (cwd.parent / "run").rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("*.png", ["a.png"]),
        ("*/*.png", ["out/b.png"]),
        ("**/*.png", ["a.png", "out/b.png", "out/deep/c.png"]),
        ("**", ["a.png", "out/b.png", "out/deep/c.png"]),
        ("out/**/[bc].png", ["out/b.png", "out/deep/c.png"]),
        ("out/deep/.cache/*", ["out/deep/.cache/d.png"]),
        ("./out/?.png", ["out/b.png"]),
        ("out/b.png", ["out/b.png"]),
    ],
)
def test_patterns(place: Path, pattern: str, names: list[str]) -> None:
    found = collected(place, pattern)
    assert [artifact.name for artifact in found.artifacts] == names
    assert found.problems == ()
    for artifact in found.artifacts:
        digest = hashlib.sha256(artifact.name.encode()).hexdigest()
        assert (artifact.sha256, artifact.kept) == (digest, f"artifacts/{digest[:16]}.txt")
        assert copies(place)[f"{digest[:16]}.txt"] == artifact.name.encode()


def linked(name: str, target: str) -> Callable[[Path], object]:
    return lambda cwd: (cwd / name).symlink_to(target)


def written(name: str) -> Callable[[Path], object]:
    return lambda cwd: (cwd / name).write_text("x")


@pytest.mark.parametrize(
    ("make", "asked", "why"),
    [
        (linked("x.png", "../secret.txt"), "x.png", "x.png is a symbolic link"),
        (linked("up", ".."), "up/secret.txt", "up/secret.txt: {cwd}/up is a symbolic link"),
        (linked("up", ".."), "up/*", "up/* matches no file"),
        (written("x"), "../secret.txt", "../secret.txt: it is not below the working folder of the command"),
        (written("x"), "/etc/pass*", "/etc/pass*: it is not below the working folder of the command"),
        (lambda cwd: os.mkfifo(cwd / "x.png"), "x.png", "x.png is a named pipe"),
        (written("x"), "logbooks/moe/e.png", "logbooks/moe/e.png: it is a file of a logbook"),
        (written("x\x1b[2J"), "x*", "x\\x1b[2J: its name has control characters"),
        (lambda cwd: (cwd / "x").write_bytes(b"\0" + SECRET.encode()), "x", "x: it holds the value of a secret"),
        (lambda cwd: (cwd / "x").write_bytes(b"\0gh" + b"p_" + b"aB3d" * 9), "x", "x: it holds the value of a secret"),
    ],
)
def test_what_is_refused(place: Path, make: Callable[[Path], object], asked: str, why: str) -> None:
    make(place)
    found = collected(place, asked)
    assert f"not kept: {why.format(cwd=place)}" in found.problems
    assert b"mine" not in copies(place).values()
    assert all(artifact.name == "a.png" for artifact in found.artifacts)


def test_a_file_that_changes_is_not_kept(place: Path) -> None:
    def grows() -> bool:
        with (place / "model.bin").open("ab") as file:
            file.write(b"more")
        return False

    with (place / "model.bin").open("wb") as file:
        file.truncate(10_000_001)
    found = collected(place, "model.bin", stops=grows)
    assert found.artifacts == ()
    assert found.problems == ("not kept: model.bin: it changed while it was copied",)
