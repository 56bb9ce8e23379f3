"""Runs the commands that stand in a document and compares what they print with what the document says.

The convention, for people who write documents, is in CONTRIBUTING.md. As a script it writes the real output
into a document: `python tests/contract/docs/docs_runner.py docs/tutorial.md`; what varies is then blanked by hand.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.contract.docs.docs_github import Served, is_needed, serving

REPOSITORY = Path(__file__).resolve().parents[3]
TIMEOUT_S = 600
# Stand-ins for the programs of clusters; a document that names this folder has them.
FAKES = REPOSITORY / "tests/contract/cluster/fakes"
# What a block may need: the stand-ins, or a real engine, with which tests/contract/engines runs it.
ENGINES = frozenset({"fakes", "ssh", "slurm", "ray"})

_FENCE = re.compile(r"(?P<indent> *)(?P<ticks>`{3,})(?P<info>.*)")
_TITLE = re.compile(r"\btitle=(\S+)")
# A block that needs a library which is not installed is left out.
_NEEDS = re.compile(r"\bneeds=(\w+)")
_MARK = "===== end of command"
# Compared by their shape: times, dates, durations, digests.
_SHAPES = (
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00"), "TIME"),
    (re.compile(r"\b\d{4}-\d\d-\d\d \d\d:\d\d\b"), "TIME"),
    (re.compile(r"\b\d{4}-\d\d-\d\d\b"), "DATE"),
    (re.compile(r"\b(in|after) \d+\.\d+ s\b"), r"\1 SECONDS"),
    (re.compile(r"(-\d+\.)[0-9a-f]{4}:[0-9a-f]{16}\b"), r"\1HASH"),
    (re.compile(r"(\.views/[\w-]+\.)[0-9a-f]{16}\b"), r"\1HASH"),
    (re.compile(r"(?<!\.)\b(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{9,64}\b"), "HASH"),
    # What tells an entry or a run from that of another clone.
    (re.compile(r"([A-Z]-\d{3}|/\d\d)\.[0-9a-hjkmnp-tv-z]{5}\b"), r"\1.UID"),
    # One short name of a commit in seventy has digits alone.
    (re.compile(r"(?<![.,])\b\d{9}\b(?![.,]\d)"), "HASH"),
    (re.compile(r"\b(check=|book=[A-Z0-9-]+\.)[0-9a-f]{8}\b"), r"\1HASH"),
)
# In a block marked `measured`, as well: every number with a decimal point, thousands separators, a sign or a %.
_MEASURED = re.compile(
    r"[-+]?\b(?:\d[\d,]*\.\d+|\d{1,3}(?:,\d{3})+)(?:e[-+]?\d+)?|(?<!\w)[-+]\d+\b(?![.,]\d)|(?<![\w.,])\d+(?=%)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A block that is written to a file before the next command."""

    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command and what it is to print; `line` is where it stands, `end` the line after its output."""

    text: str
    expected: str
    measured: bool
    line: int
    end: int


def documents() -> list[Path]:
    """The documents whose commands are run, by path."""
    return [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]


def blocks(text: str) -> Iterator[tuple[str, int, list[str]]]:
    """Info string, number of the first line inside, and the lines of every fenced block."""
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        opening = _FENCE.fullmatch(lines[at])
        at += 1
        if opening is None:
            continue
        first = at
        closing = opening["indent"] + opening["ticks"]
        while at < len(lines) and lines[at].rstrip() != closing:
            at += 1
        inside = [line.removeprefix(opening["indent"]) for line in lines[first:at]]
        yield opening["info"].strip(), first, inside
        at += 1


def missing_libraries(text: str) -> list[str]:
    """The libraries that blocks need (`needs=NAME`) and that are not installed here."""
    return sorted(name for name in {*_NEEDS.findall(text)} if importlib.util.find_spec(name) is None)


def steps(text: str, engine: str = "fakes") -> list[File | Command]:
    """What a document does with an engine, in order; blocks that name no engine are for all of them."""
    found: list[File | Command] = []
    for info, first, lines in blocks(text):
        if missing_libraries(info):
            continue
        needed = ENGINES.intersection(info.split())
        if needed and engine not in needed:
            continue
        title = _TITLE.search(info)
        if title is not None:
            found.append(File(name=title[1], text="\n".join(lines) + "\n"))
        elif info.split()[:1] == ["console"]:
            found += _commands(lines, first, measured="measured" in info.split())
    return found


def _commands(lines: list[str], first: int, *, measured: bool) -> Iterator[Command]:
    at = 0
    while at < len(lines):
        start = at
        if not lines[at].startswith("$ "):
            raise AssertionError(f"line {first + at + 1}: a console block starts with a line `$ COMMAND`")
        words = [lines[at][2:]]
        at += 1
        while at < len(lines) and (lines[at].startswith("> ") or lines[at] == ">"):
            words.append(lines[at][2:])
            at += 1
        output = at
        while at < len(lines) and not lines[at].startswith("$ "):
            at += 1
        yield Command(
            text="\n".join(words),
            expected="\n".join(lines[output:at]).strip("\n"),
            measured=measured,
            line=first + start + 1,
            end=first + at,
        )


def environment(home: Path) -> dict[str, str]:
    """A bare environment: nothing of the developer's but PATH."""
    return {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "COLUMNS": "100",
        "NO_COLOR": "1",
        # A machine that nobody else uses.
        "LOGBOOK_HOST_ROOT": str(REPOSITORY / "tests/quiet"),
        "LOGBOOK_QUEUE": str(home / "queue"),
        "LOGBOOK_DEVICES": "none",
        # stdout and stderr are one pipe here; so their lines come in the order they were written.
        "PYTHONUNBUFFERED": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        **{
            f"GIT_{who}_{what}": value
            for who in ("AUTHOR", "COMMITTER")
            for what, value in (("NAME", "Ada"), ("EMAIL", "ada@example.org"))
        },
    }


