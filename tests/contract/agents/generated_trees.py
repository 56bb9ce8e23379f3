"""Work trees made from a seed: a repository with an idea that a run recorded, and other work in every state that git
knows; and a command that is killed at a random one of its steps."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import stat
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from tests.seams import logbook as main

NAMES = (
    "a.py",
    "b with blank.py",
    "pkg/c.py",
    "pkg/deep/d.py",
    "ü.txt",
    'quo"te.txt',
    "win.crlf",
    "data.bin",
    "run.sh",
)
State = tuple[str, int, bytes]


def git(cwd: Path, *words: str) -> bytes:
    command = ["git", "-c", "protocol.file.allow=always", *words]
    return subprocess.run(command, cwd=cwd, check=True, capture_output=True, timeout=60).stdout


def state(path: Path) -> State:
    """What stands at a path."""
    try:
        mode = path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return "absent", 0, b""
    if stat.S_ISLNK(mode):
        return "link", 0, os.fsencode(os.readlink(path))  # noqa: PTH115
    return "file", stat.S_IMODE(mode), path.read_bytes()


def snapshot(top: Path, *, without: Sequence[Path] = ()) -> dict[str, State]:
    """Every file of a folder. Of git's own folder: index, HEAD, references and configuration, also of submodules."""
    found = {}
    for folder, folders, files in os.walk(top):
        here = Path(folder)
        folders[:] = [name for name in folders if here / name not in without and not _is_hidden(here / name, top)]
        links = [name for name in folders if (here / name).is_symlink()]
        for name in (*files, *links):
            found[str((here / name).relative_to(top))] = state(here / name)
    return found


def _is_hidden(path: Path, top: Path) -> bool:
    inside = path.relative_to(top).parts
    return ".git" in inside and path.name in ("objects", "logbook-agent", "hooks")


