"""The command lines of the seeds, and stand-ins for the programs that they start."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.conftest import Answer, Cli

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True, kw_only=True)
class Line:
    """A command line as it was typed: its document, its section, its text."""

    doc: str
    at: str
    line: str

    @property
    def name(self) -> str:
        return f"{self.doc} {self.at}"

    @property
    def launched(self) -> bool:
        return self.line.startswith("RAY_AUTH_MODE=token ")

    def words(self, environ: dict[str, str]) -> list[str]:
        """The words of one simple command, as a shell hands them over."""
        quoted = subprocess.check_output(["bash", "-c", f"printf '%s\\0' {self.line}"], env=environ, text=True)
        return quoted.split("\0")[:-1]


LINES = [Line(**line) for line in yaml.safe_load((HERE / "commands.yaml").read_text(encoding="utf-8"))]


@dataclass(frozen=True, kw_only=True)
class Started:
    """A benchmark that a command line started: its script, the variables it found and its words."""

    script: str
    variables: dict[str, str]
    words: tuple[str, ...]

    @property
    def options(self) -> dict[str, str]:
        return options_of(self.words)


def options_of(words: tuple[str, ...]) -> dict[str, str]:
    """The value of each flag; that of a switch is `true`."""
    options: dict[str, str] = {}
    for word in words:
        if word.startswith("--"):
            flag, options[word] = word, "true"
        else:
            options[flag] = word
    return options


def words_of(options: dict[str, str]) -> list[str]:
    """The inverse of `options_of`."""
    return [word for flag, value in options.items() for word in (flag, value) if word != "true"]


def stand_ins(folder: Path) -> dict[str, str]:
    """An environment in which `uv`, the launcher and the benchmarks are stand-ins, for commands in this folder."""
    (folder / ".venv/bin").mkdir(parents=True)
    shutil.copy(HERE / "fakes/uv", folder / ".venv/bin/python")
    # Where a login shell looks for its PATH.
    home = folder.parent / "home"
    home.mkdir()
    (home / ".profile").write_text(f"PATH={HERE / 'fakes'}:$PATH\n")
    path = f"{HERE / 'fakes'}{os.pathsep}{os.environ['PATH']}"
    return {"HOME": str(home), "USER": "ada", "PATH": path, "SEEDS_SEEN": str(folder.parent / "seen")}


def read_started(environ: dict[str, str]) -> list[Started]:
    """What was started since the last call."""
    seen = Path(environ["SEEDS_SEEN"])
    if not seen.exists():
        return []
    lines = seen.read_text(encoding="utf-8").splitlines()
    seen.unlink()
    found = []
    for line in lines:
        script, *words = line.split("\t")
        end = words.index("--")
        variables = dict(word.split("=", 1) for word in words[:end])
        found.append(Started(script=script, variables=variables, words=tuple(words[end + 1 :])))
    return found


def ok(cli: Cli, *words: str, code: int = 0) -> Answer:
    """The answer of a command that must end with this code."""
    answer = cli(*words)
    assert answer.code == code, (words, answer)
    return answer


def add(cli: Cli, *words: str) -> str:
    """The ID of the entry that a command adds."""
    return str(ok(cli, words[0], "--json", *words[1:]).data["id"])


def show(cli: Cli, entry: str) -> dict[str, Any]:
    """An entry with all facts of its runs."""
    found: dict[str, Any] = ok(cli, "show", entry, "--json", "--full").data
    return found


def section(view: str, heading: str) -> str:
    """The text below a heading of the view, up to the next heading of its level or a higher one."""
    lines = view.splitlines()
    level = len(heading) - len(heading.lstrip("#"))
    start = next(i for i, line in enumerate(lines) if line == heading or line.startswith(f"{heading} "))
    found = []
    for line in lines[start + 1 :]:
        if line.startswith("#") and len(line) - len(line.lstrip("#")) <= level:
            break
        found.append(line)
    return "\n".join(line for line in found if not line.startswith("<!--"))