def run_document(text: str, home: Path, engine: str = "fakes") -> list[tuple[Command, str]]:
    """Every command with what it printed, run by one shell in `home`/work. The home reads `~` in outputs."""
    before = f"{FAKES}{os.pathsep}" if engine == "fakes" and "tests/contract/cluster/fakes" in text else ""
    there = serving(home) if is_needed(text) else contextlib.nullcontext()
    with there as served:
        return _run_steps(steps(text, engine), home, served, before)


def _run_steps(
    found: list[File | Command], home: Path, served: Served | None, before: str
) -> list[tuple[Command, str]]:
    folder = home / "work"
    folder.mkdir(exist_ok=True)
    script = []
    for number, step in enumerate(found):
        if isinstance(step, File):
            kept = home / f"file-{number}"
            kept.write_text(served.there(step.text) if served else step.text, encoding="utf-8")
            folder_of = _quoted(str(Path(step.name).parent))
            script.append(f"mkdir -p {folder_of} && cp {_quoted(str(kept))} {_quoted(step.name)}")
        else:
            # $? is handed on, so that a document can show it with `echo $?`.
            command = served.there(step.text) if served else step.text
            script.append(f"eval {_quoted(command)}\n_s=$?; printf '\\n{_MARK}\\n'; (exit $_s)")
    bare = environment(home)
    done = subprocess.run(
        ["bash", "-c", "\n".join(script)],
        cwd=folder,
        env=bare | {"PATH": before + bare["PATH"]} | dict(served.environment if served else {}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=TIMEOUT_S,
        check=False,
    )
    printed = done.stdout.decode("utf-8", "replace").replace("\r\n", "\n").replace(str(home), "~")
    outputs = (served.back(printed) if served else printed).split(f"\n{_MARK}\n")
    commands = [s for s in found if isinstance(s, Command)]
    assert len(outputs) == len(commands) + 1, f"the shell ended early: {outputs[-1]}"
    return [(command, output.strip("\n")) for command, output in zip(commands, outputs, strict=False)]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def agrees(expected: str, actual: str, *, measured: bool) -> bool:
    """Whether an output is as the document says; `...` stands for any text, alone on a line for any lines."""
    want, got = _shaped(expected, measured=measured), _shaped(actual, measured=measured)
    parts = []
    for line in want.split("\n"):
        if line.strip() == "...":
            parts.append(r"(?:[^\n]*(?:\n|\Z))*?")
        else:
            parts.append(r"[^\n]*".join(re.escape(p) for p in line.rstrip().split("...")) + r"[ \t]*(?:\n|\Z)")
    return re.fullmatch("".join(parts), got) is not None


def _shaped(text: str, *, measured: bool) -> str:
    for pattern, word in _SHAPES:
        text = pattern.sub(word, text)
    return _MEASURED.sub("NUMBER", text) if measured else text


def disagreements(path: Path, home: Path, engine: str = "fakes") -> list[str]:
    """Run a document; each command that does not print what it says, with both."""
    ran = run_document(path.read_text(encoding="utf-8"), Path(os.path.realpath(home)), engine)
    return [
        f"{path.relative_to(REPOSITORY)}:{command.line}: $ {command.text}\n--- the document says\n"
        f"{command.expected}\n--- it printed\n{output}"
        for command, output in ran
        if not agrees(command.expected, output, measured=command.measured)
    ]


def update(path: Path) -> int:
    """Write the real output where the document does not agree; how many places were changed."""
    text = path.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as home:
        ran = run_document(text, Path(os.path.realpath(home)))
    lines = text.split("\n")
    changed = 0
    for command, output in reversed(ran):
        if not agrees(command.expected, output, measured=command.measured):
            indent = re.match(" *", lines[command.line - 1])
            prefix = indent[0] if indent else ""
            start = command.line + command.text.count("\n")
            new = [f"{prefix}{line}".rstrip() for line in output.split("\n")] if output else []
            lines[start : command.end] = new
            changed += 1
    path.write_text("\n".join(lines), encoding="utf-8")
    return changed


def play(path: Path, folder: Path) -> int:
    """Run a document in a folder that stays, showing each command and what it prints; the number of commands."""
    found = steps(path.read_text(encoding="utf-8"))
    # In a repository the root would be that of its top.
    environ = {**os.environ, "JAX_PLATFORMS": "cpu", "LOGBOOK_ROOT": str(folder.resolve() / "logbooks")}
    environ.pop("LOGBOOK", None)
    lines = []
    for step in found:
        if isinstance(step, File):
            (folder / step.name).parent.mkdir(parents=True, exist_ok=True)
            lines += [f"printf '%s' {shlex.quote(step.text)} > {shlex.quote(step.name)}; echo '(writes {step.name})'"]
        else:
            lines += [f"printf '%s\\n' {shlex.quote('$ ' + step.text.replace(chr(10), chr(10) + '> '))}", step.text]
    # In one shell, which keeps variables. A command may end with a code of its own: criteria that are not met, say.
    subprocess.run(["bash", "-c", "\n".join(lines)], cwd=folder, env=environ, stdin=subprocess.DEVNULL, check=False)
    print(f"The folder stays: {folder}")
    return len(found)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--play"]:
        play(Path(sys.argv[2]), Path(sys.argv[3]))
        sys.exit()
    for name in sys.argv[1:]:
        print(f"{name}: {update(Path(name))} outputs written")