@dataclass
class Tree:
    """A work tree: `before` and `after` are the files as the idea found and left them."""

    top: Path
    choice: random.Random
    before: dict[str, State] = field(default_factory=dict)
    after: dict[str, State] = field(default_factory=dict)
    touches_submodule: bool = False

    @property
    def idea(self) -> list[str]:
        """The paths that the idea changed."""
        return [
            path for path in self.before.keys() | self.after.keys() if self.before.get(path) != self.after.get(path)
        ]

    def put(self, path: str, to: State) -> None:
        place = self.top / path
        kind, mode, data = to
        if os.path.lexists(place):
            place.unlink()
        if kind == "absent":
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        if kind == "link":
            place.symlink_to(os.fsdecode(data))
        else:
            place.write_bytes(data)
            place.chmod(mode)

    def edit(self, path: str) -> None:
        """Change some lines of a file, or some bytes."""
        place = self.top / path
        if place.is_symlink() or not place.is_file():
            return
        lines = place.read_bytes().splitlines(keepends=True)
        for _ in range(self.choice.randint(1, 3)):
            at = self.choice.randrange(len(lines) + 1)
            ending = b"\r\n" if path.endswith(".crlf") else b"\n"
            line = b"x%d" % self.choice.randrange(1000) + ending
            lines[at : at + self.choice.randint(0, 2)] = [line] * self.choice.randint(0, 2)
        place.write_bytes(b"".join(lines))

    def make(self) -> None:
        """The first commit."""
        choice = self.choice
        git(self.top, "init", "-q", "-b", "main")
        for name in NAMES:
            text = bytes(choice.randrange(256) for _ in range(300)) if name.endswith(".bin") else self._text(name)
            self.put(name, ("file", 0o755 if name.endswith(".sh") else 0o644, text))
        self.put("link", ("link", 0, b"a.py"))
        (self.top / ".gitattributes").write_text("*.crlf text eol=crlf\n")
        (self.top / ".gitignore").write_text("*.log\nbuild/\n")
        if choice.random() < 0.3:
            sub = self.top.parent / "sub-origin"
            sub.mkdir()
            git(sub, "init", "-q", "-b", "main")
            (sub / "s.py").write_text("one\ntwo\n")
            git(sub, "add", "s.py")
            git(sub, "commit", "-q", "-m", "sub")
            git(self.top, "submodule", "--quiet", "add", str(sub), "sub")
        git(self.top, "add", ".")
        git(self.top, "commit", "-q", "-m", "one")

    def _text(self, name: str) -> bytes:
        ending = b"\r\n" if name.endswith(".crlf") else b"\n"
        return b"".join(b"line %d%s" % (n, ending) for n in range(self.choice.randint(3, 40)))

    def have_idea(self) -> None:
        """Uncommitted changes of every kind."""
        choice, names = self.choice, [*NAMES, "link", "new.py", "pkg/new/deep.py"]
        self.before = {name: state(self.top / name) for name in names}
        for name in choice.sample(names, choice.randint(1, 5)):
            if name.startswith(("new", "pkg/new")):
                self.put(name, ("file", 0o644, self._text(name)))
                git(self.top, "add", "--intent-to-add", name)
            elif choice.random() < 0.15:
                self.put(name, ("absent", 0, b""))
            elif choice.random() < 0.15:
                self.put(name, ("link", 0, b"pkg/c.py"))
            elif name == "run.sh":
                (self.top / name).chmod(0o644)
            else:
                self.edit(name)
        if (self.top / "sub").exists() and choice.random() < 0.3:
            (self.top / "sub/s.py").write_text("changed\n")
            self.touches_submodule = True
        self.after = {name: state(self.top / name) for name in names}

    def do_other_work(self) -> None:
        """Staged, unstaged, untracked and ignored changes; the idea is in the tree, or not, or in part."""
        choice = self.choice
        for path in self.idea:
            self.put(path, choice.choice((self.before, self.after))[path])
        for name in choice.sample(NAMES, choice.randint(0, 3)):
            self.edit(name)
            if choice.random() < 0.4:
                git(self.top, "add", "--all", "--", name)
        (self.top / "untracked.txt").write_text("mine\n")
        (self.top / "pkg/notes.log").write_text("ignored\n")
        if choice.random() < 0.3:
            (self.top / "build").mkdir()
            (self.top / "build/out.o").write_bytes(b"\0\1")
        if choice.random() < 0.3:
            (self.top / "staged.py").write_text("staged\n")
            git(self.top, "add", "staged.py")
            (self.top / "staged.py").write_text("staged, and changed\n")
        if (self.top / "sub").exists() and choice.random() < 0.5:
            (self.top / "sub/own.txt").write_text("in the submodule\n")


# -- a command that is killed -------------------------------------------------------------------------

# What a command does to files, and the programs that it starts.
_STEPS = (
    *("pathlib.Path.replace", "pathlib.Path.unlink", "pathlib.Path.mkdir", "pathlib.Path.rmdir", "pathlib.Path.chmod"),
    *("shutil.copy2", "shutil.rmtree", "subprocess.Popen", "os.open", "os.fsync", "os.ftruncate"),
)


def killed(command: Sequence[str], at: int) -> int | None:
    """Carry out `logbook COMMAND` in a process that is killed before its step `at`; the exit code, None where it was
    killed."""
    child = os.fork()
    if child == 0:
        code = 99
        signal.alarm(120)  # it may wait for a lock that a thread of this process held
        try:
            null = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):
                os.dup2(null, descriptor)
            with counting(at):
                code = main(list(command))
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert not os.WIFSIGNALED(status) or os.WTERMSIG(status) == signal.SIGKILL, f"{command} did not end"
    return None if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


@contextlib.contextmanager
def counting(at: int) -> Iterator[None]:
    """Kill this process before its step `at`."""
    left = [at]

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def step(*args: Any, **more: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **more)

        return step

    with contextlib.ExitStack() as stack:
        for name in _STEPS:
            owner, _, attribute = name.rpartition(".")
            place = {"pathlib.Path": Path, "shutil": shutil, "subprocess": subprocess, "os": os}[owner]
            stack.enter_context(mock.patch.object(place, attribute, counted(getattr(place, attribute))))
        yield
