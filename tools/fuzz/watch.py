"""What this process does to files and programs anywhere on the machine, seen by an audit hook."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_CHANGES = {
    "os.rename": 2,
    "os.remove": 1,
    "os.rmdir": 1,
    "os.mkdir": 1,
    "os.link": 2,
    "os.symlink": 2,
    "os.truncate": 1,
    "os.chmod": 1,
    "os.utime": 1,
}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# What commands start without being told to: git, what describes the machine, and the renderer of templates.
_PROGRAMS = {
    "git",
    "ps",
    "gh",
    "uname",
    "sysctl",
    "nvidia-smi",
    "rocm-smi",
    "sw_vers",
    "python",
    "python3",
    Path(sys.executable).name,
}

_state: dict[str, Any] = {"top": None, "found": []}


@contextmanager
def armed(top: Path) -> Iterator[list[str]]:
    """Lists what is changed outside of `top`, and programs that nobody asked for."""
    if not _state.get("installed"):
        sys.addaudithook(_hook)
        _state["installed"] = True
    found: list[str] = []
    _state.update(top=os.path.realpath(top) + "/", found=found)
    try:
        yield found
    finally:
        _state["top"] = None


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if _state["top"] is None:
        return
    if event == "open":
        path, mode, flags = args
        if isinstance(path, str | bytes) and (flags & _WRITING or (isinstance(mode, str) and set(mode) & set("wax+"))):
            _look(event, path)
    elif event in _CHANGES:
        for path in args[: _CHANGES[event]]:
            _look(event, path)
    elif event == "subprocess.Popen":
        name = Path(os.fsdecode(args[0])).name
        if name not in _PROGRAMS | {"cat", "sh", "true"}:
            _state["found"].append(f"starts {name}")


def _look(event: str, path: Any) -> None:
    try:
        text = os.fsdecode(path)
    except TypeError:
        return  # a descriptor
    if text.startswith(("file:", ":memory:")) or text == os.devnull:
        return
    folder, name = os.path.split(text)
    if folder and not f"{os.path.realpath(folder)}/{name}".startswith(_state["top"]):
        _state["found"].append(f"{event} outside: {text[:200]}")
